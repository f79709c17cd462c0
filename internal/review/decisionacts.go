package review

import (
	"context"
	"strings"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Decide is the input of approve, return, reject and regenerate: a decision about the plan shown.
type Decide struct {
	Request string `json:"request,omitempty"` // "" for a draft that was not submitted
	Digest  string `json:"digest"`            // of the plan shown
	Comment string `json:"comment,omitempty" text:"any"`

	Comments []StepComment `json:"comments,omitempty"` // on single steps or the whole plan, sent with the decision
}

// StepComment is a comment sent with a decision.
type StepComment struct {
	Step plan.StepID `json:"step,omitzero"` // 0: the whole plan
	Text string      `json:"text" text:"any"`
}

// decide returns an act that decides about the draft.
func decide(outcome plan.Outcome) func(context.Context, *Workspace, verbs.Caller, Decide) (string, error) {
	return func(ctx context.Context, sheet *Workspace, c verbs.Caller, in Decide) (string, error) {
		if outcome == plan.Approved {
			if err := sheet.refresh(ctx, func(state plan.State) *plan.Plan { return state.Draft }); err != nil {
				return "", err
			}
		}
		a := plan.DecideDraft{Outcome: outcome, Request: in.Request, Digest: in.Digest, Comment: in.Comment}
		for _, one := range in.Comments {
			a.Comments = append(a.Comments, plan.AddComment{Text: one.Text, Step: one.Step})
		}
		reply, err := sheet.Service.Decide(ctx, c, a)
		return reply.Message, err
	}
}

// regenerate returns the draft with the request for a different plan.
func regenerate(ctx context.Context, sheet *Workspace, c verbs.Caller, in Decide) (string, error) {
	in.Comment = strings.TrimSuffix("Make a different plan: "+strings.TrimSpace(in.Comment), ": ")
	return decide(plan.Returned)(ctx, sheet, c, in)
}

// refresh reloads the definitions of the tools in a plan from their servers, so that an approval covers the current ones.
func (sheet *Workspace) refresh(ctx context.Context, of func(plan.State) *plan.Plan) error {
	state, err := sheet.Service.State(ctx)
	if p := of(state); err == nil && p != nil && sheet.Fresh != nil {
		sheet.Fresh(ctx, p)
	}
	return err
}
