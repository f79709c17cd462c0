package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// stuck returns the next action if no step is ready and the caller has none to finish: a step to retry, another agent
// or a person to wait for, or a step that waits for one that will never be done.
func (v view) stuck(p *plan.Plan) now {
	for step := range p.Steps.All() {
		if len(p.Steps.UnmetDependencies(step.ID)) > 0 || step.IsExpanded() {
			continue
		}
		switch step.Status {
		case plan.Blocked:
			return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s is marked blocked%s, and nothing else is ready.",
				step.ID, blockedReason(step)),
				next: append(say(step.ID, " ", name(step.Title), " is blocked: resolve that, then "), v.tryAgain(p, step)...)}
		case plan.Failed:
			return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s failed and nothing else is ready.", step.ID),
				next: append(say(step.ID, " ", name(step.Title), " failed: try it again with "), v.tryAgain(p, step)...)}
		}
	}
	if n, ok := v.asksPerson(p); ok {
		return n
	}
	for step := range p.Steps.Running() {
		if !step.IsLooping() && step.ClaimedBy != v.Actor.Name && !v.left(step) && len(p.Steps.UnmetDependencies(step.ID)) == 0 {
			return v.waitFor(step)
		}
	}
	return v.deadlock(p)
}

// blockedReason returns the first line of a blocked step's reason in brackets, "" without a reason.
func blockedReason(step *plan.Step) string {
	if step.Error == "" {
		return ""
	}
	first, _, _ := strings.Cut(step.Error, "\n")
	return " (" + plan.Shorten(first, messageShown) + ")"
}

// waitFor returns the next action while another agent works: only a person can take the step over.
func (v view) waitFor(step *plan.Step) now {
	takeOver := "; a person can run "
	if v.decides() {
		takeOver = "; take it over: "
	}
	return now{reason: WaitingOnAgent, step: step, message: fmt.Sprintf("%s is working on task %s and nothing else is ready.",
		plan.Quote(step.ClaimedBy), step.ID),
		next: say("Wait for ", name(step.ClaimedBy), ", which works on ", step.ID, ": ", Call{Kind: CallWait}, takeOver,
			Call{Kind: CallTakeOver, Step: step.ID}, ".")}
}

// deadlock names a step that waits for one that was skipped, denied or cancelled, and how to reopen that.
func (v view) deadlock(p *plan.Plan) now {
	for step := range p.Steps.All() {
		if step.Status.IsFinished() {
			continue
		}
		for _, id := range p.Steps.UnmetDependencies(step.ID) {
			dep, ok := p.Steps.Get(id)
			switch {
			case !ok || !dep.Status.IsFinished():
			case isUnrecoverable(p, dep, map[plan.StepID]bool{}):
				return v.without(step, dep)
			default:
				return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s waits for %s, which was %s.", step.ID, id,
					dep.Status),
					next: say(step.ID, " waits for ", id, ", which was ", dep.Status, ": ", mark(id, plan.Pending),
						", drop the dependency or skip ", step.ID, ".")}
			}
		}
	}
	return now{reason: Deadlocked, message: "Nothing is ready.", next: say("Read the plan to see what it waits for: ", Call{Kind: CallRead},
		".")}
}

// isUnrecoverable reports whether a finished step cannot be reopened: an expanded loop, a step that a person denied, or one that
// waits for such a step.
func isUnrecoverable(p *plan.Plan, step *plan.Step, seen map[plan.StepID]bool) bool {
	if seen[step.ID] || !step.Status.IsFinished() {
		return false
	}
	seen[step.ID] = true
	return step.IsExpanded() || step.Error == plan.UserDenied || slices.ContainsFunc(p.Steps.UnmetDependencies(step.ID),
		func(id plan.StepID) bool {
			dep, ok := p.Steps.Get(id)
			return ok && isUnrecoverable(p, dep, seen)
		})
}

// without returns the next action for a step with a dependency that will never be done.
func (v view) without(step, dep *plan.Step) now {
	how := string(dep.Status)
	if dep.Error == plan.UserDenied {
		how = "denied"
	}
	waits := fmt.Sprintf("%s waits for %s, which was %s: ", step.ID, dep.ID, how)
	skip := say(waits, "replan, or ", Call{Kind: CallRecover, Step: step.ID, Choice: plan.Skip}, ".")
	switch others := step.ClaimedBy != v.Actor.Name && !v.left(step); {
	case step.Status == plan.InProgress && others:
		return v.waitFor(step)
	case step.Status == plan.InProgress: // a step in progress cannot be skipped
		skip = say(waits, "replan, or leave it: ", mark(step.ID, plan.Pending), ".")
	}
	return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s waits for %s, which was %s.", step.ID, dep.ID, how),
		next: skip}
}
