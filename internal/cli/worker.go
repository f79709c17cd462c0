package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// worker reports whether this process belongs to an agent that planloop run started for a step: by its environment, or by descent from that
// agent. An HTTP server answers only for its own process: its clients count as ordinary agents unless the server itself was started there.
func (a *app) worker() (engine.Worker, bool) {
	stateDir := ""
	if opened := a.opened.Load(); opened != nil && !a.flags.ephemeral {
		stateDir = opened.place.StateDir
	}
	return a.workerIn(stateDir)
}

// workerIn is worker for a workspace that is not open.
func (a *app) workerIn(stateDir string) (engine.Worker, bool) {
	return engine.FindWorker(stateDir, cmp.Or(a.getenv(engine.EnvRun), a.above(engine.EnvRun)), a.chain)
}

// valueAbove returns a variable's value in the environment of the nearest ancestor that has it. An agent can remove a variable from its own
// environment, but not from its keeper's.
func valueAbove(above []process.Variables, variable string) string {
	for _, environment := range above {
		if _, value := environment.First(variable); value != "" {
			return value
		}
	}
	return ""
}

// startedFor returns the agent that planloop run started for a step, as an actor via the given channel, if this process belongs to one.
func (a *app) startedFor(via plan.Channel) (plan.Actor, bool) {
	w, is := a.worker()
	actor := plan.NewActor(via, w.Agent)
	actor.Scope = w.Scope
	return actor, is
}

// started says which commands an agent started by planloop run may use: those on its own step, its reports, and its questions. The core
// decides on changes of a plan, and the terminal confirms acts reserved for people; writes outside the plan are refused here.
type started int

const (
	outside started = iota // writes outside the step
	reads                  // changes nothing
	judged                 // by the core, or asks for a person
)

// startedMay is the table of commands. A given flag changes its command's entry to the flag's own.
func startedMay(command string) (may started, flags map[string]started) {
	switch command {
	case "show", "status", "resume", "prompt", "step logs", "log", "plan list", "plan diff", "plan status", "plan allows",
		"template list", "template show", "servers", "hosts", "version", "help", "completion bash", "completion zsh", "completion fish",
		"completion powershell", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return reads, nil
	case "template apply", "step add", "step edit", "step move", "step remove", "step mark", "step claim", "step next", "step skip",
		"step retry", "step settle", "clear", "start", "update", "run", "alert", "check", "suggest", "plan", "plan start",
		"plan cancel", "plan restore", "submit", "approve", "reject", "edit", "answer", "comment", "reply", "pause", "replan",
		"import", "purge", "serve", "hook": // its own host starts it
		return judged, nil
	case "sync":
		return outside, map[string]started{"dry-run": reads}
	case "init":
		return outside, map[string]started{"dry-run": reads, "check": reads}
	case "export":
		return reads, map[string]started{"output": outside, "dir": outside}
	case "doctor":
		return reads, map[string]started{"repair": outside, "restore": outside}
	}
	return outside, nil // review, reserved for people; template save; and all unlisted commands
}

// mayOf returns the table's entry for a command with its flags.
func mayOf(cmd *cobra.Command) started {
	may, flags := startedMay(commandName(cmd))
	for flag, then := range flags {
		given := cmd.Flags().Lookup(flag)
		if given == nil || given.Value.String() == given.DefValue || flag == "output" && given.Value.String() == "-" {
			continue
		}
		may = then
	}
	return may
}

// keepsToStep refuses commands outside the step to an agent started for it.
func (a *app) keepsToStep(cmd *cobra.Command) error {
	if mayOf(cmd) != outside || !cmd.HasParent() || cmd.HasSubCommands() {
		return nil
	}
	stateDir := ""
	if place, err := workspace.Find(a.lookup()); err == nil {
		stateDir = place.StateDir
	}
	w, is := a.workerIn(stateDir)
	if !is {
		return nil
	}
	_, _ = a.open(cmd.Context(), nil) // so that the refusal can print the next action
	return w.Scope.OutOfScopeError()
}
