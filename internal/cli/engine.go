package cli

import (
	"context"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// engines is the set of engines that work in a workspace, in any process.
type engines struct {
	stateDir string
	presence *presence.Registry
}

// Lives reports whether an engine takes part in the run.
func (c engines) Lives() bool { return engine.IsRunning(c.stateDir, c.presence) }

// Running returns the progress of the running steps.
func (c engines) Running() []verbs.RunningStep {
	var steps []verbs.RunningStep
	for _, step := range engine.ReadRunningSteps(c.stateDir) {
		steps = append(steps, verbs.RunningStep{Step: step.Step, Percent: step.Percent, What: step.What, Log: step.Log})
	}
	return steps
}

// stepEngine runs the steps of the plan with the workspace's tools.
type stepEngine struct{ *app }

// Run joins the run.
func (e stepEngine) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	ws, err := e.open(ctx, nil)
	if err != nil {
		return "", err
	}
	box, err := e.box()
	if err != nil {
		return "", err
	}
	defer func() { _ = box.Close() }()
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return "", err
	}
	ws.servers.refreshFor(ctx, state.Plan) // so that the run uses the tools as offered now
	options := engine.Options{Parallel: ws.config.Parallel, Logger: e.logger(), Files: box.Files}
	if !e.flags.ephemeral {
		options.StateDir = ws.place.StateDir
	}
	if o.Agents {
		agents, err := e.configuredAgents(ws.place, ws.config.Agents)
		if err != nil {
			return "", err
		}
		if agents != nil {
			options.Agents, options.Workspace = agents, ws.place.Path
			options.Prompt = func(ctx context.Context, state plan.State, id plan.StepID, o engine.WorkOrder) string {
				step, _ := state.Plan.Steps.Get(id)
				return ws.verbs.WorkPrompt(ctx, state, step, verbs.WorkOrder(o))
			}
		}
	}
	return engine.New(ws.session, box.Tools(), ws.presence, options).Run(ctx, engine.RunOptions{
		Parallel: o.Parallel, Wait: o.Wait, Drain: o.Drain, Begin: o.Begin, Listener: o.Listener, Starts: o.Starts, For: o.For})
}

// configuredAgents returns the agents of the user's configuration, nil if none.
func (a *app) configuredAgents(place workspace.Workspace, section workspace.Section) (*engine.Agents, error) {
	if !section.Given() {
		return nil, nil
	}
	var config engine.AgentConfig
	if err := section.Decode(&config); err != nil {
		return nil, err
	}
	return engine.NewAgents(config, engine.AgentOptions{Workspace: place.Path, Launcher: a.launch(), Logger: a.logger()})
}
