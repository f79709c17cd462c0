package cli

import (
	"cmp"
	"os/user"
	"strings"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// caller returns the caller of a command: an agent started for a step, a named agent, the client of a server with the same host, CI,
// or the user.
func (a *app) caller() verbs.Caller {
	if agent, is := a.stepAgentActor(plan.ChannelAgentShell); is {
		return verbs.Caller{Actor: agent, Face: terminal.CommandLine{}}
	}
	who := workspace.Caller{Agent: a.agentName(), Login: a.login(), CI: workspace.InCI(a.getenv), Terminal: a.inIsTerminal,
		Present: a.whyNoPerson() == ""}
	if ws := a.ws.Load(); ws != nil && who.Agent == "" && !who.Present {
		who.Server = ws.client()
	}
	return verbs.Caller{Actor: who.Actor(), Face: terminal.CommandLine{}}
}

func (a *app) login() string {
	if name := workspace.Login(a.getenv); name != "" {
		return name
	}
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}

// client returns the caller over MCP: an agent, even if it does not name itself.
func (a *app) client(name, connection string) plan.Actor {
	if agent, is := a.stepAgentActor(plan.ChannelMCP); is {
		return agent
	}
	return workspace.Caller{Agent: a.agentName(), Client: cmp.Or(name, "client"), Connection: connection}.Actor()
}

func (a *app) agentName() string {
	if a.flags.agent != "" {
		return a.flags.agent
	}
	return a.getenv(workspace.EnvAgent)
}

// checkAgentName refuses a name that could not be stored unchanged.
func (a *app) checkAgentName() error {
	rule := plan.Text{Field: "--agent", Max: workspace.MaxAgentName}
	if a.flags.agent == "" {
		rule.Field = workspace.EnvAgent
	}
	name, err := rule.Clean(a.agentName())
	if err == nil && strings.Contains(name, "#") {
		err = plan.Refuse(plan.InvalidInput, rule.Field, "contains #, which is reserved for connections", "use another character")
	}
	return err
}
