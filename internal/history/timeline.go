package history

import (
	"time"

	"github.com/planloop/planloop/plan"
)

// PartKind says what a step did during a part of its timeline.
type PartKind string

// The kinds. An attempt ends without success if it fails, is interrupted or blocked, or its outcome is unknown.
const (
	PartWaiting PartKind = "waiting"
	PartRunning PartKind = "running" // by an engine or an agent: it continues or succeeded
	PartFailed  PartKind = "failed"  // an attempt that ended without success
)

// TimelinePart is a part of a step's timeline.
type TimelinePart struct {
	Kind PartKind  `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero while it continues
}

// TimelineStep is the timeline of a step, from the first start in its plan on.
type TimelineStep struct {
	Step   plan.StepID    `json:"step_id"`
	Title  string         `json:"title"`
	Parts  []TimelinePart `json:"parts"`
	Tokens int            `json:"tokens,omitempty"` // that its agents say they used
}

// Timeline collects what the steps of one plan did over time, in all its versions.
type Timeline struct {
	Plan string // root of the plan

	begun time.Time // first start
	steps plan.Steps
	parts map[plan.StepID][]TimelinePart
}

// Add takes the state after a record. The states must come in order.
func (t *Timeline) Add(s plan.State) {
	if s.Plan == nil || s.Plan.Root() != t.Plan {
		return
	}
	if t.parts == nil {
		t.parts = map[plan.StepID][]TimelinePart{}
	}
	for step := range s.Plan.Steps.ChangedSince(t.steps) {
		t.follow(step, s.UpdatedAt)
	}
	t.steps = s.Plan.Steps
}

// follow compares a step with the end of its timeline.
func (t *Timeline) follow(step *plan.Step, at time.Time) {
	old, known := t.steps.Get(step.ID)
	if known && old.Status == step.Status && old.Attempts == step.Attempts {
		return
	}
	parts := t.parts[step.ID]
	if n := len(parts); n > 0 && parts[n-1].To.IsZero() {
		last := &parts[n-1]
		if last.To = at; last.Kind == PartRunning && step.Status != plan.Done {
			last.Kind = PartFailed
		}
	}
	switch step.Status {
	case plan.InProgress:
		if parts = append(parts, TimelinePart{Kind: PartRunning, From: at}); t.begun.IsZero() {
			t.begun = at
		}
	case plan.Pending, plan.Blocked:
		parts = append(parts, TimelinePart{Kind: PartWaiting, From: at})
	case plan.Done:
		if n := len(parts); n > 0 && parts[n-1].Kind == PartWaiting { // marked without a start
			parts = append(parts, TimelinePart{Kind: PartRunning, From: at, To: at})
			if t.begun.IsZero() {
				t.begun = at
			}
		}
	}
	t.parts[step.ID] = parts
}

// Steps returns the timelines of the steps that the plan has now, in order. It is empty before the first start.
func (t *Timeline) Steps() []TimelineStep {
	steps := []TimelineStep{}
	if t.begun.IsZero() {
		return steps
	}
	for step := range t.steps.All() {
		line := TimelineStep{Step: step.ID, Title: step.Title, Parts: []TimelinePart{}}
		if step.Execution != nil {
			line.Tokens = step.Execution.Tokens
		}
		for _, part := range t.parts[step.ID] {
			if part.Kind == PartWaiting && part.From.Before(t.begun) {
				part.From = t.begun
			}
			if part.To.IsZero() || part.Kind != PartWaiting || part.To.After(part.From) {
				line.Parts = append(line.Parts, part)
			}
		}
		steps = append(steps, line)
	}
	return steps
}
