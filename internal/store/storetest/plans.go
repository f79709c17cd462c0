package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// began is when the clock of the test records stands at record 0.
var began = time.Date(2026, time.May, 4, 9, 0, 0, 0, time.UTC)

// SetUp returns record 1: a plan of n steps with details and a note each.
func SetUp(n int) plan.Record {
	steps := make([]*plan.Step, n)
	for i := range steps {
		step := &plan.Step{ID: plan.StepID(i + 1)}
		step.Title = fmt.Sprintf("Implement part %d of the importer and cover it with tests", i+1)
		step.Details = strings.Repeat("Read the format, keep unknown fields, report the line. ", 3)
		step.Status, step.Notes = plan.Pending, []string{"Checked against the sample files on the first pass."}
		steps[i] = step
	}
	body := plan.Body{Plan: plan.Plan{ID: "import-20260504-0900", Status: plan.StatusActive, Version: 1,
		CreatedAt: began, UpdatedAt: began, CreatedBy: "agent"}, Steps: steps}
	body.Objective = "Import the files"
	return record(1, "set_up_plan", plan.PlanSetUp{Plan: body})
}

// Mark returns record seq: a step is given a status and a note.
func Mark(seq plan.Revision, step plan.StepID) plan.Record {
	at := began.Add(time.Duration(seq) * time.Second)
	return record(seq, "mark_step", plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq), By: "agent", At: at})
}

func record(seq plan.Revision, action string, events ...plan.Event) plan.Record {
	return plan.Record{Seq: seq, Action: action, Actor: plan.Actor{Kind: plan.Agent, Name: "agent"},
		Time: began.Add(time.Duration(seq) * time.Second), Phase: plan.PhaseInactive, Events: events}
}
