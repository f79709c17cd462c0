package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// TestPlanCompletesOverTheWholeList walks a chain in order: rawko's sample code would complete it
// after the first step.
func TestPlanCompletesOverTheWholeList(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1), titled("c", 2))
	for id := plan.StepID(1); id <= 3; id++ {
		w.wantStatus(plan.StatusActive)
		if next := w.state.Plan.Steps.Next(); next == nil || next.ID != id {
			t.Fatalf("the next step is %v, want %s", next, id)
		}
		w.mark(id, plan.InProgress)
		w.mark(id, plan.Done)
	}
	w.wantStatus(plan.StatusCompleted)
	if w.state.Plan.Steps.Next() != nil {
		t.Error("a completed plan has a next step")
	}
}

func TestPlanCompletesInAnyOrder(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c"))
	w.mark(3, plan.Done)
	w.mark(1, plan.Skipped)
	w.wantStatus(plan.StatusActive)
	events := w.mark(2, plan.Cancelled)
	if got := kinds(events); !slices.Equal(got, []string{"step_marked", "plan_completed"}) {
		t.Errorf("events %v", got)
	}
	w.wantStatus(plan.StatusCompleted)
}

// Two steps get two statuses; the plan's status follows from both.
func TestWhatTwoStepsMakeOfAPlan(t *testing.T) {
	finished := []plan.StepStatus{plan.Done, plan.Skipped, plan.Cancelled}
	for _, one := range plan.StepStatus("").Values() {
		for _, two := range plan.StepStatus("").Values() {
			first, second := plan.StepStatus(one), plan.StepStatus(two)
			w := withPlan(t, titled("a"), titled("b"))
			for id, status := range map[plan.StepID]plan.StepStatus{1: first, 2: second} {
				if status != plan.Pending {
					w.mark(id, status)
				}
			}
			want := plan.StatusActive
			if slices.Contains(finished, first) && slices.Contains(finished, second) {
				want = plan.StatusAbandoned
				if first == plan.Done || second == plan.Done {
					want = plan.StatusCompleted
				}
			}
			if got := w.state.Plan.Status; got != want {
				t.Errorf("%s and %s make a plan %s, want %s", one, two, got, want)
			}
		}
	}
}

func TestAllSkippedAbandonsAndKeepsTheSteps(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.Skipped)
	events := w.mark(2, plan.Cancelled)
	if got := kinds(events); !slices.Equal(got, []string{"step_marked", "plan_abandoned"}) {
		t.Errorf("events %v", got)
	}
	if w.state.Plan.Steps.Len() != 2 {
		t.Error("the steps are gone")
	}
	if got := kinds(w.mark(1, plan.Done)); !slices.Equal(got, []string{"step_marked", "plan_completed"}) {
		t.Errorf("done after all: %v", got)
	}
	if got := kinds(w.mark(1, plan.Skipped)); !slices.Equal(got, []string{"step_marked", "plan_abandoned"}) {
		t.Errorf("skipped again: %v", got)
	}
	if got := kinds(w.mark(2, plan.Pending)); !slices.Equal(got, []string{"step_marked", "plan_reopened"}) {
		t.Errorf("re-opened: %v", got)
	}
	w.wantStatus(plan.StatusActive)
}

func TestCompletedPlanReopensUntilItsFinalSummary(t *testing.T) {
	for _, status := range []plan.StepStatus{plan.Pending, plan.InProgress, plan.Blocked, plan.Failed} {
		w := withPlan(t, titled("a"), titled("b"))
		w.mark(1, plan.Done)
		w.mark(2, plan.Done)
		events := w.mark(2, status)
		if got := kinds(events); !slices.Equal(got, []string{"step_marked", "plan_reopened"}) {
			t.Errorf("%s: events %v", status, got)
		}
		w.wantStatus(plan.StatusActive)
		w.mark(2, plan.Done)
		w.wantStatus(plan.StatusCompleted)
		w.closed()
		wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 2, Status: status}), plan.Conflict, "", "final summary")
	}
}

func TestNoteOnACompletedPlanLeavesItCompleted(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.mark(1, plan.Done)
	if got := kinds(w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done, Note: "n"})); !slices.Equal(got, []string{"step_marked"}) {
		t.Errorf("events %v", got)
	}
	w.wantStatus(plan.StatusCompleted)
}

func TestFailureThatIsNotCriticalLetsOthersGoOn(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c", 1))
	w.mark(1, plan.Failed)
	w.wantStatus(plan.StatusActive)
	if next := w.state.Plan.Steps.Next(); next.ID != 2 {
		t.Errorf("the next step is %s", next.ID)
	}
	w.mark(2, plan.Done)
	w.wantStatus(plan.StatusActive)
	if next := w.state.Plan.Steps.Next(); next != nil {
		t.Errorf("%s does not wait for the failed one", next.ID)
	}
}

func TestCriticalFailureAsksForAReplanAndARetryReopens(t *testing.T) {
	for _, retry := range []plan.StepStatus{plan.InProgress, plan.Pending, plan.Blocked} {
		w := withPlan(t, critical("a"), titled("b"))
		w.mark(1, plan.InProgress)
		events := w.do(ann, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "boom"})
		if got := kinds(events); !slices.Equal(got, []string{"step_marked", "plan_needs_replan"}) {
			t.Errorf("events %v", got)
		}
		w.wantStatus(plan.StatusReplanning)
		if step := w.step(1); step.Error != "boom" {
			t.Errorf("the error is %q", step.Error)
		}
		if got := kinds(w.mark(1, retry)); !slices.Equal(got, []string{"step_marked", "plan_reopened"}) {
			t.Errorf("%s: events %v", retry, got)
		}
		w.wantStatus(plan.StatusActive)
	}
}

func TestReplanningPlanLetsOtherStepsGoOn(t *testing.T) {
	w := withPlan(t, critical("a"), titled("b"))
	w.mark(1, plan.Failed)
	if got := kinds(w.mark(2, plan.Done)); !slices.Equal(got, []string{"step_marked"}) {
		t.Errorf("events %v", got)
	}
	w.wantStatus(plan.StatusReplanning)
	if got := kinds(w.do(ann, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "again"})); !slices.Equal(got, []string{"step_marked"}) {
		t.Errorf("events %v", got)
	}
	w.wantStatus(plan.StatusReplanning)
}

// The failed critical step was the last one left: finishing it re-opens the plan, and the plan
// completes at once.
func TestCriticalStepFinishedAfterItsFailure(t *testing.T) {
	for status, want := range map[plan.StepStatus]plan.PlanStatus{
		plan.Done: plan.StatusCompleted, plan.Skipped: plan.StatusAbandoned, plan.Cancelled: plan.StatusAbandoned,
	} {
		w := withPlan(t, critical("a"))
		w.mark(1, plan.Failed)
		w.mark(1, status)
		w.wantStatus(want)
	}
	w := withPlan(t, titled("a"), critical("b"))
	w.mark(1, plan.Done)
	w.mark(2, plan.Failed)
	events := w.mark(2, plan.Skipped)
	if got := kinds(events); !slices.Equal(got, []string{"step_marked", "plan_reopened", "plan_completed"}) {
		t.Errorf("events %v", got)
	}
	w.wantStatus(plan.StatusCompleted)
}

func TestCriticalStepOfAFinishedPlanFails(t *testing.T) {
	w := withPlan(t, critical("a"))
	w.mark(1, plan.Done)
	if got := kinds(w.mark(1, plan.Failed)); !slices.Equal(got, []string{"step_marked", "plan_needs_replan"}) {
		t.Errorf("completed: events %v", got)
	}
	w.wantStatus(plan.StatusReplanning)
	w = withPlan(t, critical("a"))
	w.mark(1, plan.Skipped)
	w.mark(1, plan.Failed)
	w.wantStatus(plan.StatusReplanning)
}

func TestTooManyReplansFailThePlan(t *testing.T) {
	for _, test := range []struct {
		replans, max int
		want         plan.PlanStatus
	}{
		{0, 0, plan.StatusReplanning}, {2, 0, plan.StatusReplanning}, {3, 0, plan.StatusFailed},
		{0, 1, plan.StatusReplanning}, {1, 1, plan.StatusFailed}, {8, 1, plan.StatusFailed},
	} {
		w := withPlan(t, critical("a"), titled("b"))
		body := w.state.Body()
		body.Plan.Version, body.Plan.Replans = 9, test.replans // only those after a failure count
		w.state = body.Build()
		w.limits.MaxReplans = test.max
		w.mark(1, plan.Failed)
		if got := w.state.Plan.Status; got != test.want {
			t.Errorf("%d of at most %d replans: %s, want %s", test.replans, test.max, got, test.want)
		}
		if test.want != plan.StatusFailed {
			continue
		}
		wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Pending}), plan.Conflict, "", "the plan has failed",
			"set up a new plan")
		w.do(ann, plan.Clear{})
	}
}

// TestTwoCriticalFailures keeps a plan in replanning until the last critical failure is settled.
func TestTwoCriticalFailures(t *testing.T) {
	f := plan.Facts{Now: time.Unix(1_772_355_600, 0), Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}}
	critical := plan.NewStep{Spec: plan.Spec{Title: "Migrate", Critical: true}}
	var s plan.State
	for _, c := range []struct {
		a    plan.Action
		want plan.PlanStatus
	}{
		{plan.SetUp{Outline: plan.Outline{Objective: "Move"}, Steps: []plan.NewStep{critical, critical}}, plan.StatusActive},
		{plan.MarkStep{Step: 1, Status: plan.Failed, Note: "no space"}, plan.StatusReplanning},
		{plan.MarkStep{Step: 2, Status: plan.Failed}, plan.StatusReplanning},
		{plan.MarkStep{Step: 1, Status: plan.InProgress}, plan.StatusReplanning},
		{plan.MarkStep{Step: 2, Status: plan.InProgress}, plan.StatusActive},
		{plan.MarkStep{Step: 1, Status: plan.Done}, plan.StatusActive},
		{plan.MarkStep{Step: 2, Status: plan.Done}, plan.StatusCompleted},
	} {
		events, err := plan.Decide(s, c.a, f)
		if err != nil {
			t.Fatalf("%+v: %v", c.a, err)
		}
		for _, e := range events {
			s = plan.Apply(s, e)
		}
		if s.Plan.Status != c.want {
			t.Fatalf("after %+v the plan is %s, want %s", c.a, s.Plan.Status, c.want)
		}
	}
}

// TestDecideTrustsNoWord refuses an invalid status and an invalid title.
func TestDecideTrustsNoWord(t *testing.T) {
	f := plan.Facts{Now: time.Unix(1_772_355_600, 0), Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}}
	events, err := plan.Decide(plan.State{}, plan.SetUp{Outline: plan.Outline{Objective: "x"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "One"}}}}, f)
	if err != nil {
		t.Fatal(err)
	}
	s := plan.Apply(plan.State{}, events[0])
	blank := ""
	for _, a := range []plan.Action{
		plan.MarkStep{Step: 1, Status: "bogus"}, plan.MarkStep{Step: 1},
		plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &blank}},
	} {
		if events, err := plan.Decide(s, a, f); err == nil {
			t.Errorf("%+v was accepted: %v", a, events)
		}
	}
}
