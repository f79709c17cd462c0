package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

var engine = plan.NewActor(plan.ChannelEngine, "engine#1")

// tool returns a step that an engine carries out.
func tool(title string, deps ...plan.StepID) plan.NewStep {
	return plan.NewStep{Spec: plan.Spec{Title: title, Tool: "bash_execute", Args: json.RawMessage(`{"command":"true"}`), DependsOn: deps}}
}

// run opens a run and starts the steps that can start.
func run(t failer, steps ...plan.NewStep) *workspace {
	w := withPlan(t, steps...)
	w.do(ann, plan.BeginRun{})
	return w
}

func atWork(t failer) *workspace {
	w := run(t, tool("a"), titled("b"))
	w.advance(1)
	return w
}

func asking(t failer) *workspace {
	step := tool("a")
	step.RequiresApproval = true
	w := run(t, step, titled("b"))
	w.advance(1)
	return w
}

// advance lets an engine report results and start steps. w.found adjusts its findings about a step,
// which are plain by default.
func (w *workspace) advance(room int, finished ...plan.AttemptResult) []string {
	w.t.Helper()
	return kinds(w.do(engine, w.resolve(plan.Schedule{MaxStarts: room, Results: finished})))
}

func (w *workspace) resolve(a plan.Schedule) plan.Schedule {
	w.resolved = map[plan.StepID]plan.Resolution{}
	facts := w.facts(engine, a)
	assigns := func(step *plan.Step) bool {
		r := plan.Resolution{}
		if w.found != nil {
			w.found(step, &r)
		}
		return r.Agent != ""
	}
	for _, step := range plan.StartableStepsWithAgents(a.ApplyResults(w.state, facts), a.MaxStarts, assigns, nil) {
		r := plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), LoopDigest: "list"}
		if w.found != nil {
			w.found(step, &r)
		}
		w.resolved[step.ID] = r
	}
	return a
}

func (w *workspace) finished(id plan.StepID, result plan.Result) plan.AttemptResult {
	return plan.AttemptResult{Attempt: plan.Attempt{Plan: w.state.Plan.Root(), Step: id, Attempt: w.step(id).Attempts}, Result: result}
}

func TestChainRunsInARecordAStep(t *testing.T) {
	w := run(t, tool("a"), tool("b", 1))
	w.advance(4)
	got := w.advance(4, w.finished(1, plan.Result{OK: true}))
	if len(got) != 2 || got[0] != "step_finished" || got[1] != "step_started" {
		t.Errorf("events %v", got)
	}
	w.advance(4, w.finished(2, plan.Result{OK: true}))
	w.wantStatus(plan.StatusCompleted)
	if w.state.Run.Reason != plan.StopCompleted || w.state.Run.EndedAt.IsZero() {
		t.Errorf("the run is %+v", w.state.Run)
	}
}

// want advances and compares the events.
func (w *workspace) wantAdvance(room int, want []string, finished ...plan.AttemptResult) {
	w.t.Helper()
	if got := w.advance(room, finished...); !slices.Equal(got, want) {
		w.t.Fatalf("events %v, want %v", got, want)
	}
}

func ok(value string) plan.Result { return plan.Result{OK: true, Value: json.RawMessage(value)} }

func failed(why string) plan.Result { return plan.Result{Error: why} }

func TestParallelStepsStartWithinTheRoom(t *testing.T) {
	w := run(t, tool("a"), tool("b"), tool("c"), tool("d", 1, 2))
	w.wantAdvance(2, []string{"step_started", "step_started"})
	w.wantAdvance(1, []string{"step_finished", "step_started"}, w.finished(2, ok(`2`)))
	w.wantAdvance(2, []string{"step_finished", "step_finished", "step_started"}, w.finished(1, ok(`1`)), w.finished(3, ok(`3`)))
	if got := w.step(4); !got.IsRunning() || got.ClaimedBy != engine.Name || got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
}

// TestResultsCountInAnyPhase: results are kept, whatever became of the plan.
func TestResultsCountInAnyPhase(t *testing.T) {
	for name, meanwhile := range map[string]func(*workspace){
		"submitted": func(w *workspace) {
			w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}})
		},
		"gathering": func(w *workspace) { w.do(person, plan.EnterMode{}) },
		"paused":    func(w *workspace) { w.do(person, plan.PauseRun{}) },
		"blocked":   func(w *workspace) { w.do(ann, plan.RaiseSignal{ID: "s", Level: plan.Blocker, Message: "red"}) },
		"failed": func(w *workspace) {
			w.limits.MaxReplans = 1
			body := w.state.Body()
			body.Plan.Replans = 1
			w.state = body.Build()
			w.mark(3, plan.Failed)
			w.wantStatus(plan.StatusFailed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			critical := critical("c")
			w := run(t, tool("a"), titled("b"), critical)
			w.advance(1)
			w.mark(2, plan.InProgress)
			meanwhile(w)
			w.wantAdvance(1, []string{"step_finished"}, w.finished(1, ok(`"v"`)))
			if got := w.step(1); got.Status != plan.Done || string(got.Result.Value) != `"v"` {
				t.Errorf("%+v", got)
			}
			w.do(ann, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.ReportStep{Step: 2, Output: "made"}},
				{Action: plan.MarkStep{Step: 2, Status: plan.Done}}}})
			if w.step(2).Status != plan.Done {
				t.Error("the agent's result is lost")
			}
		})
	}
}

// TestStrayResults: of another attempt, engine, plan or step; they are recorded and change nothing.
func TestStrayResults(t *testing.T) {
	w := atWork(t)
	done := w.finished(1, ok(`1`))
	for name, change := range map[string]func(*plan.AttemptResult){
		"attempt": func(d *plan.AttemptResult) { d.Attempt.Attempt = 2 }, "plan": func(d *plan.AttemptResult) { d.Plan = "other-1" },
		"step": func(d *plan.AttemptResult) { d.Step = 9 }, "not started": func(d *plan.AttemptResult) { d.Step = 2 },
	} {
		stray := done
		change(&stray)
		if got := w.advance(1, stray); !slices.Equal(got, []string{"stray_result"}) || w.step(1).Status != plan.InProgress {
			t.Errorf("%s: %v", name, got)
		}
	}
	second := plan.NewActor(plan.ChannelEngine, "engine#2")
	if got := kinds(w.do(second, plan.Schedule{Results: []plan.AttemptResult{done}})); got[0] != "stray_result" {
		t.Errorf("another engine: %v", got)
	}
	w.refused(ann, plan.Schedule{Results: []plan.AttemptResult{done}})
}

func TestPassingFaultsAreTriedThreeTimes(t *testing.T) {
	w := atWork(t)
	for _, want := range []string{"step_retried", "step_retried", "step_finished"} {
		done := w.finished(1, failed("connection closed"))
		done.IsTransient = true
		if got := w.advance(1, done); got[0] != want {
			t.Fatalf("attempt %d: %v, want %s", w.step(1).Attempts, got, want)
		}
	}
	if got := w.step(1); got.Status != plan.Failed || got.Attempts != 3 || got.Error != "connection closed" {
		t.Errorf("%+v", got)
	}
	w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Retry})
	w.wantAdvance(1, []string{"step_started"})
	if w.step(1).Attempts != 4 {
		t.Error("attempts are not counted on")
	}
}

// TestLostSteps: steps safe to repeat are repeated, the others ask for a settlement.
func TestLostSteps(t *testing.T) {
	for _, safe := range []bool{false, true} {
		w := run(t, tool("a"), titled("b"))
		w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsRepeatable = safe }
		w.advance(1)
		second := plan.NewActor(plan.ChannelEngine, "engine#2")
		lost := plan.Schedule{Lost: []plan.Attempt{w.finished(1, plan.Result{}).Attempt}}
		w.unchanged(second, lost) // its engine lives
		w.seen[engine.Name] = plan.Sighting{IsGone: true}
		w.do(second, lost)
		w.unchanged(second, lost)
		step := w.step(1)
		if step.IsUnknown() == safe || (step.Status == plan.Pending) != safe || step.ClaimedBy != "" {
			t.Errorf("safe %t: %+v", safe, step)
		}
		if safe {
			continue
		}
		w.refused(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
		w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Failed})
		if got := plan.FindStopReason(w.state); got != plan.StopWaitingForPerson {
			t.Errorf("over: %q", got)
		}
		w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Happened, Text: "the file is there"})
		if step := w.step(1); step.Status != plan.Done || step.OpenQuestion() != nil {
			t.Errorf("%+v", step)
		}
	}
}

// TestMarksOfUnknownSteps: an agent's mark is refused; a person's settles the step.
func TestMarksAnswerForUnknownSteps(t *testing.T) {
	for _, mark := range []plan.StepStatus{plan.Done, plan.Pending, plan.Skipped} {
		w := atWork(t)
		w.seen[engine.Name] = plan.Sighting{IsGone: true}
		w.do(plan.NewActor(plan.ChannelEngine, "engine#2"), plan.Schedule{Lost: []plan.Attempt{w.finished(1, plan.Result{}).Attempt}})
		w.refused(ann, plan.MarkStep{Step: 1, Status: mark, Note: "seen"})
		if got := kinds(w.do(person, plan.MarkStep{Step: 1, Status: mark, Note: "seen"})); got[0] != "step_answered" {
			t.Errorf("%s: events %v", mark, got)
		}
		if step := w.step(1); step.Status != mark || step.IsUnknown() || len(step.Notes) != 1 {
			t.Errorf("%s: %+v", mark, step)
		}
	}
}

// TestInterruptedSteps: killed or timed out.
func TestInterruptedSteps(t *testing.T) {
	w := atWork(t)
	done := w.finished(1, failed("timed out"))
	done.IsInterrupted = true
	w.wantAdvance(1, []string{"step_lost"}, done)
	if !w.step(1).IsUnknown() {
		t.Errorf("%+v", w.step(1))
	}
}

func TestApprovalOfASteps(t *testing.T) {
	w := asking(t)
	ask := w.step(1).OpenQuestion()
	if ask == nil || ask.Kind != plan.AskApproval || ask.Attempt != 1 {
		t.Fatalf("asks %+v", ask)
	}
	w.unchanged(engine, w.resolve(plan.Schedule{MaxStarts: 1})) // it was asked
	client := plan.NewActor(plan.ChannelClient, "ann")
	w.refused(ann, plan.AnswerStep{Step: 1, Choice: plan.Approve})
	w.refused(client, plan.AnswerStep{Step: 1, Choice: plan.Approve})
	w.refused(client, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: "other"})
	w.limits.PersonOnly = true
	w.refused(client, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: ask.Digest})
	w.limits.PersonOnly = false
	w.do(client, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: ask.Digest})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.Digest = "changed" } // in the meantime
	w.wantAdvance(1, []string{"step_asked"})
	w.found = nil
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve, Args: json.RawMessage(`{"command":"ls"}`)})
	grant := w.step(1).Execution.Approval
	if string(grant.Args) != `{"command":"ls"}` || grant.Way != plan.WayPerson {
		t.Fatalf("granted %+v", grant)
	}
	w.found = func(step *plan.Step, r *plan.Resolution) { r.Digest = plan.StartDigest(step, grant.Args, "") }
	w.wantAdvance(1, []string{"step_started"})
	if w.step(1).Execution.Approval != nil {
		t.Error("a grant counts for more than an attempt")
	}
}

func TestDeniedStepIsSkipped(t *testing.T) {
	w := run(t, func() plan.NewStep { s := tool("a"); s.RequiresApproval = true; return s }(), tool("b", 1))
	w.advance(1)
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Deny})
	step := w.step(1)
	if step.Status != plan.Skipped || step.Result.OK || step.Result.Error != "User denied approval" {
		t.Errorf("%+v", step)
	}
	w.unchanged(engine, w.resolve(plan.Schedule{MaxStarts: 1})) // the steps that needed it wait
	if got := plan.FindStopReason(w.state); got != plan.StopDeadlocked {
		t.Errorf("over: %q", got)
	}
}

func TestFailedStepMakesTheRunFailed(t *testing.T) {
	fails := func(w *workspace) { w.do(ann, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "exit 3"}) }
	marks := func(status plan.StepStatus) func(*workspace) {
		return func(w *workspace) { fails(w); w.do(ann, plan.MarkStep{Step: 2, Status: status, Note: "as it is"}) }
	}
	pauses := tool("asks")
	pauses.Pause = "Which colour?"
	for name, c := range map[string]struct {
		steps []plan.NewStep
		then  func(*workspace)
		want  plan.StopReason
	}{
		"nothing is left":         {[]plan.NewStep{tool("a"), tool("b", 1)}, fails, plan.StopFailed},
		"a step of an agent":      {[]plan.NewStep{tool("a"), titled("b")}, fails, plan.StopWaitingForAgent},
		"an agent at work":        {[]plan.NewStep{tool("a"), titled("b")}, marks(plan.InProgress), plan.StopWaitingForAgent},
		"a step for an engine":    {[]plan.NewStep{tool("a"), tool("b")}, fails, ""},
		"a question":              {[]plan.NewStep{tool("a"), pauses}, func(w *workspace) { fails(w); w.advance(1) }, plan.StopFailed},
		"a blocked step":          {[]plan.NewStep{tool("a"), titled("b")}, marks(plan.Blocked), plan.StopFailed},
		"a question, none failed": {[]plan.NewStep{pauses}, func(w *workspace) { w.advance(1) }, plan.StopWaitingForPerson},
		"a step skipped, not done": {[]plan.NewStep{tool("a"), tool("b", 1)}, func(w *workspace) {
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Skip, Text: "no"})
		}, plan.StopDeadlocked},
	} {
		w := run(t, c.steps...)
		c.then(w)
		if got := plan.FindStopReason(w.state); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

func TestDestructiveStepsOfAnApprovedPlanDoNotAskAgain(t *testing.T) {
	for way, want := range map[plan.Way]string{plan.WayPerson: "step_started", plan.WayClient: "step_started"} {
		w := newWorkspace(t)
		w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Tidy"}, Steps: []plan.NewStep{tool("a")}})
		answer := plan.DecideDraft{Outcome: plan.Approved, Request: w.state.ModeNow().Request.ID, Digest: plan.Digest(w.state.Draft)}
		by := person
		if way == plan.WayClient {
			by = plan.NewActor(plan.ChannelClient, "ann")
		}
		w.do(by, answer)
		w.do(ann, plan.BeginRun{})
		w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsDestructive = true }
		if w.limits.PersonOnly = way == plan.WayClient; w.limits.PersonOnly {
			want = "step_asked"
		}
		w.wantAdvance(1, []string{want})
	}
	w := run(t, tool("a"))
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsDestructive = true }
	w.wantAdvance(1, []string{"step_asked"}) // without an approval
}

func TestConditions(t *testing.T) {
	conditional := tool("a")
	conditional.When = "1 > 2"
	manual := titled("c")
	manual.When = "true"
	w := run(t, conditional, tool("b", 1), manual)
	w.found = func(step *plan.Step, r *plan.Resolution) { r.ConditionFalse = step.ID == 1 }
	w.wantAdvance(1, []string{"condition_unmet", "condition_met"})
	w.wantAdvance(1, []string{"step_started"})
	w.advance(1, w.finished(2, ok(`1`)))
	if got := plan.FindStopReason(w.state); got != plan.StopWaitingForAgent {
		t.Errorf("over: %q", got)
	}
	w.mark(3, plan.Done)
	w.wantStatus(plan.StatusCompleted)
}

func TestPlanOfUnmetConditionsCompletes(t *testing.T) {
	conditional := tool("a")
	conditional.When = "false"
	w := run(t, conditional)
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.ConditionFalse = true }
	w.wantAdvance(1, []string{"condition_unmet", "plan_completed", "run_ended"})
}

func items(texts ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, text := range texts {
		list = append(list, json.RawMessage(`"`+text+`"`))
	}
	return list
}

func TestLoops(t *testing.T) {
	loop := tool("Copy")
	loop.ForEach = "*.txt"
	w := run(t, loop, tool("then", 1))
	w.found = func(step *plan.Step, r *plan.Resolution) { r.Items = items("a.txt", "b.txt", "c.txt") }
	w.wantAdvance(2, []string{"loop_expanded"})
	w.found = nil
	w.refused(ann, plan.UpdateStep{Step: 1, Patch: wholePatch()})
	w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Done})
	w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{titled("x", 3)}})
	w.wantAdvance(2, []string{"step_started", "step_started"})
	if got := w.step(4).Title; got != "Copy: b.txt" || w.step(4).Loop() != 1 {
		t.Errorf("the instance is %q", got)
	}
	w.advance(2, w.finished(3, ok(`1`)), w.finished(4, failed("no")))
	w.wantAdvance(2, []string{"step_finished", "loop_settled"}, w.finished(5, ok(`3`)))
	if got := w.step(1); got.Status != plan.Failed || got.Error != "S004 failed" {
		t.Errorf("the loop is %s, %q", got.Status, got.Error)
	}
	if got := kinds(w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Retry})); !slices.Equal(got,
		[]string{"step_answered", "step_answered", "loop_settled"}) {
		t.Errorf("events %v", got)
	}
	w.wantAdvance(2, []string{"step_started"})
	w.wantAdvance(2, []string{"step_finished", "loop_settled", "step_started"}, w.finished(4, ok(`2`)))
	w.wantAdvance(2, []string{"step_finished", "plan_completed", "run_ended"}, w.finished(2, ok(`0`)))
}

func TestEmptyLoopIsDone(t *testing.T) {
	loop := titled("Look at each")
	loop.ForEach = "[]"
	w := run(t, loop, titled("b", 1))
	w.wantAdvance(2, []string{"loop_expanded", "loop_settled"})
	if got := w.step(1); got.Status != plan.Done || !got.Result.OK {
		t.Errorf("%+v", got)
	}
}

func TestPauseAsksAPerson(t *testing.T) {
	pause := titled("Which region?")
	pause.Pause = "Which region is first?"
	w := run(t, pause, titled("b", 1))
	w.wantAdvance(1, []string{"step_asked"})
	w.refused(ann, plan.AnswerStep{Step: 1, Choice: plan.Reply, Text: "eu"})
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Reply, Text: "eu"})
	if got := w.step(1); got.Status != plan.Done || string(got.Result.Value) != `"eu"` {
		t.Errorf("%+v", got)
	}
}

// TestBlockedStepIsAnswered: a person says how to unblock a step, and it is tried again with that.
// No other actor may, and a text does not answer another kind of question.
func TestBlockedStepIsAnswered(t *testing.T) {
	reply := plan.AnswerStep{Step: 1, Choice: plan.Reply, Text: "numbers only"}
	w := run(t, titled("Sum up"), titled("b", 1))
	w.refused(person, reply)
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
	w.refused(person, reply)
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Blocked, Note: "which columns?"})
	w.refused(ann, reply)
	w.do(person, reply)
	notes := []string{"which columns?", "numbers only"}
	if got := w.step(1); got.Status != plan.Pending || got.Result != nil || !slices.Equal(got.Notes, notes) {
		t.Errorf("%+v", got)
	}
	w.refused(person, reply)
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Blocked})
	for len(w.step(1).Notes) < plan.MaxNotes {
		w.do(ann, plan.ReportStep{Step: 1, Note: "more"})
	}
	w.refused(person, reply)
}

func TestPersonsPauseIsNotResumedByAnAgent(t *testing.T) {
	w := atWork(t)
	w.do(person, plan.PauseRun{})
	w.refused(ann, plan.BeginRun{})
	w.advance(1, w.finished(1, ok(`1`)))
	if got := plan.FindStopReason(w.state); got != plan.StopPaused {
		t.Errorf("over: %q", got)
	}
	w.do(person, plan.BeginRun{})
}

func TestAgentsDoNotDisturbARun(t *testing.T) {
	w := atWork(t)
	w.refused(ann, plan.EnterMode{})
	w.refused(ann, plan.Replan{Changes: "c"})
	w.do(person, plan.EnterMode{})
	w.advance(1, w.finished(1, ok(`1`)))
	if len(plan.StartableSteps(w.state, 1)) != 0 {
		t.Error("something starts while only reading is allowed")
	}
}

// TestReplanning follows rawko's life cycle.
func TestReplanning(t *testing.T) {
	w := withPlan(t, critical("a"), titled("b"), titled("c", 1))
	root := w.state.Plan.ID
	w.mark(2, plan.Done)
	for version := 2; version <= 4; version++ {
		w.mark(1, plan.Failed)
		w.wantStatus(plan.StatusReplanning)
		former := w.state.Plan.ID
		w.do(ann, plan.Batch{Word: "update", Parts: []plan.Part{
			{Field: "/replan", Action: plan.Replan{Changes: "another way",
				Discoveries: []string{"no index"}, Constraints: []string{"fast"}}},
			{Field: "/add_tasks", Action: plan.AddSteps{Steps: []plan.NewStep{titled("more")}}}}})
		w.wantStatus(plan.StatusActive)
		p := w.state.Plan
		if p.Version != version || p.PreviousPlanID != former || p.Root() != root || p.Changes != "another way" {
			t.Fatalf("%+v", p)
		}
		if w.step(1).Status != plan.Pending || w.step(2).Status != plan.Done || len(p.Metadata.Constraints) != 1 {
			t.Fatalf("%+v", w.step(1))
		}
		if past := w.past(former); past == nil || past.Version != version-1 {
			t.Fatalf("the former version is %+v", past)
		}
	}
	w.mark(1, plan.Failed)
	w.wantStatus(plan.StatusFailed)
	w.refused(ann, plan.Replan{Changes: "once more"})
}

// TestReplanningDoesNotEscapeAnApproval: versions are compared by their root.
func TestReplanningDoesNotEscapeAnApproval(t *testing.T) {
	w := approvedPlan(t)
	w.do(person, passed(1))
	w.do(person, plan.MarkStep{Step: 1, Status: plan.Done})
	w.mark(2, plan.InProgress)
	replan := plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: "more"}},
		{Action: plan.AddSteps{Steps: []plan.NewStep{tool("rm")}}}}}
	w.do(ann, replan)
	w.wantProposal(plan.PhaseExecuting)
	if w.state.Plan.Version != 1 || w.state.Draft.Version != 2 {
		t.Fatalf("versions %d and %d", w.state.Plan.Version, w.state.Draft.Version)
	}
	w.do(person, decided(plan.Approved, w.answer("")))
	if p := w.state.Plan; p.Version != 2 || p.Root() != p.PreviousPlanID || w.step(2).Status != plan.InProgress ||
		w.step(3).Tool == "" {
		t.Errorf("%+v", p)
	}
	if w.past(w.state.Plan.PreviousPlanID) == nil {
		t.Error("the former version is lost")
	}
	w.do(ann, plan.Replan{Changes: "as it is"}) // departs from nothing
	w.wantPhase(plan.PhaseExecuting)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{tool("rm -r")}})
	w.wantProposal(plan.PhaseExecuting)
}

func TestInsertedStepsComeFirst(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.mark(1, plan.Failed)
	w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Insert, Steps: []plan.NewStep{titled("mend")}})
	if got := w.state.Plan.Steps.NextReady(); got == nil || got.ID != 2 || w.step(1).Status != plan.Pending {
		t.Errorf("%+v", got)
	}
}

func TestAbortEndsTheRun(t *testing.T) {
	w := atWork(t)
	w.advance(1, w.finished(1, failed("no")))
	w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Abort})
	if got := plan.FindStopReason(w.state); got != plan.StopCancelled || w.state.Run.EndedAt.IsZero() {
		t.Errorf("over: %q", got)
	}
}

func TestBlockerStopsStarts(t *testing.T) {
	w := run(t, tool("a"))
	w.do(ann, plan.RaiseSignal{ID: "s", Level: plan.Blocker, Message: "red"})
	w.unchanged(engine, w.resolve(plan.Schedule{MaxStarts: 1}))
	if got := plan.FindStopReason(w.state); got != plan.StopWaitingForPerson {
		t.Errorf("over: %q", got)
	}
	w.now = w.now.Add(8 * time.Hour)
	w.do(ann, plan.ClearSignal{ID: "s"})
	w.wantAdvance(1, []string{"step_started"})
}

// TestGrantOfALoop: one question for all instances, and each may start once.
func TestGrantOfALoop(t *testing.T) {
	loop := tool("Delete")
	loop.ForEach, loop.Risk = "*.txt", plan.HighRisk
	w := run(t, loop, titled("b"))
	w.found = func(step *plan.Step, r *plan.Resolution) {
		r.IsDestructive, r.Items = true, items("a.txt", "b.txt")
		if step.Loop() != 0 {
			r.Items = nil
		}
	}
	w.wantAdvance(2, []string{"step_asked"})
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
	w.wantAdvance(2, []string{"loop_expanded"})
	w.wantAdvance(2, []string{"step_started", "step_started"})
	again := w.finished(3, failed("busy"))
	again.IsTransient = true
	w.wantAdvance(2, []string{"step_retried", "step_asked"}, again)
}

// TestApprovalCoversWhatIsCarriedOut: an approved plan that was archived and restored asks again,
// and so does one after the end of its planning mode.
func TestApprovalCoversWhatIsCarriedOut(t *testing.T) {
	for name, meanwhile := range map[string]func(*workspace){
		"restored": func(w *workspace) {
			id := w.state.Plan.ID
			w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}})
			w.do(person, plan.Restore{PlanID: id})
		},
		"cancelled": func(w *workspace) { w.do(person, plan.CancelMode{}) },
		"ended":     func(w *workspace) { w.do(ann, plan.EndMode{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Tidy"}, Steps: []plan.NewStep{tool("a")}})
			w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
			meanwhile(w)
			w.do(ann, plan.BeginRun{})
			w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsDestructive = true }
			w.wantAdvance(1, []string{"step_asked"})
		})
	}
}

// TestDraftHidesNothing: a draft from elsewhere has no instances, which an approval would not bind.
func TestDraftHidesNothing(t *testing.T) {
	w := newWorkspace(t)
	a := elsewhere()
	a.Draft, a.Steps = true, a.Steps[:3]
	w.do(ann, a)
	for step := range w.state.Draft.Steps.All() {
		if step.Execution != nil {
			t.Errorf("%s has %+v", step.ID, step.Execution)
		}
	}
}

// TestGrantIsForWhatWasShown: whatever an agent changes while a person looks, or afterwards.
func TestGrantIsForWhatWasShown(t *testing.T) {
	evil := json.RawMessage(`{"command":"evil"}`)
	edit := plan.UpdateStep{Step: 1, Patch: plan.Patch{Args: &evil}}
	verify := "evil"
	wants := func(t failer) *workspace {
		step := tool("a")
		step.RequiresApproval = true
		return withPlan(t, step, titled("b"))
	}
	t.Run("not asked yet", func(t *testing.T) {
		w := wants(t)
		shown := plan.StartDigest(w.step(1), w.step(1).Args, "")
		w.do(ann, edit)
		w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: shown})
	})
	t.Run("asked, and begun anew", func(t *testing.T) {
		w := asking(t)
		shown := w.step(1).OpenQuestion().Digest
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Cancelled})
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending})
		w.do(ann, edit)
		w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: shown})
	})
	t.Run("with other arguments, and verified otherwise", func(t *testing.T) {
		w := asking(t)
		shown := w.step(1).OpenQuestion().Digest
		w.do(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{Verify: &verify}})
		w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Approve, Digest: shown, Args: json.RawMessage(`{"command":"ls"}`)})
	})
	t.Run("granted", func(t *testing.T) {
		w := asking(t)
		w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
		w.do(ann, edit)
		w.wantAdvance(1, []string{"step_asked"})
	})
	t.Run("an instance", func(t *testing.T) {
		loop := tool("Delete")
		loop.ForEach, loop.RequiresApproval = `["a","b"]`, true
		w := run(t, loop)
		w.found = func(step *plan.Step, r *plan.Resolution) {
			if r.IsDestructive = true; step.Loop() == 0 {
				r.Items = items("a", "b")
			}
		}
		w.advance(1)
		w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
		w.advance(1)
		w.do(ann, plan.MarkStep{Step: 3, Status: plan.Skipped})
		w.refused(ann, plan.AnswerStep{Step: 3, Choice: plan.Retry, Args: evil})
	})
	t.Run("an approved step that was done", func(t *testing.T) {
		w := newWorkspace(t)
		w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Pay"}, Steps: []plan.NewStep{tool("a"), titled("b")}})
		w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
		w.do(ann, plan.BeginRun{})
		w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsDestructive = true }
		w.wantAdvance(1, []string{"step_started"})
		w.advance(1, w.finished(1, ok(`1`)))
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending})
		w.wantAdvance(1, []string{"step_asked"})
	})
	t.Run("an approval of a version that a person brought back", func(t *testing.T) {
		w := newWorkspace(t)
		w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Pay"}, Steps: []plan.NewStep{tool("a")}})
		w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
		first := w.state.Plan.ID
		w.do(person, plan.Replan{Changes: "another way"})
		w.do(person, plan.Restore{PlanID: first})
		w.do(ann, plan.BeginRun{})
		w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsDestructive = true }
		w.wantAdvance(1, []string{"step_started"})
	})
}

// TestNobodyIsAskedOnlyWhereAPersonSaidSo: an agent controls the configuration of its shell.
func TestNobodyIsAskedOnlyWhereAPersonSaidSo(t *testing.T) {
	for via, want := range map[plan.Channel]string{plan.ChannelAgentShell: "step_asked", plan.ChannelTerminal: "step_started"} {
		step := tool("a")
		step.RequiresApproval = true
		w := withPlan(t, step)
		w.limits.NeverAsk = true
		w.do(plan.NewActor(via, "x"), plan.BeginRun{})
		w.wantAdvance(1, []string{want})
	}
}

// TestNeverAskingLiftsOpenQuestions: it was chosen after the run had asked; an agent's shell cannot choose it.
func TestNeverAskingLiftsOpenQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		by     plan.Actor
		paused bool
		want   []string
	}{
		"resumed":               {person, true, []string{"step_started"}},
		"joined":                {person, false, []string{"step_started"}},
		"from an agent's shell": {plan.NewActor(plan.ChannelAgentShell, "x"), true, nil},
	} {
		step := tool("a")
		step.RequiresApproval = true
		w := run(t, step)
		w.wantAdvance(1, []string{"step_asked"})
		if c.paused {
			w.do(engine, plan.PauseRun{Reason: plan.StopWaitingForPerson})
		}
		w.limits.NeverAsk = true
		w.do(c.by, plan.BeginRun{})
		if lifted := w.step(1).OpenQuestion() == nil; lifted != (c.want != nil) {
			t.Fatalf("%s: lifted: %v", name, lifted)
		}
		if c.want != nil {
			w.wantAdvance(1, c.want)
		}
	}
}

// TestArgumentsTooLargeToBeShown: the question says that they are not shown.
func TestArgumentsTooLargeToBeShown(t *testing.T) {
	step := tool("a")
	step.RequiresApproval = true
	w := run(t, step)
	w.found = func(_ *plan.Step, r *plan.Resolution) {
		r.Args = json.RawMessage(`"` + strings.Repeat("x", 20_000) + `"`)
	}
	w.advance(1)
	if ask := w.step(1).OpenQuestion(); ask.Args != nil || !strings.Contains(ask.Text, "20002 bytes, too large to show") {
		t.Errorf("asks %+v", ask)
	}
}
