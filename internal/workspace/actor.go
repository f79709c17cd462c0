package workspace

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/planloop/planloop/plan"
)

// EnvAgent is the environment variable that names the agent.
const EnvAgent = "PLANLOOP_AGENT"

// Caller describes the caller as far as a face knows it.
type Caller struct {
	Agent      string // --agent, else PLANLOOP_AGENT
	Client     string // an MCP client's name for itself
	Connection string // distinguishes its connections, across processes; "" for a stateless client
	Server     string // client of the running server that the command belongs to; "" if unknown
	Login      string // the user's login name
	CI         bool   // the environment indicates CI
	Terminal   bool   // the command runs at a terminal
	Present    bool   // a person is probably there
	Shared     bool   // other programs can read the person's terminal
}

// MaxAgentName bounds an agent's name, in characters.
const (
	MaxAgentName  = 64
	maxClientName = 32
)

// Actor names the caller. An explicit agent has its own name, and is one actor on all connections. An MCP client is
// named like client#1a2b3c, one actor for the life of the connection, or only by its name if it has no connection. A
// command of such a client has the client's name, unless a person is present. Then comes CI, then the user. No other
// name contains a #.
func (c Caller) Actor() plan.Actor {
	isMCP, login := c.Client != "" || c.Connection != "", agentName(c.Login)
	switch name := agentName(c.Agent); {
	case name != "" && isMCP:
		return plan.NewActor(plan.ChannelMCP, name)
	case name != "":
		return plan.NewActor(plan.ChannelAgentShell, name)
	case isMCP:
		return plan.NewActor(plan.ChannelMCP, clientName(c.Client, c.Connection))
	case c.Server != "" && !c.Present:
		return plan.NewActor(plan.ChannelAgentShell, c.Server)
	case c.CI && !c.Terminal:
		return plan.NewActor(plan.ChannelCI, cmp.Or(login, "ci"))
	case c.Present && c.Shared:
		return plan.NewActor(plan.ChannelShared, cmp.Or(login, "user"))
	case c.Present:
		return plan.NewActor(plan.ChannelTerminal, cmp.Or(login, "user"))
	}
	return plan.NewActor(plan.ChannelScript, cmp.Or(login, "user"))
}

// agentName returns a name in printable characters, without # and brackets, with single spaces, cut to 64 characters.
func agentName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '#' || plan.HasBrackets(string(r)) || !unicode.IsPrint(r) || plan.IsInvisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	runes := []rune(strings.Join(strings.Fields(norm.NFC.String(name)), " "))
	if len(runes) > MaxAgentName {
		runes = runes[:MaxAgentName]
	}
	return strings.TrimSpace(string(runes))
}

func clientName(client, connection string) string {
	name := slug(client, maxClientName, "client")
	if plan.CheckAgentName("", name) != nil {
		name = "client"
	}
	if connection == "" {
		return name
	}
	sum := sha256.Sum256([]byte(connection)) // ids may share a prefix, their hashes do not
	return fmt.Sprintf("%s#%x", name, sum[:3])
}

// Login returns the login name from the environment, or "".
func Login(getenv func(string) string) string {
	return cmp.Or(getenv("USER"), getenv("LOGNAME"), getenv("USERNAME"))
}

// HostSession identifies a session of an agent's host by the variables that it sets both in its servers and in its
// shells, "" if it sets none.
func HostSession(getenv func(string) string) string {
	session := ""
	for _, variable := range []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"} {
		if id := getenv(variable); id != "" {
			session += variable + "=" + id + "\n" // one host may run within another and have both
		}
	}
	if session == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(session)))
}

// NamedSession returns the session that a host names in its shells, as its hooks name it; "" if it names none.
func NamedSession(getenv func(string) string) string {
	return cmp.Or(getenv("CODEX_SESSION_ID"), getenv("CLAUDE_CODE_SESSION_ID"))
}

// InCI reports whether the environment is that of a CI job.
func InCI(getenv func(string) string) bool {
	return strings.EqualFold(getenv("CI"), "true") || getenv("CI") == "1"
}
