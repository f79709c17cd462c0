package plan_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestMoveStep moves steps. Their content and dependencies stay.
func TestMoveStep(t *testing.T) {
	for name, c := range map[string]struct {
		step, after plan.StepID
		want        string
	}{
		"to the first place":     {3, 0, "S003 S001 S002 S004"},
		"to the last":            {1, 4, "S002 S003 S004 S001"},
		"forward":                {2, 3, "S001 S003 S002 S004"},
		"back":                   {4, 1, "S001 S004 S002 S003"},
		"to where it is":         {3, 2, ""},
		"to the front, is there": {1, 0, ""},
	} {
		w := withPlan(t, titled("a"), titled("b", 1), titled("c"), titled("d"))
		events, err := w.try(ann, plan.MoveStep{Step: c.step, After: c.after})
		if err != nil || (len(events) > 0) != (c.want != "") {
			t.Errorf("%s: %v, %v", name, kinds(events), err)
		}
		if c.want == "" {
			continue
		}
		var order []string
		for step := range w.state.Plan.Steps.All() {
			order = append(order, step.ID.String())
		}
		if got := strings.Join(order, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if waiting := w.state.Plan.Steps.UnmetDependencies(2); len(waiting) != 1 || waiting[0] != 1 ||
			w.state.Plan.Steps.ReadyCount() != 3 {
			t.Errorf("%s: S002 waits for %v", name, waiting)
		}
		w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("e")}})
		if w.state.Plan.Steps.At(4).ID != 5 {
			t.Errorf("%s: the next id is %v", name, w.state.Plan.Steps.At(4).ID)
		}
	}
	w := withPlan(t, titled("a"), titled("b"))
	for _, a := range []plan.MoveStep{{Step: 1, After: 1}, {Step: 9}, {Step: 1, After: 9}} {
		w.refused(ann, a)
	}
}

// TestEndedPlanIsOpenedAgain: an action that may add to a plan completed by itself makes it active
// again; a final summary closes it.
func TestEndedPlanIsOpenedAgain(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
	title := "edited"
	w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b")}})
	w.refused(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}})
	w.do(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}, AllowCompleted: true})
	if got := w.state.Plan.Status; got != plan.StatusCompleted {
		t.Errorf("an edit made the plan %s", got)
	}
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b")}, AllowCompleted: true})
	if got := w.state.Plan.Status; got != plan.StatusActive {
		t.Errorf("with a new step the plan is %s", got)
	}
	w.do(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	w.do(ann, plan.Close{Summary: "all there"})
	w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{titled("c")}, AllowCompleted: true})
}
