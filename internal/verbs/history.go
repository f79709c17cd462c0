package verbs

import (
	"context"
	"iter"

	"github.com/planloop/planloop/plan"
)

// Restore makes a former plan the current one again; the plan that was current is
// archived.
func (s *Service) Restore(ctx context.Context, c Caller, planID string) (SetupPlanReply, error) {
	outcome, err := s.session.Restore(ctx, c.Actor, planID)
	s.touch(c)
	if err != nil {
		return SetupPlanReply{}, err
	}
	s.seen.know(c, outcome.After)
	p := outcome.After.Plan
	reply := SetupPlanReply{PlanID: p.ID, Status: string(p.Status), Heartbeat: s.heartbeat(outcome.After, c)}
	if n := p.Steps.Len(); n > 0 {
		reply.StepIDs = idRange(p.Steps.At(0).ID, p.Steps.At(n-1).ID)
	}
	if before := outcome.Before.Plan; before != nil && before.ID != p.ID {
		reply.Replaced = before.ID
	}
	return reply, nil
}

// PlanState returns a state whose current plan is the one with that id, current or
// former or the draft, as it was when it last was, for whoever shows it.
func (s *Service) PlanState(ctx context.Context, id string) (plan.State, error) {
	state, err := s.State(ctx)
	if err != nil {
		return plan.State{}, err
	}
	if state.Plan != nil && state.Plan.ID == id && !state.Plan.Cleared() {
		return state, nil
	}
	body, err := s.session.PlanBody(ctx, id)
	if err != nil {
		return plan.State{}, err
	}
	then := plan.State{Revision: state.Revision, UpdatedAt: state.UpdatedAt, Phase: state.Phase, Plan: body}
	if head, ok := state.PastPlan(id); ok {
		then.Revision, then.UpdatedAt = head.Revision, head.ArchivedAt
	}
	return then, nil
}

// Records yields the log after a revision, oldest first.
func (s *Service) Records(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return s.session.Records(ctx, after)
}

// Purge deletes the workspace's whole history. Only a person may ask for it.
func (s *Service) Purge(ctx context.Context, c Caller) error {
	return s.session.Purge(ctx, c.Actor)
}
