package cli

import (
	"cmp"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// caller returns an agent started for a step, a named agent, the client of a server with the same host, CI, or the user.
func (a *app) caller() verbs.Caller {
	if agent, is := a.stepAgentActor(plan.ChannelAgentShell); is {
		caller := verbs.Caller{Actor: agent, Face: a.face()}
		if ws := a.ws.Load(); ws != nil {
			caller = ws.verbs.As(caller)
		}
		return caller
	}
	found := a.evidence().Present() // also on a shared terminal: the core refuses decisions there
	who := workspace.Caller{Agent: a.agentName(), Login: a.login(), CI: workspace.InCI(a.getenv), Terminal: a.inIsTerminal,
		Present: found.Answer == presence.Yes, Shared: found.Shared != ""}
	if ws := a.ws.Load(); ws != nil && who.Agent == "" && !who.Present {
		who.Server = ws.client()
	}
	caller := verbs.Caller{Actor: who.Actor(), Face: a.face(), Progress: a.noteWait()}
	if ws := a.ws.Load(); ws != nil {
		if caller.Actor.Kind == plan.Agent {
			caller.Session = ws.callingSession()
		}
		caller = ws.verbs.As(caller)
	}
	return caller
}

// noteWait returns a function that notes the reason of a wait whenever it changes.
func (a *app) noteWait() func(done, all int, what string) {
	last := ""
	return func(_, all int, what string) {
		if all > 0 && what != last {
			last = what
			a.note(what)
		}
	}
}

// face writes calls as commands, which name the track of this command unless main is the only one.
func (a *app) face() terminal.CommandLine {
	return terminal.CommandLine{Track: cmp.Or(a.flags.track, a.shownTrack)}
}

// isReadByPerson reports whether a person at the terminal reads what a command prints.
func (a *app) isReadByPerson() bool { return a.outIsTerminal && a.caller().Actor.IsPresent() }

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

func (a *app) agentName() string { return cmp.Or(a.flags.agent, a.getenv(workspace.EnvAgent)) }

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
	if err == nil {
		err = plan.CheckAgentName(rule.Field, name)
	}
	return err
}

// inheritedVariable returns one of the variables with its value in the environment of the nearest ancestor that has one, "" if none: a
// script can remove a variable from its own environment, not from an ancestor's.
func inheritedVariable(above []process.Variables, variables ...string) (variable, value string) {
	for _, environment := range above {
		if variable, value = environment.First(variables...); variable != "" {
			break
		}
	}
	return variable, value
}

// agentVariable returns the variable of an agent's host in an ancestor's environment, "" if none.
func (a *app) agentVariable() string {
	variable, _ := a.inherited(hostVariables()...)
	return variable
}

// access says which commands an agent started by planloop run may use: those on its own step, its reports, and its questions. The core
// decides on changes of a plan, and the terminal confirms acts reserved for people; writes outside the plan are refused here.
type access int

const (
	noAccess      access = iota // writes outside the step
	readAccess                  // changes nothing
	checkedAccess               // by the core, or asks for a person
)

// accessFor is the table of commands. A given flag changes its command's entry to the flag's own.
func accessFor(command string) (may access, flags map[string]access) {
	switch command {
	case "show", "status", "resume", "prompt", "step logs", "log", "plan list", "plan diff", "plan status", "plan allows", "confine",
		"template list", "template show", "team status", "team members", "servers", "hosts", "version", "help",
		"completion bash", "completion zsh", "completion fish",
		"completion powershell", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return readAccess, nil
	case "template apply", "step add", "step edit", "step move", "step remove", "step mark", "step claim", "step next", "step skip",
		"step retry", "step settle", "step stop", "clear", "start", "update", "run", "alert", "check", "suggest", "plan", "plan start",
		"plan cancel", "plan restore", "plan switch", "plan close", "submit", "approve",
		"reject", "edit", "answer", "comment", "reply", "pause", "replan",
		"import", "purge", "serve", "hook": // its own host starts it
		return checkedAccess, nil
	case "sync":
		return noAccess, map[string]access{"dry-run": readAccess}
	case "init":
		return noAccess, map[string]access{"dry-run": readAccess, "check": readAccess}
	case "export":
		return readAccess, map[string]access{"output": noAccess, "dir": noAccess}
	case "doctor":
		return readAccess, map[string]access{"repair": noAccess, "restore": noAccess}
	}
	return noAccess, nil // review, reserved for people; template save; and all unlisted commands
}

func accessOf(cmd *cobra.Command) access {
	may, flags := accessFor(commandName(cmd))
	for flag, then := range flags {
		given := cmd.Flags().Lookup(flag)
		if given == nil || given.Value.String() == given.DefValue || flag == "output" && given.Value.String() == "-" {
			continue
		}
		may = then
	}
	return may
}

// refuseOutsideStep refuses commands outside the step to an agent started for it.
func (a *app) refuseOutsideStep(cmd *cobra.Command) error {
	if accessOf(cmd) != noAccess || !cmd.HasParent() || cmd.HasSubCommands() {
		return nil
	}
	place, _ := a.findWorkspace() // without one, the environment tells
	w, is := a.stepAgentIn(place)
	if !is {
		return nil
	}
	_, _ = a.open(cmd.Context(), nil) // so that the refusal can print the next action
	return w.Scope.OutOfScopeError()
}

// refuseInsideModel lets processes of the model's program only read: the session that asked the model works on the plan.
func (a *app) refuseInsideModel(cmd *cobra.Command) error {
	if !cmd.HasParent() || commandName(cmd) == "hook" || accessOf(cmd) == readAccess || !a.isModelProcess() {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", "this process was started by planloop's model, which only answers a prompt",
		"print the answer and end; the asking session works on the plan")
}
