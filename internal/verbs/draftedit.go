package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// DraftEditReply says what a person's change made of the draft.
type DraftEditReply struct {
	PlanID  string        `json:"plan_id"`
	Digest  string        `json:"digest"` // of the draft as it waits now: what is said next is about that
	Added   []plan.StepID `json:"added,omitempty"`
	Message string        `json:"message"`
	Heartbeat
}

// EditDraft changes the draft that waits for a decision, for a person who looks at it. It is no
// tool: an agent submits again. No gate refuses it.
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

// Text is the reply in a line or two.
func (r DraftEditReply) Text() string { return r.under(r.Message + "\nPlan: " + r.PlanID) }
