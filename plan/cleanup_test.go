package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// rolled returns a step with a condition, which decides as those of an engine would.
func rolled(title, when string) plan.NewStep {
	step := tool(title)
	step.When = when
	return step
}

func always(title string, deps ...plan.StepID) plan.NewStep {
	step := tool(title, deps...)
	step.Always = true
	return step
}

func mustWork(step plan.NewStep) plan.NewStep {
	step.Critical = true
	return step
}

// runConditions is run with findings that evaluate conditions of the form: status == "failed", or ok.
func runConditions(t failer, steps ...plan.NewStep) *workspace {
	w := run(t, steps...)
	w.found = func(step *plan.Step, r *plan.Resolution) {
		for _, id := range step.ReferencedSteps() {
			if status := w.step(id).Status; strings.Contains(step.When, id.String()) {
				r.ConditionFalse = strings.Contains(step.When, "failed") != (status == plan.Failed)
			}
		}
	}
	return w
}

// play carries out a run whose steps end as told until nothing can start, and returns the starts and the reason of its end.
func (w *workspace) play(fails ...plan.StepID) (starts []plan.StepID, over plan.StopReason) {
	w.t.Helper()
	for range 100 {
		for step := range w.state.Plan.Steps.Running() {
			if w.resolved = nil; step.IsRunning() {
				result := w.finished(step.ID, plan.Result{OK: !slices.Contains(fails, step.ID), Error: "e"})
				w.do(engine, plan.Schedule{Results: []plan.AttemptResult{result}})
			}
		}
		if over := plan.FindStopReason(w.state); over != "" {
			return starts, over
		}
		for _, e := range w.do(engine, w.resolve(plan.Schedule{MaxStarts: 1})) {
			if started, is := e.(plan.StepStarted); is {
				starts = append(starts, started.Step)
			}
		}
	}
	w.t.Fatalf("the run does not end")
	return nil, ""
}

// TestCleanUp: conditions that read an end wait for any end, and run after a failure as steps that run at the end do.
func TestCleanUp(t *testing.T) {
	failed, ok := `steps.S001.status == "failed"`, `steps.S001.ok`
	loop := tool("each")
	loop.ForEach = `["a"]`
	for name, test := range map[string]struct {
		steps  []plan.NewStep
		fails  []plan.StepID
		starts []plan.StepID
		over   plan.StopReason
		status plan.PlanStatus
	}{
		"a condition reads a success": {[]plan.NewStep{tool("a"), rolled("b", failed), rolled("c", ok)}, nil,
			[]plan.StepID{1, 3}, plan.StopCompleted, plan.StatusCompleted},
		"a condition reads a failure": {[]plan.NewStep{tool("a"), rolled("b", failed), rolled("c", ok)}, []plan.StepID{1},
			[]plan.StepID{1, 2}, plan.StopFailed, plan.StatusActive},
		"an explicit dependency beside it": {[]plan.NewStep{tool("a"), {Spec: plan.Spec{Title: "b", Tool: "t", When: failed,
			DependsOn: []plan.StepID{1}}}}, []plan.StepID{1}, []plan.StepID{1, 2}, plan.StopFailed, plan.StatusActive},
		"another dependency still waits": {[]plan.NewStep{tool("a"), tool("x", 1), {Spec: plan.Spec{Title: "b", Tool: "t", When: failed,
			DependsOn: []plan.StepID{2}}}}, []plan.StepID{1}, []plan.StepID{1}, plan.StopFailed, plan.StatusActive},
		"a value needs success": {[]plan.NewStep{tool("a"), rolled("b", "steps.S001.value > 1")}, []plan.StepID{1}, []plan.StepID{1},
			plan.StopFailed, plan.StatusActive},
		"a rollback runs before the replan, other work does not": {[]plan.NewStep{mustWork(tool("a")), rolled("b", failed), tool("c")},
			[]plan.StepID{1}, []plan.StepID{1, 2}, plan.StopFailed, plan.StatusReplanning},
		"always, complete": {[]plan.NewStep{always("z", 2), tool("a"), tool("b", 2)}, nil, []plan.StepID{2, 3, 1}, plan.StopCompleted,
			plan.StatusCompleted},
		"always, failed": {[]plan.NewStep{tool("a"), always("z", 3), tool("b", 1)}, []plan.StepID{1}, []plan.StepID{1, 2},
			plan.StopFailed, plan.StatusActive},
		"always, a critical failure": {[]plan.NewStep{mustWork(tool("a")), rolled("b", failed), tool("c", 1), always("z")},
			[]plan.StepID{1}, []plan.StepID{1, 2, 4}, plan.StopFailed, plan.StatusReplanning},
		"always in order, whatever happened": {[]plan.NewStep{always("z", 2), always("y"), tool("a")}, []plan.StepID{2},
			[]plan.StepID{3, 2, 1}, plan.StopFailed, plan.StatusActive},
		"a loop that failed": {[]plan.NewStep{loop, rolled("b", failed), always("z")}, []plan.StepID{4}, []plan.StepID{4, 2, 3},
			plan.StopFailed, plan.StatusActive},
	} {
		t.Run(name, func(t *testing.T) {
			w := runConditions(t, test.steps...)
			found := w.found
			w.found = func(step *plan.Step, r *plan.Resolution) {
				if found(step, r); step.ForEach != "" && step.Loop() == 0 {
					r.Items = []json.RawMessage{json.RawMessage(`"a"`)}
				}
			}
			starts, over := w.play(test.fails...)
			if !slices.Equal(starts, test.starts) || over != test.over || w.state.Plan.Status != test.status {
				t.Errorf("starts %v, over %q, plan %s; want %v, %q, %s", starts, over, w.state.Plan.Status, test.starts, test.over,
					test.status)
			}
			if plan.HasCleanup(w.state) {
				t.Error("clean-up is left")
			}
		})
	}
}

// TestCleanUpAfterTheLastReplan: a failed plan's run ends after its clean-up.
func TestCleanUpAfterTheLastReplan(t *testing.T) {
	w := newWorkspace(t)
	w.limits.MaxReplans = 1
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{mustWork(tool("a")),
		rolled("b", `steps.S001.status == "failed"`), always("z")}})
	for attempt, want := range []plan.PlanStatus{plan.StatusReplanning, plan.StatusFailed} {
		w.do(person, plan.BeginRun{})
		if starts, over := w.play(1); !slices.Equal(starts, []plan.StepID{1, 2, 3}) || over != plan.StopFailed {
			t.Errorf("attempt %d: starts %v, over %q", attempt, starts, over)
		}
		if w.wantStatus(want); want == plan.StatusReplanning {
			w.do(engine, plan.PauseRun{Reason: plan.StopFailed})
			w.refused(person, plan.BeginRun{})
			w.do(person, plan.Replan{Changes: "another way"})
		}
	}
	if w.state.Run.EndedAt.IsZero() || w.state.Run.Reason != plan.StopFailed {
		t.Errorf("%+v", w.state.Run)
	}
}

// TestAbortCleansUp: a run that is given up starts only its clean-up, even if its engine died and another continues it, and
// ends at once when it is given up again.
func TestAbortCleansUp(t *testing.T) {
	w := run(t, tool("a"), tool("b"), always("z"))
	w.wantAdvance(1, []string{"step_started"})
	w.do(person, plan.EndRun{})
	if got := plan.FindStopReason(w.state); got != "" || w.state.OpenRun() == nil {
		t.Fatalf("over %q, %+v", got, w.state.Run)
	}
	w.wantAdvance(4, []string{"step_finished", "step_started"}, w.finished(1, ok("1")))
	w.do(engine, plan.PauseRun{}) // Ctrl-C
	w.do(person, plan.BeginRun{})
	w.wantAdvance(4, []string{"step_finished", "run_ended"}, w.finished(3, ok("1")))
	if got := plan.FindStopReason(w.state); got != plan.StopCancelled || w.step(2).Status != plan.Pending {
		t.Errorf("over %q", got)
	}
	w.do(person, plan.BeginRun{})
	w.wantAdvance(4, []string{"step_started", "steps_renewed"})
	w.do(person, plan.EndRun{})
	w.do(person, plan.EndRun{})
	if w.state.OpenRun() != nil {
		t.Error("the run is open")
	}
	_ = w.finished(2, ok("1"))
}

// TestAlwaysWaitsWhileTheRunIsPaused: it does not run while a person or an agent is waited for, or after a pause.
func TestAlwaysWaitsWhileTheRunIsPaused(t *testing.T) {
	asks := tool("a")
	asks.Pause = "which?"
	for name, step := range map[string]plan.NewStep{"a person": asks, "an agent": titled("a")} {
		w := run(t, step, always("z"))
		_, _ = w.try(engine, w.resolve(plan.Schedule{MaxStarts: 4}))
		if got := plan.FindStopReason(w.state); got != plan.StopWaitingForPerson && got != plan.StopWaitingForAgent ||
			w.step(2).Status != plan.Pending {
			t.Errorf("%s: over %q, %+v", name, got, w.step(2))
		}
		w.refused(ann, plan.MarkStep{Step: 2, Status: plan.InProgress})
	}
	w := run(t, tool("a"), always("z"))
	w.advance(1)
	w.do(person, plan.PauseRun{})
	w.wantAdvance(1, []string{"step_finished"}, w.finished(1, ok("1")))
}

func TestNoOtherStepWaitsForOneAtTheEnd(t *testing.T) {
	w := newWorkspace(t)
	w.refused(person, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{always("z"), tool("a", 1)}})
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{always("z"), tool("a"), tool("b", 2)}})
	yes := true
	w.refused(person, plan.UpdateStep{Step: 2, Patch: plan.Patch{Always: &yes}})
	w.refused(person, plan.UpdateStep{Step: 3, Patch: plan.Patch{DependsOn: &[]plan.StepID{1}}})
}

func using(title string, id plan.StepID) plan.NewStep {
	step := tool(title)
	step.Args = json.RawMessage(fmt.Sprintf(`{"command":"$%s"}`, id))
	return step
}

// TestRedo: a done step is done again with what used its value, or leaves that stale, which a person settles.
func TestRedo(t *testing.T) {
	done := func() *workspace {
		w := runConditions(t, tool("a"), using("b", 1), using("c", 2), tool("d", 1), rolled("e", `steps.S001.status == "failed"`))
		if starts, over := w.play(); over != plan.StopCompleted || len(starts) != 4 {
			t.Fatalf("%v, %q", starts, over)
		}
		return w
	}
	w := done()
	err := w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Retry})
	if !strings.Contains(err.Error(), "S002") || !strings.Contains(err.Error(), "--with-dependents") {
		t.Error(err)
	}
	w.do(person, plan.AnswerStep{Step: 4, Choice: plan.Retry}) // unused
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Retry, WithDependents: true})
	w.do(person, plan.BeginRun{})
	if starts, over := w.play(); !slices.Equal(starts, []plan.StepID{1, 2, 3, 4}) || over != plan.StopCompleted {
		t.Errorf("starts %v, over %q", starts, over)
	}
	for name, settle := range map[string]plan.Action{
		"accepted": plan.MarkStep{Step: 2, Status: plan.Done}, "skipped": plan.MarkStep{Step: 2, Status: plan.Skipped},
		"done again": plan.AnswerStep{Step: 2, Choice: plan.Retry, WithDependents: true},
	} {
		w := done()
		w.do(person, plan.MarkStep{Step: 1, Status: plan.Pending})
		w.do(person, plan.BeginRun{})
		if starts, over := w.play(); !slices.Equal(starts, []plan.StepID{1}) || over != plan.StopWaitingForPerson ||
			!w.step(2).IsStale() || w.step(3).IsStale() || w.step(5).Status != plan.Skipped {
			t.Fatalf("starts %v, over %q, %+v", starts, over, w.step(2))
		}
		w.do(person, settle)
		if w.state.HasActiveRun() {
			w.play()
		}
		if w.wantStatus(plan.StatusCompleted); w.step(2).IsStale() {
			t.Errorf("%s: %+v", name, w.step(2))
		}
	}
}

// TestFailureTakenUpAgain: what was decided by a failure is decided anew once the step is tried again.
func TestFailureTakenUpAgain(t *testing.T) {
	w := runConditions(t, tool("a"), rolled("b", `steps.S001.status == "failed"`), rolled("c", "steps.S001.ok"), always("z"))
	w.play(1)
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Retry})
	if w.step(2).Status != plan.Pending || w.step(3).Status != plan.Pending {
		t.Errorf("%s", describe(w.state.Plan.Steps))
	}
	if starts, over := w.play(); !slices.Equal(starts, []plan.StepID{1, 3, 4}) || over != plan.StopCompleted {
		t.Errorf("starts %v, over %q", starts, over)
	}
}

// cleaning returns a run whose critical step has failed, so that the plan has the status, and whose clean-up comes next.
func cleaning(t *testing.T, status plan.PlanStatus, cleanup plan.NewStep) *workspace {
	w := newWorkspace(t)
	if w.limits.MaxReplans = 1; status == plan.StatusReplanning {
		w.limits.MaxReplans = 2
	}
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{mustWork(tool("a")), titled("b"), cleanup}})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsRepeatable = true }
	for again := range 2 {
		if again > 0 {
			w.do(person, plan.Replan{Changes: "another way"})
		}
		if w.state.OpenRun() == nil {
			w.do(person, plan.BeginRun{})
		}
		w.advance(1)
		w.do(engine, plan.Schedule{Results: []plan.AttemptResult{w.finished(1, failed("no"))}})
	}
	w.wantStatus(status)
	return w
}

// TestCleanUpInAFailedPlan: clean-up is tried again, settled and answered as in an active plan; the other steps are not.
func TestCleanUpInAFailedPlan(t *testing.T) {
	for _, status := range []plan.PlanStatus{plan.StatusReplanning, plan.StatusFailed} {
		for _, last := range []plan.NewStep{always("z"), rolled("z", `steps.S001.status == "failed"`)} {
			w := cleaning(t, status, last)
			w.wantAdvance(1, []string{"step_started"})
			passing := w.finished(3, failed("no"))
			passing.IsTransient = true
			w.wantAdvance(1, []string{"step_retried", "step_started"}, passing)

			lost := cleaning(t, status, last)
			lost.found = nil
			lost.advance(1)
			cut := lost.finished(3, failed("no"))
			cut.IsInterrupted = true
			lost.do(engine, plan.Schedule{Results: []plan.AttemptResult{cut}})
			lost.do(person, plan.AnswerStep{Step: 3, Choice: plan.Happened})

			for name, answer := range map[string]plan.Action{
				"approve": plan.AnswerStep{Step: 3, Choice: plan.Approve}, "deny": plan.AnswerStep{Step: 3, Choice: plan.Deny},
				"skip": plan.AnswerStep{Step: 3, Choice: plan.Skip}, "abort": plan.AnswerStep{Step: 3, Choice: plan.Abort},
				"mark": plan.MarkStep{Step: 3, Status: plan.Skipped}, "done": plan.MarkStep{Step: 3, Status: plan.Done},
			} {
				step := last
				step.RequiresApproval = true
				w := cleaning(t, status, step)
				w.wantAdvance(1, []string{"step_asked"})
				if got := plan.FindStopReason(w.state); got != plan.StopWaitingForPerson {
					t.Errorf("%s, %s: over %q", status, name, got)
				}
				w.do(person, answer)
				if name == "abort" && w.state.OpenRun() != nil { // the always step still asks
					w.do(person, answer)
				}
				if got := plan.FindStopReason(w.state); got == plan.StopWaitingForPerson && w.state.OpenRun() != nil {
					t.Errorf("%s, %s: it still waits", status, name)
				}
				if status == plan.StatusFailed {
					w.refused(person, plan.MarkStep{Step: 2, Status: plan.Skipped})
					w.refused(person, plan.AnswerStep{Step: 2, Choice: plan.Skip})
					w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Retry})
				}
			}
		}
	}
}
