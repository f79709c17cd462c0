package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestWhoDecidesIsToldWhatASubmissionTakesBack: of people's edits of former drafts, the reverted ones are named; those
// kept, or changed further, are not.
func TestWhoDecidesIsToldWhatASubmissionTakesBack(t *testing.T) {
	plans := func(titles ...string) verbs.SubmitPlan {
		in := verbs.SubmitPlan{Summary: "Move them."}
		for _, title := range titles {
			details := "Of " + title
			in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title, Details: &details,
				Type: new(plan.Feature), ContextHints: &[]string{"Read it"}, RelevantFilePaths: &[]string{"go.mod"}}})
		}
		return in
	}
	first := plans("Read", "Move", "Test", "Drop", "Tell")
	kept := plans("Read", "Drop", "Shift", "Tell", "Watch")
	kept.Steps[2].Details = new("Quietly")
	further := plans("Read", "Drop", "Push", "Tell", "Watch")
	further.Steps[2].Details = new("Loudly")
	inserted := plans("Measure", "Read", "Move", "Test", "Drop", "Tell")
	all := []string{`the place of S004 "Drop", moved by pat`, `the title of S002 "Move", changed by pat`,
		`the details of S002 "Move", changed by pat`, `S006 "Watch", added by pat`, `S003 "Test", removed by pat`}
	for name, c := range map[string]struct {
		submitted []verbs.SubmitPlan
		want      []string
	}{
		"all of it":             {[]verbs.SubmitPlan{first}, all},
		"again":                 {[]verbs.SubmitPlan{first, first}, all},
		"again and again":       {[]verbs.SubmitPlan{first, first, first, first, first}, all},
		"nothing":               {[]verbs.SubmitPlan{kept}, nil},
		"nothing, at last":      {[]verbs.SubmitPlan{first, kept}, nil},
		"what was changed more": {[]verbs.SubmitPlan{further}, nil},
		"under other numbers too": {[]verbs.SubmitPlan{inserted}, []string{`the place of S005 "Drop", moved by pat`,
			`the title of S003 "Move", changed by pat`, `the details of S003 "Move", changed by pat`, `S006 "Watch", added by pat`,
			`S004 "Test", removed by pat`}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := time.Now()
			s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
			submit := func(in verbs.SubmitPlan) {
				t.Helper()
				if _, err := s.SubmitPlan(t.Context(), ann, in); err != nil {
					t.Fatal(err)
				}
			}
			submit(first)
			edit(t, s, plan.EditDraft{Change: plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: new("Shift"), Details: new("Quietly")}}})
			edit(t, s, plan.EditDraft{Remove: 3})
			edit(t, s, plan.EditDraft{Change: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Watch"}}}}})
			edit(t, s, plan.EditDraft{Change: plan.MoveStep{Step: 4, After: 1}})
			if _, err := s.Status(t.Context(), ann, verbs.Status{}); err != nil { // an informed agent is not refused
				t.Fatal(err)
			}
			for _, in := range c.submitted {
				submit(in)
			}
			state, former, err := s.Draft(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, state.ModeNow().Request.Undoes); diff != "" {
				t.Error(diff)
			}
			line := "It reverts people's earlier changes to the plan: " + strings.Join(c.want, "; ") + "."
			for _, text := range []string{s.Review(state, former, nil), s.Headline(state, person)} {
				if strings.Contains(text, line) != (c.want != nil) || strings.Contains(text, "It reverts") != (c.want != nil) {
					t.Errorf("a person is shown\n%s", text)
				}
			}
		})
	}
}
