package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// worker reports whether this process is of an agent that planloop run has started for a step: its environment
// says so, or it descends from that agent. An HTTP server answers for its own process alone: whoever connects to
// one that was not started there is an agent like any other.
func (a *app) worker() (engine.Worker, bool) {
	stateDir := ""
	if opened := a.opened.Load(); opened != nil && !a.flags.ephemeral {
		stateDir = opened.place.StateDir
	}
	return a.workerIn(stateDir)
}

// workerIn is worker for a workspace that is not opened.
func (a *app) workerIn(stateDir string) (engine.Worker, bool) {
	return engine.WorkerOf(stateDir, cmp.Or(a.getenv(engine.EnvRun), a.above(engine.EnvRun)), a.chain)
}

// valueAbove returns the value that a variable has in the environment of the nearest process above the first one. An
// agent can remove a variable from its own environment, but not from its keeper's.
func valueAbove(above []lineage.Environment, variable string) string {
	for _, environment := range above {
		if _, value := environment.First(variable); value != "" {
			return value
		}
	}
	return ""
}

// startedFor is the agent that planloop run has started for a step, if this process is of one, as it comes in by a
// door.
func (a *app) startedFor(via plan.Via) (plan.Actor, bool) {
	w, is := a.worker()
	actor := plan.NewActor(via, w.Agent)
	actor.Scope = w.Scope
	return actor, is
}

// started says what an agent that planloop run has started may do by a command: its own step, reporting on it, and
// asking. Who may do what to a plan is the core's to say, and what is a person's alone is asked of the terminal; the
// rest, what is written beside the plan, is held here.
type started int

const (
	outside started = iota // writes what is no part of a step
	reads                  // changes nothing
	judged                 // by the core, or asks for a person
)

// startedMay is the table of commands. A flag that is named makes of a command what stands beside it.
func startedMay(command string) (may started, flags map[string]started) {
	switch command {
	case "show", "status", "resume", "prompt", "step logs", "log", "plan list", "plan diff", "plan status", "plan allows",
		"template list", "template show", "servers", "hosts", "version", "help", "completion bash", "completion zsh", "completion fish",
		"completion powershell", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return reads, nil
	case "template apply", "step add", "step edit", "step move", "step remove", "step mark", "step claim", "step next", "step skip",
		"step retry", "step settle", "clear", "start", "update", "run", "alert", "check", "suggest", "plan", "plan start",
		"plan cancel", "plan restore", "submit", "approve", "reject", "edit", "answer", "comment", "reply", "pause", "replan",
		"import", "purge", "serve", "hook": // which its own host starts
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
	return outside, nil // review, which is a person's, template save, and what nobody has thought of
}

// mayOf returns what the table of commands says of a command with its flags.
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

// keepsToStep refuses to an agent that was started for a step what is no part of it.
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
	_, _ = a.open(cmd.Context(), nil) // what comes next stands there
	return w.Scope.Beyond()
}
