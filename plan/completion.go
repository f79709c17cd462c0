package plan

import "time"

// consequences returns what a mark means for the plan as a whole.
func consequences(p *Plan, step *Step, e StepMarked, f Facts) []Event {
	if e.Status == Failed && step.Critical && p.Status != StatusReplanning {
		if p.Version > f.Limits.MaxReplans {
			return []Event{PlanFailedForGood{Step: step.ID, At: f.Now}}
		}
		return []Event{PlanNeedsReplan{Step: step.ID, At: f.Now}}
	}
	after := p.Steps.tally().moved(step.Status, e.Status)
	if p.Status == StatusReplanning && step.Critical && step.Status == Failed && e.Status != Failed && !otherCriticalFailure(p, step) {
		reopened := PlanReopened{At: f.Now} // it is tried again, or given up
		return append([]Event{reopened}, completion(StatusActive, after, f.Now)...)
	}
	return completion(p.Status, after, f.Now)
}

// otherCriticalFailure reports whether a critical step besides this one has failed.
func otherCriticalFailure(p *Plan, besides *Step) bool {
	if p.Steps.Count(Failed) < 2 {
		return false
	}
	for step := range p.Steps.All() {
		if step.Status == Failed && step.Critical && step.ID != besides.ID {
			return true
		}
	}
	return false
}

// tally is what decides whether a plan is complete.
type tally struct{ total, finished, done int }

func (s Steps) tally() tally { return tally{s.Len(), s.Finished(), s.Count(Done)} }

// moved is the tally after one step went from a status to another.
func (t tally) moved(from, to StepStatus) tally {
	for by, status := range map[int]StepStatus{-1: from, +1: to} {
		if status.Finished() {
			t.finished += by
		}
		if status == Done {
			t.done += by
		}
	}
	return t
}

// completion judges over all steps whether a plan of that status completes, is
// abandoned or opens again. A plan without steps stays as it is.
func completion(status PlanStatus, steps tally, now time.Time) []Event {
	open := steps.finished < steps.total
	switch {
	case steps.total == 0:
		return nil
	case open && (status == StatusCompleted || status == StatusAbandoned):
		return []Event{PlanReopened{At: now}}
	case open || status == StatusReplanning || status == StatusFailed:
		return nil
	case steps.done > 0 && status != StatusCompleted:
		return []Event{PlanCompleted{At: now}}
	case steps.done == 0 && status != StatusAbandoned:
		return []Event{PlanAbandonedByItself{At: now}}
	}
	return nil
}

// PlanCompleted says that nothing is left to do and something was done.
type PlanCompleted struct {
	At time.Time `json:"at"`
}

func (e PlanCompleted) apply(s State) State { return s.withStatus(StatusCompleted, e.At) }

// PlanAbandonedByItself says that all steps were skipped or cancelled.
type PlanAbandonedByItself struct {
	At time.Time `json:"at"`
}

func (e PlanAbandonedByItself) apply(s State) State { return s.withStatus(StatusAbandoned, e.At) }

// PlanReopened says that a completed plan has something to do again.
type PlanReopened struct {
	At time.Time `json:"at"`
}

func (e PlanReopened) apply(s State) State { return s.withStatus(StatusActive, e.At) }

// PlanNeedsReplan says that a critical step failed.
type PlanNeedsReplan struct {
	Step StepID    `json:"step_id"`
	At   time.Time `json:"at"`
}

func (e PlanNeedsReplan) apply(s State) State { return s.withStatus(StatusReplanning, e.At) }

// PlanFailedForGood says that a critical step failed and no replan is left.
type PlanFailedForGood struct {
	Step StepID    `json:"step_id"`
	At   time.Time `json:"at"`
}

func (e PlanFailedForGood) apply(s State) State { return s.withStatus(StatusFailed, e.At) }

func (s State) withStatus(status PlanStatus, at time.Time) State {
	return s.withPlan(at, func(p *Plan) { p.Status = status })
}

// Close asks to close the completed plan with a final summary
// (planloop: API Contract, Response D).
type Close struct {
	Summary string
}

func (a Close) clean(c *cleaner) Action {
	c.text(&a.Summary, "summary", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a Close) decide(s State, f Facts) ([]Event, error) {
	p, err := livePlan(s)
	if err != nil {
		return nil, err
	}
	switch {
	case p.FinalSummary == a.Summary:
		return nil, nil
	case p.FinalSummary != "":
		return nil, conflict("the plan is already closed with its final summary", "set up a new plan for further work")
	case p.Status != StatusCompleted:
		return nil, conflict("the plan "+p.Status.Is()+", not completed: "+unfinished(p),
			"finish the plan first, then give the summary")
	}
	if blockers := s.OpenSignals(Blocker); len(blockers) > 0 {
		return nil, s.halted(blockers, "no final summary is accepted")
	}
	return []Event{PlanClosed{Summary: a.Summary, By: f.Actor.Name, At: f.Now}}, nil
}

// unfinished names the steps that are left for a message.
func unfinished(p *Plan) string {
	var left []StepID
	for step := range p.Steps.All() {
		if !step.Status.Finished() {
			left = append(left, step.ID)
		}
	}
	switch len(left) {
	case 0:
		return "nothing was done"
	case 1:
		return IDs(left) + " is left"
	}
	return IDs(left) + " are left"
}

// PlanClosed keeps the final summary; nothing is marked any more.
type PlanClosed struct {
	Summary string    `json:"summary"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (e PlanClosed) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) { p.FinalSummary = e.Summary })
}
