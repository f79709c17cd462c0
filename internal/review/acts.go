package review

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Done is the result of an act.
type Done struct {
	Message  string        `json:"message"`
	Revision plan.Revision `json:"revision"`
}

type act struct {
	name  string
	input func() any // returns a pointer to its input, for decoding
	do    func(ctx context.Context, workspace *Workspace, c verbs.Caller, input any) (string, error)
}

// row returns an act with a typed input.
func row[In any](name string, do func(context.Context, *Workspace, verbs.Caller, In) (string, error)) act {
	return act{name, func() any { return new(In) },
		func(ctx context.Context, workspace *Workspace, c verbs.Caller, input any) (string, error) {
			return do(ctx, workspace, c, *input.(*In))
		}}
}

func acts() []act {
	return []act{
		row("approve", decide(plan.Approved)),
		row("return", decide(plan.Returned)),
		row("reject", decide(plan.Rejected)),
		row("regenerate", regenerate),
		row("answer", answer),
		row("comment", addComment(false)),
		row("ask", addComment(true)),
		row("meet", meet),
		row("edit_step", editStep),
		row("add_step", addStep),
		row("move_step", moveStep),
		row("remove_step", removeStep),
		row("restore_edit", settleEdit(false)),
		row("accept_edit", settleEdit(true)),
		row("approve_step", answerStep(plan.Approve)),
		row("deny_step", answerStep(plan.Deny)),
		row("answer_step", answerStep(plan.Reply)),
		row("retry_step", answerStep(plan.Retry)),
		row("happened_step", answerStep(plan.Happened)),
		row("stop_step", answerStep(plan.Stop)),
		row("keep_step", keepStep),
		row("skip_step", skipStep),
		row("start_run", startRun),
		row("pause_run", pauseRun),
		row("end_run", endRun),
		row("ask_replan", askReplan),
		row("clear_signal", clearSignal),
		row("enter_mode", enterMode),
		row("cancel_mode", cancelMode),
	}
}

// Act carries out an act by name, with its input as JSON. A refusal is a *plan.ValidationError, or a *ForbiddenError if
// the caller lacks permission; nothing is changed then.
func Act(ctx context.Context, workspace *Workspace, c Caller, name string, input []byte) (Done, error) {
	for _, a := range acts() {
		if a.name != name {
			continue
		}
		if err := c.checkPermission(); err != nil {
			return Done{}, err
		}
		into := a.input()
		if err := strict.Decode(input, into, nil); err != nil {
			if bad, is := errors.AsType[*strict.Error](err); is {
				err = bad.Refusal()
			}
			return Done{}, err
		}
		if about, is := into.(ofPlan); is {
			c.Of = about.of()
		}
		if log, err := workspace.Service.LogID(ctx); err != nil || log != c.Log {
			return Done{}, cmp.Or(err, plan.Refuse(plan.Conflict, "", "this page shows another plan", "reload it"))
		}
		message, err := a.do(ctx, workspace, c.Caller, into)
		if err != nil {
			return Done{}, err
		}
		state, err := workspace.Service.State(ctx)
		done := Done{Message: message, Revision: state.Revision}
		workspace.show(&done)
		return done, err
	}
	return Done{}, plan.Refuse(plan.NotFound, "/act", "unknown act "+plan.Quote(name), "reload the page")
}

type ofPlan interface{ of() string } // an input that names its plan

func (c Caller) checkPermission() error {
	refuse := func(problem, fix string, code bool) error {
		return &ForbiddenError{&plan.ValidationError{Kind: plan.Conflict, Problem: problem, Fix: fix}, code}
	}
	switch {
	case c.Actor.Way() == "":
		return refuse("only a person can decide this", "leave it to the user", false)
	case !c.Can.Decide:
		return refuse(cmp.Or(c.Can.Why, "decisions are not possible here"), "decide on a terminal", false)
	case c.Can.Code:
		return refuse("the code from the terminal is required", "enter it first", true)
	}
	return nil
}

// ActNames lists the acts in order.
func ActNames() []string {
	var names []string
	for _, a := range acts() {
		names = append(names, a.name)
	}
	return names
}

// Decide is the input of approve, return, reject and regenerate: a decision about the plan shown.
type Decide struct {
	Request string `json:"request,omitempty"` // "" for a draft that was not submitted
	Digest  string `json:"digest"`            // of the plan shown
	Comment string `json:"comment,omitempty" text:"any"`

	AcceptsEdits bool `json:"accepts_edits,omitempty"` // an approval: the host may edit files without asking

	Comments []StepComment `json:"comments,omitempty"` // on single steps or the whole plan, sent with the decision
	Answers  []Reply       `json:"answers,omitempty"`  // to unanswered questions
}

// Reply answers an unanswered question of a draft.
type Reply struct {
	Question string `json:"question" text:"any"` // its text
	Text     string `json:"text" text:"any"`
}

// StepComment is a comment sent with a decision.
type StepComment struct {
	Step plan.StepID `json:"step,omitzero"` // 0: the whole plan
	Text string      `json:"text" text:"any"`
}

func decide(outcome plan.Outcome) func(context.Context, *Workspace, verbs.Caller, Decide) (string, error) {
	return func(ctx context.Context, workspace *Workspace, c verbs.Caller, in Decide) (string, error) {
		if outcome == plan.Approved {
			if err := workspace.refresh(ctx, func(state plan.State) *plan.Plan { return state.Draft }); err != nil {
				return "", err
			}
		}
		a := plan.DecideDraft{Outcome: outcome, Request: in.Request, Digest: in.Digest, Comment: in.Comment,
			AcceptsEdits: in.AcceptsEdits && outcome == plan.Approved}
		for _, one := range in.Comments {
			a.Comments = append(a.Comments, plan.AddComment{Text: one.Text, Step: one.Step})
		}
		for _, one := range in.Answers {
			a.Answers = append(a.Answers, plan.Answer(one))
		}
		reply, err := workspace.Service.Decide(ctx, c, a)
		return reply.Message, err
	}
}

// UndoneKey is the input of restore_edit and accept_edit.
type UndoneKey struct {
	Key    string `json:"key"`    // "": all
	Digest string `json:"digest"` // of the draft shown
}

func settleEdit(accept bool) func(context.Context, *Workspace, verbs.Caller, UndoneKey) (string, error) {
	return func(ctx context.Context, workspace *Workspace, c verbs.Caller, in UndoneKey) (string, error) {
		reply, err := workspace.Service.SettleUndone(ctx, c, verbs.SettleUndone{Key: in.Key, Digest: in.Digest, Accept: accept})
		return reply.Message, err
	}
}

// regenerate returns the draft with the request for a different plan.
func regenerate(ctx context.Context, workspace *Workspace, c verbs.Caller, in Decide) (string, error) {
	in.Comment = strings.TrimSuffix("Make a different plan: "+strings.TrimSpace(in.Comment), ": ")
	return decide(plan.Returned)(ctx, workspace, c, in)
}

// refresh reloads the definitions of the tools in a plan from their servers, so that an approval covers the current ones.
func (workspace *Workspace) refresh(ctx context.Context, of func(plan.State) *plan.Plan) error {
	state, err := workspace.Service.State(ctx)
	if p := of(state); err == nil && p != nil && workspace.Fresh != nil {
		workspace.Fresh(ctx, p)
	}
	return err
}

// Answer is the input of answer.
type Answer struct {
	ID   string `json:"id"`
	Text string `json:"text" text:"any"`
}

func answer(ctx context.Context, workspace *Workspace, c verbs.Caller, in Answer) (string, error) {
	reply, err := workspace.Service.Answer(ctx, c, in.ID, in.Text)
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
	return func(ctx context.Context, workspace *Workspace, c verbs.Caller, in AddComment) (string, error) {
		reply, err := workspace.Service.Comment(ctx, c, plan.AddComment{
			PlanID: in.Plan, Step: in.Step, Text: in.Text, IsQuestion: question})
		return reply.Message, err
	}
}

// ResolveComment is the input of meet.
type ResolveComment struct {
	ID  string `json:"id"`
	Met bool   `json:"met"`
}

func meet(ctx context.Context, workspace *Workspace, c verbs.Caller, in ResolveComment) (string, error) {
	reply, err := workspace.Service.ResolveComment(ctx, c, in.ID, in.Met)
	return reply.Message, err
}

// askReplan sends agents the requested changes, and pauses the run until a person resumes it.
func askReplan(ctx context.Context, workspace *Workspace, c verbs.Caller, in ReplanRequest) (string, error) {
	message, err := addComment(false)(ctx, workspace, c, AddComment{Plan: in.Plan, Text: in.Text})
	if err != nil {
		return "", err
	}
	state, err := workspace.Service.State(ctx)
	if err != nil || !state.HasActiveRun() {
		return message, err
	}
	paused, err := workspace.Service.PauseRun(ctx, c, "")
	return message + " " + paused.Message, err
}

// ID is the input of clear_signal.
type ID struct {
	ID string `json:"id"`
}

func clearSignal(ctx context.Context, workspace *Workspace, c verbs.Caller, in ID) (string, error) {
	_, err := workspace.Service.Alert(ctx, c, verbs.Alert{ID: in.ID, Clear: true})
	return "The signal is cleared.", err
}

// Task is the input of enter_mode.
type Task struct {
	Task string `json:"task,omitempty" text:"any"`
}

func enterMode(ctx context.Context, workspace *Workspace, c verbs.Caller, in Task) (string, error) {
	_, err := workspace.Service.EnterPlanModeFor(ctx, c, verbs.PlanFor{Task: in.Task})
	return "Planning mode is on. Agents can read and ask, but change nothing until you approve a plan.", err
}

func cancelMode(ctx context.Context, workspace *Workspace, c verbs.Caller, _ Nothing) (string, error) {
	reply, err := workspace.Service.CancelPlanMode(ctx, c)
	return reply.Message, err
}
