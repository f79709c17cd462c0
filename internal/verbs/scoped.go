package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

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

// assigned returns the next action of a scoped caller.
func (v view) assigned() now {
	scope := v.Actor.Scope
	step := scope.AgentStep(v.state)
	switch {
	case step == nil:
		return now{reason: Ended, message: fmt.Sprintf("The attempt at task %s is over.", scope.Step),
			next: say("Your step has ended: end now.")}
	case step.AgentReport() != nil:
		return now{reason: Ended, message: fmt.Sprintf("Task %s is reported.", step.ID), next: say(step.ID, " is reported: end now.")}
	case v.state.PhaseNow().IsRestricted(): // calls are hidden now, but the agent's final answer still counts
		return now{reason: ReadyForTask, step: step,
			next: say("Do ", step.ID, ", then report it in the last line of your answer and end.")}
	}
	report := Call{Kind: CallUpdate, JSON: fmt.Sprintf(`{"update_tasks":[{"id":%s,"status":"DONE","output":"..."}]}`, step.ID.Number())}
	if _, can := v.Can(report); !can {
		report = mark(step.ID, plan.Done)
	}
	return now{reason: ReadyForTask, step: step, next: say("Do ", step.ID, ", then report it and end: ", report, ".")}
}

// assignedInstructions returns the agent_instructions of a scoped caller.
func assignedInstructions(n now) string {
	if n.reason == Ended {
		return "Planloop started you for one step, and nothing is left to do for it. Change nothing more, and end."
	}
	return "Planloop started you for this step alone. Do it, verify it, and report it as done, failed or blocked with what later steps " +
		"need to know as `output`; then end. Leave the other steps to others."
}
