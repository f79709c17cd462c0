package cli

import (
	"cmp"
	"context"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/process"
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
	return err
}

// hostVariables returns the variables that mark an agent's shell, set by its host or by planloop.
func hostVariables() []string {
	return append(hosts.ShellVariables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent)
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

// isAgentStarted reports whether a server descends from an agent's shell: then the agent may have made up the user that the client speaks
// for.
func (a *app) isAgentStarted(ctx context.Context) bool {
	isSet := func(variable string) bool { return a.getenv(variable) != "" }
	if slices.ContainsFunc(hosts.ShellOnlyVariables(), isSet) {
		return true
	}
	if above := a.agentVariable(); above != "" && above != workspace.EnvAgent { // users name their hosts by it
		return true
	}
	ws, err := a.open(ctx, nil)
	if _, works := a.stepAgent(); works { // an agent started for a step works without a person
		return true
	}
	return err != nil || ws.isUnderOtherHost()
}

// requirePerson refuses an act reserved for people unless a person sits at the terminal. It keeps a model from answering for its user by
// mistake or through a script. It cannot detect a program that takes over the user's own terminal.
func (a *app) requirePerson(what string) error {
	if why := a.whyNoPerson(); why != "" {
		return plan.Refuse(plan.Conflict, "", what+" needs a person, and "+why, "run it in your own terminal")
	}
	return nil
}

// agentSign returns why this shell belongs to an agent, "" without a sign of one.
func (a *app) agentSign() string {
	for _, variable := range hostVariables() {
		if a.getenv(variable) != "" {
			return "this shell belongs to an agent (" + variable + " is set)"
		}
	}
	if variable := a.agentVariable(); variable != "" {
		return "this shell was started by an agent's shell (" + variable + " is set there)"
	}
	if _, works := a.stepAgent(); works {
		return "this shell belongs to an agent that planloop started"
	}
	if ws := a.ws.Load(); ws != nil && engine.AgentRunsElsewhere(ws.place.StateDir) {
		return "an agent works here, and this shell may be its own, since its processes are not visible here"
	}
	return ""
}

// whyNoPerson returns why no person seems to sit at the terminal, "" if one does.
func (a *app) whyNoPerson() string {
	switch why := a.agentSign(); {
	case why != "":
		return why
	case a.flags.agent != "":
		return "--agent marks this caller as an agent"
	case workspace.InCI(a.getenv):
		return "this is a CI job (CI is set)"
	case !a.inIsTerminal:
		return "standard input is not a terminal"
	}
	return ""
}

// stepAgent reports whether this process belongs to an agent that planloop run started for a step: by its environment, or by descent from
// that agent. An HTTP server answers only for its own process: its clients count as ordinary agents unless the server itself was started
// there.
func (a *app) stepAgent() (engine.Worker, bool) {
	stateDir := ""
	if ws := a.ws.Load(); ws != nil && !a.flags.ephemeral {
		stateDir = ws.place.StateDir
	}
	return a.stepAgentIn(stateDir)
}

// stepAgentIn is stepAgent for a workspace that is not open.
func (a *app) stepAgentIn(stateDir string) (engine.Worker, bool) {
	_, inherited := a.inherited(engine.EnvRun)
	return engine.FindWorker(stateDir, cmp.Or(a.getenv(engine.EnvRun), inherited), a.ancestors)
}

// stepAgentActor returns the agent that planloop run started for a step, as an actor via the given channel, if this process belongs to one.
func (a *app) stepAgentActor(via plan.Channel) (plan.Actor, bool) {
	w, is := a.stepAgent()
	actor := plan.NewActor(via, w.Agent)
	actor.Scope = w.Scope
	return actor, is
}

// isModelProcess reports whether planloop's model runs this process: the mark is in its environment or, on Linux, in an ancestor's, where
// the model's program cannot remove it.
func (a *app) isModelProcess() bool {
	_, inherited := a.inherited(model.EnvInside)
	return a.getenv(model.EnvInside) != "" || inherited != ""
}

// access says which commands an agent started by planloop run may use: those on its own step, its reports, and its questions. The core
// runAsPerson on changes of a plan, and the terminal confirms acts reserved for people; writes outside the plan are refused here.
type access int

const (
	noAccess      access = iota // writes outside the step
	readAccess                  // changes nothing
	checkedAccess               // by the core, or asks for a person
)

// accessFor is the table of commands. A given flag changes its command's entry to the flag's own.
func accessFor(command string) (may access, flags map[string]access) {
	switch command {
	case "show", "status", "resume", "prompt", "step logs", "log", "plan list", "plan diff", "plan status", "plan allows",
		"template list", "template show", "servers", "hosts", "version", "help", "completion bash", "completion zsh", "completion fish",
		"completion powershell", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return readAccess, nil
	case "template apply", "step add", "step edit", "step move", "step remove", "step mark", "step claim", "step next", "step skip",
		"step retry", "step settle", "clear", "start", "update", "run", "alert", "check", "suggest", "plan", "plan start",
		"plan cancel", "plan restore", "submit", "approve", "reject", "edit", "answer", "comment", "reply", "pause", "replan",
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

// accessOf returns the table's entry for a command with its flags.
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
	stateDir := ""
	if place, err := workspace.Find(a.lookup()); err == nil {
		stateDir = place.StateDir
	}
	w, is := a.stepAgentIn(stateDir)
	if !is {
		return nil
	}
	_, _ = a.open(cmd.Context(), nil) // so that the refusal can print the next action
	return w.Scope.OutOfScopeError()
}

// refuseInsideModel refuses all but read-only commands to processes started by the model's program: the model only answers a prompt, and
// the session that asked it works on the plan.
func (a *app) refuseInsideModel(cmd *cobra.Command) error {
	if !cmd.HasParent() || commandName(cmd) == "hook" || accessOf(cmd) == readAccess || !a.isModelProcess() {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", "this process was started by planloop's model, which only answers a prompt",
		"print the answer and end; the asking session works on the plan")
}
