package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// sharing returns the server, which shares a track for a member.
func sharing(name string) plan.Actor { return plan.NewActor(plan.ChannelEngine, name) }

// share shares the track from ann's laptop with a team of this policy, nil for none.
func (w *workspace) share(policy *plan.Policy) []plan.Event {
	w.t.Helper()
	w.policy, w.members = policy, []string{"ann", "bob", "eve"}
	return w.do(sharing("ann"), plan.ShareTrack{From: "ann's laptop"})
}

func one() *plan.Policy { return &plan.Policy{Approvals: 1} }

func TestShareMarksTheHistory(t *testing.T) {
	w := executing(t)
	before := w.state.Revision
	if got := kinds(w.share(nil)); !slices.Equal(got, []string{"track_shared"}) {
		t.Errorf("the events are %v", got)
	}
	shared := w.state.Shared
	if shared == nil || shared.From != "ann's laptop" || shared.By != "ann" || !shared.IsBefore(before) || shared.IsBefore(before+1) {
		t.Errorf("shared is %+v", shared)
	}
	w.wantPhase(plan.PhaseExecuting)
	if by := w.state.Plan.Approval.Deciders(); !strings.HasSuffix(by, " before sharing") || w.state.Mode.Decision.Way != plan.WayBefore {
		t.Errorf("without a policy, the plan is approved by %s: %+v", by, w.state.Mode.Decision)
	}
	if (*plan.Shared)(nil).IsBefore(1) {
		t.Error("a track that is not shared has a history before")
	}
}

// Only what the team can decide again at no cost is dropped without a policy.
func TestShareWithoutAPolicyDropsVotesAndGrants(t *testing.T) {
	w := waiting(t)
	body := w.state.Body()
	body.Mode.Request.Policy, body.Mode.Request.Votes = one(), []plan.Vote{{By: "bob", Proof: plan.ProofPasskey}}
	body.Draft.Steps[0].Execution = &plan.Execution{Approval: &plan.StepApproval{By: "bob"}}
	w.state = body.Build()
	w.share(nil)
	if request := w.state.Mode.Request; request.Policy != nil || request.Votes != nil {
		t.Errorf("the request is %+v", request)
	}
	if step, _ := w.state.Draft.Steps.Get(1); step.HasApproval() {
		t.Errorf("a step keeps its grant: %+v", step)
	}
}

// A plan that was archived before sharing comes back with a marked approval.
func TestRestoredFromBeforeSharing(t *testing.T) {
	w := executing(t)
	former := w.state.Plan
	w.do(person, plan.Clear{})
	w.share(nil)
	head, _ := w.state.PastPlan(former.ID)
	if body := head.Body(plan.State{Plan: former}); body.Approval.Way != string(plan.WayBefore) {
		t.Errorf("the approval is %+v", body.Approval)
	}
}

// An approved plan waits for the team's approvals with its progress; the sharing member cannot give one.
func TestShareDropsApprovals(t *testing.T) {
	w := executing(t)
	w.mark(1, plan.Done)
	w.mark(2, plan.InProgress)
	id, highest := w.state.Plan.ID, w.state.Plan.Steps.Highest()
	w.share(one())
	w.wantPhase(plan.PhaseSubmitted)
	if w.state.Plan != nil || w.state.Draft == nil || w.state.Draft.ID != id {
		t.Fatalf("the plan is %v and the draft %v", w.state.Plan, w.state.Draft)
	}
	w.noVote(t, member("ann"), "you submitted")
	w.refused(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	w.vote("bob", "")
	w.wantPhase(plan.PhaseExecuting)
	if w.state.Plan.ID != id || w.step(1).Status != plan.Done || w.step(2).ClaimedBy != "" || w.state.Plan.Steps.Highest() != highest {
		t.Errorf("the plan is %+v", w.state.Plan)
	}
	if approval := w.state.Plan.Approval; approval.By != "bob" || len(approval.Votes) != 1 {
		t.Errorf("the approval is %+v", approval)
	}
}

// A rejection after sharing leaves no approved plan behind.
func TestRejectedAfterSharing(t *testing.T) {
	w := executing(t)
	w.share(one())
	w.do(member("bob"), decided(plan.Rejected, w.answer("")))
	w.wantPhase(plan.PhaseInactive)
	if w.state.Plan != nil {
		t.Errorf("the plan is %+v", w.state.Plan)
	}
}

func TestShareInEveryState(t *testing.T) {
	proposing := func(t failer) *workspace {
		w := approvedPlan(t)
		w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("more")}})
		return w
	}
	running := func(t failer) *workspace {
		w := atWork(t)
		body := w.state.Body()
		body.Plan.Approval = &plan.Approval{By: "petra", Way: string(plan.WayPerson)}
		w.state = body.Build()
		return w
	}
	for name, c := range map[string]struct {
		begin func(failer) *workspace
		phase plan.Phase
		votes bool
	}{
		"empty":      {newWorkspace, plan.PhaseInactive, false},
		"unapproved": {func(t failer) *workspace { return withPlan(t, titled("a")) }, plan.PhaseInactive, false},
		"gathering":  {gathering, plan.PhaseGathering, false},
		"waiting":    {waiting, plan.PhaseSubmitted, true},
		"proposed":   {proposing, plan.PhaseSubmitted, true},
		"run":        {running, plan.PhaseSubmitted, true},
		"draft": {func(t failer) *workspace {
			w := withPlan(t, titled("a"))
			w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}, Draft: true})
			return w
		}, plan.PhaseSubmitted, true},
		"returned": {func(t failer) *workspace {
			w := waiting(t)
			w.do(person, decided(plan.Returned, w.answer("more")))
			return w
		}, plan.PhaseGathering, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.begin(t)
			w.share(one())
			w.wantPhase(c.phase)
			if _, ok := w.state.Voting(nil); ok != c.votes {
				t.Errorf("voting is %v", ok)
			}
			if w.state.Plan != nil && w.state.Plan.Approval != nil || w.state.OpenRun() != nil {
				t.Errorf("an approval or a run continues: %+v, %+v", w.state.Plan, w.state.Run)
			}
			if c.votes {
				w.vote("bob", "")
				w.wantPhase(plan.PhaseExecuting)
			}
		})
	}
}

// A finished plan stays, without its approval, so that opening a step again does not bring the approval back.
func TestShareOfAFinishedPlan(t *testing.T) {
	w := executing(t)
	w.mark(1, plan.Done)
	w.mark(2, plan.Done)
	w.share(one())
	if w.state.Plan == nil || w.state.Plan.Approval != nil || w.state.Plan.Status != plan.StatusCompleted {
		t.Errorf("the plan is %+v", w.state.Plan)
	}
}

func TestOnlyTheServerShares(t *testing.T) {
	w := waiting(t)
	pretender := plan.Actor{Kind: plan.Agent, Name: "ann", Channel: plan.ChannelEngine}
	for _, by := range []plan.Actor{ann, person, client, script, ci, pretender} {
		wantRefusal(t, w.refused(by, plan.ShareTrack{From: "x"}), plan.Conflict, "", "only a team's server")
	}
}
