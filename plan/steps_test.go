package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// naive is a second version of plan.Steps that recounts everything.
type naive []*plan.Step

func (n naive) get(id plan.StepID) *plan.Step {
	for _, step := range n {
		if step.ID == id {
			return step
		}
	}
	return nil
}

func (n naive) waitingOn(step *plan.Step) []plan.StepID {
	var waiting []plan.StepID
	for _, dep := range step.DependsOn {
		if other := n.get(dep); other == nil || other.Status != plan.Done {
			waiting = append(waiting, dep)
		}
	}
	return waiting
}

func (n naive) ready(step *plan.Step) bool {
	return step.Status == plan.Pending && len(n.waitingOn(step)) == 0
}

func (n naive) dependents(id plan.StepID) []plan.StepID {
	var dependents []plan.StepID
	for _, step := range n {
		if slices.Contains(step.DependsOn, id) {
			dependents = append(dependents, step.ID)
		}
	}
	slices.Sort(dependents) // in any order
	return dependents
}

func (n naive) first(match func(*plan.Step) bool) *plan.Step {
	if i := slices.IndexFunc(n, match); i >= 0 {
		return n[i]
	}
	return nil
}

func (n naive) count(match func(*plan.Step) bool) int {
	found := 0
	for _, step := range n {
		if match(step) {
			found++
		}
	}
	return found
}

func running(step *plan.Step) bool { return step.Status == plan.InProgress }

// describe returns everything observable about a collection of steps.
func (n naive) describe() string {
	var b strings.Builder
	next := n.first(running)
	if next == nil {
		next = n.first(n.ready)
	}
	fmt.Fprintf(&b, "len %d ready %d finished %d next %s next ready %s running", len(n), n.count(n.ready),
		n.count(func(s *plan.Step) bool { return s.Status.IsFinished() }), name(next), name(n.first(n.ready)))
	for _, step := range n {
		if running(step) {
			fmt.Fprintf(&b, " %s", step.ID)
		}
	}
	for _, word := range plan.StepStatus("").Values() {
		fmt.Fprintf(&b, " %s %d", word, n.count(func(s *plan.Step) bool { return string(s.Status) == word }))
	}
	for i, step := range n {
		fmt.Fprintf(&b, "\n%d %s %s ready %v waiting %v dependents %v", i, step.ID, step.Status, n.ready(step), n.waitingOn(step),
			n.dependents(step.ID))
	}
	return b.String()
}

// describe returns the same for the real collection.
func describe(s plan.Steps) string {
	var b strings.Builder
	fmt.Fprintf(&b, "len %d ready %d finished %d next %s next ready %s running", s.Len(), s.ReadyCount(), s.FinishedCount(), name(s.Next()),
		name(s.NextReady()))
	for step := range s.Running() {
		fmt.Fprintf(&b, " %s", step.ID)
	}
	for _, word := range plan.StepStatus("").Values() {
		fmt.Fprintf(&b, " %s %d", word, s.Count(plan.StepStatus(word)))
	}
	for step := range s.All() {
		fmt.Fprintf(&b, "\n%d %s %s ready %v waiting %v dependents %v", s.Position(step.ID), step.ID, step.Status,
			s.IsReady(step.ID), s.UnmetDependencies(step.ID), s.Dependents(step.ID))
	}
	return b.String()
}

func name(step *plan.Step) string {
	if step == nil {
		return "none"
	}
	return step.ID.String()
}

// checkCounts compares the maintained counts of s with recounted ones.
func checkCounts(t failer, s plan.Steps) {
	t.Helper()
	if got, want := describe(s), naive(s.List()).describe(); got != want {
		t.Fatalf("maintained:\n%s\nrecounted:\n%s", got, want)
	}
}

func TestStepsOfNone(t *testing.T) {
	for name, s := range map[string]plan.Steps{"zero": {}, "empty": plan.NewSteps(nil)} {
		checkCounts(t, s)
		for _, id := range []plan.StepID{-1, 0, 1, plan.MaxStepID} {
			step, ok := s.Get(id)
			if step != nil || ok || s.Position(id) != -1 || s.IsReady(id) || s.UnmetDependencies(id) != nil || s.Dependents(id) != nil {
				t.Errorf("%s: there is something at %d", name, int(id))
			}
		}
		if s.Count("bogus") != 0 {
			t.Errorf("%s: counts a status that is not known", name)
		}
	}
}

// Ids need not be at position id-1: a replan may drop steps and keep the ids of the others.
func TestStepsInAnyOrderOfIDs(t *testing.T) {
	for _, ids := range [][]plan.StepID{{2}, {1, 3}, {3, 1, 2}, {5, 4, 9, 1}, {1, 2, 3, 1000}, {999_999, 1}} {
		var steps []*plan.Step
		for i, id := range ids {
			step := &plan.Step{ID: id, Progress: plan.Progress{Status: plan.Pending}}
			if i > 0 {
				step.DependsOn = []plan.StepID{ids[i-1]}
			}
			steps = append(steps, step)
		}
		s := plan.NewSteps(steps)
		checkCounts(t, s)
		if s.Highest() != slices.Max(ids) {
			t.Errorf("%v: the highest is %s", ids, s.Highest())
		}
		for i, id := range ids {
			if got, ok := s.Get(id); !ok || got != steps[i] || s.Position(id) != i {
				t.Errorf("%v: %s is at %d", ids, id, s.Position(id))
			}
			if slices.Contains(ids, id+1) {
				continue
			}
			if got, ok := s.Get(id + 1); ok {
				t.Errorf("%v: %s is found as %s", ids, id+1, got.ID)
			}
		}
	}
}

// In a plan with gaps in its ids, counts stay correct through marks and additions, and two branches
// do not share an index.
func TestStepsWithGapsThroughChanges(t *testing.T) {
	body := withPlan(t).state.Body()
	for id := plan.StepID(2); id < 300; id += 2 {
		step := &plan.Step{ID: id, Spec: plan.Spec{Title: "x"}, Progress: plan.Progress{Status: plan.Pending}}
		if id > 2 && id%3 == 0 {
			step.DependsOn = []plan.StepID{2, id - 2}
		}
		body.Plan.Steps = append(body.Plan.Steps, step)
	}
	w := newWorkspace(t)
	w.state = body.Build()
	checkCounts(t, w.state.Plan.Steps)
	for id := plan.StepID(2); id < 300; id += 2 {
		w.mark(id, plan.Done)
		if id%50 == 0 {
			checkCounts(t, w.state.Plan.Steps)
		}
	}
	fork := w.state
	w.mark(2, plan.Pending)
	w.do(ann, plan.UpdateStep{Step: 4, Patch: plan.Patch{DependsOn: &[]plan.StepID{298}}})
	checkCounts(t, w.state.Plan.Steps)
	left := plan.Apply(fork, plan.StepsAdded{Steps: []*plan.Step{{ID: 301, Progress: plan.Progress{Status: plan.Pending}}}})
	right := plan.Apply(fork, plan.StepsAdded{Steps: []*plan.Step{{ID: 305, Progress: plan.Progress{Status: plan.Done}}}})
	for _, test := range []struct {
		s        plan.State
		has, not plan.StepID
	}{{left, 301, 305}, {right, 305, 301}} {
		checkCounts(t, test.s.Plan.Steps)
		if test.s.Plan.Steps.Position(test.has) < 0 || test.s.Plan.Steps.Position(test.not) >= 0 {
			t.Errorf("%s stands at %d, %s at %d", test.has, test.s.Plan.Steps.Position(test.has), test.not,
				test.s.Plan.Steps.Position(test.not))
		}
	}
}

// Dependents are listed by id, in whatever order they came to depend on a step.
func TestDependentsDoNotTellTheOrderOfEdits(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c", 1))
	w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{1}}})
	if got := w.state.Plan.Steps.Dependents(1); !slices.Equal(got, []plan.StepID{2, 3}) {
		t.Errorf("dependents %v", got)
	}
}

func TestDependentsBelongToTheCaller(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1), titled("c", 1))
	w.state.Plan.Steps.Dependents(1)[0] = 9
	w.state.Plan.Steps.List()[0] = nil
	checkCounts(t, w.state.Plan.Steps)
}

func TestIterationCanStop(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c"))
	w.mark(1, plan.InProgress)
	w.mark(2, plan.InProgress)
	for step := range w.state.Plan.Steps.All() {
		if step.ID == 2 {
			break
		}
	}
	for step := range w.state.Plan.Steps.Running() {
		if step.ID != 1 {
			t.Fatalf("%s comes first", step.ID)
		}
		break
	}
}
