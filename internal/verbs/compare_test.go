package verbs_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestComparisonSaysTheFewestMoves: the steps not reported as moved are in the same order, and no smaller set of moves
// would do.
func TestComparisonSaysTheFewestMoves(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
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
		for set := range 1 << len(to) { // every choice of unmoved steps
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

// ordered returns a plan with steps in that order.
func ordered(ids []int) *plan.Plan {
	var steps []*plan.Step
	for _, id := range ids {
		steps = append(steps, &plan.Step{ID: plan.StepID(id), Spec: plan.Spec{Title: plan.StepID(id).String()}})
	}
	return &plan.Plan{ID: "p", Version: 1, Steps: plan.NewSteps(steps)}
}

// TestDependenciesInAnotherOrderAreNoChange: in comparisons, in texts for people, and for comments; also after a
// renumbering.
func TestDependenciesInAnotherOrderAreNoChange(t *testing.T) {
	waiting := func(id string, numbers []plan.StepID, deps ...plan.StepID) *plan.Plan {
		steps := make([]*plan.Step, len(numbers))
		for i, title := range []string{"Look", "Measure", "Build"} {
			steps[i] = &plan.Step{ID: numbers[i], Spec: plan.Spec{Title: title}}
		}
		steps[2].DependsOn = deps
		return &plan.Plan{ID: id, Version: 1, Steps: plan.NewSteps(steps)}
	}
	was := waiting("p", []plan.StepID{1, 2, 3}, 2, 1)
	step, _ := was.Steps.Get(3)
	comment := plan.Comment{ID: "C1", Text: "why?", About: plan.About{PlanID: "p", Step: 3, Title: "Build",
		StepDigest: plan.StepDigest(step)}}
	for name, c := range map[string]struct {
		now  *plan.Plan
		same bool
	}{
		"another order":              {waiting("p", []plan.StepID{1, 2, 3}, 1, 2), true},
		"another order, resubmitted": {waiting("q", []plan.StepID{1, 2, 3}, 1, 2), true},
		"numbered anew":              {waiting("q", []plan.StepID{2, 1, 3}, 2, 1), true},
		"one less":                   {waiting("p", []plan.StepID{1, 2, 3}, 1), false},
	} {
		fields := map[string]bool{}
		for _, change := range verbs.Compare(was, c.now).Steps {
			for field := range change.Fields {
				fields[field] = true
			}
		}
		if fields["depends_on"] == c.same {
			t.Errorf("%s: compared, %v differ", name, fields)
		}
		if shown := strings.Contains(verbs.ReviewText(c.now, was), "  - depends on"); shown == c.same {
			t.Errorf("%s: shown is\n%s", name, verbs.ReviewText(c.now, was))
		}
		remark := verbs.PlaceComments(c.now, []plan.Comment{comment}, map[string]*plan.Plan{"p": was})[0]
		if remark.Now != 3 || (remark.State == verbs.CommentOpen) != c.same {
			t.Errorf("%s: the comment is on %s, %s", name, remark.Now, remark.State)
		}
	}
}
