package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// elsewhere is a plan partly carried out somewhere else: a loop with two instances, and a step with
// a false condition.
func elsewhere() plan.SetUp {
	step := func(id plan.StepID, spec plan.Spec, status plan.StepStatus, e plan.Execution) plan.NewStep {
		return plan.NewStep{ID: id, Spec: spec, Progress: plan.Progress{Status: status}, Execution: &e}
	}
	return plan.SetUp{Outline: plan.Outline{Objective: "o"}, Import: plan.Import{ID: "p-v2", Version: 2, CreatedBy: "bob"},
		Steps: []plan.NewStep{
			step(4, plan.Spec{Title: "loop", ForEach: `["a","b"]`}, plan.InProgress, plan.Execution{
				IsExpanded: true, Instances: []plan.StepID{6, 7},
				IsStarted: true, IsRepeatable: true, Approval: &plan.StepApproval{By: "eve"}, Ask: &plan.Ask{Kind: plan.AskApproval}}),
			step(6, plan.Spec{Title: "loop: a"}, plan.Done, plan.Execution{Loop: 4, Item: json.RawMessage(`"a"`)}),
			step(7, plan.Spec{Title: "loop: b"}, plan.Pending, plan.Execution{Loop: 4, Item: json.RawMessage(`"b"`), IsAnswered: true}),
			step(9, plan.Spec{Title: "only if", When: "steps.S006.ok", DependsOn: []plan.StepID{6}}, plan.Skipped,
				plan.Execution{ConditionFalse: true}),
			step(10, plan.Spec{Title: "then", DependsOn: []plan.StepID{9}}, plan.Pending, plan.Execution{}),
		}}
}

// TestWhatRunsHaveMadeOfAPlanIsKept: a loop continues with its instances and a false condition
// satisfies dependents, but approvals and questions are dropped.
func TestWhatRunsHaveMadeOfAPlanIsKept(t *testing.T) {
	w := newWorkspace(t)
	a := elsewhere()
	a.Steps[3].DependsOn = nil // no step outside depends on a part of a loop
	a.Steps[3].When = "true"
	w.do(ann, a)
	p := w.state.Plan
	if p.ID != "p-v2" || p.Root() != "p" || p.CreatedBy != "bob" || p.Steps.At(2).Loop() != 4 || !p.Steps.IsReady(10) {
		t.Errorf("got %+v", p.Body())
	}
	for step := range p.Steps.All() {
		if e := step.Execution; e != nil && (e.Approval != nil || e.Ask != nil || e.IsStarted || e.IsRepeatable || e.IsAnswered) {
			t.Errorf("%s has brought along %+v", step.ID, e)
		}
	}
	w.do(ann, plan.MarkStep{Step: 7, Status: plan.Done})
	if loop, _ := w.state.Plan.Steps.Get(4); loop.Status != plan.Done {
		t.Errorf("the loop is %s when its steps are done", loop.Status)
	}
}

// TestWhatNoRunCanHaveMadeIsRefused: a loop and its parts name each other.
func TestWhatNoRunCanHaveMadeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(steps []plan.NewStep)
		want   string
	}{
		"an instance of no loop": {func(s []plan.NewStep) { s[1].Execution.Loop = 9 }, "its instances do not refer to it"},
		"a stranger's instance":  {func(s []plan.NewStep) { s[4].Execution.Loop = 4 }, "a loop that does not list it"},
		"a loop of nothing there": {func(s []plan.NewStep) { s[0].Execution.Instances = []plan.StepID{6, 8} },
			"its instances do not refer to it"},
		"a loop without a list": {func(s []plan.NewStep) { s[0].ForEach = "" }, "is not a loop"},
		"a part of itself": {func(s []plan.NewStep) { s[0].Execution.Loop, s[0].Execution.Instances = 4, []plan.StepID{4} },
			"do not refer to it"},
		"no condition":               {func(s []plan.NewStep) { s[3].When = "" }, "the outcome of a condition"},
		"a false condition and done": {func(s []plan.NewStep) { s[3].Status = plan.Done }, "the outcome of a condition"},
		"a hidden text":              {func(s []plan.NewStep) { s[1].Execution.Item = json.RawMessage("\"\u202e\"") }, "reordering"},
		"an id twice":                {func(s []plan.NewStep) { s[1].ID = 4 }, "appears twice"},
		"an id far off":              {func(s []plan.NewStep) { s[4].ID = plan.MaxKeptID + 1 }, "too high"},
		"some without an id":         {func(s []plan.NewStep) { s[4].ID = 0 }, "others do not"},
	} {
		w := newWorkspace(t)
		a := elsewhere()
		a.Steps[3].DependsOn, a.Steps[3].When = nil, "true"
		c.change(a.Steps)
		if _, err := plan.Decide(w.state, a, w.facts(ann, a)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestAnIDThatIsTakenIsNotKept: the copy gets a new one, and keeps everything else.
func TestAnIDThatIsTakenIsNotKept(t *testing.T) {
	w := newWorkspace(t)
	a := plan.SetUp{Outline: plan.Outline{Objective: "o"},
		Import: plan.Import{ID: "p-v2", Version: 2, PreviousPlanID: "p", Changes: "c"}}
	w.do(ann, a)
	w.do(ann, a)
	if p := w.state.Plan; p.ID == "p-v2" || !strings.HasPrefix(p.ID, "o-") || p.Version != 2 || p.Changes != "c" {
		t.Errorf("got %+v", p)
	}
	for _, id := range []string{"../p", "a b", "", ".p", "p/q", strings.Repeat("p", 129)} {
		if plan.IsPlanID(id) {
			t.Errorf("%q may be an id", id)
		}
	}
}

// TestAVersionFollowsThoseThatAreHere: ids and attempts of earlier versions are not reused, and a
// draft does not pose as a revision of the current plan.
func TestAVersionFollowsThoseThatAreHere(t *testing.T) {
	w := newWorkspace(t)
	version := func(n int, id string, steps ...plan.NewStep) plan.SetUp {
		return plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps, Import: plan.Import{ID: id, Version: n}}
	}
	w.do(ann, version(1, "p", plan.NewStep{ID: 1, Spec: plan.Spec{Title: "a"}, Progress: plan.Progress{Attempts: 3}},
		plan.NewStep{ID: 5, Spec: plan.Spec{Title: "b"}}))
	w.do(ann, version(2, "p-v2", plan.NewStep{ID: 1, Spec: plan.Spec{Title: "a"}}))
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("c")}})
	if steps := w.state.Plan.Steps; steps.At(1).ID != 6 {
		t.Errorf("the step that was added is %s", steps.At(1).ID)
	}
	draft := version(3, "p-v3", titled("d"))
	draft.Draft = true
	w.do(ann, draft)
	if d := w.state.Draft; d.ID == "p-v3" || d.Root() == w.state.Plan.Root() {
		t.Errorf("the draft has the id %s", d.ID)
	}
}
