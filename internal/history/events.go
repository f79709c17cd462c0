package history

import (
	"cmp"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Event is a step of a plan's execution, from a record: rawko's event, with the execution
// specification's fields for a step's progress (rawko: PlanEvent; execution: ProgressEvent).
type Event struct {
	Type      EventType     `json:"type"`
	Revision  plan.Revision `json:"revision"`
	Time      time.Time     `json:"time"`
	TaskID    string        `json:"taskId"`              // the session: the root of the plan
	Plan      *plan.Body    `json:"plan,omitempty"`      // of PlanCreated
	NewPlan   *plan.Body    `json:"newPlan,omitempty"`   // of PlanReplanned
	StepID    plan.StepID   `json:"stepId,omitzero"`     // of all others
	StepIndex *int          `json:"stepIndex,omitempty"` // its position, from 0
	Agent     string        `json:"agent,omitempty"`     // started by planloop for the attempt
	Status    string        `json:"status,omitempty"`    // in the words of the execution specification
	Progress  *int          `json:"progress,omitempty"`  // 0 to 100
	Output    *string       `json:"output,omitempty"`    // of StepCompleted
	Error     string        `json:"error,omitempty"`
	Result    *plan.Result  `json:"result,omitempty"` // of a tool
	Logs      []string      `json:"logs,omitempty"`   // the end of its output, if it failed
}

// EventType names an event.
type EventType string

// The types. The first five are rawko's.
const (
	PlanCreated   EventType = "PLAN_CREATED"
	StepStarted   EventType = "STEP_STARTED"
	StepCompleted EventType = "STEP_COMPLETED"
	StepFailed    EventType = "STEP_FAILED"
	PlanReplanned EventType = "PLAN_REPLANNED"
	StepSkipped   EventType = "STEP_SKIPPED"
	StepRetried   EventType = "STEP_RETRIED"
)

// EventsOf returns the events of a record accepted in the state before. Each step's changes are
// listed in order. If the plan is another one or another version, one event has it as the record
// left it.
func EventsOf(before plan.State, r plan.Record) []Event {
	var events []Event
	after, revised := before, false
	for _, e := range r.Events {
		was := after
		after = plan.Apply(after, e)
		if _, approved := e.(plan.PlanApproved); approved && sameVersion(was.Plan, after.Plan) {
			revised = true // a change of the plan approved by a person
		} else if sameVersion(was.Plan, after.Plan) {
			events = append(events, stepEvents(was.Plan, after.Plan)...)
		}
	}
	if e, told := planEvent(before.Plan, after.Plan, revised); told {
		events = append([]Event{e}, events...)
	}
	for i := range events {
		events[i].Revision, events[i].Time = r.Seq, r.Time
	}
	return events
}

func sameVersion(a, b *plan.Plan) bool { return a != nil && b != nil && a.ID == b.ID }

// planEvent returns the event for a plan that replaced another one.
func planEvent(before, after *plan.Plan, revised bool) (e Event, told bool) {
	if after == nil || after.IsCleared() || sameVersion(before, after) && !revised && !before.IsCleared() {
		return Event{}, false
	}
	body := after.Body()
	if before != nil && before.Root() == after.Root() && !before.IsCleared() {
		return Event{Type: PlanReplanned, TaskID: after.Root(), NewPlan: &body}, true
	}
	return Event{Type: PlanCreated, TaskID: after.Root(), Plan: &body}, true
}

// stepEvents returns the events for the steps with a changed status.
func stepEvents(before, after *plan.Plan) []Event {
	var events []Event
	for step := range after.Steps.ChangedSince(before.Steps) {
		old, known := before.Steps.Get(step.ID)
		if !known || old.Status == step.Status {
			continue
		}
		index := after.Steps.Position(step.ID)
		e := Event{TaskID: after.Root(), StepID: step.ID, StepIndex: &index, Status: after.ExecutionStatus(step), Result: step.Result,
			Agent: cmp.Or(step.ActiveAgent(), old.ActiveAgent())}
		switch step.Status {
		case plan.InProgress:
			e.Type, e.Progress = StepStarted, new(0)
		case plan.Done:
			e.Type, e.Progress, e.Output = StepCompleted, new(100), new(outputOf(old, step))
		case plan.Failed:
			e.Type, e.Error, e.Logs = StepFailed, step.Error, lines(step.Output)
		case plan.Skipped, plan.Cancelled:
			e.Type, e.Error = StepSkipped, step.Error
		case plan.Pending:
			if old.Status == plan.Blocked && step.Attempts == 0 {
				continue // not tried yet
			}
			e.Type, e.Error, e.Logs = StepRetried, cmp.Or(step.Error, old.Error), lines(step.Output)
		default: // blocked: it neither ended nor continues
			continue
		}
		events = append(events, e)
	}
	return events
}

// outputOf returns the result of a step: its output, or the note added when it was done.
func outputOf(before, after *plan.Step) string {
	if n := len(after.Notes); after.Output == "" && n > len(before.Notes) {
		return after.Notes[n-1]
	}
	return after.Output
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
