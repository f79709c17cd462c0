package verbs

import "github.com/planloop/planloop/plan"

// Staff is the agents that are configured, which a run starts for steps: see agents.Agents.
type Staff interface {
	For(suggested string) (name string, ok bool) // the agent for a step
	Starts(name string) int                      // how many starts a run may make of it; 0: any number
}

// agentFor is the agent that a run would start for a step, "" for none.
func (s *Service) agentFor(state plan.State, step *plan.Step) string {
	if s.opts.Staff == nil || !step.ForAgents() {
		return ""
	}
	name, ok := s.opts.Staff.For(step.SuggestedAgent)
	if !ok || !state.Affords(name, s.opts.Staff.Starts(name)) {
		return ""
	}
	return name
}

// starts reports whether the run that is open, which goes on when the caller gives it, starts an agent for a
// step. It starts none for agents.
func (v view) starts(step *plan.Step) bool {
	return v.Actor.Kind != plan.Agent && v.state.OpenRun() != nil && v.agentFor(step) != ""
}
