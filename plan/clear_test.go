package plan_test

import (
	"slices"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestClearAbandonsAndEmpties(t *testing.T) {
	for _, status := range []plan.PlanStatus{plan.StatusActive, plan.StatusReplanning, plan.StatusCompleted, plan.StatusFailed} {
		t.Run(string(status), func(t *testing.T) {
			w := withPlan(t, titled("a"), titled("b"))
			w.mark(1, plan.Done)
			w.mark(2, plan.InProgress)
			w.inStatus(status)
			former, at := w.state, w.now
			events := w.do(ann, plan.Clear{})
			if got := kinds(events); !slices.Equal(got, []string{"plan_archived", "plan_cleared"}) {
				t.Errorf("events %v", got)
			}
			w.wantStatus(plan.StatusAbandoned)
			p := w.state.Plan
			if p.ID != former.Plan.ID || p.Objective != "Ship it" || p.Steps.Len() != 0 || p.Steps.Highest() != 2 || !p.UpdatedAt.Equal(at) {
				t.Errorf("what is left: %+v", p)
			}
			want := plan.PastPlan{ID: p.ID, Objective: "Ship it", Status: status, Version: 1, Steps: 2, Done: 1,
				CreatedAt: p.CreatedAt, ArchivedAt: at, Revision: former.Revision, Reason: "cleared"}
			if got, _ := w.state.PastPlan(p.ID); got != want {
				t.Errorf("head %+v, want %+v", got, want)
			}
		})
	}
}

func TestArchiveNamesTheRevisionOfTheBody(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.Done)
	want := written(t, plan.State{Plan: w.state.Plan})
	w.do(ann, plan.Clear{})
	if got := written(t, plan.State{Plan: w.past(w.state.Plan.ID)}); got != want {
		t.Errorf("the log has\n%s, want\n%s", got, want)
	}
}

func TestClearRefuses(t *testing.T) {
	wantRefusal(t, newWorkspace(t).refused(ann, plan.Clear{}), plan.NotFound, "", "there is no plan yet")
	w := withPlan(t, titled("a"))
	w.do(ann, plan.Clear{})
	wantRefusal(t, w.refused(ann, plan.Clear{}), plan.Conflict, "", "the plan is abandoned already", "set up a new plan")
	w = withPlan(t, titled("a"))
	w.mark(1, plan.Skipped)
	wantRefusal(t, w.refused(ann, plan.Clear{}), plan.Conflict, "", "abandoned already")
}

func TestClearLeavesTheDraft(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Draft"}, Draft: true})
	w.do(ann, plan.Clear{})
	if w.state.Draft == nil || w.state.Draft.Objective != "Draft" {
		t.Errorf("the draft is %+v", w.state.Draft)
	}
}

func TestPurgedHistoryChangesNothing(t *testing.T) {
	w := withPlan(t, titled("a"))
	before := written(t, w.state)
	if got := written(t, plan.Apply(w.state, plan.HistoryPurged{Records: 7})); got != before {
		t.Errorf("the state became %s", got)
	}
}
