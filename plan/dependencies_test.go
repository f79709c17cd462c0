package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

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
