package plan_test

import (
	"slices"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestAddStepsAppendsInOrder(t *testing.T) {
	w := withPlan(t, titled("a"))
	at := w.now
	events := w.do(bob, plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c")}})
	if got := kinds(events); !slices.Equal(got, []string{"steps_added"}) {
		t.Errorf("events %v", got)
	}
	w.do(bob, plan.AddSteps{Steps: []plan.NewStep{titled("d")}})
	var titles string
	for step := range w.state.Plan.Steps.All() {
		titles += step.ID.String() + step.Title + string(step.Status) + " "
	}
	if want := "S001apending S002bpending S003cpending S004dpending "; titles != want {
		t.Errorf("steps %s, want %s", titles, want)
	}
	if p := w.state.Plan; p.CreatedBy != "ann" || !p.UpdatedAt.After(at) || !p.CreatedAt.Before(at) {
		t.Errorf("plan %+v", p)
	}
}

func TestAddStepsAcrossChunksAndPast999(t *testing.T) {
	w := withPlan(t)
	for want := plan.StepID(1); want <= 1_010; want++ {
		w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("x")}})
		if got := w.state.Plan.Steps.Highest(); got != want {
			t.Fatalf("minted %v, want %v", got, want)
		}
	}
	if step := w.step(1_000); step.ID.String() != "S1000" || w.state.Plan.Steps.Position(1_000) != 999 {
		t.Errorf("step 1000 is %s", step.ID)
	}
}

func TestAddStepsDependencies(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b", 3), titled("c", 1)}})
	steps := w.state.Plan.Steps
	if got := steps.WaitingOn(2); !slices.Equal(got, []plan.StepID{3}) {
		t.Errorf("S002 waits for %v", got)
	}
	if got := steps.Dependents(1); !slices.Equal(got, []plan.StepID{3}) {
		t.Errorf("on S001 depend %v", got)
	}
	w.mark(1, plan.Done)
	w.mark(3, plan.Done)
	if !w.state.Plan.Steps.IsReady(2) {
		t.Error("S002 is not ready")
	}
}

func TestAddStepsDependingOnADoneStepAreReady(t *testing.T) {
	w := withPlan(t, titled("a"), titled("z"))
	w.mark(1, plan.Done)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b", 1)}})
	if !w.state.Plan.Steps.IsReady(3) {
		t.Error("S003 is not ready")
	}
}

func TestAddStepsRefuses(t *testing.T) {
	one := plan.AddSteps{Steps: []plan.NewStep{titled("x")}}
	tests := map[string]struct {
		w      func() *workspace
		action plan.AddSteps
		kind   plan.ErrorKind
		field  string
		words  []string
	}{
		"no plan": {func() *workspace { return newWorkspace(t) }, one, plan.NotFound, "", []string{"there is no plan yet; set one up first"}},
		"draft": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusDraft) }, one, plan.Conflict, "",
			[]string{"the plan is draft"}},
		"replanning": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusReplanning) }, one, plan.Conflict, "",
			[]string{"the plan is replanning, so no step can be added", "mark the failed critical step in_progress"}},
		"completed": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Done); return w }, one, plan.Conflict, "",
			[]string{"the plan is completed", "mark a step pending to re-open it"}},
		"closed": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Done); return w.closed() }, one, plan.Conflict, "",
			[]string{"the plan is completed", "set up a new plan"}},
		"failed": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusFailed) }, one, plan.Conflict, "",
			[]string{"the plan is failed", "set up a new plan"}},
		"abandoned by itself": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Skipped); return w }, one, plan.Conflict, "",
			[]string{"the plan is abandoned", "mark a step pending to re-open it"}},
		"cleared": {func() *workspace { w := withPlan(t, titled("a")); w.do(ann, plan.Clear{}); return w }, one, plan.Conflict, "",
			[]string{"the plan is abandoned", "set up a new plan"}},
		"unknown dependency": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c", 4)}}, plan.NotFound, "/steps/1/depends_on/0", []string{"no step S004"}},
		"on itself": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b", 2)}}, plan.InvalidInput, "/steps", []string{"S002 -> S002"}},
		"cycle in the batch": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b", 4), titled("c", 2, 1), titled("d", 3)}}, plan.InvalidInput, "/steps",
			[]string{"S002 -> S004 -> S003 -> S002", "drop one of them"}},
		"over the limit": {func() *workspace { w := withPlan(t, titled("a")); w.limits.MaxSteps = 2; return w },
			plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c")}}, plan.Conflict, "", []string{"3 steps, at most 2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, test.w().refused(ann, test.action), test.kind, test.field, test.words...)
		})
	}
}

func TestAddStepsUpToTheLimit(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.limits.MaxSteps = 2
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b")}})
	w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{titled("c")}})
}

func TestAddingNothingChangesNothing(t *testing.T) {
	withPlan(t, titled("a")).unchanged(ann, plan.AddSteps{})
}

func TestAddingFinishedStepsCompletesAnEmptyPlan(t *testing.T) {
	w := withPlan(t)
	step := titled("a")
	step.Status = plan.Done
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{step}})
	w.wantStatus(plan.StatusCompleted)
}
