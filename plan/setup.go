package plan

import (
	"fmt"
	"slices"
	"time"
)

// NewStep is a step that does not have an id yet. Progress is what an imported
// step brings along; the zero value is a pending step. DependsOn names ids as
// they will be minted: the highest so far plus one, in order.
type NewStep struct {
	Spec
	Progress
	Splits StepID `json:"-"` // the approved step it is a part of; 0: none
}

// SetUp asks for a new current plan, whatever there was before
// (WINK: planning_setup_plan). With Draft it asks for a draft beside it.
type SetUp struct {
	Outline
	Steps []NewStep
	Draft bool
}

// Name is the action's word in the log.
func (SetUp) Name() string { return "set_up_plan" }

func (a SetUp) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "initial_steps")
	return a
}

func (a SetUp) decide(s State, f Facts) ([]Event, error) {
	if err := withinLimit(len(a.Steps), f.Limits); err != nil {
		return nil, err
	}
	steps, err := mint(Steps{}, a.Steps, "/initial_steps")
	if err != nil {
		return nil, err
	}
	p := Plan{
		ID: newPlanID(s, a.Objective, f.Now), Outline: a.Outline, Status: StatusActive, Version: 1,
		CreatedAt: f.Now, UpdatedAt: f.Now, CreatedBy: f.Actor.Name,
	}
	if a.Draft && s.PhaseNow() == PhaseSubmitted {
		return nil, conflict("a submitted plan waits for a decision", "decide about it first")
	}
	if a.Draft {
		p.Status = StatusDraft
		return []Event{DraftMade{Body{Plan: p, Steps: steps}}}, nil
	}
	events := append(archive(s, "replaced", f.Now), PlanSetUp{Body{Plan: p, Steps: steps}})
	return append(events, completion(p.Status, NewSteps(steps).tally(), f.Now)...), nil
}

// PlanSetUp makes a new plan the current one.
type PlanSetUp struct {
	Plan Body `json:"plan"`
}

// Kind is the event's word in the log.
func (PlanSetUp) Kind() string { return "plan_set_up" }

func (e PlanSetUp) apply(s State) State {
	s.Plan = e.Plan.Build()
	return s
}

// DraftMade puts a draft beside the current plan.
type DraftMade struct {
	Plan Body `json:"plan"`
}

// Kind is the event's word in the log.
func (DraftMade) Kind() string { return "draft_made" }

func (e DraftMade) apply(s State) State {
	s.Draft = e.Plan.Build()
	return s
}

// PlanArchived keeps the head of the current plan, which is about to be
// replaced or cleared.
type PlanArchived struct {
	Head PastPlan `json:"head"`
}

// Kind is the event's word in the log.
func (PlanArchived) Kind() string { return "plan_archived" }

func (e PlanArchived) apply(s State) State {
	if i := s.pastIndex(e.Head.ID); i >= 0 {
		s.past = s.past.set(i, e.Head)
		return s
	}
	s.past = s.past.append(e.Head)
	return s
}

// archive returns the event that keeps the head of the current plan, none when
// there is nothing to keep: no plan, or one that was cleared and stands in the
// archive already.
func archive(s State, reason string, now time.Time) []Event {
	p := s.Plan
	if p == nil || p.Cleared() && s.pastIndex(p.ID) >= 0 {
		return nil
	}
	return []Event{PlanArchived{head(p, s.Revision, reason, now)}}
}

func head(p *Plan, at Revision, reason string, now time.Time) PastPlan {
	return PastPlan{
		ID: p.ID, Objective: p.Objective, Status: p.Status, Version: p.Version,
		Steps: p.Steps.Len(), Done: p.Steps.Count(Done),
		CreatedAt: p.CreatedAt, ArchivedAt: now, Revision: at, Reason: reason,
	}
}

// superseded is the reason why a draft is kept that gave way to another.
const superseded = "superseded"

// keptDraft returns the event that keeps the head of a draft which is dropped or
// gives way to another: nothing that was put before a person is lost. A revision is
// no plan of its own.
func keptDraft(before, after State, now time.Time) []Event {
	draft := before.Draft
	if draft == nil || before.revises() || after.Draft != nil && after.Draft.ID == draft.ID || after.Plan != nil && after.Plan.ID == draft.ID {
		return nil
	}
	reason := superseded
	if d := after.ModeNow().Decision; after.Draft == nil && d != nil {
		reason = string(d.Outcome)
	}
	return []Event{PlanArchived{head(draft, before.Revision, reason, now)}}
}

// mint returns news as steps with ids that follow the highest of have, after
// checking what they depend on.
func mint(have Steps, news []NewStep, field string) ([]*Step, error) {
	next := have.Highest() + 1
	steps := make([]*Step, len(news))
	added := make(map[StepID]*Step, len(news))
	for i, n := range news {
		step := &Step{ID: next + StepID(i), Spec: n.Spec, Progress: n.Progress}
		if step.Status == "" {
			step.Status = Pending
		}
		step.ClaimedBy, step.LeaseUntil = "", time.Time{}
		step.Evidence = unrecorded(step.Evidence)
		steps[i], added[step.ID] = step, step
	}
	deps := func(id StepID) []StepID {
		if step := added[id]; step != nil {
			return step.DependsOn
		}
		return nil // an older step cannot depend on a newer one
	}
	for i, step := range steps {
		for k, dep := range step.DependsOn {
			_, old := have.Get(dep)
			if !old && added[dep] == nil {
				return nil, &ValidationError{Kind: NotFound, Field: fmt.Sprintf("%s/%d/depends_on/%d", field, i, k),
					Problem: "there is no step " + dep.String(), Fix: "name a step of the plan, or one added here by the id it gets"}
			}
		}
		step.DependsOn = dedupe(step.DependsOn)
	}
	ids := make([]StepID, len(steps))
	for i, step := range steps {
		ids[i] = step.ID
	}
	if cycle := Cycle(ids, deps); cycle != nil {
		return nil, cycleError(field, cycle)
	}
	return steps, nil
}

// unrecorded returns evidence without the claim that planloop ran the command:
// what comes from outside cannot say so.
func unrecorded(evidence []Evidence) []Evidence {
	evidence = slices.Clone(evidence)
	for i := range evidence {
		evidence[i].Recorded = false
	}
	return evidence
}

func cycleError(field string, cycle []StepID) error {
	return &ValidationError{Kind: InvalidInput, Field: field,
		Problem: "the dependencies run in a circle: " + cyclePath(cycle), Fix: "drop one of them"}
}

func withinLimit(n int, l Limits) error {
	if n <= l.MaxSteps {
		return nil
	}
	return conflict(fmt.Sprintf("the plan would have %d steps, at most %d are kept", n, l.MaxSteps), "group them into fewer steps")
}

// dedupe returns ids without repetitions, in order.
func dedupe(ids []StepID) []StepID {
	out := ids[:0:0] // erasing all is told from naming none
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
