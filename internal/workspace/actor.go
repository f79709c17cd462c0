package workspace

import (
	"cmp"
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
	Server     string // whose client runs the command, as the living servers tell; "" when none does
	Login      string // the user's login name
	CI         bool   // the environment says CI
	Terminal   bool   // the command runs at a terminal
	Present    bool   // a person sits there, as far as can be told
}

// LongestAgent is how many characters an agent's name may have.
const (
	LongestAgent  = 64
	longestClient = 32
)

// Actor names the caller: an explicit agent under its own name, one actor
// wherever it connects from; else an MCP client as client#1a2b3c, one actor as
// long as the connection lives, or under its name alone if it has none; else a
// command of such a client under the client's name, unless a person is present; else
// CI; else the user. No other name holds a #.
func (c Caller) Actor() plan.Actor {
	over, login := c.Client != "" || c.Connection != "", agentName(c.Login)
	switch name := agentName(c.Agent); {
	case name != "" && over:
		return plan.NewActor(plan.ViaMCP, name)
	case name != "":
		return plan.NewActor(plan.ViaAgentShell, name)
	case over:
		return plan.NewActor(plan.ViaMCP, clientName(c.Client, c.Connection))
	case c.Server != "" && !c.Present:
		return plan.NewActor(plan.ViaAgentShell, c.Server)
	case c.CI && !c.Terminal:
		return plan.NewActor(plan.ViaCI, cmp.Or(login, "ci"))
	case c.Present:
		return plan.NewActor(plan.ViaTerminal, cmp.Or(login, "user"))
	}
	return plan.NewActor(plan.ViaScript, cmp.Or(login, "user"))
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
	if len(runes) > LongestAgent {
		runes = runes[:LongestAgent]
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

// Login returns the login name that the environment tells, "" when none.
func Login(getenv func(string) string) string {
	return cmp.Or(getenv("USER"), getenv("LOGNAME"), getenv("USERNAME"))
}

// HostSession tells apart the sessions of agents' hosts by what they set in their
// servers and their shells alike, "" when they set nothing.
func HostSession(getenv func(string) string) string {
	session := ""
	for _, variable := range []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"} {
		if id := getenv(variable); id != "" {
			session += variable + "=" + id + "\n" // one host may run within another: it has both
		}
	}
	if session == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}

// InCI reports whether the environment is that of a CI job.
func InCI(getenv func(string) string) bool {
	return strings.EqualFold(getenv("CI"), "true") || getenv("CI") == "1"
}
