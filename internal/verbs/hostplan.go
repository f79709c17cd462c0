package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// AdoptHostPlan makes a draft of the list that an agent keeps with its host's own tools, or brings the
// draft up to date that was made of it; see plan.AdoptPlan. It reports whether anything has changed. That
// nothing may is an error, which nobody needs to hear of: the agent has done nothing wrong.
func (s *Service) AdoptHostPlan(ctx context.Context, c Caller, a plan.AdoptPlan) (bool, error) {
	outcome, err := s.do(ctx, c, a)
	return err == nil && outcome.After.Revision > outcome.Before.Revision, err
}
