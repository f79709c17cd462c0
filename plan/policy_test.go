package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// member returns a person of the team on the server's page.
func member(name string) plan.Actor { return plan.NewActor(plan.ChannelPage, name) }

// membersOf returns members from the beginning; nil for nil.
func membersOf(names []string) (all plan.Members) {
	for _, name := range names {
		if all == nil {
			all = plan.Members{}
		}
		all[name] = time.Time{}
	}
	return all
}

// agentOf returns an agent of a member.
func agentOf(name string) plan.Actor { return plan.NewActor(plan.ChannelMCP, name+"/codex") }

// voting returns a workspace in which ann's agent has submitted a plan under a policy.
func voting(t failer, policy plan.Policy) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.policy, w.members = &policy, []string{"ann", "bob", "eve", "kim"}
	w.do(agentOf("ann"), submission("Look", "Do"))
	return w
}

// twoOfThree needs the approvals of two.
func twoOfThree() plan.Policy {
	return plan.Policy{Approvals: 2, Approvers: []string{"ann", "bob", "eve"}}
}

func (w *workspace) vote(name, comment string) []plan.Event {
	w.t.Helper()
	return w.do(member(name), decided(plan.Approved, w.answer(comment)))
}

// noVote wants an approval refused, with these words.
func (w *workspace) noVote(t *testing.T, by plan.Actor, words ...string) {
	t.Helper()
	wantRefusal(t, w.refused(by, decided(plan.Approved, w.answer(""))), plan.Conflict, "", words...)
}

func (w *workspace) wantVoting(t *testing.T, want string, voters ...string) {
	t.Helper()
	v, ok := w.state.Voting(membersOf(w.members))
	var by []string
	for _, vote := range v.Votes {
		by = append(by, vote.By)
	}
	if !ok || v.String() != want || !slices.Equal(by, voters) {
		t.Errorf("the plan waits for %q after %v, want %q after %v", v, by, want, voters)
	}
}

func TestLastVoteApproves(t *testing.T) {
	w := voting(t, twoOfThree())
	w.wantVoting(t, "2 approvals: bob and eve")
	events := w.vote("bob", "mind the cache")
	if got := kinds(events); !slices.Equal(got, []string{"approval_given"}) {
		t.Fatalf("the first vote gives %v", got)
	}
	w.wantPhase(plan.PhaseSubmitted)
	w.wantVoting(t, "1 more approval: eve", "bob")
	events = w.vote("eve", "")
	if got := kinds(events); !slices.Equal(got, []string{"approval_given", "plan_approved"}) {
		t.Fatalf("the last vote gives %v", got)
	}
	w.wantPhase(plan.PhaseExecuting)
	approval := w.state.Plan.Approval
	if len(approval.Votes) != 2 || approval.Votes[0].By != "bob" || approval.By != "eve" || approval.Votes[0].Digest != approval.Digest {
		t.Errorf("the approval is %+v", approval)
	}
	if got := approval.Comments(); !slices.Equal(got, []string{"approved by bob: mind the cache"}) {
		t.Errorf("the comments are %q", got)
	}
}

func TestVotesThatDoNotCount(t *testing.T) {
	w := voting(t, twoOfThree())
	w.noVote(t, member("ann"), "you submitted this plan", "bob and eve")
	w.noVote(t, member("kim"), `"kim" may not approve here`, "2 approvals: bob and eve")
	w.noVote(t, member("zoe"), "not a member")
	w.noVote(t, plan.NewActor(plan.ChannelClient, "bob"), "")
	w.noVote(t, plan.NewActor(plan.ChannelShared, "bob"), "")
	w.noVote(t, script, "")
	w.noVote(t, agentOf("bob"), "")
	stale := decided(plan.Approved, w.answer(""))
	stale.Digest = "other"
	wantRefusal(t, w.refused(member("bob"), stale), plan.Conflict, "", "changed since")
	w.vote("bob", "")
	w.noVote(t, member("bob"), "already", "1 more approval: eve")
	w.wantPhase(plan.PhaseSubmitted)
}

func TestEditVoidsVotes(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 2})
	w.wantVoting(t, "2 approvals: bob, eve or kim")
	w.vote("bob", "")
	title := "Look twice"
	w.do(member("eve"), plan.EditDraft{Digest: w.answer("").Digest, Change: plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}})
	w.wantVoting(t, "2 approvals: bob and kim")
	w.noVote(t, member("eve"), "you changed this plan")
	w.vote("bob", "")
	w.vote("kim", "")
	w.wantPhase(plan.PhaseExecuting)
}

// A member that left and came back votes again.
func TestAVoteEndsWithTheMembership(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 2})
	w.vote("bob", "")
	back := plan.Members{"ann": {}, "bob": w.state.UpdatedAt.Add(time.Millisecond), "eve": {}}
	if v, _ := w.state.Voting(back); len(v.Votes) != 0 || v.String() != "2 approvals: bob and eve" {
		t.Errorf("waiting for %s", v)
	}
	back["bob"] = w.state.UpdatedAt
	if v, _ := w.state.Voting(back); len(v.Votes) != 1 {
		t.Error("a vote of the time counts no more")
	}
}

// The list of a draft's editors is bounded, and an editor not on it could vote.
func TestNoEditorIsForgotten(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 2})
	edit := func(title string) plan.EditDraft {
		return plan.EditDraft{Digest: w.answer("").Digest, Change: plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}}
	}
	w.members = []string{"ann", "zoe"}
	for i := range 11 {
		w.members = append(w.members, fmt.Sprintf("m%d", i))
	}
	for i := range 10 {
		w.do(member(fmt.Sprintf("m%d", i)), edit(fmt.Sprintf("Look %d times", i+2)))
	}
	w.do(member("m3"), edit("Look again"))
	wantRefusal(t, w.refused(member("m10"), edit("Look elsewhere")), plan.Conflict, "", "10 people have changed")
	w.noVote(t, member("m0"), "you changed this plan")
}

func TestRemovedMembersVoteDoesNotCount(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 2})
	w.vote("bob", "")
	w.members = []string{"ann", "eve", "kim"}
	w.wantVoting(t, "2 approvals: eve and kim")
	w.vote("eve", "")
	w.wantPhase(plan.PhaseSubmitted)
	w.vote("kim", "")
	w.wantPhase(plan.PhaseExecuting)
}

func TestHighRiskNeedsMoreApprovals(t *testing.T) {
	w := newWorkspace(t)
	w.policy, w.members = &plan.Policy{Approvals: 1, HighRisk: 1}, []string{"ann", "bob", "eve"}
	risky := submission("Look", "Drop the table")
	risky.Steps[1].Risk = plan.HighRisk
	w.do(agentOf("ann"), risky)
	w.vote("bob", "")
	w.wantPhase(plan.PhaseSubmitted)
	w.vote("eve", "")
	w.wantPhase(plan.PhaseExecuting)
}

func TestApprovalNeedsItsProof(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 1, Proof: plan.ProofPasskey})
	w.noVote(t, member("bob"), "signed with a passkey")
	signed := member("bob")
	signed.Proof = plan.ProofPasskey
	w.do(signed, decided(plan.Approved, w.answer("")))
	if votes := w.state.Plan.Approval.Votes; len(votes) != 1 || votes[0].Proof != plan.ProofPasskey {
		t.Errorf("the votes are %+v", votes)
	}
}

// TestOnlyCIVerifies: under such a policy the run of a command on a laptop is a claim that names its machine and commit.
func TestOnlyCIVerifies(t *testing.T) {
	w := underCI(t)
	w.policy = nil // the rules of the submission stay
	ran, done := passed(1), plan.MarkStep{Step: 1, Status: plan.Done}
	w.do(agentOf("ann"), plan.MarkStep{Step: 1, Status: plan.InProgress})
	for claim, on := range map[string]string{"4f2c1a7": "ann's laptop at 4f2c1a7", "CI": "ann's laptop", "": "ann's laptop"} {
		ran.Evidence[0].On = claim
		w.do(agentOf("ann"), ran)
		wantRefusal(t, w.refused(agentOf("ann"), done), plan.Conflict, "/status", "passed on "+on+", and only a run in CI counts")
	}
	w.machine = "ann's runner"
	w.do(plan.NewActor(plan.ChannelCI, "ann/ci"), passed(1))
	w.do(agentOf("ann"), ran) // later, and counts no more than before
	w.do(agentOf("ann"), done)
	step, _ := w.state.Plan.Steps.Get(1)
	if got := step.Evidence[3].Outcome(); !plan.IsVerified(step) || got != "passed on ann's runner" {
		t.Errorf("CI's evidence reads %q", got)
	}
}

// underCI returns an approved plan of a step that only CI verifies.
func underCI(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.policy, w.members, w.machine = &plan.Policy{Approvals: 1, EvidenceFrom: plan.EvidenceCI}, []string{"ann", "bob"}, "ann's laptop"
	a := submission("Look")
	a.Steps[0].Verify = "go test ./..."
	w.do(agentOf("ann"), a)
	w.vote("bob", "")
	return w
}

// TestARunWaitsForCI: under such a policy the engine of a laptop cannot finish a step with a command.
func TestARunWaitsForCI(t *testing.T) {
	w := underCI(t)
	w.do(person, plan.BeginRun{})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.Agent, r.IsRepeatable = "claude", true }
	w.advance(4)
	w.advance(4, w.finished(1, plan.Result{OK: true}))
	if step := w.step(1); step.Status != plan.Blocked || !strings.Contains(step.Error, "only a run in CI counts") {
		t.Fatalf("the step is %s: %q", step.Status, step.Error)
	}
	wantRefusal(t, w.refused(agentOf("ann"), plan.MarkStep{Step: 1, Status: plan.Done}), plan.Conflict, "/status",
		"only a run in CI counts")
	w.do(plan.NewActor(plan.ChannelCI, "ann/ci"), passed(1))
	w.do(agentOf("ann"), plan.MarkStep{Step: 1, Status: plan.Done})
}

// TestAHistoryVerifiesNothing: runs in a history from elsewhere are the laptop's word, also of CI.
func TestAHistoryVerifiesNothing(t *testing.T) {
	w := underCI(t)
	w.do(plan.NewActor(plan.ChannelCI, "ann/ci"), passed(1))
	if !plan.IsVerified(w.step(1)) {
		t.Fatal("CI verifies nothing")
	}
	w.share(&plan.Policy{Approvals: 1, EvidenceFrom: plan.EvidenceCI})
	w.vote("bob", "")
	if step := w.step(1); plan.IsVerified(step) || len(step.Evidence) == 0 {
		t.Errorf("the evidence is %+v", step.Evidence)
	}
}

// One rejection or request for changes ends the round, whatever the votes; a member other than the approvers may give it.
func TestOneDecisionEndsTheRound(t *testing.T) {
	for _, outcome := range []plan.Outcome{plan.Rejected, plan.Returned} {
		w := voting(t, twoOfThree())
		w.vote("bob", "")
		w.do(member("kim"), decided(outcome, w.answer("no")))
		if _, ok := w.state.Voting(nil); ok {
			t.Errorf("%s: the vote continues", outcome)
		}
		w.do(agentOf("ann"), submission("Look", "Do"))
		w.wantVoting(t, "2 approvals: bob and eve")
	}
}

// A submission keeps the policy of its time.
func TestPolicyOfTheSubmission(t *testing.T) {
	w := voting(t, twoOfThree())
	w.policy = nil
	w.vote("bob", "")
	w.wantPhase(plan.PhaseSubmitted)
	w.noVote(t, plan.NewActor(plan.ChannelClient, "eve"), "")

	w = newWorkspace(t)
	w.do(agentOf("ann"), submission("Look", "Do"))
	w.policy = &plan.Policy{Approvals: 2}
	w.vote("bob", "")
	w.wantPhase(plan.PhaseExecuting)
}

// A change of the approved plan needs the approvals too, also one by a person, and those that wrote it do not count.
func TestProposalsAreVotedOn(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 1})
	w.vote("bob", "")
	w.do(member("eve"), plan.AddSteps{Steps: []plan.NewStep{titled("More")}})
	if w.state.Plan.Steps.Len() != 2 {
		t.Fatal("a person changed a team's approved plan")
	}
	w.noVote(t, member("eve"), "you submitted")
	w.do(agentOf("kim"), plan.AddSteps{Steps: []plan.NewStep{titled("Even more")}})
	w.noVote(t, member("eve"), "you submitted")
	w.noVote(t, member("kim"), "you submitted")
	w.vote("ann", "")
	if w.state.Plan.Steps.Len() != 4 {
		t.Errorf("the plan has %d steps", w.state.Plan.Steps.Len())
	}
}

// Plans from elsewhere and from the past wait for the approvals, too.
func TestDraftsAreVotedOn(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 1})
	w.vote("bob", "")
	former := w.state.Plan.ID
	w.do(member("eve"), plan.Clear{})
	w.do(member("eve"), plan.Restore{PlanID: former})
	w.wantPhase(plan.PhaseSubmitted)
	w.noVote(t, member("eve"), "you submitted")
	w.vote("bob", "")
	w.wantPhase(plan.PhaseExecuting)
	w.do(member("kim"), plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}, Draft: true})
	w.noVote(t, member("kim"), "you submitted")

	w = newWorkspace(t)
	w.do(member("eve"), plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}, Draft: true})
	w.policy = &plan.Policy{Approvals: 1}
	w.noVote(t, member("bob"), "was not submitted")
}

func TestVotingThatCannotEnd(t *testing.T) {
	w := voting(t, plan.Policy{Approvals: 2, Approvers: []string{"ann", "bob"}})
	w.wantVoting(t, "2 approvals, but only 1 of the team may still approve; the policy must change, and the plan be submitted again")
	w.members = nil
	w.policy.Approvers = nil
	if v, _ := w.state.Voting(nil); v.String() == "" {
		t.Error("nothing is said")
	}
}
