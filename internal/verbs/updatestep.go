package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// UpdateStep is the input of UpdateStep (WINK: UpdateStep).
type UpdateStep struct {
	StepID  plan.StepID `json:"step_id" jsonschema:"description=such as S001"`
	Title   *string     `json:"title,omitempty" jsonschema:"maxLength=160"`
	Details *string     `json:"details,omitempty" jsonschema:"maxLength=512"`
}

// UpdateStepReply says what the step is now.
type UpdateStepReply struct {
	StepID string `json:"step_id" jsonschema:"description=such as S001"`
	Title  string `json:"title"`
	Heartbeat
}

// UpdateStep edits title or details of a step. Blank details count as not
// given, so that they cannot erase by accident.
func (s *Service) UpdateStep(ctx context.Context, c Caller, in UpdateStep) (UpdateStepReply, error) {
	var patch plan.Patch
	if in.Title != nil {
		title, err := s.title("/title", *in.Title)
		if err != nil {
			return UpdateStepReply{}, err
		}
		patch.Title = &title
	}
	details, err := s.details("/details", in.Details)
	if err != nil {
		return UpdateStepReply{}, err
	}
	if details != "" {
		patch.Details = &details
	}
	return s.EditStep(ctx, c, in.StepID, patch)
}

// EditStep is UpdateStep for a patch that is clean already.
func (s *Service) EditStep(ctx context.Context, c Caller, id plan.StepID, patch plan.Patch) (UpdateStepReply, error) {
	if patch.IsZero() {
		return UpdateStepReply{}, &plan.ValidationError{Kind: plan.InvalidInput,
			Problem: "nothing to update", Fix: "give a new title or new details"}
	}
	outcome, err := s.do(ctx, c, plan.UpdateStep{Step: id, Patch: patch})
	if err != nil {
		return UpdateStepReply{}, err
	}
	step, _ := outcome.After.Plan.Steps.Get(id)
	return UpdateStepReply{StepID: id.String(), Title: plan.Shorten(step.Title, titleShown),
		Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// Text is the reply in a line or two.
func (r UpdateStepReply) Text() string {
	return "Updated " + r.StepID + " " + plan.Quote(r.Title) + r.ending()
}
