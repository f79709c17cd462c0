package verbs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestUndoneEdits: of people's edits of former drafts, those that a submission does not keep are named to the agent and to the
// person, who can restore or accept them; those kept are not named.
func TestUndoneEdits(t *testing.T) {
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
	other := plans("Read", "Push", "Drop", "Tell", "Watch")
	other.Steps[1].Details = new("Quietly")
	inserted := plans("Measure", "Read", "Move", "Test", "Drop", "Tell")
	all := []string{`S004 was moved by pat; the agent moved it back`, `S002's title was set by pat; the agent changed it back`,
		`S002's details were set by pat; the agent changed them back`, `S006 "Watch" was added by pat; the agent left it out`,
		`S003 "Test" was removed by pat; the agent put it back`}
	for name, c := range map[string]struct {
		submitted []verbs.SubmitPlan
		want      []string
	}{
		"all of it":        {[]verbs.SubmitPlan{first}, all},
		"again":            {[]verbs.SubmitPlan{first, first}, all},
		"again and again":  {[]verbs.SubmitPlan{first, first, first, first, first}, all},
		"nothing":          {[]verbs.SubmitPlan{kept}, nil},
		"nothing, at last": {[]verbs.SubmitPlan{first, kept}, nil},
		"what was changed more": {[]verbs.SubmitPlan{further}, []string{`S003's title was set by pat; the agent changed it`,
			`S003's details were set by pat; the agent changed them`}},
		"what got other values": {[]verbs.SubmitPlan{other}, []string{`S003 was moved by pat; the agent moved it back`,
			`S002's title was set by pat; the agent changed it`}},
		"under other numbers too": {[]verbs.SubmitPlan{inserted}, []string{`S005 was moved by pat; the agent moved it back`,
			`S003's title was set by pat; the agent changed it back`, `S003's details were set by pat; the agent changed them back`,
			`S006 "Watch" was added by pat; the agent left it out`, `S004 "Test" was removed by pat; the agent put it back`}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := time.Now()
			s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
			var told []string
			submit := func(in verbs.SubmitPlan) {
				t.Helper()
				reply, err := s.SubmitPlan(t.Context(), ann, in)
				if err != nil {
					t.Fatal(err)
				}
				told = slices.DeleteFunc(reply.Warnings, func(text string) bool { return !strings.Contains(text, " by pat; you ") })
			}
			submit(first)
			edit(t, s, plan.EditDraft{Change: plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: new("Shift"), Details: new("Quietly")}}})
			edit(t, s, plan.EditDraft{Remove: 3})
			edit(t, s, plan.EditDraft{Change: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Watch"}}}}})
			edit(t, s, plan.EditDraft{Change: plan.MoveStep{Step: 4, After: 1}})
			for _, in := range c.submitted {
				submit(in)
			}
			want := slices.Clone(c.want)
			for i := range want {
				want[i] = strings.Replace(want[i], "; the agent ", "; you ", 1)
			}
			if diff := cmp.Diff(want[:min(len(want), len(told))], told, cmpopts.EquateEmpty()); diff != "" || len(want) > 0 && told == nil {
				t.Error("the agent is warned:", diff)
			}
			if diff := cmp.Diff(c.want, undone(t, s), cmpopts.EquateEmpty()); diff != "" {
				t.Error("the person is shown:", diff)
			}
			if c.want == nil {
				return
			}
			settle := func(in verbs.SettleUndone) {
				t.Helper()
				state, err := s.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				in.Digest = plan.Digest(state.Draft)
				if _, err := s.SettleUndone(t.Context(), person, in); err != nil {
					t.Fatal(err)
				}
			}
			state, err := s.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			first, err := s.Undone(t.Context(), state)
			if err != nil {
				t.Fatal(err)
			}
			settle(verbs.SettleUndone{Key: first[0].Key, Accept: true})
			if diff := cmp.Diff(c.want[1:], undone(t, s), cmpopts.EquateEmpty()); diff != "" {
				t.Error("after one was accepted:", diff)
			}
			if len(c.want) > 1 {
				settle(verbs.SettleUndone{})
			}
			if got := undone(t, s); len(got) > 0 {
				t.Errorf("after the others were restored: %q", got)
			}
			submit(c.submitted[len(c.submitted)-1])
			if got := undone(t, s); len(got) != len(c.want)-1 {
				t.Errorf("after all but the first were undone again: %q", got)
			}
		})
	}
}

// undone returns the undone edits that a person is shown.
func undone(t *testing.T, s *verbs.Service) (lines []string) {
	t.Helper()
	state, former, err := s.Draft(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(s.Review(t.Context(), state, former, nil), " undone: restore or accept?\n")
	for line := range strings.SplitSeq(after, "\n") {
		_, line, numbered := strings.Cut(line, ". ")
		if !found || !numbered || !strings.Contains(line, " by pat; ") {
			break
		}
		line, _, _ = strings.Cut(line, ". You set: ")
		lines = append(lines, line)
	}
	return lines
}

func edit(t *testing.T, s *verbs.Service, e plan.EditDraft) {
	t.Helper()
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.Digest = plan.Digest(state.Draft)
	if _, err := s.EditDraft(t.Context(), person, e); err != nil {
		t.Fatal(err)
	}
}
