package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// planConsequences returns the consequences of a change for the plan as a whole.
func planConsequences(before, after State, touched []StepID, f Facts) []Event {
	p := after.Plan
	if p == nil || p.IsCleared() {
		return nil
	}
	if p.Status != StatusReplanning && p.Status != StatusFailed {
		if id := newlyFailedCritical(before.Plan, p, touched); id != 0 && p.Replans >= f.Limits.MaxReplans {
			return []Event{PlanFailed{Step: id, At: f.Now}}
		} else if id != 0 {
			return []Event{PlanNeedsReplan{Step: id, At: f.Now}}
		}
	}
	if p.Status == StatusReplanning && len(touched) > 0 && !hasFailedCritical(p) { // the failed step is tried again, or given up
		return append([]Event{PlanReopened{At: f.Now}}, completion(StatusActive, p.Steps, f.Now)...)
	}
	return completion(p.Status, p.Steps, f.Now)
}

// newlyFailedCritical returns the first critical step among the touched ones that has just failed, else
// 0.
func newlyFailedCritical(before, after *Plan, touched []StepID) StepID {
	for _, id := range touched {
		step, ok := after.Steps.Get(id)
		if !ok || !step.hasFailedCritically() {
			continue
		}
		if before != nil && before.Root() == after.Root() {
			if old, ok := before.Steps.Get(id); ok && old.hasFailedCritically() {
				continue
			}
		}
		return id
	}
	return 0
}

func hasFailedCritical(p *Plan) bool {
	return slices.ContainsFunc(p.Steps.List(), (*Step).hasFailedCritically)
}

// hasFailedCritically reports whether the step's failure stops the plan. A step that was stopped on request did not fail by itself.
func (step *Step) hasFailedCritically() bool {
	return step.Status == Failed && step.Critical && !step.WasStopped()
}

// completion decides from the steps whether a plan of that status completes, is abandoned or
// reopens. A plan without steps stays as it is.
func completion(status PlanStatus, steps Steps, now time.Time) []Event {
	open := steps.FinishedCount() < steps.Len() || steps.stale > 0
	switch {
	case steps.Len() == 0 || status == StatusDraft:
		return nil
	case open && (status == StatusCompleted || status == StatusAbandoned):
		return []Event{PlanReopened{At: now}}
	case open || status == StatusReplanning || status == StatusFailed:
		return nil
	case steps.met > 0 && status != StatusCompleted:
		return []Event{PlanCompleted{At: now}}
	case steps.met == 0 && status != StatusAbandoned:
		return []Event{PlanAbandoned{At: now}}
	}
	return nil
}

// PlanCompleted completes the plan: all steps are finished, and at least one is done or was skipped by its own condition.
type PlanCompleted struct {
	At time.Time `json:"at"`
}

func (e PlanCompleted) apply(s State) State { return s.withStatus(StatusCompleted, e.At) }

// PlanAbandoned abandons the plan: all steps were skipped or cancelled.
type PlanAbandoned struct {
	At time.Time `json:"at"`
}

func (e PlanAbandoned) apply(s State) State { return s.withStatus(StatusAbandoned, e.At) }

// PlanReopened makes the plan active again: it has unfinished steps, or its failed critical step was settled.
type PlanReopened struct {
	At time.Time `json:"at"`
}

func (e PlanReopened) apply(s State) State { return s.withStatus(StatusActive, e.At) }

// PlanNeedsReplan sets the plan to replanning: a critical step failed.
type PlanNeedsReplan struct {
	Step StepID    `json:"step_id"`
	At   time.Time `json:"at"`
}

func (e PlanNeedsReplan) apply(s State) State { return s.withStatus(StatusReplanning, e.At) }

// PlanFailed sets the plan to failed: a critical step failed and no replan is left.
type PlanFailed struct {
	Step StepID    `json:"step_id"`
	At   time.Time `json:"at"`
}

func (e PlanFailed) apply(s State) State { return s.withStatus(StatusFailed, e.At) }

func (s State) withStatus(status PlanStatus, at time.Time) State {
	return s.withPlan(at, func(p *Plan) { p.Status = status })
}

// Close asks to close the completed plan with a final summary
// (planloop: API Contract, Response D).
type Close struct {
	Summary string
}

func (a Close) clean(c *cleaner) Action {
	a.Summary = Mask(a.Summary)
	c.text(&a.Summary, "summary", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a Close) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	if err != nil {
		return nil, err
	}
	switch err := s.proposalWaits(); {
	case err != nil:
		return nil, err
	case p.FinalSummary == a.Summary:
		return nil, nil
	case p.FinalSummary != "":
		return nil, conflict("the plan is already closed with its final summary", "set up a new plan for further work")
	case p.Status != StatusCompleted:
		unfinished := IDs(StepIDs(p.Steps.Unfinished()))
		return nil, conflict("the plan "+p.Status.Predicate()+", not completed; unfinished: "+cmp.Or(unfinished, "none"),
			"finish the plan first, then give the summary")
	}
	if blockers := s.OpenSignals(Blocker); len(blockers) > 0 {
		return nil, s.blockedError(blockers, "no final summary is accepted")
	}
	account := AccountOf(p, func(step *Step) []string { return f.Missing[step.ID] })
	return []Event{PlanClosed{Summary: a.Summary, Account: account.Checked(), By: f.Actor.Name, At: f.Now}}, nil
}

// PlanClosed records the final summary. No step can be marked after it.
type PlanClosed struct {
	Summary string    `json:"summary"`
	Account string    `json:"account,omitempty"` // see Account.Checked
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (e PlanClosed) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) { p.FinalSummary = e.Summary })
}

// Replan asks for the next version of the plan (rawko: Replanning). The steps stay; other actions
// in the same batch change them.
type Replan struct {
	Changes     string   // the differences
	Reasoning   string   // why
	Discoveries []string // what led to it
	Constraints []string // added to the existing ones
}

func (a Replan) clean(c *cleaner) Action {
	c.block(&a.Changes, "changes")
	c.block(&a.Reasoning, "reasoning")
	c.list(&a.Discoveries, "discoveries", LinesField, MaxLongLine, MaxList)
	c.list(&a.Constraints, "constraints", LinesField, MaxLongLine, MaxList)
	if a.Changes == "" {
		c.refuse("changes", "is missing", "describe the changes of the new version")
	}
	return a
}

func (a Replan) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	switch {
	case err != nil:
		return nil, err
	case p.Status != StatusActive && p.Status != StatusReplanning:
		return nil, conflict("the plan "+p.Status.Predicate()+", so it cannot be replanned", "set up a new plan")
	case s.isRevision() && !s.HasProposal():
		return nil, conflict("a changed version of the plan waits for a decision", "wait for it, or ask the user to decide")
	}
	if err := checkNotRunning(s, f, "replan"); err != nil {
		return nil, err
	}
	constraints, err := withConstraints(p, a.Constraints)
	if err != nil {
		return nil, err
	}
	version := p.Version + 1 // above all others: p may be an earlier version that was restored
	for head := range s.Versions(p.Root()) {
		version = max(version, head.Version+1)
	}
	events := archive(s, replanned, f.Now)
	if s.HasProposal() {
		events = append(events, withdrawal(s, f))
	}
	return append(events, PlanReplanned{
		ID: fmt.Sprintf("%s-v%d", p.Root(), version), Version: version, Previous: p.ID,
		Changes: a.Changes, Reasoning: a.Reasoning, Discoveries: a.Discoveries, Constraints: constraints,
		Failure: p.Status == StatusReplanning, By: f.Actor.Name, At: f.Now}), nil
}

// PlanReplanned makes the plan its next version: active, with its failed steps renewed.
type PlanReplanned struct {
	ID          string    `json:"id"`
	Version     int       `json:"version"`
	Previous    string    `json:"previous_plan_id"`
	Changes     string    `json:"changes"`
	Reasoning   string    `json:"reasoning,omitempty"`
	Discoveries []string  `json:"discoveries,omitempty"`
	Constraints []string  `json:"constraints,omitempty"`
	Failure     bool      `json:"failure,omitempty"` // a critical step had failed
	By          string    `json:"by"`
	At          time.Time `json:"at"`
}

func (e PlanReplanned) apply(s State) State {
	if s.Plan == nil {
		return s
	}
	failed := slices.Collect(s.Plan.Steps.With(Failed))
	s = s.withSteps(e.At, func(edit *stepsEdit) {
		for _, step := range failed {
			renewed := *step
			renewed.retryFailed()
			edit.replace(&renewed)
		}
	})
	return s.withPlan(e.At, func(p *Plan) {
		p.ID, p.Version, p.PreviousPlanID, p.Status = e.ID, e.Version, e.Previous, StatusActive
		p.Changes, p.Discoveries, p.Verdict = e.Changes, e.Discoveries, nil
		p.Metadata.Constraints = e.Constraints
		if e.Reasoning != "" {
			p.Reasoning = e.Reasoning
		}
		if e.Failure {
			p.Replans++
		}
	})
}
