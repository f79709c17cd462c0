package review

import (
	"context"
	"encoding/json"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// OfPlan names the plan that an act is about, or whose steps it speaks of.
type OfPlan struct {
	Plan string `json:"plan,omitempty"` // id of the plan that was shown: another is refused
}

func (o OfPlan) of() string { return o.Plan }

// AnswerStep is the input of what answers a step: what it asks, or what becomes of it.
type AnswerStep struct {
	OfPlan
	Step   plan.StepID     `json:"step"`
	Digest string          `json:"digest,omitempty"` // of what it asks, as it was shown
	Text   string          `json:"text,omitempty" text:"any"`
	Args   json.RawMessage `json:"args,omitempty"` // in the place of its own: an object, or the text of one
}

// answerStep is an answer with one choice.
func answerStep(choice plan.Choice) func(context.Context, *Sheet, verbs.Caller, AnswerStep) (string, error) {
	return func(ctx context.Context, sheet *Sheet, c verbs.Caller, in AnswerStep) (string, error) {
		if choice == plan.Approve {
			if in.Digest == "" {
				return "", plan.Refuse(plan.InvalidInput, "/digest", "is missing", "say what was shown")
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

func skipStep(ctx context.Context, sheet *Sheet, c verbs.Caller, in SkipStep) (string, error) {
	reply, err := sheet.Service.AnswerStep(ctx, c, verbs.StepAnswer{Step: in.Step, Choice: plan.Skip, Text: in.Reason})
	return reply.Message + ".", err
}

// Nothing is the input of acts that need none.
type Nothing struct{}

func startRun(ctx context.Context, sheet *Sheet, _ verbs.Caller, in OfPlan) (string, error) {
	if sheet.Start == nil {
		return "", plan.Refuse(plan.Conflict, "", "nothing carries out steps here", "run the plan on a terminal, in its project")
	}
	return "The run goes on.", sheet.Start(ctx, in.Plan)
}

func pauseRun(ctx context.Context, sheet *Sheet, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := sheet.Service.PauseRun(ctx, c, "")
	return reply.Message, err
}

func endRun(ctx context.Context, sheet *Sheet, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := sheet.Service.EndRun(ctx, c)
	return reply.Message, err
}
