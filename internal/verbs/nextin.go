package verbs

import "github.com/planloop/planloop/plan"

// NextActionIn is NextAction for a state that was read already, so that what is
// shown of a state and what is said about it agree.
func (s *Service) NextActionIn(state plan.State, c Caller) string { return s.nextAction(state, c) }

// Lapsed reports whether the claim on a step has passed over: its owner is gone
// or has been silent for a lease, and anybody may go on with the step.
func (s *Service) Lapsed(step *plan.Step) bool { return step.ClaimedBy != "" && s.lapsed(step) }
