package review

import (
	"context"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Answer is the input of answer.
type Answer struct {
	ID   string `json:"id"`
	Text string `json:"text" text:"any"`
}

func answer(ctx context.Context, sheet *Workspace, c verbs.Caller, in Answer) (string, error) {
	reply, err := sheet.Service.Answer(ctx, c, in.ID, in.Text)
	return reply.Message, err
}

// ReplanRequest is the input of ask_replan.
type ReplanRequest struct {
	OfPlan
	Text string `json:"text" text:"any"`
}

// AddComment is the input of comment and of ask.
type AddComment struct {
	Plan string      `json:"plan,omitempty"` // id of the plan or draft shown; "": the waiting draft, else the current plan
	Step plan.StepID `json:"step,omitzero"`  // 0: the whole plan
	Text string      `json:"text" text:"any"`
}

// addComment returns an act that sends agents a comment, or a question.
func addComment(question bool) func(context.Context, *Workspace, verbs.Caller, AddComment) (string, error) {
	return func(ctx context.Context, sheet *Workspace, c verbs.Caller, in AddComment) (string, error) {
		reply, err := sheet.Service.Comment(ctx, c, plan.AddComment{PlanID: in.Plan, Step: in.Step, Text: in.Text, IsQuestion: question})
		return reply.Message, err
	}
}

// ResolveComment is the input of meet.
type ResolveComment struct {
	ID  string `json:"id"`
	Met bool   `json:"met"`
}

func meet(ctx context.Context, sheet *Workspace, c verbs.Caller, in ResolveComment) (string, error) {
	reply, err := sheet.Service.ResolveComment(ctx, c, in.ID, in.Met)
	return reply.Message, err
}

// askReplan sends agents the requested changes, and pauses the run until a person resumes it.
func askReplan(ctx context.Context, sheet *Workspace, c verbs.Caller, in ReplanRequest) (string, error) {
	message, err := addComment(false)(ctx, sheet, c, AddComment{Plan: in.Plan, Text: in.Text})
	if err != nil {
		return "", err
	}
	state, err := sheet.Service.State(ctx)
	if err != nil || !state.HasActiveRun() {
		return message, err
	}
	paused, err := sheet.Service.PauseRun(ctx, c, "")
	return message + " " + paused.Message, err
}

// ID is the input of clear_signal.
type ID struct {
	ID string `json:"id"`
}

func clearSignal(ctx context.Context, sheet *Workspace, c verbs.Caller, in ID) (string, error) {
	_, err := sheet.Service.Alert(ctx, c, verbs.Alert{ID: in.ID, Clear: true})
	return "The signal is cleared.", err
}

// Task is the input of enter_mode.
type Task struct {
	Task string `json:"task,omitempty" text:"any"`
}

func enterMode(ctx context.Context, sheet *Workspace, c verbs.Caller, in Task) (string, error) {
	_, err := sheet.Service.EnterPlanModeFor(ctx, c, in.Task)
	return "Planning mode is on. Agents can read and ask, but change nothing until you approve a plan.", err
}

func cancelMode(ctx context.Context, sheet *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := sheet.Service.CancelPlanMode(ctx, c)
	return reply.Message, err
}
