package verbs

import (
	"context"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Caller is the caller of a verb and its form of calls.
type Caller struct {
	Actor plan.Actor
	Face  Face
	Of    string // id of the plan that the caller means; "": the plan it saw last

	Yield    func()                           // called before a long wait, so that the caller's next call can start; may be nil
	Progress func(done, all int, what string) // receives the progress of a long call; may be nil
	// Background runs a function that may outlive the call, until its context ends. Nil: not supported.
	Background func(func(context.Context))

	wrong *plan.ValidationError // errors in the form of the input; the rest is still checked, but nothing is changed
}

func (c Caller) yield() {
	if c.Yield != nil {
		c.Yield()
	}
}

func (c Caller) progress(done, all int, what string) {
	if c.Progress != nil {
		c.Progress(done, all, what)
	}
}

func (c Caller) word(call Call) string {
	text, _ := c.Can(call)
	return text
}

// Can writes a call in the caller's form, and reports whether the caller can make it.
func (c Caller) Can(call Call) (text string, can bool) {
	if c.Face == nil {
		return strings.ReplaceAll(string(call.Kind), "_", " "), false
	}
	return c.Face.Word(call)
}

func (c Caller) brief() bool { return c.Face == nil || c.Face.Brief() }

// decides reports whether the caller is a person at a terminal or page and may decide.
func (c Caller) decides() bool { return c.Actor.IsPresent() }

// scoped reports whether planloop started the caller for one attempt of one step. Such an agent sees only that step,
// and is then told to end.
func (c Caller) scoped() bool { return c.Actor.Scope != (plan.Attempt{}) }

// beyond refuses a scoped caller calls that are judged before they are decided, or that change nothing. Instructions
// for a correct call would not help it.
func (c Caller) beyond() error {
	if !c.scoped() {
		return nil
	}
	return c.Actor.Scope.OutOfScopeError()
}

// taskOf returns the current task for its caller; a scoped caller's claim belongs to its engine, so it is hidden.
func (c Caller) taskOf(p *plan.Plan, step *plan.Step) Task {
	t := currentTask(p, step)
	if c.scoped() {
		t.ClaimedBy = ""
	}
	return t
}
