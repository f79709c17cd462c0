package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/plan"
)

// began is the time of record 0 in test records.
var began = time.Date(2026, time.May, 4, 9, 0, 0, 0, time.UTC)

// setUp returns record 1: a plan of n steps with details and a note each.
func setUp(n int) plan.Record {
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

// mark returns record seq, which sets the status of a step and adds a note.
func mark(seq plan.Revision, step plan.StepID) plan.Record {
	at := began.Add(time.Duration(seq) * time.Second)
	return record(seq, "mark_step", plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq), By: "agent",
		At: at})
}

func record(seq plan.Revision, action string, events ...plan.Event) plan.Record {
	return plan.Record{Seq: seq, Action: action, Actor: plan.Actor{Kind: plan.Agent, Name: "agent"},
		Time: began.Add(time.Duration(seq) * time.Second), Phase: plan.PhaseInactive, Events: events}
}

// records draws records with events of every kind.
func records() *rapid.Generator[plan.Record] {
	return rapid.Custom(func(t *rapid.T) plan.Record {
		return plan.Record{
			Seq:    plan.Revision(rapid.Int64Range(1, 1<<40).Draw(t, "seq")),
			Action: text(t, "action"),
			Actor:  plan.Actor{Kind: plan.Agent, Name: text(t, "actor")},
			Time:   instant(t, "time"),
			Phase:  rapid.SampledFrom([]plan.Phase{"", plan.PhaseGathering, plan.PhaseExecuting}).Draw(t, "phase"),
			Events: rapid.SliceOfN(events(), 0, 4).Draw(t, "events"),
		}
	})
}

// states draws states with a plan, a draft and former plans, or without.
func states() *rapid.Generator[plan.State] {
	return rapid.Custom(func(t *rapid.T) plan.State {
		body := plan.StateBody{State: plan.State{
			Revision:  plan.Revision(rapid.Int64Range(0, 1<<40).Draw(t, "revision")),
			UpdatedAt: instant(t, "updated"),
			Phase:     rapid.SampledFrom([]plan.Phase{"", plan.PhaseSubmitted}).Draw(t, "phase"),
			Past:      rapid.SliceOfN(pastPlans(), 0, 3).Draw(t, "past"),
		}}
		if rapid.Bool().Draw(t, "has plan") {
			body.Plan = new(bodies().Draw(t, "plan"))
		}
		if rapid.Bool().Draw(t, "has draft") {
			body.Draft = new(bodies().Draw(t, "draft"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "signals") {
			body.Signals = append(body.Signals, plan.Signal{ID: text(t, "id"), Level: plan.Blocker, Message: text(t, "message"),
				Step: plan.StepID(rapid.IntRange(0, 9).Draw(t, "signal step")), Open: true, RaisedAt: instant(t, "raised")})
			body.Questions = append(body.Questions, plan.Question{ID: text(t, "id"), Text: text(t, "text"), AskedAt: instant(t, "asked")})
		}
		return body.Build()
	})
}

func events() *rapid.Generator[plan.Event] {
	return rapid.Custom(func(t *rapid.T) plan.Event {
		id, at := stepID(t), instant(t, "at")
		return rapid.SampledFrom([]func() plan.Event{
			func() plan.Event { return plan.PlanArchived{Head: pastPlans().Draw(t, "head")} },
			func() plan.Event { return plan.PlanSetUp{Plan: bodies().Draw(t, "plan")} },
			func() plan.Event { return plan.DraftMade{Plan: bodies().Draw(t, "plan")} },
			func() plan.Event { return plan.PlanRestored{Plan: bodies().Draw(t, "plan"), At: at} },
			func() plan.Event { return plan.PlanCleared{At: at} },
			func() plan.Event { return plan.PlanCompleted{At: at} },
			func() plan.Event { return plan.PlanReopened{At: at} },
			func() plan.Event { return plan.PlanAbandoned{At: at} },
			func() plan.Event { return plan.PlanNeedsReplan{Step: id, At: at} },
			func() plan.Event { return plan.PlanFailed{Step: id, At: at} },
			func() plan.Event {
				return plan.StepsAdded{Steps: rapid.SliceOfN(steps(), 0, 4).Draw(t, "steps"), At: at}
			},
			func() plan.Event { return plan.StepUpdated{Step: id, Patch: patch(t), At: at} },
			func() plan.Event {
				return plan.StepMarked{Step: id, Status: plan.Done, Note: text(t, "note"), By: text(t, "by"), At: at, LeaseUntil: at}
			},
			func() plan.Event { return plan.StepClaimed{Step: id, By: text(t, "by"), At: at, LeaseUntil: at} },
			func() plan.Event { return plan.HistoryPurged{Records: 7, At: at} },
		}).Draw(t, "event")()
	})
}

// patch draws fields that are absent, empty and given: the three differ.
func patch(t *rapid.T) plan.Patch {
	var p plan.Patch
	if rapid.Bool().Draw(t, "patch title") {
		p.Title, p.Critical = new(text(t, "title")), new(rapid.Bool().Draw(t, "critical"))
	}
	if rapid.Bool().Draw(t, "patch lists") {
		p.DependsOn = new(rapid.SliceOfN(rapid.Custom(stepID), 0, 3).Draw(t, "depends_on"))
		p.Tools = new(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return text(t, "tool") }), 0, 3).Draw(t, "tools"))
	}
	if rapid.Bool().Draw(t, "patch args") {
		p.Args = new(rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"a":1}`)}).Draw(t, "args"))
	}
	return p
}

func bodies() *rapid.Generator[plan.Body] {
	return rapid.Custom(func(t *rapid.T) plan.Body {
		b := plan.Body{Plan: plan.Plan{
			ID: text(t, "id"), Status: plan.StatusActive, Version: rapid.IntRange(1, 9).Draw(t, "version"),
			CreatedAt: instant(t, "created"), UpdatedAt: instant(t, "updated"), CreatedBy: text(t, "by"),
		}}
		b.Objective, b.Metadata.Tags = text(t, "objective"), []string{text(t, "tag")}
		if rapid.Bool().Draw(t, "approved") {
			b.Approval = &plan.Approval{By: text(t, "approver"), Way: "person", Digest: "d", At: instant(t, "approved at")}
		}
		n := rapid.SampledFrom([]int{0, 1, 2, 2, 3, 3, 3, 4, 4, 300}).Draw(t, "steps")
		step := steps().Draw(t, "step")
		for i := range n {
			next := *step
			next.ID = plan.StepID(i + 1)
			b.Steps = append(b.Steps, &next)
		}
		if rapid.Bool().Draw(t, "minted more") {
			b.Highest = plan.StepID(n + 5)
		}
		return b
	})
}

func steps() *rapid.Generator[*plan.Step] {
	return rapid.Custom(func(t *rapid.T) *plan.Step {
		step := &plan.Step{ID: stepID(t)}
		step.Title, step.Details, step.Status = text(t, "title"), text(t, "details"), plan.Pending
		step.Critical = rapid.Bool().Draw(t, "critical")
		if rapid.Bool().Draw(t, "rich") {
			step.Tool, step.Args = "view", json.RawMessage(`{"path":"a\/b","n":[1.50,true,null]}`)
			step.Evidence = []plan.Evidence{{Command: "make", ExitCode: new(0), At: instant(t, "evidence")}}
			step.Result = &plan.Result{OK: true, Value: json.RawMessage(`"<&>"`), Duration: 3, Timestamp: instant(t, "result")}
			step.Notes, step.StartedAt = []string{text(t, "note"), ""}, instant(t, "started")
		}
		return step
	})
}

func pastPlans() *rapid.Generator[plan.PastPlan] {
	return rapid.Custom(func(t *rapid.T) plan.PastPlan {
		return plan.PastPlan{ID: text(t, "id"), Objective: text(t, "objective"), Status: plan.StatusCompleted, Version: 1,
			Steps: 3, Done: 2, CreatedAt: instant(t, "created"), ArchivedAt: instant(t, "archived"), Revision: 4, Reason: "replaced"}
	})
}

func stepID(t *rapid.T) plan.StepID {
	return plan.StepID(rapid.IntRange(1, int(plan.MaxStepID)).Draw(t, "step_id"))
}

func text(t *rapid.T, label string) string { return rapid.StringN(0, 12, 40).Draw(t, label) }

func instant(t *rapid.T, label string) time.Time {
	return time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, label)).UTC()
}
