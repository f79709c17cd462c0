package verbs

import (
	"context"
	"strings"

	"github.com/planloop/planloop/plan"
)

// EnterPlanMode is the input of EnterPlanMode (chorus: enter_plan_mode).
type EnterPlanMode struct {
	Reason string `json:"reason"`
}

// ModeReply says where planning mode stands.
type ModeReply struct {
	Phase   plan.Phase `json:"phase"`
	Message string     `json:"message"`
	Heartbeat
}

// EnterPlanMode begins planning mode on an agent's behalf: from then on nothing is
// changed until a person approves a plan.
func (s *Service) EnterPlanMode(ctx context.Context, c Caller, in EnterPlanMode) (ModeReply, error) {
	reason, err := plan.Text{Field: "/reason", Max: plan.MaxLongLine}.Required(in.Reason)
	if err != nil {
		return ModeReply{}, err
	}
	return s.enter(ctx, c, plan.EnterMode{Reason: reason})
}

// PlanFor begins planning mode for a task, on behalf of a person who asks for it.
func (s *Service) PlanFor(ctx context.Context, c Caller, task string) (ModeReply, error) {
	task, err := plan.Text{Field: "/task", Max: plan.MaxLongLine}.Clean(task)
	if err != nil {
		return ModeReply{}, err
	}
	return s.enter(ctx, c, plan.EnterMode{Task: task})
}

func (s *Service) enter(ctx context.Context, c Caller, a plan.EnterMode) (ModeReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return ModeReply{}, err
	}
	reply := s.modeReply(outcome.After, c)
	if outcome.Before.Revision == outcome.After.Revision {
		reply.Message = "Already in planning mode. " + reply.Message
		return reply, nil
	}
	rest := "Tools are now restricted to read-only. Gather context, then submit a plan when ready: " + c.word(Call{Act: ActSubmit}) + "."
	if c.brief() { // in chorus's words
		rest = "Tools are now restricted to read-only. Gather context, then call " + c.word(Call{Act: ActSubmit}) + "() when ready."
	}
	if a.Reason != "" {
		reply.Message = "Entered planning mode. Reason: " + strings.TrimSuffix(a.Reason, ".") + ". " + rest
		s.notify(Notice{Event: "mode_entered", Title: "An agent plans before it acts",
			Text: "I'd like to plan this out before proceeding. Reason: " + a.Reason})
	} else {
		s.notify(Notice{Event: "mode_entered", Title: "Planning mode is on", Text: a.Task})
		reply.Message = "Entered planning mode. " + rest
	}
	return reply, nil
}

// PlanModeStatus says where planning mode stands.
func (s *Service) PlanModeStatus(ctx context.Context, c Caller) (ModeReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return ModeReply{}, err
	}
	s.seen.know(c, state)
	return s.modeReply(state, c), nil
}

func (s *Service) modeReply(state plan.State, c Caller) ModeReply {
	return ModeReply{Phase: state.PhaseNow(), Message: modeMessage(state), Heartbeat: s.heartbeat(state, c)}
}

// modeMessage says in a sentence or two where planning mode stands.
func modeMessage(state plan.State) string {
	mode := state.ModeNow()
	switch state.PhaseNow() {
	case plan.PhaseGathering:
		text := "Planning mode is gathering: " + mode.By + " looks and asks, and nothing is changed."
		if about := mode.Task + mode.Reason; about != "" {
			text += " It is about " + plan.Quote(about) + "."
		}
		return text + decided(mode.Decision)
	case plan.PhaseSubmitted:
		return "A plan is submitted and waits for a person's decision: " + plan.Quote(state.Draft.Objective) + " with " + steps(state.Draft) + "."
	case plan.PhaseExecuting:
		return "An approved plan is being carried out: " + plan.Quote(state.Plan.Objective) + " (" + progress(state.Plan) + ")." + decided(mode.Decision)
	}
	return "Planning mode is off." + decided(mode.Decision)
}

// CancelPlanMode leaves planning mode without a plan. Only a person may.
func (s *Service) CancelPlanMode(ctx context.Context, c Caller) (ModeReply, error) {
	outcome, err := s.do(ctx, c, plan.CancelMode{})
	if err != nil {
		return ModeReply{}, err
	}
	return s.modeReply(outcome.After, c), nil
}

// Text is the reply in a line or two.
func (r ModeReply) Text() string { return r.Message + "\nNext: " + r.NextAction }
