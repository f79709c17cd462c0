package plan_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestStoppedSteps: a stopped step fails or is unknown, and its failure is never critical.
func TestStoppedSteps(t *testing.T) {
	for name, c := range map[string]struct {
		repeatable, agent bool
		want              plan.StepStatus
	}{
		"not safe to repeat": {want: plan.Blocked},
		"safe to repeat":     {repeatable: true, want: plan.Failed},
		"an agent":           {repeatable: true, agent: true, want: plan.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			critical := tool("a")
			critical.Critical = true
			if c.agent {
				critical.Tool, critical.Args = "", nil
			}
			w := run(t, critical, titled("b"))
			w.found = func(_ *plan.Step, r *plan.Resolution) {
				if r.IsRepeatable = c.repeatable; c.agent {
					r.Agent = "default"
				}
			}
			w.advance(1)
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Stop})
			done := w.finished(1, failed("signal: terminated"))
			done.IsInterrupted = true
			w.advance(0, done)
			step := w.step(1)
			if step.Status != c.want || step.Error != "stopped by "+person.Name || step.IsUnknown() != (c.want == plan.Blocked) {
				t.Errorf("%s, %q, unknown %v", step.Status, step.Error, step.IsUnknown())
			}
			w.wantStatus(plan.StatusActive)
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Retry})
			if w.advance(1); w.step(1).WasStopped() {
				t.Error("the next attempt counts as stopped")
			}
		})
	}
}

// TestStepsThatCannotBeStopped: only a step that an engine runs can be stopped, and an agent stops only its own run.
func TestStepsThatCannotBeStopped(t *testing.T) {
	w := atWork(t)
	w.do(ann, plan.MarkStep{Step: 2, Status: plan.InProgress})
	w.refused(person, plan.AnswerStep{Step: 2, Choice: plan.Stop})
	w.refused(bob, plan.AnswerStep{Step: 1, Choice: plan.Stop})
	w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Stop}) // it began the run
	w.advance(1, w.finished(1, plan.Result{OK: true}))
	if w.step(1).Status != plan.Done {
		t.Errorf("its result came first, and it is %s", w.step(1).Status)
	}
	w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Stop})
	w = atWork(t)
	w.seen[engine.Name] = plan.Sighting{IsGone: true}
	w.do(plan.NewActor(plan.ChannelEngine, "engine#2"), plan.Schedule{Lost: []plan.Attempt{w.finished(1, plan.Result{}).Attempt}})
	if got := w.refused(person, plan.AnswerStep{Step: 1, Choice: plan.Stop}); !strings.Contains(got.Problem, "its outcome is unknown") {
		t.Error(got)
	}
}

// TestEndedRunStopsItsSteps: to give up a run is to stop its steps.
func TestEndedRunStopsItsSteps(t *testing.T) {
	for _, end := range []plan.Action{plan.EndRun{}, plan.AnswerStep{Step: 2, Choice: plan.Abort}} {
		w := atWork(t)
		w.refused(bob, plan.AnswerStep{Step: 2, Choice: plan.Abort})
		if w.do(person, end); !w.step(1).WasStopped() {
			t.Errorf("%T leaves a step running", end)
		}
	}
}

// TestClaimsOfRunningSteps: nobody takes a step from a living engine, not even a person by force.
func TestClaimsOfRunningSteps(t *testing.T) {
	w := atWork(t)
	w.refused(person, plan.ClaimStep{Step: 1, Force: true})
	w.refused(person, plan.MarkStep{Step: 1, Status: plan.InProgress, Force: true})
}
