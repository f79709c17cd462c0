package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// fataler is a test or a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// told is a workspace with all events of its records.
type told struct {
	state  plan.State
	now    time.Time
	events []Event
	found  func(*plan.Step) plan.Resolution
}

var (
	agent  = plan.Actor{Kind: plan.Agent, Name: "codex"}
	person = plan.NewActor(plan.ChannelTerminal, "alice")
	engine = plan.NewActor(plan.ChannelEngine, "engine#1")
)

// try makes a change, if it is allowed, and keeps the events of its record.
func (w *told) try(t fataler, by plan.Actor, a plan.Action) error {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	facts := plan.Facts{Now: w.now, Actor: by, Limits: plan.Limits{MaxReplans: 50}, Resolutions: map[plan.StepID]plan.Resolution{}}
	if advance, is := a.(plan.Schedule); is {
		for _, step := range plan.StartableSteps(advance.ApplyResults(w.state, facts), advance.MaxStarts) {
			facts.Resolutions[step.ID] = w.found(step)
		}
	}
	happened, err := plan.Decide(w.state, a, facts)
	if err != nil || len(happened) == 0 {
		return err
	}
	r := plan.Record{Seq: w.state.Revision + 1, Actor: by, Time: w.now, Events: happened}
	w.events = append(w.events, EventsOf(w.state, r)...)
	w.state = plan.Fold(w.state, r)
	return nil
}

func (w *told) do(t fataler, by plan.Actor, a plan.Action) {
	t.Helper()
	testenv.Check(t, w.try(t, by, a))
}

// lines returns the new events, one per line, without the fields that all share.
func (w *told) lines() string {
	var b strings.Builder
	for _, e := range w.events {
		fmt.Fprintf(&b, "%d %s", e.Revision, e.Type)
		if p := e.Plan; p != nil {
			fmt.Fprintf(&b, " %d steps, version %d", len(p.Steps), p.Version)
		}
		if p := e.NewPlan; p != nil {
			fmt.Fprintf(&b, " %d steps, version %d", len(p.Steps), p.Version)
		}
		if e.StepIndex != nil {
			fmt.Fprintf(&b, " %s at %d: %s", e.StepID, *e.StepIndex, e.Status)
		}
		if e.Output != nil {
			fmt.Fprintf(&b, ", output %q", *e.Output)
		}
		if e.Error != "" {
			fmt.Fprintf(&b, ", error %q", e.Error)
		}
		if e.Result != nil {
			fmt.Fprintf(&b, ", result %v %s", e.Result.OK, e.Result.Value)
		}
		if e.Logs != nil {
			fmt.Fprintf(&b, ", logs %q", e.Logs)
		}
		b.WriteByte('\n')
	}
	w.events = nil
	return b.String()
}

func runs(title string, deps ...plan.StepID) plan.NewStep {
	return plan.NewStep{Spec: plan.Spec{Title: title, Tool: "read_file", Args: json.RawMessage(`{"path":"a"}`), DependsOn: deps}}
}

// plainly returns the findings about an ordinary step.
func plainly(step *plan.Step) plan.Resolution {
	return plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), LoopDigest: "list", ConditionFalse: step.When != "",
		Items: []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}}
}

// TestEventsOfAStory covers the first event to the last: a plan carried out by agents and an
// engine, with a retry, a loop, a condition, a denial, a replan and a restored version.
func TestEventsOfAStory(t *testing.T) {
	w := &told{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), found: plainly}
	loop, asks, conditional := runs("each"), runs("deletes"), runs("maybe")
	loop.ForEach, asks.RequiresApproval, conditional.When = "*.txt", true, "steps.S001.ok"
	critical := plan.NewStep{Spec: plan.Spec{Title: "critical", Critical: true}}
	w.do(t, agent, plan.SetUp{Outline: plan.Outline{Objective: "Test"},
		Steps: []plan.NewStep{runs("first"), loop, asks, conditional, critical}})
	root := w.state.Plan.ID
	finished := func(id plan.StepID, ok bool, transient bool) plan.AttemptResult {
		step, _ := w.state.Plan.Steps.Get(id)
		result := plan.Result{OK: ok, Value: json.RawMessage(`"v"`)}
		if !ok {
			result.Value, result.Error = nil, "broken"
		}
		return plan.AttemptResult{Attempt: plan.Attempt{Plan: root, Step: id, Attempt: step.Attempts}, Result: result,
			IsTransient: transient,
			Output:      "line 1\nline 2"}
	}
	w.do(t, agent, plan.BeginRun{})
	w.do(t, engine, plan.Schedule{MaxStarts: 1})
	w.do(t, engine, plan.Schedule{MaxStarts: 1, Results: []plan.AttemptResult{finished(1, false, true)}})
	w.do(t, engine, plan.Schedule{MaxStarts: 9, Results: []plan.AttemptResult{finished(1, true, false)}})
	w.do(t, engine, plan.Schedule{MaxStarts: 9, Results: []plan.AttemptResult{finished(6, true, false), finished(7, false, false)}})
	w.do(t, person, plan.AnswerStep{Step: 3, Choice: plan.Deny})
	w.do(t, agent, plan.MarkStep{Step: 5, Status: plan.InProgress})
	w.do(t, agent, plan.MoveStep{Step: 5})
	w.do(t, agent, plan.MarkStep{Step: 5, Status: plan.Failed, Note: "no way"})
	w.do(t, agent, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: "another way"}},
		{Action: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "new"}}}}}}})
	w.do(t, agent, plan.MarkStep{Step: 5, Status: plan.Blocked})
	w.do(t, agent, plan.MarkStep{Step: 5, Status: plan.Done, Note: "found a way"})
	w.do(t, agent, plan.MarkStep{Step: 8, Status: plan.Cancelled})
	w.do(t, agent, plan.MarkStep{Step: 5, Status: plan.Pending})
	w.do(t, agent, plan.Clear{})
	w.do(t, agent, plan.SetUp{Outline: plan.Outline{Objective: "Another"}})
	want := `1 PLAN_CREATED 5 steps, version 1
3 STEP_STARTED S001 at 0: running
3 STEP_STARTED S002 at 1: running
4 STEP_RETRIED S001 at 0: ready, error "broken", logs ["line 1" "line 2"]
4 STEP_STARTED S001 at 0: running
5 STEP_COMPLETED S001 at 0: completed, output "line 1\nline 2", result true "v"
5 STEP_SKIPPED S004 at 3: skipped
5 STEP_STARTED S006 at 5: running
5 STEP_STARTED S007 at 6: running
6 STEP_COMPLETED S006 at 5: completed, output "line 1\nline 2", result true "v"
6 STEP_FAILED S007 at 6: failed, error "broken", result false , logs ["line 1" "line 2"]
6 STEP_FAILED S002 at 1: failed, error "S007 failed", result false 
7 STEP_SKIPPED S003 at 2: skipped, error "User denied approval", result false 
8 STEP_STARTED S005 at 4: running
10 STEP_FAILED S005 at 0: failed, error "no way"
11 PLAN_REPLANNED 8 steps, version 2
13 STEP_COMPLETED S005 at 0: completed, output "found a way"
14 STEP_SKIPPED S008 at 7: skipped
15 STEP_RETRIED S005 at 0: ready
17 PLAN_CREATED 0 steps, version 1
`
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestEventsOfApproval lists a plan that a person approved, and an approved change of it; a waiting
// draft is not carried out.
func TestEventsOfApproval(t *testing.T) {
	w := &told{found: plainly}
	w.do(t, agent, plan.SubmitPlan{Outline: plan.Outline{Objective: "Test", Summary: "Test"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "one"}}, {Spec: plan.Spec{Title: "two"}}}})
	approve := func() { w.do(t, person, plan.DecideDraft{Outcome: plan.Approved, Digest: w.state.Mode.Request.Digest}) }
	approve()
	w.do(t, agent, plan.MarkStep{Step: 1, Status: plan.Done})
	w.do(t, agent, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "beyond", Tool: "write_file"}}}})
	if got, want := w.lines(), "2 PLAN_CREATED 2 steps, version 1\n3 STEP_COMPLETED S001 at 0: completed, output \"\"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	approve()
	if got, want := w.lines(), "5 PLAN_REPLANNED 3 steps, version 1\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestEventsKeepUp: a reader of the events alone knows of each step of the current plan whether it
// runs, and how it ended.
func TestEventsKeepUp(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := &told{found: plainly}
		known := map[plan.StepID]string{}
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			by, a := drawn(t, w.state)
			_ = w.try(t, by, a) // a refusal has no events
			follow(known, w.events)
			w.events = nil
			if p := w.state.Plan; p != nil {
				for step := range p.Steps.All() {
					want := step.Status.Word(plan.ExecutionWords)
					if step.Status == plan.Blocked {
						continue // without an event
					}
					if got := known[step.ID]; got != want && (got != "" || want != "pending") {
						t.Fatalf("%s is %s, and the events say %q", step.ID, want, got)
					}
				}
			}
		}
	})
}

// follow applies events as their reader would.
func follow(known map[plan.StepID]string, events []Event) {
	for _, e := range events {
		switch e.Type {
		case PlanCreated, PlanReplanned:
			body := e.Plan
			if body == nil {
				body = e.NewPlan
			}
			clear(known)
			for _, step := range body.Steps {
				known[step.ID] = step.Status.Word(plan.ExecutionWords)
			}
		case StepRetried:
			known[e.StepID] = "pending"
		default:
			known[e.StepID] = map[EventType]string{StepStarted: "running", StepCompleted: "completed", StepFailed: "failed",
				StepSkipped: "skipped"}[e.Type]
		}
	}
}

// drawn returns a random change.
func drawn(t *rapid.T, s plan.State) (plan.Actor, plan.Action) {
	id := plan.StepID(rapid.IntRange(1, 6).Draw(t, "step"))
	root, attempt := "", 1
	if s.Plan != nil {
		root = s.Plan.Root()
		if step, ok := s.Plan.Steps.Get(id); ok {
			attempt = step.Attempts
		}
	}
	result := plan.AttemptResult{Attempt: plan.Attempt{Plan: root, Step: id, Attempt: attempt},
		Result: plan.Result{OK: rapid.Bool().Draw(t, "ok")}, IsTransient: rapid.Bool().Draw(t, "transient"),
		IsInterrupted: rapid.Bool().Draw(t, "interrupted")}
	agents := rapid.Custom(func(t *rapid.T) plan.NewStep {
		step := plan.NewStep{Spec: plan.Spec{Title: "agent's", Critical: rapid.Bool().Draw(t, "critical")}}
		if rapid.Bool().Draw(t, "tool") {
			step = runs("tool's")
			step.ForEach = rapid.SampledFrom([]string{"", "", "*"}).Draw(t, "loop")
			step.When = rapid.SampledFrom([]string{"", "", "false"}).Draw(t, "when")
		}
		return step
	})
	actions := []struct {
		by plan.Actor
		a  plan.Action
	}{
		{agent, plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: rapid.SliceOfN(agents, 0, 4).Draw(t, "steps")}},
		{agent, plan.AddSteps{Steps: rapid.SliceOfN(agents, 1, 2).Draw(t, "more")}}, {person, plan.BeginRun{}}, {person, plan.BeginRun{}},
		{engine, plan.Schedule{MaxStarts: 2}}, {engine, plan.Schedule{MaxStarts: 2}},
		{engine, plan.Schedule{MaxStarts: 2, Results: []plan.AttemptResult{result}}},
		{engine, plan.Schedule{MaxStarts: 2, Results: []plan.AttemptResult{result}}},
		{agent, plan.MarkStep{Step: id, Status: rapid.SampledFrom([]plan.StepStatus{plan.Pending, plan.InProgress, plan.Blocked, plan.Done,
			plan.Failed, plan.Skipped, plan.Cancelled}).Draw(t, "status"), Note: "noted", Force: true}},
		{person, plan.AnswerStep{Step: id, Choice: rapid.SampledFrom([]plan.Choice{plan.Deny, plan.Approve, plan.Retry, plan.Skip,
			plan.Happened}).Draw(t, "choice")}},
		{agent, plan.MoveStep{Step: id}}, {person, plan.Replan{Changes: "another way"}},
	}
	if rapid.IntRange(0, 30).Draw(t, "clears") == 0 {
		return agent, plan.Clear{}
	}
	drawn := actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]
	if s.Plan == nil {
		drawn = actions[0]
	}
	return drawn.by, drawn.a
}

// TestEventIsBothSpecifications has the fields of rawko's event and of the execution
// specification's under their names.
func TestEventIsBothSpecifications(t *testing.T) {
	w := &told{found: plainly}
	w.do(t, agent, plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "one"}}}})
	w.do(t, agent, plan.MarkStep{Step: 1, Status: plan.InProgress})
	w.do(t, agent, plan.MarkStep{Step: 1, Status: plan.Done})
	wanted := [][]string{{"type", "revision", "time", "taskId", "plan"}, {"type", "revision", "time", "taskId", "stepId", "stepIndex",
		"status", "progress"}, {"type", "revision", "time", "taskId", "stepId", "stepIndex", "status", "progress", "output"}}
	for i, fields := range wanted {
		data := testenv.Must(json.Marshal(w.events[i]))(t)
		var object map[string]any
		testenv.Check(t, json.Unmarshal(data, &object))
		for name := range object {
			if !slices.Contains(fields, name) {
				t.Errorf("%s: %s is there", w.events[i].Type, name)
			}
		}
		if len(object) != len(fields) {
			t.Errorf("%s: %s", w.events[i].Type, data)
		}
	}
}
