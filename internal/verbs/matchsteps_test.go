package verbs_test

import (
	"fmt"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestRetitledSteps checks that a step with a new title and a new number is one changed step, and that new steps are not.
func TestRetitledSteps(t *testing.T) {
	made := func(id string, titles ...string) *plan.Plan {
		var steps []*plan.Step
		for i, title := range titles {
			steps = append(steps, &plan.Step{ID: plan.StepID(i + 1), Spec: plan.Spec{Title: title}})
		}
		return &plan.Plan{ID: id, Steps: plan.NewSteps(steps)}
	}
	for name, c := range map[string]struct {
		was, now []string
		want     string
	}{
		"behind a new one":     {[]string{"A", "B", "C"}, []string{"N", "A", "B2", "C"}, "added N, changed A, changed B2, changed C"},
		"behind a removed one": {[]string{"A", "B", "C", "D"}, []string{"B", "C2", "D"}, "changed B, changed C2, changed D, removed A"},
		"two side by side": {[]string{"A", "B", "C", "D"}, []string{"N", "A", "B2", "C2", "D"},
			"added N, changed A, changed B2, changed C2, changed D"},
		"one of them was added": {[]string{"A", "B", "D"}, []string{"N", "A", "X", "Y", "D"},
			"added N, changed A, added X, added Y, changed D, removed B"},
	} {
		got := ""
		for _, change := range verbs.Compare(made("was", c.was...), made("now", c.now...)).Steps {
			got += fmt.Sprintf(", %s %s", change.Change, change.Title)
		}
		if got != ", "+c.want {
			t.Errorf("%s: %s, want %s", name, got[2:], c.want)
		}
	}
}
