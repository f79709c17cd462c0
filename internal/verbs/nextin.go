package verbs

import "github.com/planloop/planloop/plan"

// NextActionIn is NextAction for a state that was read already, so that what is
// shown of a state and what is said about it agree.
func (s *Service) NextActionIn(state plan.State, c Caller) string { return s.nextAction(state, c) }
