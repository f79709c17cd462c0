package verbs_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestCommentsStayWithTheirPlan: comments on a plan are shown while there is no other, finished or not, and no longer
// once the next has begun. Comments after its end are for the next one. A restored plan brings its comments back.
func TestCommentsStayWithTheirPlan(t *testing.T) {
	type step func(*testing.T, *verbs.Service)
	active := func(*testing.T, *verbs.Service) {}
	done := func(t *testing.T, s *verbs.Service) {
		must[verbs.UpdateReply](t)(s.Update(t.Context(), ann, verbs.Update{UpdateTasks: []verbs.TaskUpdate{
			{ID: 1, Status: new(verbs.TaskStatus("DONE"))}}}))
	}
	closed := func(t *testing.T, s *verbs.Service) {
		done(t, s)
		must[verbs.UpdateReply](t)(s.Update(t.Context(), ann, verbs.Update{FinalSummary: new("Moved.")}))
	}
	cleared := func(t *testing.T, s *verbs.Service) {
		must[verbs.ClearPlanReply](t)(s.ClearPlan(t.Context(), ann, verbs.ClearPlan{}))
	}
	setUp := func(t *testing.T, s *verbs.Service) {
		must[verbs.SetupPlanReply](t)(s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "The next",
			InitialSteps: []verbs.NewStep{{Title: "Move the store"}}}))
	}
	approved := func(t *testing.T, s *verbs.Service) {
		must[verbs.SubmitPlanReply](t)(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "The next.",
			Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: new("Move the store")}}}}))
		must[verbs.DecisionReply](t)(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: digest(t, s)}))
	}
	for name, c := range map[string]struct {
		ends, begins step
		isOver       bool
	}{
		"completed": {done, setUp, false}, "closed": {closed, setUp, true}, "cleared": {cleared, setUp, true},
		"replaced": {active, setUp, false}, "closed, the next approved": {closed, approved, true},
		"replaced by what was approved": {active, approved, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, newcomers := ungated(), 0
			says := func(a plan.AddComment) { must[verbs.CommentReply](t)(s.Comment(t.Context(), person, a)) }
			told := func(all bool, want ...string) {
				t.Helper()
				newcomers++
				newcomer := carl
				newcomer.Actor.Name = fmt.Sprint("carl", newcomers)
				reply := must[verbs.StatusReply](t)(s.Status(t.Context(), newcomer, verbs.Status{}))
				heard, open := []string{}, []string{}
				for _, c := range reply.Comments {
					heard = append(heard, c.Text)
				}
				state := must[plan.State](t)(s.State(t.Context()))
				for _, r := range must[[]verbs.PlacedComment](t)(s.OpenComments(t.Context(), state)) {
					open = append(open, r.Text)
				}
				if !slices.Equal(heard, want) || !slices.Equal(open, want) || (reply.Reply != "") != slices.Contains(want, "why?") {
					t.Errorf("told %q, in reach are %q, want %q; to reply: %q", heard, open, want, reply.Reply)
				}
				if !all {
					return
				}
				if reply := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{})); len(reply.Comments) != len(want) {
					t.Errorf("who was here is told %+v, want %q", reply.Comments, want)
				}
			}
			first := must[verbs.SetupPlanReply](t)(s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "The first",
				InitialSteps: []verbs.NewStep{{Title: "Move the sessions"}}}))
			must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{}))
			says(plan.AddComment{Text: "mind it"})
			says(plan.AddComment{Text: "why?", Step: 1, IsQuestion: true})
			c.ends(t, s)
			told(false, "mind it", "why?")
			if c.isOver {
				says(plan.AddComment{Text: "and then the store"})
				told(false, "mind it", "why?", "and then the store")
			}
			c.begins(t, s)
			if c.isOver {
				told(true, "and then the store")
			} else {
				told(true)
			}
			says(plan.AddComment{Text: "of the next"})
			must[verbs.SetupPlanReply](t)(s.Restore(t.Context(), person, first.PlanID))
			told(false, "mind it", "why?")
		})
	}
}
