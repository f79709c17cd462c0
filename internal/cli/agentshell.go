package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// hostVariables returns the variables that mark an agent's shell, set by its host or by planloop.
func hostVariables() []string {
	return append(hosts.ShellVariables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent)
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
