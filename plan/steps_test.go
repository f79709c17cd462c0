package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
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
		other := n.get(dep)
		anyEnd := step.Always || strings.Contains(step.When, dep.String()+".ok") || strings.Contains(step.When, dep.String()+".status")
		if other == nil || other.Status != plan.Done && !(other.Execution != nil && other.Execution.ConditionFalse) &&
			!(anyEnd && hasEnded(other)) {
			waiting = append(waiting, dep)
		}
	}
	return waiting
}

func hasEnded(step *plan.Step) bool { return step.Status.IsFinished() || step.Status == plan.Failed }

func (n naive) ready(step *plan.Step) bool {
	isEarly := step.Always && n.count(func(other *plan.Step) bool { return !other.Always && !hasEnded(other) }) > 0
	return step.Status == plan.Pending && len(n.waitingOn(step)) == 0 && !isEarly
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

func TestCycleNamesThePath(t *testing.T) {
	graph := map[plan.StepID][]plan.StepID{1: {2, 3}, 2: {4}, 3: {4}, 4: {}, 5: {6}, 6: {7}, 7: {6}, 8: {8}}
	follow := func(id plan.StepID) []plan.StepID { return graph[id] }
	for _, test := range []struct{ start, want []plan.StepID }{
		{nil, nil}, {[]plan.StepID{1, 2, 3, 4}, nil}, {[]plan.StepID{5}, []plan.StepID{6, 7, 6}},
		{[]plan.StepID{1, 8}, []plan.StepID{8, 8}}, {[]plan.StepID{9}, nil},
	} {
		if got := plan.Cycle(test.start, follow); !slices.Equal(got, test.want) {
			t.Errorf("from %v: %v, want %v", test.start, got, test.want)
		}
	}
}

func TestCycleOfALongChainNeedsNoDeepStack(t *testing.T) {
	const n = 100_000
	follow := func(id plan.StepID) []plan.StepID {
		if id == n {
			return []plan.StepID{1}
		}
		return []plan.StepID{id + 1}
	}
	if got := plan.Cycle([]plan.StepID{1}, follow); len(got) != n+1 {
		t.Errorf("the cycle has %d ids", len(got))
	}
}

// A cycle is found exactly if the graph cannot be emptied by removing steps without dependencies,
// and the result is a cycle.
func TestCycleLaw(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		graph := map[plan.StepID][]plan.StepID{}
		var ids []plan.StepID
		for id := plan.StepID(1); int(id) <= n; id++ {
			ids = append(ids, id)
			for _, dep := range rapid.SliceOfN(rapid.IntRange(1, n), 0, 2).Draw(t, "deps") {
				graph[id] = append(graph[id], plan.StepID(dep))
			}
		}
		cycle := plan.Cycle(ids, func(id plan.StepID) []plan.StepID { return graph[id] })
		if got, want := cycle != nil, !empties(graph, ids); got != want {
			t.Fatalf("%v: cycle %v, want one: %v", graph, cycle, want)
		}
		if cycle == nil {
			return
		}
		if len(cycle) < 2 || cycle[0] != cycle[len(cycle)-1] {
			t.Fatalf("%v does not come back", cycle)
		}
		for i := range len(cycle) - 1 {
			if !slices.Contains(graph[cycle[i]], cycle[i+1]) {
				t.Fatalf("%v: no arrow from %s to %s", cycle, cycle[i], cycle[i+1])
			}
		}
	})
}

func empties(graph map[plan.StepID][]plan.StepID, ids []plan.StepID) bool {
	left := slices.Clone(ids)
	for range ids {
		left = slices.DeleteFunc(slices.Clone(left), func(id plan.StepID) bool {
			return !slices.ContainsFunc(graph[id], func(dep plan.StepID) bool { return slices.Contains(left, dep) })
		})
	}
	return len(left) == 0
}

// TestDependenciesAreASet: another order changes nothing, neither for readers nor for comments; but
// an approval keeps its digest, which was made with the given order.
func TestDependenciesAreASet(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c", 2, 1))
	w.unchanged(ann, plan.UpdateStep{Step: 3, Patch: plan.Patch{DependsOn: &[]plan.StepID{1, 2}}})
	given, turned := *w.step(3), *w.step(3)
	turned.DependsOn = []plan.StepID{1, 2}
	if plan.StepDigest(&given) != plan.StepDigest(&turned) || !given.HasDigest(plan.StepDigest(&turned)) {
		t.Error("another order is another step")
	}
	body := w.state.Plan.Body()
	body.Steps[2] = &turned
	if plan.Digest(body.Build()) == plan.Digest(w.state.Plan) {
		t.Error("the digest of a plan does not tell orders apart any more: those in the logs did")
	}
	for _, f := range plan.SpecFields() {
		if got, want := f.Texts(&given), f.Texts(&turned); !slices.Equal(got, want) {
			t.Errorf("%s reads %q and %q", f.Name, got, want)
		}
	}
	other := given
	other.DependsOn = []plan.StepID{1}
	if plan.StepDigest(&given) == plan.StepDigest(&other) || given.HasDigest(plan.StepDigest(&other)) {
		t.Error("other dependencies are the same step")
	}
}
