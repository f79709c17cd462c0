package verbs_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestComparisonSaysTheFewestMoves: the steps that are not said to have moved stand in the same
// order, and no smaller set of moves would do.
func TestComparisonSaysTheFewestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Permutation([]int{1, 2, 3, 4, 5, 6}).Draw(t, "from")
		to := rapid.Permutation(from).Draw(t, "to")[:rapid.IntRange(0, len(from)).Draw(t, "kept")]
		moved := map[plan.StepID]bool{}
		for _, change := range verbs.Compare(ordered(from), ordered(to)).Steps {
			if change.Change == "moved" {
				moved[change.StepID] = true
			} else if change.Change != "removed" {
				t.Fatalf("nothing but the order differs: %+v", change)
			}
		}
		stay := 0
		for set := range 1 << len(to) { // every choice of steps to leave where they are
			var places []int
			for i, id := range to {
				if set>>i&1 == 1 {
					places = append(places, slices.Index(from, id))
				}
			}
			if slices.IsSorted(places) {
				stay = max(stay, len(places))
			}
		}
		var rest []int
		for _, id := range to {
			if !moved[plan.StepID(id)] {
				rest = append(rest, slices.Index(from, id))
			}
		}
		if !slices.IsSorted(rest) || len(rest) != stay {
			t.Fatalf("%v to %v: %v moved, though %d can stay", from, to, moved, stay)
		}
	})
}

// ordered is a plan with steps in that order.
func ordered(ids []int) *plan.Plan {
	var steps []*plan.Step
	for _, id := range ids {
		steps = append(steps, &plan.Step{ID: plan.StepID(id), Spec: plan.Spec{Title: plan.StepID(id).String()}})
	}
	return &plan.Plan{ID: "p", Version: 1, Steps: plan.NewSteps(steps)}
}
