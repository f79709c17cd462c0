package review

import (
	"cmp"
	"context"
	"errors"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Done is the result of an act.
type Done struct {
	Message  string        `json:"message"`
	Revision plan.Revision `json:"revision"`
}

// act is one of the possible acts.
type act struct {
	name  string
	input func() any // returns a pointer to its input, for decoding
	do    func(ctx context.Context, sheet *Workspace, c verbs.Caller, input any) (string, error)
}

// row returns an act with a typed input.
func row[In any](name string, do func(context.Context, *Workspace, verbs.Caller, In) (string, error)) act {
	return act{name, func() any { return new(In) },
		func(ctx context.Context, sheet *Workspace, c verbs.Caller, input any) (string, error) {
			return do(ctx, sheet, c, *input.(*In))
		}}
}

// acts returns all acts.
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
		row("approve_step", answerStep(plan.Approve)),
		row("deny_step", answerStep(plan.Deny)),
		row("answer_step", answerStep(plan.Reply)),
		row("retry_step", answerStep(plan.Retry)),
		row("happened_step", answerStep(plan.Happened)),
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
func Act(ctx context.Context, sheet *Workspace, c Caller, name string, input []byte) (Done, error) {
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
		message, err := a.do(ctx, sheet, c.Caller, into)
		if err != nil {
			return Done{}, err
		}
		state, err := sheet.Service.State(ctx)
		done := Done{Message: message, Revision: state.Revision}
		sheet.show(&done)
		return done, err
	}
	return Done{}, plan.Refuse(plan.NotFound, "/act", "unknown act "+plan.Quote(name), "reload the page")
}

// ofPlan is an input that names its plan.
type ofPlan interface{ of() string }

// checkPermission refuses a caller without permission.
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
