package verbs

import (
	"context"
	"fmt"

	"github.com/planloop/planloop/plan"
)

// ClearPlan is the input of ClearPlan: no fields (WINK: ClearPlan).
type ClearPlan struct{}

// ClearPlanReply says which plan was abandoned.
type ClearPlanReply struct {
	PlanID    string `json:"plan_id"`
	Status    string `json:"status"`
	Discarded int    `json:"discarded"` // steps
	Heartbeat

	restore string // how a person brings it back
}

// ClearPlan abandons the current plan. A person can restore it.
func (s *Service) ClearPlan(ctx context.Context, c Caller, _ ClearPlan) (ClearPlanReply, error) {
	outcome, err := s.do(ctx, c, plan.Clear{})
	if err != nil {
		return ClearPlanReply{}, err
	}
	before := outcome.Before.Plan
	return ClearPlanReply{PlanID: before.ID, Status: string(outcome.After.Plan.Status), Discarded: before.Steps.Len(),
		Heartbeat: s.heartbeat(outcome.After, c), restore: c.word(Call{Act: ActRestore, ID: before.ID})}, nil
}

// Text is the reply in a line or two.
func (r ClearPlanReply) Text() string {
	return fmt.Sprintf("Plan %s is %s, %d steps discarded; a person can bring it back with `%s`",
		r.PlanID, r.Status, r.Discarded, r.restore) + r.ending()
}
