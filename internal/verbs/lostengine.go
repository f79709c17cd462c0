package verbs

import (
	"context"
	"errors"

	"github.com/planloop/planloop/plan"
)

// errLostEngine refuses an action until the steps of dead engines are settled.
var errLostEngine = errors.New("the engine of a running step has died")

// hasLostStep reports whether the engine of a running step has died.
func (s *Service) hasLostStep(state plan.State) bool {
	return s.opts.Engines != nil && plan.Exists(currentSteps(state).Executing(), s.engineGone)
}

// settleLost returns the state after the steps of dead engines are settled: pending if they are safe to repeat, else unknown. A step
// whose processes cannot be ended stays as it is.
func (s *Service) settleLost(ctx context.Context, state plan.State) plan.State {
	if !s.hasLostStep(state) || s.opts.Engines.SettleLost(ctx) != nil {
		return state
	}
	if after, err := s.session.State(ctx); err == nil {
		return after
	}
	return state
}
