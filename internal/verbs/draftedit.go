package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// DraftEditReply reports the draft after a person's change.
type DraftEditReply struct {
	PlanID  string        `json:"plan_id"`
	Digest  string        `json:"digest"` // of the changed draft: later decisions refer to it
	Added   []plan.StepID `json:"added,omitempty"`
	Message string        `json:"message"`
	Heartbeat
}

// EditDraft changes the waiting draft for its reviewer. It is not a tool: an agent submits again instead. No
// gate refuses it.
func (s *Service) EditDraft(ctx context.Context, c Caller, a plan.EditDraft) (DraftEditReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return DraftEditReply{}, err
	}
	draft := outcome.After.Draft
	reply := DraftEditReply{PlanID: draft.ID, Digest: plan.Digest(draft), Message: "Nothing was changed: the draft is so already.",
		Heartbeat: s.heartbeat(outcome.After, c)}
	for _, e := range outcome.Events {
		edited, is := e.(plan.DraftEdited)
		if !is {
			continue
		}
		if edited.Added != nil {
			for _, step := range edited.Added.Steps {
				reply.Added = append(reply.Added, step.ID)
			}
		}
		reply.Message = "The draft is changed (" + plan.EditsOf(edited).String() + "), and waits for a decision as it is now."
	}
	return reply, nil
}

// Text returns the reply in a line or two.
func (r DraftEditReply) Text() string { return r.under(r.Message + "\nPlan: " + r.PlanID) }
