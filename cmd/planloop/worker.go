package main

import (
	"cmp"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/plan"
)

// worker reports whether this process is of an agent that planloop run has started for a step: its environment
// says so, or it descends from that agent. An HTTP server answers for its own process alone: whoever connects to
// one that was not started there is an agent like any other.
func (a *app) worker() (engine.Worker, bool) {
	stateDir := ""
	if a.opened != nil && !a.flags.ephemeral {
		stateDir = a.opened.place.StateDir
	}
	return engine.WorkerOf(stateDir, cmp.Or(a.getenv(engine.EnvRun), a.runAbove()), a.chain)
}

// runAbove is what the environment of a process above the first one says of the attempt it was started for: an
// agent can take that out of its own environment, not out of its keeper's.
func runAbove(chain []lineage.Process) string {
	for i, p := range chain {
		if value := p.Variable(engine.EnvRun); value != "" && i > 0 {
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
