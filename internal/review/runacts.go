package review

import (
	"context"
	"encoding/json"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// OfPlan names the plan that an act, or the steps in it, refer to.
type OfPlan struct {
	Plan string `json:"plan,omitempty"` // id of the plan shown: the act is refused if another plan is current
}

func (o OfPlan) of() string { return o.Plan }

// AnswerStep is the input of the acts that answer a step's question or settle the step.
type AnswerStep struct {
	OfPlan
	Step   plan.StepID     `json:"step"`
	Digest string          `json:"digest,omitempty"` // of the question shown
	Text   string          `json:"text,omitempty" text:"any"`
	Args   json.RawMessage `json:"args,omitempty"` // replaces its own: an object, or the text of one
}

// answerStep returns an act that answers with one choice.
func answerStep(choice plan.Choice) func(context.Context, *Workspace, verbs.Caller, AnswerStep) (string, error) {
	return func(ctx context.Context, sheet *Workspace, c verbs.Caller, in AnswerStep) (string, error) {
		if choice == plan.Approve {
			if in.Digest == "" {
				return "", plan.Refuse(plan.InvalidInput, "/digest", "is missing", "send the digest of the question shown")
			}
			if err := sheet.refresh(ctx, func(state plan.State) *plan.Plan { return state.Plan }); err != nil {
				return "", err
			}
		}
		reply, err := sheet.Service.AnswerStep(ctx, c, verbs.StepAnswer{Step: in.Step, Choice: choice, Digest: in.Digest, Text: in.Text,
			Args: verbs.Written(in.Args)})
		return reply.Message + ".", err
	}
}

// SkipStep is the input of skip_step.
type SkipStep struct {
	OfPlan
	Step   plan.StepID `json:"step"`
	Reason string      `json:"reason" text:"any"`
}

func skipStep(ctx context.Context, sheet *Workspace, c verbs.Caller, in SkipStep) (string, error) {
	reply, err := sheet.Service.AnswerStep(ctx, c, verbs.StepAnswer{Step: in.Step, Choice: plan.Skip, Text: in.Reason})
	return reply.Message + ".", err
}

// Nothing is the input of acts without fields.
type Nothing struct{}

func startRun(ctx context.Context, sheet *Workspace, _ verbs.Caller, in OfPlan) (string, error) {
	if sheet.Start == nil {
		return "", plan.Refuse(plan.Conflict, "", "steps cannot run here", "run the plan in a terminal, in its project")
	}
	return "The run continues.", sheet.Start(ctx, in.Plan)
}

func pauseRun(ctx context.Context, sheet *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := sheet.Service.PauseRun(ctx, c, "")
	return reply.Message, err
}

func endRun(ctx context.Context, sheet *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := sheet.Service.EndRun(ctx, c)
	return reply.Message, err
}
