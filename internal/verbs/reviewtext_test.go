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
			"+ S001 Ask first\nS002 Look, formerly S001\nS003 Use it, formerly S002\n"},
		"moved and changed": {[]plan.Spec{look, use}, []plan.Spec{first, look, risky},
			"+ S001 Ask first\nS002 Look, formerly S001\nS003 Use it, formerly S002\n  + risk: high\n"},
		"the first is gone": {[]plan.Spec{first, look}, []plan.Spec{look},
			"S001 Look, formerly S002\n- S001 Ask first\n"},
		"swapped": {[]plan.Spec{look, first}, []plan.Spec{first, look},
			"S001 Ask first, formerly S002, moved from place 2 to 1\nS002 Look, formerly S001\n"},
		"another title in its place": {[]plan.Spec{look, use}, []plan.Spec{look, renamed},
			"S002 Use them\n  - title: Use it\n  + title: Use them\n"},
		"the same title twice": {[]plan.Spec{look, look}, []plan.Spec{look, look, first}, "+ S003 Ask first\n"},
	} {
		now := shownPlan("b", c.now...)
		want := "Changes since the last review:\nThe steps:\n" + c.want + "\nThe whole plan:\n" + verbs.ReviewText(now, nil)
		if diff := cmp.Diff(want, verbs.ReviewText(now, shownPlan("a", c.former...))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
