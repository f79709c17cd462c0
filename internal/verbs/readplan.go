package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// ReadPlan is the input of ReadPlan. Without fields the current plan is shown,
// finished steps folded once it is long (WINK: ReadPlan).
type ReadPlan struct {
	Status *resources.Filter `json:"status,omitempty"`
	From   *plan.StepID      `json:"from,omitempty" jsonschema:"description=step to read on from"`
}

// ReadPlanReply is a page of the plan.
type ReadPlanReply struct {
	resources.PageView
	NextAction string `json:"next_action"` // the page tells the progress
}

// ReadPlan shows the current plan, a long one by the page.
func (s *Service) ReadPlan(ctx context.Context, c Caller, in ReadPlan) (ReadPlanReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return ReadPlanReply{}, err
	}
	s.seen.know(c, state)
	if state.Plan == nil {
		return ReadPlanReply{}, &plan.ValidationError{Kind: plan.NotFound, Problem: "there is no plan yet", Fix: "set one up first: " + c.word(Call{Act: ActSetUp})}
	}
	var filter resources.Filter
	if in.Status != nil {
		filter = *in.Status
	}
	var from plan.StepID
	if in.From != nil {
		from = *in.From
	}
	return ReadPlanReply{resources.Page(state.Plan, filter, from), s.NextActionIn(state, c).For(c)}, nil
}

// Text is the page as text.
func (r ReadPlanReply) Text() string {
	return r.PageView.Text() + "\nNext: " + r.NextAction
}
