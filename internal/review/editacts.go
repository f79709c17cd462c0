package review

import (
	"context"

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

func editStep(ctx context.Context, sheet *Workspace, c verbs.Caller, in EditStep) (string, error) {
	patch, err := plan.CleanPatch("/fields", written(in.Fields))
	if err != nil {
		return "", err
	}
	if in.Digest != "" {
		edit := plan.UpdateStep{Step: in.Step, Patch: patch}
		return edited(sheet.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: edit}))
	}
	reply, err := sheet.Service.EditStep(ctx, c, in.Step, patch)
	return "Changed " + reply.StepID + ".", err
}

// AddStep is the input of add_step.
type AddStep struct {
	ofDraft
	After  *int       `json:"after,omitempty"` // number of the step before it, 0: first; missing: last
	Fields plan.Patch `json:"fields"`
}

func addStep(ctx context.Context, sheet *Workspace, c verbs.Caller, in AddStep) (string, error) {
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
		return edited(sheet.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: change, After: after}))
	}
	reply, err := sheet.Service.AddStepsAfter(ctx, c, change.Steps, after)
	return "Added " + reply.StepIDs + ".", err
}

// MoveStep is the input of move_step.
type MoveStep struct {
	ofDraft
	Step  plan.StepID `json:"step"`
	After int         `json:"after"` // number of the step before it, 0: first
}

func moveStep(ctx context.Context, sheet *Workspace, c verbs.Caller, in MoveStep) (string, error) {
	move := plan.MoveStep{Step: in.Step, After: plan.StepID(in.After)}
	if in.Digest != "" {
		return edited(sheet.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Change: move}))
	}
	reply, err := sheet.Service.MoveStep(ctx, c, move)
	return reply.Message + ".", err
}

// RemoveStep is the input of remove_step.
type RemoveStep struct {
	ofDraft
	Step   plan.StepID `json:"step"`
	Reason string      `json:"reason,omitempty" text:"any"` // for a step of the current plan, which is skipped, not removed
}

func removeStep(ctx context.Context, sheet *Workspace, c verbs.Caller, in RemoveStep) (string, error) {
	if in.Digest != "" {
		return edited(sheet.Service.EditDraft(ctx, c, plan.EditDraft{Digest: in.Digest, Remove: in.Step}))
	}
	return skipStep(ctx, sheet, c, SkipStep{Step: in.Step, Reason: in.Reason})
}

// written decodes arguments that may be given as the text of an object.
func written(p plan.Patch) plan.Patch {
	if p.Args != nil {
		p.Args = new(verbs.Written(*p.Args))
	}
	return p
}

func edited(reply verbs.DraftEditReply, err error) (string, error) { return reply.Message, err }
