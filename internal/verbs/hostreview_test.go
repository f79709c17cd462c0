package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const hostText = "# Ship it\n\n1. Build\n2. Push"

func hostPlan(text string) plan.SubmitPlan {
	return plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build"}},
		{Spec: plan.Spec{Title: "Push"}}}, HostPlan: &plan.HostPlan{Host: "claude", Title: "Claude Code", Session: "s", Text: text}}
}

// TestAHostsReviewEnds: the hook that waits gets the decision, and nothing if the review ends without one.
func TestAHostsReviewEnds(t *testing.T) {
	decide := func(outcome plan.Outcome, comment string) func(*testing.T, *verbs.Service, plan.State) {
		return func(t *testing.T, s *verbs.Service, state plan.State) {
			decision := plan.DecideDraft{Outcome: outcome, Comment: comment, AcceptsEdits: true, Request: state.ModeNow().Request.ID,
				Digest: plan.Digest(state.Draft), Comments: []plan.AddComment{{Step: 2, Text: "not on Friday"}}}
			must[verbs.DecisionReply](t)(s.Decide(t.Context(), person, decision))
		}
	}
	for name, c := range map[string]struct {
		end     func(*testing.T, *verbs.Service, plan.State)
		want    verbs.HostAnswer
		refusal string // part of it
	}{
		"approved": {decide(plan.Approved, ""), verbs.HostAnswer{IsApproved: true, AcceptsEdits: true}, ""},
		"returned": {decide(plan.Returned, "Test first."), verbs.HostAnswer{}, "Test first.\nC1 (pat, S002 \"Push\"): not on Friday"},
		"rejected": {decide(plan.Rejected, "Not now."), verbs.HostAnswer{}, "was rejected by pat: Not now."},
		"replaced": {func(t *testing.T, s *verbs.Service, _ plan.State) {
			must[*verbs.HostReview](t)(s.SubmitHostPlan(t.Context(), ann, hostPlan("1. Another")))
		}, verbs.HostAnswer{}, ""},
		"answered there": {func(t *testing.T, s *verbs.Service, _ plan.State) {
			if err := s.LeaveHostReview(t.Context(), ann, plan.LeaveHostReview{Host: "claude", Session: "s"}); err != nil {
				t.Fatal(err)
			}
		}, verbs.HostAnswer{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(time.Now, nil)
			first := must[*verbs.HostReview](t)(s.SubmitHostPlan(t.Context(), ann, hostPlan(hostText)))
			second := must[*verbs.HostReview](t)(s.SubmitHostPlan(t.Context(), ann, hostPlan(hostText))) // another hook
			state := must[plan.State](t)(s.State(t.Context()))
			if state.Revision != 1 {
				t.Errorf("the same plan was submitted twice: revision %d", state.Revision)
			}
			c.end(t, s, state)
			for _, review := range []*verbs.HostReview{first, second} {
				got := must[verbs.HostAnswer](t)(review.Await(t.Context()))
				if !strings.Contains(got.Refusal, c.refusal) || (got.Refusal == "") != (c.refusal == "") {
					t.Errorf("the agent reads %q, not %q", got.Refusal, c.refusal)
				}
				if got.Refusal = ""; got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// TestAnAnswerInTheHostCounts only for the plan as it waits, and not where only a person's own decision counts.
func TestAnAnswerInTheHostCounts(t *testing.T) {
	for name, c := range map[string]struct {
		limits        plan.Limits
		text, session string
		want          string
	}{
		"the same plan":   {plan.Limits{}, hostText + "\n", "s", "confirmed through the client.\nplanloop tracks it as 2 steps."},
		"another text":    {plan.Limits{}, "1. Another", "s", ""},
		"another session": {plan.Limits{}, hostText, "other", ""},
		"no text":         {plan.Limits{}, "", "s", ""},
		"only a person":   {plan.Limits{PersonOnly: true}, hostText, "s", "The plan still waits for the user's decision in planloop."},
	} {
		t.Run(name, func(t *testing.T) {
			log := session.New(store.NewMemory(), session.Options{Now: time.Now, Limits: c.limits})
			s := verbs.New(log, verbs.Options{Limits: c.limits})
			must[*verbs.HostReview](t)(s.SubmitHostPlan(t.Context(), ann, hostPlan(hostText)))
			note := must[string](t)(s.HostAnswered(t.Context(), ann, "claude", c.session, c.text))
			if !strings.Contains(note, c.want) || (note == "") != (c.want == "") {
				t.Errorf("the agent reads %q, not %q", note, c.want)
			}
			state := must[plan.State](t)(s.State(t.Context()))
			if isApproved := name == "the same plan"; isApproved != (state.PhaseNow() == plan.PhaseExecuting) {
				t.Errorf("phase %s", state.PhaseNow())
			}
		})
	}
}

// TestStrictGatesRefuseAHostsPlan, which has no hints and paths; others let it pass.
func TestStrictGatesRefuseAHostsPlan(t *testing.T) {
	for _, isStrict := range []bool{false, true} {
		s := verbs.New(session.New(store.NewMemory(), session.Options{Now: time.Now}), verbs.Options{GateAll: isStrict,
			Gates: func(gate string) gates.Level { return gates.ByProfile(gates.Strict, gate) }})
		if _, err := s.SubmitHostPlan(t.Context(), ann, hostPlan(hostText)); (err != nil) != isStrict {
			t.Errorf("strict %t: %v", isStrict, err)
		}
	}
}

// TestEditsReachTheHost: people's edits of a host's plan come with its approval.
func TestEditsReachTheHost(t *testing.T) {
	s := service(time.Now, nil)
	review := must[*verbs.HostReview](t)(s.SubmitHostPlan(t.Context(), ann, hostPlan(hostText)))
	digest := plan.Digest(must[plan.State](t)(s.State(t.Context())).Draft)
	title := "Push the tag"
	edit := plan.EditDraft{Digest: digest, Change: plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: &title}}}
	edited := must[verbs.DraftEditReply](t)(s.EditDraft(t.Context(), person, edit))
	must[verbs.DecisionReply](t)(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: edited.Digest}))
	if got := must[verbs.HostAnswer](t)(review.Await(t.Context())); !strings.Contains(got.Edited, hostText) ||
		!strings.Contains(got.Edited, "Edited by pat: ") || !strings.Contains(got.Edited, "S002 Push the tag") {
		t.Errorf("%+v", got)
	}
	note := must[string](t)(s.HostAnswered(t.Context(), ann, "claude", "s", hostText))
	if !strings.Contains(note, "Push the tag") {
		t.Error(note)
	}
}
