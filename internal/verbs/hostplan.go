package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// AdoptHostPlan makes a draft of the list that an agent keeps with its host's own tools, or updates that draft; see
// plan.AdoptPlan. It reports whether anything changed. The error says why nothing may change; the agent need not see
// it, as it did nothing wrong.
func (s *Service) AdoptHostPlan(ctx context.Context, c Caller, a plan.AdoptPlan) (bool, error) {
	outcome, err := s.do(ctx, c, a)
	return err == nil && outcome.After.Revision > outcome.Before.Revision, err
}
