package cli

import (
	"cmp"
	"context"
	"os"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// hostVariables returns the variables that mark an agent's shell, set by its host or by planloop.
func hostVariables() []string {
	return append(hosts.ShellVariables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent, process.EnvFamily)
}

func (a *app) evidence() presence.Evidence {
	_, works := a.stepAgent()
	e := presence.Evidence{Inherited: a.agentVariable(), Started: works, Named: a.flags.agent != "", CI: workspace.InCI(a.getenv),
		Terminal: a.inIsTerminal, Lineage: a.lineage, Hosts: a.findHosts}
	for _, variable := range hostVariables() {
		if e.Variable == "" && a.getenv(variable) != "" {
			e.Variable = variable
		}
	}
	if a.inIsTerminal {
		e.Shared = a.sharingProgram()
	}
	return e
}

// sharingProgram returns why other programs can read this terminal, by its environment; "" without a sign of that.
func (a *app) sharingProgram() string {
	if _, err := os.Stat(a.getenv("HOME") + "/Library/Application Support/iTerm2/private/socket"); err == nil {
		return "iTerm2's API"
	}
	for _, variable := range presence.SharedVariables() {
		if _, inherited := a.inherited(variable); cmp.Or(a.getenv(variable), inherited) != "" {
			return variable + " is set"
		}
	}
	return ""
}

func (a *app) findHosts() (found presence.Hosts) {
	if home, err := workspace.StateHome(a.getenv, ""); err == nil {
		found = presence.FindHosts(home)
	}
	if ws := a.ws.Load(); ws != nil {
		found.Elsewhere = found.Elsewhere || engine.AgentRunsElsewhere(ws.place.OpenDirs())
	}
	return found
}

// isAgentStarted reports whether a server may descend from an agent's shell, which may have made up the user that the client names.
func (a *app) isAgentStarted(ctx context.Context) bool {
	e := a.evidence()
	e.Variable = ""
	for _, variable := range hosts.ShellOnlyVariables() {
		if a.getenv(variable) != "" {
			e.Variable = variable
		}
	}
	if e.Inherited == workspace.EnvAgent { // users name their hosts by it
		e.Inherited = ""
	}
	ws, err := a.open(ctx, nil)
	return err != nil || ws.isUnderOtherHost() || e.Client().Answer != presence.Yes
}

// person finds out whether a person is at the terminal. Where only a person's own decision counts, a shared one has none.
func (a *app) person() presence.Finding {
	found := a.evidence().Present()
	if ws := a.ws.Load(); ws != nil && found.Shared != "" {
		if state, err := ws.verbs.State(context.Background()); err == nil && ws.verbs.PersonOnly(state) {
			return presence.Finding{Answer: presence.No, Way: plan.OwnTerminal,
				Why: "other programs can read this terminal, and only a person's own decision is accepted here (approval: person)"}
		}
	}
	return found
}

// requirePerson keeps a model from acting for its user by mistake or through a script: it refuses unless a person sits at the terminal.
func (a *app) requirePerson(what string) error {
	if found := a.person(); found.Answer != presence.Yes {
		return plan.Refuse(plan.Conflict, "", what+" needs a person, and "+found.Why, found.Way)
	}
	return nil
}

// sharedTerminal warns that other programs can read the terminal; "" if planloop knows of none.
func (a *app) sharedTerminal() string {
	if shared := a.person().Shared; shared != "" {
		return "Other programs of yours can read this terminal (" + shared + "), and so the code. A decision is recorded as " +
			string(plan.WayShared) + "."
	}
	return ""
}

// agentSign returns why this shell belongs to an agent, "" without a sign of one.
func (a *app) agentSign() string { return a.evidence().AgentShell().Why }

// whyNoPerson returns why no person seems to sit at the terminal, "" if one does.
func (a *app) whyNoPerson() string { return a.person().Why }

// stepAgent reports whether this process belongs to an agent that planloop run started for a step, by its environment or descent.
// An HTTP server's clients count as ordinary agents unless the server itself was started there.
func (a *app) stepAgent() (engine.Worker, bool) {
	var place workspace.Workspace
	if ws := a.ws.Load(); ws != nil && !a.flags.ephemeral {
		place = ws.place
	}
	return a.stepAgentIn(place)
}

// stepAgentIn is stepAgent for a workspace that is not open.
func (a *app) stepAgentIn(place workspace.Workspace) (engine.Worker, bool) {
	_, inherited := a.inherited(engine.EnvRun)
	return engine.FindWorker(place.OpenDirs(), cmp.Or(a.getenv(engine.EnvRun), inherited), a.ancestors)
}

func (a *app) stepAgentActor(via plan.Channel) (plan.Actor, bool) {
	w, is := a.stepAgent()
	actor := plan.NewActor(via, w.Agent)
	actor.Scope = w.Scope
	return actor, is
}

// isModelProcess reports whether the model runs this process. On Linux its program cannot remove the mark from an ancestor's environment.
func (a *app) isModelProcess() bool {
	_, inherited := a.inherited(model.EnvInside)
	return a.getenv(model.EnvInside) != "" || inherited != ""
}
