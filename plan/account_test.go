package plan_test

import (
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestAccount: a plan's finished work is verified, accepted by a person, or not verified for a reason.
func TestAccount(t *testing.T) {
	ran := func(code int) plan.Evidence {
		return plan.Evidence{Command: "go vet ./api", ExitCode: &code, Recorded: true}
	}
	stale := ran(0)
	stale.Stale = true
	done := func(verify string, evidence ...plan.Evidence) plan.Step {
		return plan.Step{Spec: plan.Spec{Title: "Do it", Verify: verify}, Progress: plan.Progress{Status: plan.Done, Evidence: evidence}}
	}
	const vet = "go vet ./api"
	creates := done("")
	creates.Creates = []string{"api/limit.go"}
	const fast = "Fast"
	proven, noted := done(""), plan.Evidence{Criterion: fast, Note: "2 ms"}
	proven.AcceptanceCriteria, proven.Evidence = []string{fast}, []plan.Evidence{noted}
	checked, claimed := done(vet, ran(0)), done("")
	checked.AcceptanceCriteria, claimed.AcceptanceCriteria = proven.AcceptanceCriteria, proven.AcceptanceCriteria
	waived := plan.Evidence{Waived: true, By: "ann"}
	open := plan.Step{Spec: plan.Spec{Title: "Do it", Verify: vet}, Progress: plan.Progress{Status: plan.Pending}}
	for want, steps := range map[string][]plan.Step{
		"1 of 1 done":             {done("")},
		"1 of 2 done, 1 verified": {done(vet, ran(1), ran(0)), open},
		"3 of 3 done, 2 verified, 1 not: S002 (go vet ./api was not run)": {
			done(vet, ran(0)), done(vet, stale), done(vet, ran(0))},
		"1 of 1 done, 0 verified, 1 not: S001 (go vet ./api exited with 2)":         {done(vet, ran(0), ran(2))},
		"2 of 2 done, 1 verified, 1 without a check":                                {done(vet, ran(0)), done("")},
		"1 of 1 done, 0 verified, 1 not: S001 (\"api/limit.go\" does not exist)":    {creates},
		"2 of 2 done, 2 verified":                                                   {proven, checked}, // by its command
		"2 of 2 done, 1 verified, 1 not: S002 (no note for the criterion \"Fast\")": {proven, claimed},
		"1 of 1 done, 0 verified, 1 accepted without verification: S001 (ann)":      {done(vet, ran(1), waived)},
	} {
		var list []*plan.Step
		for i := range steps {
			steps[i].ID = plan.StepID(i + 1)
			list = append(list, &steps[i])
		}
		p := plan.Plan{Steps: plan.NewSteps(list)}
		for _, shortfall := range plan.AccountOf(&p, nil).Unverified {
			if step, _ := p.Steps.Get(shortfall.Step); len(plan.MissingEvidence(step)) == 0 {
				t.Errorf("%s, but nothing is missing", shortfall)
			}
		}
		if got := plan.AccountOf(&p, func(step *plan.Step) []string { return step.Creates }).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
