package verbs

import (
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Staff is the agents that are configured, which a run starts for steps: see agents.Agents.
type Staff interface {
	For(suggested string) (name string, ok bool) // the agent for a step
	Starts(name string) int                      // how many starts a run may make of it; 0: any number
	Program(name string) string                  // what is started, for people
	Check(name string) error                     // why it cannot be started here
	Unset(name string) []string                  // variables that it is to be given, and that have no value
}

// checkStaff returns why an agent that the rest of a plan is for cannot be started, and what it will go without.
func (s *Service) checkStaff(state plan.State) (warnings []string, err error) {
	var seen []string
	for step := range state.Plan.Steps.All() {
		name := s.agentFor(state, step)
		if name == "" || step.Status.Finished() || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		if err := s.opts.Staff.Check(name); err != nil {
			return nil, err
		}
		if unset := s.opts.Staff.Unset(name); len(unset) > 0 {
			warnings = append(warnings, "the agent "+plan.Quote(name)+" is to be given "+strings.Join(unset, ", ")+
				", which the environment does not set")
		}
	}
	return warnings, nil
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

// starts reports whether a run of the caller starts an agent for a step. It starts none for agents.
func (v view) starts(step *plan.Step) bool {
	return v.Actor.Kind != plan.Agent && v.agentFor(step) != ""
}

// carriesOut reports whether a run of the caller does something of the plan that is left to be done.
func (v view) carriesOut() bool {
	for step := range v.state.Plan.Steps.All() {
		if !step.Status.Finished() && (step.Tool != "" || step.ForEach != "" || v.starts(step)) {
			return true
		}
	}
	return false
}

// missedAgent is the agent that a step suggests, where agents are configured and none of that name is; else "".
func (s *Service) missedAgent(step *plan.Step) string {
	wanted := strings.TrimSpace(step.SuggestedAgent)
	if s.opts.Staff == nil || !step.ForAgents() || wanted == "" || strings.EqualFold(wanted, "any") {
		return ""
	}
	if name, ok := s.opts.Staff.For(wanted); ok && strings.EqualFold(name, wanted) {
		return ""
	}
	return wanted
}
