package verbs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestApprovedPlanListsItsSteps: a status has every title and marks the steps the approver has not seen; of a long plan
// it has the titles from the current step on, with the others counted. The whole plan has everything approved.
func TestApprovedPlanListsItsSteps(t *testing.T) {
	of := func(n int) *plan.Plan {
		var steps []*plan.Step
		for i := range n {
			step := &plan.Step{ID: plan.StepID(i + 1), Spec: plan.Spec{Title: fmt.Sprintf("Title %d", i+1), Details: "With care."}}
			if step.Status = plan.Pending; i+1 < n-1 {
				step.Status = plan.Done
			}
			steps = append(steps, step)
		}
		return &plan.Plan{Approval: &plan.Approval{UnseenSteps: []plan.StepID{plan.StepID(n)}}, Steps: plan.NewSteps(steps)}
	}
	for n, missing := range map[int]string{3: "", 300: "(298 done)"} {
		p := of(n)
		text := verbs.ApprovedPlan(p, p.Steps.At(n-2), nil)
		for _, word := range []string{fmt.Sprintf("\n%d. Title %d\n", n-1, n-1), missing,
			fmt.Sprintf("\n%d. Title %d (split off since: the approver has not seen this)\n", n, n)} {
			if !strings.Contains(text, word) {
				t.Errorf("%q is missing in\n%s", word, text)
			}
		}
		whole := verbs.ApprovedPlan(p, nil, nil)
		if strings.Count(whole, "details: With care.") != n || strings.Contains(text, "With care") {
			t.Errorf("whole:\n%s", whole)
		}
	}
	if text := verbs.ApprovedPlan(of(3), of(3).Steps.At(1), nil); !strings.Contains(text, "\n1. Title 1\n") {
		t.Errorf("a step of three is left out:\n%s", text)
	}
}
