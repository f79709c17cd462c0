package plan

import (
	"iter"
	"slices"
	"time"
)

// readySteps yields the steps that wait for nothing; closing: of those that run at the end, which then wait only for
// each other.
func (s Steps) readySteps(closing bool) iter.Seq[*Step] {
	if !closing {
		return s.Ready()
	}
	waits := func(id StepID) bool { dep, ok := s.Get(id); return ok && dep.Always && !dep.HasEnded() }
	return s.each(func(c *stepChunk) int { return c.closing }, func(slot stepSlot) bool {
		return slot.step.Always && slot.step.Status == Pending && !slices.ContainsFunc(slot.step.DependsOn, waits)
	})
}

// reactsToFailure reports whether the step's condition reads the end of a step that failed: it cleans up after it.
func (s Steps) reactsToFailure(step *Step) bool {
	return step.When != "" && slices.ContainsFunc(step.DependsOn, func(id StepID) bool {
		dep, ok := s.Get(id)
		return ok && dep.Status == Failed && step.readsEndOf(id)
	})
}

// mayStart reports whether a step may start once it waits for nothing. closing: no other step can start any more.
func (s State) mayStart(step *Step, closing bool) bool {
	switch run := s.OpenRun(); {
	case step.Always || closing:
		return step.Always && closing
	case run != nil && run.Ending != "":
		return false
	}
	return s.Plan.Status == StatusActive || s.Plan.Steps.reactsToFailure(step)
}

// ReadySteps yields the steps that wait for nothing and may start now, in order, also those for agents.
func ReadySteps(s State) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		if s.Plan == nil {
			return
		}
		closing := s.isClosing()
		for step := range s.Plan.Steps.readySteps(closing) {
			if s.mayStart(step, closing) && !yield(step) {
				return
			}
		}
	}
}

// isClosing reports whether only the steps that run at the end are left to start: the others have ended, or cannot start.
func (s State) isClosing() bool {
	isOrdinary := func(step *Step) bool { return !step.Always }
	return s.Plan.Steps.closingOpen > 0 && !Exists(s.Plan.Steps.Executing(), isOrdinary) && s.findObstacle(nil, false) == s.outcome()
}

// checkDue refuses to begin a step that runs at the end before the others have ended.
func (s State) checkDue(step *Step, to StepStatus) error {
	if !step.Always || to != InProgress && to != Done || step.Status == to || s.isClosing() {
		return nil
	}
	return conflict(step.ID.String()+" runs at the end, when no other step can start", "finish the other steps first")
}

// checkOrder refuses a dependency on a step that runs at the end, except for another such step.
func (s Spec) checkOrder(field string, dep *Step) error {
	if !dep.Always || s.Always {
		return nil
	}
	return Refuse(InvalidInput, field, dep.ID.String()+" runs at the end, so no other step can wait for it",
		"drop the dependency, or let both run at the end with always")
}

// checkOrder refuses an edit after which a step would wait for one that runs at the end.
func (a UpdateStep) checkOrder(steps Steps, step *Step) error {
	edited := *step
	edited.Spec = a.Patch.Apply(step.Spec)
	for _, id := range edited.DependsOn {
		if dep, ok := steps.Get(id); ok {
			if err := edited.checkOrder("/depends_on", dep); err != nil {
				return err
			}
		}
	}
	for _, id := range steps.Dependents(step.ID) {
		if user, ok := steps.Get(id); ok && user.checkOrder("", &edited) != nil {
			return conflict(id.String()+" waits for "+step.ID.String()+", which would run at the end", "remove that dependency first")
		}
	}
	return nil
}

// IsCleanup reports whether a step is left that runs although the plan has failed or its run is given up.
func (s Steps) IsCleanup(step *Step) bool {
	return !step.HasEnded() && (step.Always || s.reactsToFailure(step))
}

// HasCleanup reports whether the plan has steps left that run although it has failed or its run is given up.
func HasCleanup(s State) bool {
	p := s.Plan
	switch {
	case p == nil || p.IsCleared() || p.Status == StatusDraft:
		return false
	case p.Steps.closingOpen > 0:
		return true
	case p.Status != StatusReplanning && p.Status != StatusFailed:
		return false
	}
	return Exists(p.Steps.Unfinished(), p.Steps.IsCleanup)
}

// end returns the event that gives up the run, after the steps that run at its end.
func (s State) end(f Facts) Event {
	if s.OpenRun().Ending == "" && s.Plan.Steps.closingOpen > 0 {
		return RunEnding{Reason: StopCancelled, By: f.Actor.Name, At: f.Now}
	}
	return RunEnded{Reason: StopCancelled, At: f.Now}
}

// RunEnding lets the run end for that reason after the steps that run at its end. No others start.
type RunEnding struct {
	Reason StopReason `json:"reason"`
	By     string     `json:"by"`
	At     time.Time  `json:"at"`
}

func (e RunEnding) apply(s State) State {
	return s.withRun(func(r *Run) {
		r.IsPaused, r.PausedByPerson, r.Reason, r.Note, r.Ending = false, false, "", "", e.Reason
	})
}
