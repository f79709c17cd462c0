package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/planloop/planloop/plan"
)

// EnvAgent is the environment variable that names the agent.
const EnvAgent = "PLANLOOP_AGENT"

// Caller is what a face knows about who calls.
type Caller struct {
	Agent      string // --agent, else PLANLOOP_AGENT
	Client     string // the name an MCP client gives itself
	Connection string // what tells its connections apart, in every process; "" for a stateless client
	Login      string // the user's login name
	CI         bool   // the environment says CI
	Terminal   bool   // a person sits in front of a terminal
}

const (
	longestAgent  = 64
	longestClient = 32
)

// Actor names the caller: an explicit agent under its own name, one actor
// wherever it connects from; else an MCP client as client#1a2b3c, one actor as
// long as the connection lives, or under its name alone if it has none; else CI;
// else the user. No other name holds a #.
func (c Caller) Actor() plan.Actor {
	if name := agentName(c.Agent); name != "" {
		return plan.Actor{Kind: plan.Agent, Name: name}
	}
	if c.Client != "" || c.Connection != "" {
		return plan.Actor{Kind: plan.Agent, Name: clientName(c.Client, c.Connection)}
	}
	login := agentName(c.Login)
	if c.CI && !c.Terminal {
		return plan.Actor{Kind: plan.CI, Name: or(login, "ci")}
	}
	return plan.Actor{Kind: plan.Person, Name: or(login, "user")}
}

// agentName returns a name in printable characters, without # and with single
// spaces, at most 64 of them.
func agentName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '#' || !unicode.IsPrint(r) || plan.Invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	runes := []rune(strings.Join(strings.Fields(norm.NFC.String(name)), " "))
	if len(runes) > longestAgent {
		runes = runes[:longestAgent]
	}
	return strings.TrimSpace(string(runes))
}

func clientName(client, connection string) string {
	name := slug(client, longestClient, "client")
	if connection == "" {
		return name
	}
	sum := sha256.Sum256([]byte(connection)) // ids may begin alike, their hashes do not
	return name + "#" + hex.EncodeToString(sum[:3])
}

func or(name, instead string) string {
	if name == "" {
		return instead
	}
	return name
}

// Login returns the login name that the environment tells, "" when none.
func Login(getenv func(string) string) string {
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := getenv(variable); name != "" {
			return name
		}
	}
	return ""
}

// InCI reports whether the environment is that of a CI job.
func InCI(getenv func(string) string) bool {
	return strings.EqualFold(getenv("CI"), "true") || getenv("CI") == "1"
}
