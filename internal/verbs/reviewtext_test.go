package verbs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// shownPlan returns a submitted plan: its steps are numbered from 1.
func shownPlan(id string, specs ...plan.Spec) *plan.Plan {
	p := &plan.Plan{ID: id, Outline: plan.Outline{Objective: "Move the sessions", Summary: "Move the sessions."}}
	var steps []*plan.Step
	for i, spec := range specs {
		steps = append(steps, &plan.Step{ID: plan.StepID(i + 1), Spec: spec})
	}
	p.Steps = plan.NewSteps(steps)
	return p
}

// A renumbered step is shown as moved, with its other changes; numbers of dependencies that only follow are no change.
func TestReviewShowsMovedSteps(t *testing.T) {
	look, use := plan.Spec{Title: "Look"}, plan.Spec{Title: "Use it", DependsOn: []plan.StepID{1}}
	moved, risky, renamed := use, use, use
	moved.DependsOn, risky.DependsOn, risky.Risk = []plan.StepID{2}, []plan.StepID{2}, plan.HighRisk
	renamed.Title = "Use them"
	first := plan.Spec{Title: "Ask first"}
	for name, c := range map[string]struct {
		former, now []plan.Spec
		want        string // the difference
	}{
		"a step in front": {[]plan.Spec{look, use}, []plan.Spec{first, look, moved},
			"+1. Ask first\n Step 1 is now 2: Look\n Step 2 is now 3: Use it\n"},
		"moved and changed": {[]plan.Spec{look, use}, []plan.Spec{first, look, risky},
			"+1. Ask first\n Step 1 is now 2: Look\n Step 2 is now 3: Use it\n" +
				"-3. Use it\n+3. [HIGH RISK] Use it\n    depends on: S002\n"},
		"the first is gone": {[]plan.Spec{first, look}, []plan.Spec{look},
			" Step 2 is now 1: Look\n-1. Ask first\n"},
		"swapped": {[]plan.Spec{look, first}, []plan.Spec{first, look}, " Step 2 is now 1: Ask first\n Step 1 is now 2: Look\n"},
		"another title in its place": {[]plan.Spec{look, use}, []plan.Spec{look, renamed},
			"-2. Use it\n+2. Use them\n    depends on: S001\n"},
		"the same title twice": {[]plan.Spec{look, look}, []plan.Spec{look, look, first}, "+3. Ask first\n"},
	} {
		now := shownPlan("b", c.now...)
		want := "Changes since the last review:\n" + c.want + "\nThe whole plan:\n" + verbs.ReviewText(now, nil)
		if diff := cmp.Diff(want, verbs.ReviewText(now, shownPlan("a", c.former...))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
