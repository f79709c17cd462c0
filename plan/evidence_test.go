package plan_test

import (
	"testing"

	"github.com/planloop/planloop/plan"
)

// passed reports that the command that approvedPlan gives its first step has passed.
func passed(id plan.StepID) plan.ReportStep {
	return plan.ReportStep{Step: id, Evidence: []plan.Evidence{{Command: "go test ./...", ExitCode: new(0), Recorded: true}}}
}

// TestDoneMeansVerified: in an approved plan a step is done once its command has passed since its last start and the files it creates
// exist, or when a person waives that, which is recorded.
func TestDoneMeansVerified(t *testing.T) {
	done := plan.MarkStep{Step: 1, Status: plan.Done}
	begun := plan.MarkStep{Step: 1, Status: plan.InProgress}
	failed := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Command: "go test ./...", ExitCode: new(1), Recorded: true}}}
	claimed := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Command: "go test ./...", Note: "it passed"}}}
	other := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Command: "true", ExitCode: new(0), Recorded: true}}}
	again := plan.MarkStep{Step: 1, Status: plan.Pending}
	waive := plan.MarkStep{Step: 1, Status: plan.Done, Force: true}
	for name, c := range map[string]struct {
		before  []plan.Action
		by      plan.Actor
		does    plan.MarkStep
		missing []string
		refused bool
	}{
		"not run":                      {[]plan.Action{begun}, ann, done, nil, true},
		"never started":                {nil, ann, done, nil, true},
		"passed":                       {[]plan.Action{begun, passed(1)}, ann, done, nil, false},
		"failed afterwards":            {[]plan.Action{begun, passed(1), failed}, ann, done, nil, true},
		"passed before the last start": {[]plan.Action{begun, passed(1), again, begun}, person, done, nil, true},
		"another command passed":       {[]plan.Action{begun, other}, ann, done, nil, true},
		"the agent says so":            {[]plan.Action{begun, claimed}, ann, done, nil, true},
		"an agent insists":             {[]plan.Action{begun}, ann, waive, nil, true},
		"a person does not insist":     {[]plan.Action{begun}, person, done, nil, true},
		"a person waives it":           {[]plan.Action{begun}, person, waive, nil, false},
		"a file is missing":            {[]plan.Action{begun, passed(1)}, ann, done, []string{"api/limit.go"}, true},
		"a person waives the file":     {[]plan.Action{begun, passed(1)}, person, waive, []string{"api/limit.go"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := approvedPlan(t)
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
			for _, a := range c.before {
				w.do(c.by, a)
			}
			w.missing = map[plan.StepID][]string{1: c.missing}
			if c.refused {
				if refusal := w.refused(c.by, c.does); refusal.Unverified != 1 {
					t.Errorf("refused by: %v", refusal)
				}
				return
			}
			w.do(c.by, c.does)
			waived := ""
			if c.does.Force {
				waived = person.Name
			}
			if got := plan.WaivedBy(w.step(1)); got != waived {
				t.Errorf("waived by %q, want %q", got, waived)
			}
		})
	}
}
