package plan_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func shownInHost(session string) *plan.HostPlan {
	return &plan.HostPlan{Host: "claude", Title: "Claude Code", Session: session, Text: "# Ship it"}
}

// shown is the submission of a plan that a host's session shows its user.
func shown(session string, titles ...string) plan.SubmitPlan {
	a := plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it"}, HostPlan: shownInHost(session)}
	for _, title := range titles {
		a.Steps = append(a.Steps, titled(title))
	}
	return a
}

// TestAnsweringInTheHostClosesTheReview: planning mode ends only if the host's plan began it and no person acted in it, approved work
// continues, and a late decision is told why it comes too late.
func TestAnsweringInTheHostClosesTheReview(t *testing.T) {
	leave := plan.LeaveHostReview{Host: "claude", Session: "s"}
	approved := func(w *workspace) {
		w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "First"}, Steps: []plan.NewStep{titled("a")}})
		w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
	}
	for name, c := range map[string]struct {
		before func(*workspace)
		want   plan.Phase
	}{
		"outside planning mode": {func(*workspace) {}, plan.PhaseInactive},
		"a person's mode":       {func(w *workspace) { w.do(person, plan.EnterMode{Task: "Ship it"}) }, plan.PhaseGathering},
		"an agent's mode":       {func(w *workspace) { w.do(ann, plan.EnterMode{Reason: "unsure"}) }, plan.PhaseGathering},
		"approved work":         {approved, plan.PhaseExecuting},
		"after requested changes": {func(w *workspace) {
			w.do(ann, shown("s", "a"))
			w.do(person, plan.DecideDraft{Outcome: plan.Returned, Digest: plan.Digest(w.state.Draft), Comment: "no"})
		}, plan.PhaseInactive},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			c.before(w)
			w.do(ann, shown("s", "a", "b"))
			w.unchanged(ann, plan.LeaveHostReview{Host: "claude", Session: "other"})
			w.unchanged(ann, plan.LeaveHostReview{Host: "codex", Session: "s"})
			late := plan.DecideDraft{Outcome: plan.Approved, Request: w.state.ModeNow().Request.ID, Digest: plan.Digest(w.state.Draft)}
			w.do(ann, leave)
			w.wantPhase(c.want)
			if w.state.Draft != nil || w.state.Past[len(w.state.Past)-1].Reason != string(plan.AnsweredThere) {
				t.Errorf("draft %v, past %+v", w.state.Draft, w.state.Past)
			}
			w.unchanged(ann, leave)
			if refused := w.refused(person, late); !strings.Contains(refused.Error(), "answered in Claude Code") {
				t.Error(refused)
			}
		})
	}
}

// TestAHostsPlanHoldsNoOtherSession: the host itself holds its session, so work on the track continues, also on an unapproved plan.
func TestAHostsPlanHoldsNoOtherSession(t *testing.T) {
	w := newWorkspace(t)
	w.do(bob, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("a"), titled("b")}})
	w.do(ann, shown("s", "x"))
	w.wantPhase(plan.PhaseInactive)
	w.do(bob, plan.MarkStep{Step: 1, Status: plan.InProgress})
	w.do(bob, plan.MarkStep{Step: 1, Status: plan.Done})
	w.do(bob, plan.AddSteps{Steps: []plan.NewStep{titled("c")}})
	if !w.state.HasProposal() || w.state.Plan.Steps.Len() != 3 {
		t.Fatalf("%+v", w.state)
	}
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
	w.wantPhase(plan.PhaseExecuting)
	if w.state.Plan.Objective != "Ship it" || w.state.ModeNow().Decision.Change {
		t.Errorf("%+v, %+v", w.state.Plan, w.state.ModeNow().Decision)
	}
}

// TestOnlyAPersonEndsAReviewThatOnlyAPersonDecides, and planning mode holds until then.
func TestOnlyAPersonEndsAReviewThatOnlyAPersonDecides(t *testing.T) {
	w := newWorkspace(t)
	w.limits.PersonOnly = true
	w.do(ann, shown("s", "a"))
	w.unchanged(ann, plan.LeaveHostReview{Host: "claude", Session: "s"})
	w.wantPhase(plan.PhaseSubmitted)
	w.refused(ann, shown("other", "b"))
}

// TestAnAgentStillLeavesItsOwnMode after a plan that its user answered in the host.
func TestAnAgentStillLeavesItsOwnMode(t *testing.T) {
	w := newWorkspace(t)
	w.do(ann, plan.EnterMode{Reason: "unsure"})
	w.do(ann, shown("s", "a"))
	w.do(ann, plan.LeaveHostReview{Host: "claude", Session: "s"})
	w.do(ann, plan.EndMode{Leaves: true})
	w.wantPhase(plan.PhaseInactive)
}

// TestAHostsPlanReplacesNoOtherDraft: neither another session's, nor an agent's proposal, nor a person's import; and an agent's proposal
// for a plan that came from a host is none of that host's.
func TestAHostsPlanReplacesNoOtherDraft(t *testing.T) {
	for name, before := range map[string]func(*workspace){
		"another session's": func(w *workspace) { w.do(bob, shown("other", "a")) },
		"an agent's": func(w *workspace) {
			w.do(bob, plan.SubmitPlan{Outline: plan.Outline{Objective: "x"}, Steps: []plan.NewStep{titled("a")}})
		},
		"a change of its own approved plan": func(w *workspace) {
			w.do(ann, shown("s", "a", "b"))
			w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
			w.do(bob, plan.AddSteps{Steps: []plan.NewStep{titled("drop the table")}})
			if !w.state.HasProposal() || w.state.OpenHostReview("claude", "s") != nil {
				t.Errorf("the host's review is %+v", w.state.OpenHostReview("claude", "s"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			before(w)
			w.refused(ann, shown("s", "a", "b"))
			w.unchanged(ann, plan.LeaveHostReview{Host: "claude", Session: "s"})
		})
	}
}

// TestAStaleHostPlanBlocksNoPerson: a person begins planning, which drops it; an agent asks the user.
func TestAStaleHostPlanBlocksNoPerson(t *testing.T) {
	w := newWorkspace(t)
	w.do(ann, shown("s", "a"))
	w.do(bob, plan.SetUp{Outline: plan.Outline{Objective: "x"}, Steps: []plan.NewStep{titled("a")}})
	w.do(bob, plan.SetUp{Outline: plan.Outline{Objective: "y"}, Steps: []plan.NewStep{titled("a")}})
	if refused := w.refused(bob, plan.EnterMode{Reason: "unsure"}); !strings.Contains(refused.Error(), "planloop reject") {
		t.Error(refused)
	}
	w.do(person, plan.EnterMode{Task: "Another"})
	w.wantPhase(plan.PhaseGathering)
	if w.state.Draft != nil {
		t.Errorf("%+v", w.state.Draft)
	}
}

// TestTheNextPlanOfAHostShowsItsDifference: after an answer in the host, the session's next plan is compared with its last one.
func TestTheNextPlanOfAHostShowsItsDifference(t *testing.T) {
	w := newWorkspace(t)
	w.do(ann, shown("s", "a"))
	first := w.state.Draft.ID
	w.do(ann, plan.LeaveHostReview{Host: "claude", Session: "s"})
	w.do(ann, shown("s", "b"))
	if head, ok := w.state.LastReviewedDraft(); !ok || head.ID != first {
		t.Errorf("compared with %+v, %t", head, ok)
	}
	w.do(ann, plan.LeaveHostReview{Host: "claude", Session: "s"})
	w.do(ann, shown("other", "a"))
	if head, ok := w.state.LastReviewedDraft(); ok {
		t.Errorf("another session's plan is compared with %+v", head)
	}
}

// TestAnApprovalCoversTheWholeTextOfAHost: the text that planloop has made no step of counts too.
func TestAnApprovalCoversTheWholeTextOfAHost(t *testing.T) {
	w := newWorkspace(t)
	w.do(ann, shown("s", "a"))
	before := plan.Digest(w.state.Draft)
	changed := shown("s", "a")
	changed.HostPlan.Text += "\nand drop the table"
	w.do(ann, changed)
	if plan.Digest(w.state.Draft) == before {
		t.Error("the digest does not cover the text")
	}
	w.refused(person, plan.DecideDraft{Outcome: plan.Approved, Digest: before})
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft), AcceptsEdits: true})
	if p := w.state.Plan; !p.Approval.AcceptsEdits || !p.HostPlan.IsOf("claude", "s") {
		t.Errorf("%+v", p)
	}
}
