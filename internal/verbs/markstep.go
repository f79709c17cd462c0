package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// MarkStatus is a status an agent may give a step (WINK: StepStatus).
type MarkStatus string

// Values lists the statuses in order.
func (MarkStatus) Values() []string { return []string{"pending", "in_progress", "blocked", "done"} }

// MarkStep is the input of MarkStep (WINK: MarkStep).
type MarkStep struct {
	StepID plan.StepID `json:"step_id" jsonschema:"description=such as S001"`
	Status MarkStatus  `json:"status"`
	Note   *string     `json:"note,omitempty" jsonschema:"maxLength=512,description=what you observed"`
}

// MarkStepReply says what the mark led to.
type MarkStepReply struct {
	StepID string `json:"step_id" jsonschema:"description=such as S001"`
	Status string `json:"status"`
	Plan   string `json:"plan,omitempty"` // the plan's status, unless it is active
	Heartbeat
}

// MarkStep changes the status of a step and keeps a note. Starting a step
// claims it.
func (s *Service) MarkStep(ctx context.Context, c Caller, in MarkStep) (MarkStepReply, error) {
	a := plan.MarkStep{Step: in.StepID, Status: plan.StepStatus(in.Status)}
	if in.Note != nil {
		note, err := plan.Text{Field: "/note", Max: plan.MaxNote, ASCII: !s.opts.Unicode, Multiline: true}.Required(*in.Note)
		if err != nil {
			return MarkStepReply{}, err
		}
		a.Note = note
	}
	return s.Mark(ctx, c, a)
}

// Mark is MarkStep for an action that is clean already.
func (s *Service) Mark(ctx context.Context, c Caller, a plan.MarkStep) (MarkStepReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return MarkStepReply{}, err
	}
	p := outcome.After.Plan
	reply := MarkStepReply{StepID: a.Step.String(), Status: string(a.Status), Heartbeat: s.heartbeat(outcome.After, c)}
	if p.Status != plan.StatusActive {
		reply.Plan = string(p.Status)
	}
	return reply, nil
}

// Text is the reply in a line or two.
func (r MarkStepReply) Text() string {
	line := r.StepID + " is " + r.Status
	if r.Plan != "" {
		line += "; the plan is " + r.Plan
	}
	return line + r.ending()
}

// ClaimStep takes over a step in progress, or renews the own claim.
func (s *Service) ClaimStep(ctx context.Context, c Caller, a plan.ClaimStep) (MarkStepReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return MarkStepReply{}, err
	}
	return MarkStepReply{StepID: a.Step.String(), Status: string(plan.InProgress),
		Heartbeat: s.heartbeat(outcome.After, c)}, nil
}
