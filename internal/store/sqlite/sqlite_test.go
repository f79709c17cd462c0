package sqlite_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// setUp returns record 1: a plan of n steps with details.
func setUp(n int) plan.Record {
	steps := make([]*plan.Step, n)
	for i := range steps {
		step := &plan.Step{ID: plan.StepID(i + 1)}
		step.Status = plan.Pending
		step.Title = fmt.Sprintf("Implement part %d of the importer and cover it with tests", i+1)
		step.Details = strings.Repeat("Read the format, keep unknown fields, report the line. ", 4)
		steps[i] = step
	}
	at := clock(1)
	body := plan.Body{Steps: steps, Plan: plan.Plan{ID: "import-20260504-0900", Status: plan.StatusActive, Version: 1, CreatedAt: at,
		UpdatedAt: at}}
	return record(1, "set_up_plan", plan.PlanSetUp{Plan: body})
}

// mark returns record seq, which sets the status of a step and adds a note.
func mark(seq plan.Revision, step plan.StepID) plan.Record {
	return record(seq, "mark_step", plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq), By: "agent",
		At: clock(seq)})
}

func record(seq plan.Revision, action string, event plan.Event) plan.Record {
	return plan.Record{Seq: seq, Action: action, Actor: plan.Actor{Kind: plan.Agent, Name: "agent"}, Time: clock(seq),
		Phase: plan.PhaseInactive, Events: []plan.Event{event}}
}

func clock(seq plan.Revision) time.Time {
	return time.Date(2026, time.May, 4, 9, 0, int(seq), 0, time.UTC)
}
