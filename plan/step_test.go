package plan_test

import (
	"encoding/json"
	"reflect"
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
	if got := steps.UnmetDependencies(2); !slices.Equal(got, []plan.StepID{3}) {
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
		"no plan": {func() *workspace { return newWorkspace(t) }, one, plan.NotFound, "",
			[]string{"no plan exists yet; set one up first"}},
		"draft": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusDraft) }, one, plan.Conflict, "",
			[]string{"the plan is a draft"}},
		"replanning": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusReplanning) }, one, plan.Conflict, "",
			[]string{"the plan is replanning, so no step can be added", "retry the failed critical step"}},
		"completed": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Done); return w }, one, plan.Conflict, "",
			[]string{"the plan is completed", "mark a step pending to re-open it"}},
		"closed": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Done); return w.closed() }, one, plan.Conflict, "",
			[]string{"the plan is completed", "set up a new plan"}},
		"failed": {func() *workspace { return withPlan(t, titled("a")).inStatus(plan.StatusFailed) }, one, plan.Conflict, "",
			[]string{"the plan has failed", "set up a new plan"}},
		"abandoned by itself": {func() *workspace { w := withPlan(t, titled("a")); w.mark(1, plan.Skipped); return w }, one,
			plan.Conflict, "",
			[]string{"the plan is abandoned", "mark a step pending to re-open it"}},
		"cleared": {func() *workspace { w := withPlan(t, titled("a")); w.do(ann, plan.Clear{}); return w }, one, plan.Conflict, "",
			[]string{"the plan is abandoned", "set up a new plan"}},
		"unknown dependency": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c",
				4)}}, plan.NotFound, "/steps/1/depends_on/0", []string{"step S004 does not exist"}},
		"on itself": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b", 2)}}, plan.InvalidInput, "/steps", []string{"S002 -> S002"}},
		"cycle in the batch": {func() *workspace { return withPlan(t, titled("a")) },
			plan.AddSteps{Steps: []plan.NewStep{titled("b", 4), titled("c", 2, 1), titled("d", 3)}}, plan.InvalidInput, "/steps",
			[]string{"S002 -> S004 -> S003 -> S002", "drop one of them"}},
		"over the limit": {func() *workspace { w := withPlan(t, titled("a")); w.limits.MaxSteps = 2; return w },
			plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c")}}, plan.Conflict, "", []string{"3 steps; at most 2"}},
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

func TestUpdateStepChangesWhatIsNamed(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1))
	former := w.step(2)
	title, at := "better", w.now
	events := w.do(bob, plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: &title}})
	if got := kinds(events); !slices.Equal(got, []string{"step_updated"}) {
		t.Errorf("events %v", got)
	}
	step := w.step(2)
	if step.Title != "better" || !slices.Equal(step.DependsOn, []plan.StepID{1}) || step.Status != plan.Pending {
		t.Errorf("step %+v", step)
	}
	if former.Title != "b" || !w.state.Plan.UpdatedAt.Equal(at) {
		t.Error("the former step changed, or the plan's time did not")
	}
}

// Every field of a Spec can be set and erased by the field with the same name of a Patch, and by no
// other.
func TestPatchCoversEveryField(t *testing.T) {
	full := plan.Spec{
		Title: "t", Details: "d", Type: plan.Bugfix, DependsOn: []plan.StepID{1}, ContextHints: []string{"h"},
		RelevantFilePaths: []string{"p"}, Creates: []string{"c"}, AcceptanceCriteria: []string{"a"}, SuggestedAgent: "s",
		Risk: plan.HighRisk, Tools: []string{"x"}, Tool: "tool", Args: json.RawMessage(`{"a":1}`), Critical: true, Idempotent: true,
		RequiresApproval: true, Always: true, Timeout: 5, Pause: "p?", When: "w", ForEach: "f", Verify: "v",
		Retry: json.RawMessage(`{"attempts":2}`), Cwd: "c", Lock: "l", OutputFile: "o",
	}
	spec := reflect.TypeFor[plan.Spec]()
	patch := reflect.TypeFor[plan.Patch]()
	if spec.NumField() != patch.NumField() {
		t.Errorf("a spec has %d fields, a patch %d", spec.NumField(), patch.NumField())
	}
	for i := range spec.NumField() {
		field := spec.Field(i)
		value := reflect.ValueOf(full).Field(i)
		if value.IsZero() {
			t.Errorf("%s is not set by this test", field.Name)
		}
		set := reflect.New(patch).Elem()
		pointer := reflect.New(field.Type)
		pointer.Elem().Set(value)
		if !set.FieldByName(field.Name).IsValid() {
			t.Errorf("plan.Patch lacks the field %s of plan.Spec", field.Name)
			continue
		}
		set.FieldByName(field.Name).Set(pointer)
		want := reflect.New(spec).Elem()
		want.Field(i).Set(value)
		if got := set.Interface().(plan.Patch).Apply(plan.Spec{}); !reflect.DeepEqual(got, want.Interface()) {
			t.Errorf("setting %s gives %+v", field.Name, got)
		}
		erase := reflect.New(patch).Elem()
		erase.FieldByName(field.Name).Set(reflect.New(field.Type))
		want = reflect.New(spec).Elem()
		want.Set(reflect.ValueOf(full))
		want.Field(i).SetZero()
		if got := erase.Interface().(plan.Patch).Apply(full); !reflect.DeepEqual(got, want.Interface()) {
			t.Errorf("erasing %s gives %+v", field.Name, got)
		}
		if set.Interface().(plan.Patch).IsZero() {
			t.Errorf("a patch of %s counts as empty", field.Name)
		}
	}
	if got := (plan.Patch{}).Apply(full); !reflect.DeepEqual(got, full) {
		t.Errorf("an empty patch gives %+v", got)
	}
}

func TestUpdateStepMovesDependencies(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c", 1), titled("d", 3))
	on := func(id plan.StepID, deps ...plan.StepID) {
		t.Helper()
		w.do(ann, plan.UpdateStep{Step: id, Patch: plan.Patch{DependsOn: &deps}})
	}
	on(3, 2)
	steps := w.state.Plan.Steps
	if !slices.Equal(steps.UnmetDependencies(3), []plan.StepID{2}) || len(steps.Dependents(1)) != 0 ||
		!slices.Equal(steps.Dependents(2), []plan.StepID{3}) {
		t.Errorf("waiting on %v, dependents %v and %v", steps.UnmetDependencies(3), steps.Dependents(1), steps.Dependents(2))
	}
	w.mark(1, plan.Done)
	on(3, 1)
	if !w.state.Plan.Steps.IsReady(3) {
		t.Error("S003 is not ready with its only dependency done")
	}
	on(3)
	if got := w.state.Plan.Steps.Dependents(1); len(got) != 0 {
		t.Errorf("on S001 still depend %v", got)
	}
}

func TestUpdateStepRefuses(t *testing.T) {
	title := "x"
	on := func(deps ...plan.StepID) plan.Patch { return plan.Patch{DependsOn: &deps} }
	chain := func() *workspace { return withPlan(t, titled("a"), titled("b", 1), titled("c", 2)) }
	started := func(status plan.StepStatus) *workspace {
		w := withPlan(t, titled("a"), titled("b"))
		w.mark(1, status)
		return w
	}
	tests := map[string]struct {
		w      *workspace
		action plan.UpdateStep
		kind   plan.ErrorKind
		field  string
		words  []string
	}{
		"no plan": {newWorkspace(t), plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}, plan.NotFound, "", []string{"no plan"}},
		"completed": {chain().inStatus(plan.StatusCompleted), plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}},
			plan.Conflict, "", []string{"the plan is completed, so no step can be edited"}},
		"replanning": {chain().inStatus(plan.StatusReplanning), plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}},
			plan.Conflict, "", []string{"the plan is replanning"}},
		"failed": {chain().inStatus(plan.StatusFailed), plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}, plan.Conflict,
			"", []string{"the plan has failed"}},
		"no step": {chain(), plan.UpdateStep{Step: 4, Patch: plan.Patch{Title: &title}}, plan.NotFound, "/step_id",
			[]string{"step S004 does not exist; the plan has 3 steps, S001 to S003"}},
		"no step of one": {withPlan(t, titled("a")), plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: &title}}, plan.NotFound, "/step_id",
			[]string{"the plan's only step is S001"}},
		"no step of none": {withPlan(t), plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}, plan.NotFound, "/step_id",
			[]string{"the plan has no steps yet"}},
		"unknown dependency": {chain(), plan.UpdateStep{Step: 1, Patch: on(3, 9)}, plan.NotFound, "/depends_on/1",
			[]string{"step S009 does not exist"}},
		"on itself": {chain(), plan.UpdateStep{Step: 1, Patch: on(1)}, plan.InvalidInput, "/depends_on", []string{"S001 -> S001"}},
		"cycle": {chain(), plan.UpdateStep{Step: 1, Patch: on(3)}, plan.InvalidInput, "/depends_on",
			[]string{"S001 -> S003 -> S002 -> S001"}},
		"in progress": {started(plan.InProgress), plan.UpdateStep{Step: 1, Patch: on(2)}, plan.Conflict, "",
			[]string{"S001 is in_progress and can no longer wait for S002", "mark it pending first"}},
		"done": {started(plan.Done), plan.UpdateStep{Step: 1, Patch: on(2)}, plan.Conflict, "",
			[]string{"S001 is done and can no longer wait for S002"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, test.w.refused(ann, test.action), test.kind, test.field, test.words...)
		})
	}
}

func TestUpdateStepWithoutAPatchChangesNothing(t *testing.T) {
	withPlan(t, titled("a")).unchanged(ann, plan.UpdateStep{Step: 1})
}

func TestUpdateStepSurvivesADependencyThatIsNotThere(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	body := w.state.Body()
	body.Plan.Steps[1] = &plan.Step{ID: 2, Spec: plan.Spec{Title: "b", DependsOn: []plan.StepID{7}},
		Progress: plan.Progress{Status: plan.Pending}}
	w.state = body.Build()
	w.do(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{DependsOn: &[]plan.StepID{2}}})
	if got := w.state.Plan.Steps.UnmetDependencies(2); !slices.Equal(got, []plan.StepID{7}) {
		t.Errorf("S002 waits for %v", got)
	}
}
