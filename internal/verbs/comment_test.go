package verbs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestRemarks places a comment on step 2 of one form of a plan in another form.
func TestRemarks(t *testing.T) {
	look, use, ask := plan.Spec{Title: "Look"}, plan.Spec{Title: "Use it", DependsOn: []plan.StepID{1}}, plan.Spec{Title: "Ask"}
	moved, risky, renamed, hinted := use, use, use, use
	moved.DependsOn, risky.Risk, renamed.Title, hinted.ContextHints = []plan.StepID{2}, plan.HighRisk, "Use them", []string{"Read it"}
	former := shownPlan("a", look, use)
	step, _ := former.Steps.Get(2)
	comment := plan.Comment{ID: "C1", Text: "x",
		About: plan.About{PlanID: "a", Step: 2, Title: "Use it", StepDigest: plan.StepDigest(step)}}
	for name, c := range map[string]struct {
		id    string
		now   []plan.Spec
		want  plan.StepID
		stand verbs.CommentState
	}{
		"as it was":            {"b", []plan.Spec{look, use}, 2, verbs.CommentOpen},
		"hints do not bind":    {"b", []plan.Spec{look, hinted}, 2, verbs.CommentOpen},
		"another number":       {"b", []plan.Spec{ask, look, moved}, 3, verbs.CommentOpen},
		"changed":              {"b", []plan.Spec{look, risky}, 2, verbs.CommentStepChanged},
		"another title":        {"b", []plan.Spec{look, renamed}, 2, verbs.CommentStepChanged},
		"gone":                 {"b", []plan.Spec{look}, 0, verbs.CommentStepGone},
		"edited in place":      {"a", []plan.Spec{look, risky}, 2, verbs.CommentStepChanged},
		"the same":             {"a", []plan.Spec{look, use}, 2, verbs.CommentOpen},
		"taken out, not moved": {"a", []plan.Spec{look}, 0, verbs.CommentStepGone},
	} {
		bodies := map[string]*plan.Plan{"a": former}
		if c.id == "a" {
			bodies = nil
		}
		for _, met := range []bool{false, true} {
			comment.IsResolved = met
			stand := c.stand
			if met {
				stand = verbs.CommentMet
			}
			got := verbs.PlaceComments(shownPlan(c.id, c.now...), []plan.Comment{comment}, bodies)[0]
			if got.Now != c.want || got.State != stand || got.Step != 2 {
				t.Errorf("%s: %s as %s, want %s as %s", name, got.State, got.Now, stand, c.want)
			}
		}
	}
}

// TestCommentsGoWithThePlan follows comments from a draft through its second form and the approval to the next version;
// those on another plan stay with it.
func TestCommentsGoWithThePlan(t *testing.T) {
	clock := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	submit := func(titles ...string) {
		t.Helper()
		var steps []verbs.SubmittedStep
		for _, title := range titles {
			steps = append(steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title, Type: new(plan.Feature),
				ContextHints: &[]string{"Read `go.mod`"}, RelevantFilePaths: &[]string{"go.mod"}}})
		}
		do(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move them.", Steps: steps}))
	}
	comment := func(step plan.StepID, text string) {
		t.Helper()
		do(s.Comment(t.Context(), person, plan.AddComment{Text: text, Step: step}))
	}
	wants := func(of func(plan.State) *plan.Plan, want string) {
		t.Helper()
		state, err := s.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		remarks, err := s.PlacedComments(t.Context(), state, of(state))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range remarks {
			got += fmt.Sprintf("%s %d %s; ", r.Text, r.Now, r.State)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	draft, current := func(s plan.State) *plan.Plan { return s.Draft }, func(s plan.State) *plan.Plan { return s.Plan }
	decide := func(outcome plan.Outcome) {
		t.Helper()
		state, _ := s.State(t.Context())
		do(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: outcome, Digest: plan.Digest(state.Draft), Comment: "so"}))
	}
	do(s.EnterPlanModeFor(t.Context(), person, verbs.PlanFor{Task: "Move the sessions"}))
	comment(0, "early")
	submit("List the sessions", "Move the sessions")
	comment(1, "why?")
	comment(2, "how?")
	decide(plan.Returned)
	submit("Name the region", "Move the sessions", "Count the sessions")
	submit("Name the region", "List the sessions", "Move the sessions")
	const told = "early 0 open; why? 2 open; how? 3 open; "
	wants(draft, told)
	comment(1, "whom?")
	decide(plan.Approved)
	wants(current, told+"whom? 1 open; ")
	do(s.Comment(t.Context(), person, plan.AddComment{Text: "go", IsQuestion: true}))
	do(s.ReplyToComment(t.Context(), ann, plan.ReplyToComment{Comment: "C5", Text: "I do"}))
	do(s.ResolveComment(t.Context(), person, "C2", true))
	do(s.Update(t.Context(), ann, verbs.Update{Replan: &verbs.Replan{Changes: "another way"}}))
	wants(current, "early 0 open; why? 2 met; how? 3 open; whom? 1 open; go 0 open; ")
	do(s.ClearPlan(t.Context(), person, verbs.ClearPlan{}))
	do(s.EnterPlanModeFor(t.Context(), person, verbs.PlanFor{Task: "Something else"}))
	comment(0, "later")
	submit("Name the region")
	wants(draft, "later 0 open; ")
}

// TestAReplyIsNoticed: a person who asked an agent is notified of each reply once; a reply to another comment causes no
// notice.
func TestAReplyIsNoticed(t *testing.T) {
	var told []string
	s := verbs.New(session.New(store.NewMemory(), session.Options{}), verbs.Options{Notify: func(n verbs.Notice) {
		told = append(told, n.Event+": "+n.Title+": "+n.Text)
	}})
	for _, a := range []plan.AddComment{{Text: "mind it"}, {Text: "what does it cost?", IsQuestion: true}} {
		must[verbs.CommentReply](t)(s.Comment(t.Context(), person, a))
	}
	for _, a := range []plan.ReplyToComment{{Comment: "C1", Text: "I do"}, {Comment: "c2", Text: "A day."},
		{Comment: "C2", Text: "A day."}} {
		must[verbs.CommentReply](t)(s.ReplyToComment(t.Context(), ann, a))
	}
	want := []string{"reply_came: " + ann.Actor.Name + " replied to C2: what does it cost?\n\nA day."}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
