package verbs

import (
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Agents is the configured agents that a run starts for steps: see agents.Agents.
type Agents interface {
	For(suggested string) (name string, ok bool) // the agent for a step
	Starts(name string) int                      // the most starts in a run; 0: unlimited
	Program(name string) string                  // its program, for people
	Check(name string) error                     // why it cannot be started here
	Unset(name string) []string                  // variables configured for it that have no value
}

// checkAgents returns an error if an agent for the rest of the plan cannot be started, and warnings about unset variables.
func (s *Service) checkAgents(state plan.State) (warnings []string, err error) {
	var seen []string
	for step := range state.Plan.Steps.All() {
		name := s.agentFor(state, step)
		if name == "" || step.Status.IsFinished() || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		if err := s.opts.Agents.Check(name); err != nil {
			return nil, err
		}
		if unset := s.opts.Agents.Unset(name); len(unset) > 0 {
			warnings = append(warnings, "the agent "+plan.Quote(name)+" needs "+strings.Join(unset, ", ")+
				", not set in the environment")
		}
	}
	return warnings, nil
}

// agentFor returns the agent that a run would start for a step, "" if none.
func (s *Service) agentFor(state plan.State, step *plan.Step) string {
	if s.opts.Agents == nil || !step.IsForAgents() {
		return ""
	}
	name, ok := s.opts.Agents.For(step.SuggestedAgent)
	if !ok || !state.MayStartAgent(name, s.opts.Agents.Starts(name)) {
		return ""
	}
	return name
}

// startsAgent reports whether the caller's run starts an agent for a step. An agent's run starts none.
func (v view) startsAgent(step *plan.Step) bool {
	return v.Actor.Kind != plan.Agent && v.agentFor(v.state, step) != ""
}

// hasRunnableSteps reports whether the caller's run would carry out any unfinished step.
func (v view) hasRunnableSteps() bool {
	for step := range v.state.Plan.Steps.All() {
		if !step.Status.IsFinished() && (step.Tool != "" || step.ForEach != "" || v.startsAgent(step)) {
			return true
		}
	}
	return false
}

// unknownAgent returns a step's suggested agent if agents are configured but none of that name; else "".
func (s *Service) unknownAgent(step *plan.Step) string {
	wanted := strings.TrimSpace(step.SuggestedAgent)
	if s.opts.Agents == nil || !step.IsForAgents() || wanted == "" || strings.EqualFold(wanted, "any") {
		return ""
	}
	if name, ok := s.opts.Agents.For(wanted); ok && strings.EqualFold(name, wanted) {
		return ""
	}
	return wanted
}

// HasRunnableSteps reports whether a run would carry out any step of the current plan.
func (s *Service) HasRunnableSteps(state plan.State) bool {
	return state.Plan != nil && s.view(state, Caller{}, Rules{}).hasRunnableSteps()
}
