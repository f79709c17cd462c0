package review

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// ofDraft says whether an edit is of the draft shown, by its digest, or of the current plan.
type ofDraft struct {
	OfPlan
	Digest string `json:"digest,omitempty"` // of the draft shown; "" for the current plan
}

// EditStep is the input of edit_step. A missing field is unchanged; an empty one is erased.
type EditStep struct {
	ofDraft
	Step   plan.StepID `json:"step"`
	Fields plan.Patch  `json:"fields"`
}

func editStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in EditStep) (string, error) {
	patch, err := plan.CleanPatch("/fields", written(in.Fields))
	if err != nil {
		return "", err
	}
	if in.Digest != "" {
		edit := plan.UpdateStep{Step: in.Step, Patch: patch}
		return edited(workspace.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: edit}))
	}
	reply, err := workspace.Service.EditStep(ctx, c, in.Step, patch)
	return "Changed " + reply.StepID + ".", err
}

// AddStep is the input of add_step.
type AddStep struct {
	ofDraft
	After  *int       `json:"after,omitempty"` // number of the step before it, 0: first; missing: last
	Fields plan.Patch `json:"fields"`
}

func addStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in AddStep) (string, error) {
	patch, err := plan.CleanPatch("/fields", written(in.Fields))
	if err != nil {
		return "", err
	}
	var after *plan.StepID
	if in.After != nil {
		after = new(plan.StepID(*in.After))
	}
	change := plan.AddSteps{Steps: []plan.NewStep{{Spec: patch.Apply(plan.Spec{})}}}
	if in.Digest != "" {
		return edited(workspace.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: change, After: after}))
	}
	reply, err := workspace.Service.AddStepsAfter(ctx, c, change.Steps, after)
	return "Added " + reply.StepIDs + ".", err
}

// MoveStep is the input of move_step.
type MoveStep struct {
	ofDraft
	Step  plan.StepID `json:"step"`
	After int         `json:"after"` // number of the step before it, 0: first
}

func moveStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in MoveStep) (string, error) {
	move := plan.MoveStep{Step: in.Step, After: plan.StepID(in.After)}
	if in.Digest != "" {
		return edited(workspace.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: move}))
	}
	reply, err := workspace.Service.MoveStep(ctx, c, move)
	return reply.Message + ".", err
}

// RemoveStep is the input of remove_step.
type RemoveStep struct {
	ofDraft
	Step   plan.StepID `json:"step"`
	Reason string      `json:"reason,omitempty" text:"any"` // for a step of the current plan, which is skipped, not removed
}

func removeStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in RemoveStep) (string, error) {
	if in.Digest != "" {
		return edited(workspace.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Remove: in.Step}))
	}
	return skipStep(ctx, workspace, c, SkipStep{Step: in.Step, Reason: in.Reason})
}

// written decodes arguments that may be given as the text of an object.
func written(p plan.Patch) plan.Patch {
	if p.Args != nil {
		p.Args = new(runnable.Written(*p.Args))
	}
	return p
}

func edited(reply verbs.DraftEditReply, err error) (string, error) { return reply.Message, err }

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

	WithDependents bool `json:"with_dependents,omitempty"` // with retry_step: ended steps that depend on it are done again, too
}

func answerStep(choice plan.Choice) func(context.Context, *Workspace, verbs.Caller, AnswerStep) (string, error) {
	return func(ctx context.Context, workspace *Workspace, c verbs.Caller, in AnswerStep) (string, error) {
		if choice == plan.Approve {
			if in.Digest == "" {
				return "", plan.Refuse(plan.InvalidInput, "/digest", "is missing", "send the digest of the question shown")
			}
			if err := workspace.refresh(ctx, func(state plan.State) *plan.Plan { return state.Plan }); err != nil {
				return "", err
			}
		}
		reply, err := workspace.Service.AnswerStep(ctx, c, verbs.StepAnswer{Step: in.Step, Choice: choice, Digest: in.Digest, Text: in.Text,
			Args: runnable.Written(in.Args), WithDependents: in.WithDependents})
		return reply.Message + ".", err
	}
}

// SkipStep is the input of skip_step.
type SkipStep struct {
	OfPlan
	Step   plan.StepID `json:"step"`
	Reason string      `json:"reason" text:"any"`
}

func skipStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in SkipStep) (string, error) {
	reply, err := workspace.Service.AnswerStep(ctx, c, verbs.StepAnswer{Step: in.Step, Choice: plan.Skip, Text: in.Reason})
	return reply.Message + ".", err
}

// KeepStep is the input of keep_step.
type KeepStep struct {
	OfPlan
	Step plan.StepID `json:"step"`
}

// keepStep keeps the result of a step that used a value which was replaced.
func keepStep(ctx context.Context, workspace *Workspace, c verbs.Caller, in KeepStep) (string, error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return "", err
	}
	isKept := func(step *plan.Step) bool { return step.ID == in.Step }
	if state.Plan == nil || !slices.ContainsFunc(slices.Collect(state.Plan.Steps.Stale()), isKept) {
		return "", plan.Refuse(plan.Conflict, "/step", in.Step.String()+" does not use a replaced value", "reload the page")
	}
	_, err = workspace.Service.Mark(ctx, c, plan.MarkStep{Step: in.Step, Status: plan.Done})
	return "Kept the result of " + in.Step.String() + ".", err
}

// Nothing is the input of acts without fields.
type Nothing struct{}

func startRun(ctx context.Context, workspace *Workspace, _ verbs.Caller, in OfPlan) (string, error) {
	if workspace.Start == nil {
		return "", plan.Refuse(plan.Conflict, "", "steps cannot run here", "run the plan in a terminal, in its project")
	}
	return "The run continues.", workspace.Start(ctx, in.Plan)
}

func pauseRun(ctx context.Context, workspace *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := workspace.Service.PauseRun(ctx, c, "")
	return reply.Message, err
}

func endRun(ctx context.Context, workspace *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := workspace.Service.EndRun(ctx, c)
	return reply.Message, err
}
