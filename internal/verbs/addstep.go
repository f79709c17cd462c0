package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// AddStep is the input of AddStep (WINK: AddStep).
type AddStep struct {
	Steps []NewStep `json:"steps" jsonschema:"minItems=1"`
}

// AddStepReply says which steps were added.
type AddStepReply struct {
	StepIDs string `json:"step_ids"`
	Heartbeat
}

// AddStep appends steps to the active plan.
func (s *Service) AddStep(ctx context.Context, c Caller, in AddStep) (AddStepReply, error) {
	if len(in.Steps) == 0 {
		return AddStepReply{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/steps",
			Problem: "is empty", Fix: "give at least one step"}
	}
	steps, err := s.newSteps("/steps", in.Steps)
	if err != nil {
		return AddStepReply{}, err
	}
	return s.AddSteps(ctx, c, steps)
}

// AddSteps is AddStep for steps that are clean already.
func (s *Service) AddSteps(ctx context.Context, c Caller, steps []plan.NewStep) (AddStepReply, error) {
	if s.opts.GateAll {
		state, err := s.State(ctx)
		if err != nil {
			return AddStepReply{}, err
		}
		if err := s.checkSix(ctx, c, state, steps); err != nil {
			return AddStepReply{}, err
		}
	}
	outcome, err := s.do(ctx, c, plan.AddSteps{Steps: steps})
	if err != nil {
		return AddStepReply{}, err
	}
	before, after := outcome.Before.Plan, outcome.After.Plan
	return AddStepReply{
		StepIDs:   idRange(before.Steps.Highest()+1, after.Steps.Highest()),
		Heartbeat: s.heartbeat(outcome.After, c),
	}, nil
}

// Text is the reply in a line or two.
func (r AddStepReply) Text() string {
	return "Added " + r.StepIDs + r.ending()
}
