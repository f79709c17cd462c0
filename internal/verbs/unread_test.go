package verbs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestEditsOfAPersonAreNotSubmittedOver: an agent that has not seen a person's edits of its draft is refused, once,
// with a list of the edits; the submission of an agent that has seen them is accepted.
func TestEditsOfAPersonAreNotSubmittedOver(t *testing.T) {
	clock := time.Now()
	asked := func(titles ...string) verbs.SubmitPlan {
		in := verbs.SubmitPlan{Summary: "Move them."}
		for _, title := range titles {
			in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title, Type: new(plan.Feature),
				ContextHints: &[]string{"Read it"}, RelevantFilePaths: &[]string{"go.mod"}}})
		}
		return in
	}
	all := []string{"Read the module file", "Move the sessions", "Test the sessions", "Drop the old store"}
	carl := ann
	carl.Actor.Name = "carl"
	for name, c := range map[string]struct {
		then  func(t *testing.T, s *verbs.Service)
		again verbs.Caller
		taken bool
	}{
		"not told":               {func(*testing.T, *verbs.Service) {}, ann, false},
		"not told, another":      {func(*testing.T, *verbs.Service) {}, carl, false},
		"told another":           {func(t *testing.T, s *verbs.Service) { mustStatus(t, s, carl) }, ann, false},
		"told by the status":     {func(t *testing.T, s *verbs.Service) { mustStatus(t, s, ann) }, ann, true},
		"told, then edited more": {func(t *testing.T, s *verbs.Service) { mustStatus(t, s, ann); retitle(t, s, 2, "Prove") }, ann, false},
		"read": {func(t *testing.T, s *verbs.Service) {
			if _, err := s.ReadPlan(t.Context(), ann, verbs.ReadPlan{Of: new(verbs.DraftPlan)}); err != nil {
				t.Fatal(err)
			}
		}, ann, true},
		"read another": {func(t *testing.T, s *verbs.Service) {
			_, _ = s.ReadPlan(t.Context(), ann, verbs.ReadPlan{Of: new(verbs.CurrentPlan)})
			if _, err := s.AskUser(t.Context(), ann, verbs.AskUser{Question: "Which?"}); err != nil {
				t.Fatal(err)
			}
		}, ann, false},
		"returned, and not told": {func(t *testing.T, s *verbs.Service) { giveBack(t, s) }, ann, false},
		"returned, and told":     {func(t *testing.T, s *verbs.Service) { giveBack(t, s); mustStatus(t, s, ann) }, ann, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
			if _, err := s.SubmitPlan(t.Context(), ann, asked("Read the module file", "Drop the old store")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SubmitPlan(t.Context(), ann, asked(all...)); err != nil {
				t.Fatalf("over what nobody edited: %v", err)
			}
			retitle(t, s, 2, "Move them all")
			edit(t, s, plan.EditDraft{Remove: 3})
			edit(t, s, plan.EditDraft{Change: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Tell them"}}}}})
			c.then(t, s)
			_, err := s.SubmitPlan(t.Context(), c.again, asked(all...))
			if c.taken {
				if err != nil {
					t.Errorf("who was told is refused: %v", err)
				}
				return
			}
			var refused *plan.ValidationError
			if !errors.As(err, &refused) || refused.Kind != plan.Conflict {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"pat changed the draft",
				`would undo: the title of S002 "Move the sessions", changed by pat`,
				`S005 "Tell them", added by pat`, `S003 "Test the sessions", removed by pat`,
				"S002 changed (title)", `S005 "Tell them" added`, `S003 "Test the sessions" removed`,
				`planning_read_plan {"of":"draft"}`} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not told: %v", want, err)
				}
			}
			if _, err := s.SubmitPlan(t.Context(), c.again, asked(all...)); err != nil {
				t.Errorf("refused twice: %v", err)
			}
		})
	}
}

func mustStatus(t *testing.T, s *verbs.Service, c verbs.Caller) {
	t.Helper()
	reply, err := s.Status(t.Context(), c, verbs.Status{})
	if err != nil || !strings.Contains(reply.Text(), "S002 changed") && reply.Decision == nil {
		t.Fatalf("%v\n%s", err, reply.Text())
	}
	if again, err := s.Status(t.Context(), c, verbs.Status{}); err != nil || again.Edited != "" {
		t.Errorf("told twice: %v %q", err, again.Edited)
	}
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

func retitle(t *testing.T, s *verbs.Service, step plan.StepID, title string) {
	t.Helper()
	edit(t, s, plan.EditDraft{Change: plan.UpdateStep{Step: step, Patch: plan.Patch{Title: &title}}})
}

func giveBack(t *testing.T, s *verbs.Service) {
	t.Helper()
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	returned := plan.DecideDraft{Outcome: plan.Returned, Digest: plan.Digest(state.Draft), Comment: "smaller"}
	if _, err := s.Decide(t.Context(), person, returned); err != nil {
		t.Fatal(err)
	}
}
