package plan

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// IsStale reports whether the step is done with the value of a step that was opened again since.
func (step *Step) IsStale() bool { return step.Status == Done && step.execution().IsStale }

// Stale yields the done steps that used a value which is being replaced, in order.
func (s Steps) Stale() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		if s.stale == 0 {
			return
		}
		for step := range s.All() {
			if step.IsStale() && !yield(step) {
				return
			}
		}
	}
}

// renewals returns what becomes of ended steps when others are opened again: of steps that read their value or end, and
// of steps that run at the end.
func renewals(before, after State, now time.Time) []Event {
	if before.Plan == nil || after.Plan == nil || before.Plan.Root() != after.Plan.Root() {
		return nil
	}
	e, steps, works := StepsRenewed{At: now}, after.Plan.Steps, false
	for step := range steps.ChangedSince(before.Plan.Steps) {
		old, known := before.Plan.Steps.Get(step.ID)
		if !known {
			continue
		}
		works = works || step.Status == InProgress && old.Status != InProgress && !step.Always
		if !old.HasEnded() || step.HasEnded() {
			continue
		}
		for _, id := range steps.find(step.ID).dependents {
			user, _ := steps.Get(id)
			switch ofFailure := old.Status == Failed && user.readsEndOf(step.ID); {
			case user.Loop() != 0 || slices.Contains(e.Steps, id) || slices.Contains(e.Stale, id):
			case ofFailure && (user.Status == Done || user.Status == Failed), user.execution().ConditionFalse && user.usesValueOf(step.ID):
				e.Steps = append(e.Steps, id)
			case user.Status == Done && user.usesValueOf(step.ID) && !user.IsStale():
				e.Stale = append(e.Stale, id)
			}
		}
	}
	if works {
		atEnd := steps.each(func(c *stepChunk) int { return c.closing }, func(slot stepSlot) bool { return slot.step.Always })
		for step := range atEnd {
			if (step.Status == Failed || step.HasSucceeded()) && step.Loop() == 0 && !slices.Contains(e.Steps, step.ID) {
				e.Steps = append(e.Steps, step.ID)
			}
		}
	}
	if len(e.Steps)+len(e.Stale) == 0 {
		return nil
	}
	slices.Sort(e.Steps)
	slices.Sort(e.Stale)
	return []Event{e}
}

func (step *Step) usesValueOf(id StepID) bool { return slices.Contains(step.ReferencedSteps(), id) }

// checkRedo refuses to do a finished step again while finished steps keep its value, or others are using it.
func (a AnswerStep) checkRedo(s State, step *Step) error {
	var users []StepID
	for _, id := range slices.Concat(s.Plan.Steps.find(step.ID).dependents, s.Plan.Steps.find(step.Loop()).dependents) {
		user, ok := s.Plan.Steps.Get(id)
		if !ok || user.Loop() != 0 || !user.usesValueOf(step.ID) && !user.usesValueOf(step.Loop()) {
			continue
		}
		if user.Status == InProgress {
			return conflict(fmt.Sprintf("%s is in progress and uses the value of %s", id, step.ID), "wait for its end")
		} else if user.Status == Done {
			users = append(users, id)
		}
	}
	if len(users) == 0 || a.WithDependents {
		return nil
	}
	return conflict(fmt.Sprintf("%s used the value of %s", IDs(users), step.ID),
		"do them again, too: retry it with its dependents (--with-dependents, or \"with_dependents\": true)")
}

// redo returns the event that does a step again, and with WithDependents the ended steps that depend on it, directly or not.
func (a AnswerStep) redo(steps Steps, step *Step, now time.Time) []Event {
	e := StepsRenewed{At: now}
	if step.IsExpanded() && step.Status == Done {
		e.Steps = append(e.Steps, step.ID)
	}
	seen := map[StepID]bool{step.ID: true, step.Loop(): true}
	for queue := []StepID{step.ID, step.Loop()}; a.WithDependents && len(queue) > 0; queue = queue[1:] {
		for _, id := range steps.find(queue[0]).dependents {
			if user, _ := steps.Get(id); !seen[id] && user.Loop() == 0 {
				seen[id], queue = true, append(queue, id)
				if user.Status == Failed || user.HasSucceeded() {
					e.Steps = append(e.Steps, id)
				}
			}
		}
	}
	if len(e.Steps) == 0 {
		return nil
	}
	slices.Sort(e.Steps)
	return []Event{e}
}

// StepsRenewed makes ended steps pending again, loops with a new list, and marks others as done with a value that is being
// replaced.
type StepsRenewed struct {
	Steps []StepID  `json:"steps,omitempty"`
	Stale []StepID  `json:"stale,omitempty"`
	At    time.Time `json:"at"`
}

func (e StepsRenewed) apply(s State) State {
	return s.withSteps(e.At, func(edit *stepsEdit) {
		change := func(id StepID, f func(*Step)) {
			if old, ok := edit.s.Get(id); ok {
				step := *old
				f(&step)
				edit.replace(&step)
			}
		}
		for _, id := range e.Steps {
			var instances []StepID
			change(id, func(step *Step) {
				instances = step.Instances()
				step.become(StepMarked{Status: Pending, At: e.At})
				if step.Execution != nil {
					step.execute(func(x *Execution) { x.IsExpanded, x.Instances = false, nil })
				}
			})
			for _, instance := range instances {
				change(instance, func(step *Step) { step.become(StepMarked{Status: Cancelled, At: e.At}) })
			}
		}
		for _, id := range e.Stale {
			change(id, func(step *Step) { step.execute(func(x *Execution) { x.IsStale = true }) })
		}
	})
}
