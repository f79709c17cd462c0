package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// marksOf returns what was reported of each step of a plan.
func marksOf(p *plan.Plan) map[plan.StepID]string {
	marks := map[plan.StepID]string{}
	for step := range p.Steps.All() {
		marks[step.ID] = fmt.Sprint(step.Status, step.Notes, step.Output, step.ClaimedBy, len(step.Evidence))
	}
	return marks
}

// TestAgentsOnlyPropose walks at random from an approved plan. Without a person's decision no binding field of the plan in
// force changes and no phase restricts; no accepted mark is lost when a proposal is made, decided or withdrawn.
func TestAgentsOnlyPropose(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := approvedPlan(t)
		w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			before := w.state
			actor := rapid.SampledFrom([]plan.Actor{ann, ann, bob, script, ci, person, client}).Draw(t, "actor")
			if actor.Way() != "" {
				walkAsPerson(t, w, actor, before)
			} else {
				walkAsAgent(t, w, actor, before)
			}
			if w.state.PhaseNow().IsRestricted() {
				t.Fatalf("%s left the phase %s", actor.Name, w.state.PhaseNow())
			}
			checkMode(t, w.state)
			checkInvariants(t, w)
		}
		checkReplay(t, w)
	})
}

// walkAsAgent does anything that an agent can do to the plan, but give it up.
func walkAsAgent(t *rapid.T, w *workspace, actor plan.Actor, before plan.State) {
	a := drawAction(t, w)
	if givesUp(a, before.PhaseNow()) {
		return
	}
	act(t, w, actor, a)
	for step := range w.state.Plan.Steps.All() {
		if _, ok := before.Plan.Steps.Get(step.ID); !ok && !slices.Contains(w.state.Plan.Approval.UnseenSteps, step.ID) {
			t.Fatalf("%s added %s to the approved plan by %+v", actor.Name, step.ID, a)
		}
	}
	if id := firstMoved(before.Plan, w.state.Plan); id != 0 {
		t.Fatalf("%s moved the approved step %s by %+v", actor.Name, id, a)
	}
	for step := range before.Plan.Steps.All() {
		if now, ok := w.state.Plan.Steps.Get(step.ID); !ok || plan.StepDigest(now) != plan.StepDigest(step) && !moreCareful(step, now) {
			t.Fatalf("%s changed the approved step %s by %+v", actor.Name, step.ID, a)
		}
	}
	if before.HasProposal() && !w.state.HasProposal() && w.state.ModeNow().Decision.Outcome != plan.Withdrawn {
		t.Fatalf("%+v dropped the proposal of %s", a, before.ModeNow().By)
	}
}

// givesUp reports whether an action replaces or gives up the plan, or begins planning mode; other tests are about these.
func givesUp(a plan.Action, phase plan.Phase) bool {
	switch a := a.(type) {
	case plan.SetUp, plan.Clear, plan.Restore, plan.EnterMode, plan.DecideDraft, plan.CancelMode:
		return true
	case plan.SubmitPlan:
		return phase == plan.PhaseInactive // a first submission
	case plan.Batch:
		return slices.ContainsFunc(a.Parts, func(part plan.Part) bool { return givesUp(part.Action, plan.PhaseInactive) })
	}
	return false
}

// firstMoved returns the first step of an earlier plan that has another place among its steps now, else 0.
func firstMoved(was, now *plan.Plan) plan.StepID {
	last := -1
	for step := range was.Steps.All() {
		if at := now.Steps.Position(step.ID); at >= 0 && at < last {
			return step.ID
		} else if at >= 0 {
			last = at
		}
	}
	return 0
}

// moreCareful reports whether a step differs only by a flag that holds it back.
func moreCareful(was, now *plan.Step) bool {
	careful := *now
	careful.Critical, careful.RequiresApproval = was.Critical, was.RequiresApproval
	return plan.StepDigest(&careful) == plan.StepDigest(was)
}

// walkAsPerson decides about a proposal; nothing that was reported changes by it.
func walkAsPerson(t *rapid.T, w *workspace, actor plan.Actor, before plan.State) {
	answer := decided(rapid.SampledFrom([]plan.Outcome{plan.Approved, plan.Rejected, plan.Returned}).Draw(t, "outcome"), w.answer("so"))
	act(t, w, actor, rapid.SampledFrom([]plan.Action{answer, answer, answer, plan.WithdrawProposal{}}).Draw(t, "decision"))
	if before.Draft != nil && before.Draft.Root() != before.Plan.Root() && w.state.Plan.ID != before.Plan.ID {
		return // another plan was approved
	}
	now := marksOf(w.state.Plan)
	isNewVersion := w.state.Plan.Version > before.Plan.Version
	for id, mark := range marksOf(before.Plan) {
		old, _ := before.Plan.Steps.Get(id)
		if now[id] != mark && !(isNewVersion && old.Status == plan.Failed) {
			t.Fatalf("a decision made %s of %s of %s", now[id], mark, id)
		}
	}
}

// TestWorkContinuesBesideAProposal: marks, notes, claims, starts and runs go on, and two edits are one proposal.
func TestWorkContinuesBesideAProposal(t *testing.T) {
	w := executing(t)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}})
	first := *w.state.ModeNow().Request
	w.mark(1, plan.InProgress)
	w.do(ann, plan.BeginRun{})
	if len(plan.StartableSteps(w.state, 1))+w.state.Plan.Steps.Count(plan.InProgress) == 0 || !w.state.HasActiveRun() {
		t.Error("the run does not continue")
	}
	wantRefusal(t, w.refused(ann, plan.MarkStep{Step: highest(w), Status: plan.Done}), plan.Conflict, "", "continue with approved steps")
	w.do(bob, plan.AddSteps{Steps: []plan.NewStep{titled("Tell", highest(w))}})
	w.wantProposal(plan.PhaseExecuting)
	if second := w.state.ModeNow().Request; second.ID == first.ID || second.Digest == first.Digest || second.By != "bob" {
		t.Errorf("the request is %+v after %+v", second, first)
	}
	w.mark(1, plan.Done)
	steps := w.state.Plan.Steps.Len()
	w.do(person, decided(plan.Approved, w.answer("")))
	if w.state.Plan.Steps.Len() != steps+2 || w.step(1).Status != plan.Done {
		t.Errorf("%d steps, %+v", w.state.Plan.Steps.Len(), w.step(1))
	}
}

func highest(w *workspace) plan.StepID { return w.state.Plan.Steps.Highest() }

// TestHintsKeepTheRequest: a person who looks at a proposal can still decide about it after an edit of what it does not bind.
func TestHintsKeepTheRequest(t *testing.T) {
	w := executing(t)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}})
	shown := decided(plan.Approved, w.answer(""))
	w.do(bob, patch(func(p *plan.Patch) { set(&p.ContextHints, []string{"Read `go.mod`"}) }))
	if w.state.ModeNow().Request.By != "ann" {
		t.Error("the request is another")
	}
	w.do(person, shown)
	if hints := w.step(1).ContextHints; len(hints) != 1 {
		t.Errorf("the hint is lost: %q", hints)
	}
}

// TestUndoneEditIsWithdrawn: a revision that is as approved again needs no decision.
func TestUndoneEditIsWithdrawn(t *testing.T) {
	w := executing(t)
	title := w.step(1).Title
	w.do(ann, patch(func(p *plan.Patch) { set(&p.Title, "Delete all") }))
	w.wantProposal(plan.PhaseExecuting)
	w.do(ann, patch(func(p *plan.Patch) { set(&p.Title, title) }))
	if w.state.HasProposal() || w.state.ModeNow().Decision.Outcome != plan.Withdrawn {
		t.Errorf("%+v", w.state.ModeNow())
	}
}

// TestReplacedProposals: a replan or a submission takes the place of the former proposal, whole.
func TestReplacedProposals(t *testing.T) {
	add := plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}}
	for name, c := range map[string]struct {
		action plan.Action
		steps  int // of the new proposal; 0 for none
	}{
		"a submission":           {submission("Another"), 1},
		"a replan with a step":   {plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: "so"}}, {Action: add}}}, 1},
		"a replan as it is":      {plan.Replan{Changes: "so"}, 0},
		"withdrawn, then edited": {plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.WithdrawProposal{}}, {Action: add}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := executing(t)
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("First"), titled("Second")}})
			w.do(ann, c.action)
			w.wantPhase(plan.PhaseExecuting)
			switch draft := w.state.Draft; {
			case c.steps == 0 && draft != nil, c.steps > 0 && draft == nil:
				t.Fatalf("the draft is %+v", draft)
			case draft != nil && draft.Root() == w.state.Plan.Root() && draft.Steps.Len() != w.state.Plan.Steps.Len()+c.steps,
				draft != nil && draft.Root() != w.state.Plan.Root() && draft.Steps.Len() != c.steps:
				t.Errorf("%d steps are proposed beside %d", draft.Steps.Len(), w.state.Plan.Steps.Len())
			}
		})
	}
}

// TestOthersKeepAProposal: what drops a proposal without another in its place is its author's or a person's to do.
func TestOthersKeepAProposal(t *testing.T) {
	for name, a := range map[string]plan.Action{
		"a withdrawal":          plan.WithdrawProposal{},
		"a withdrawal, batched": plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.WithdrawProposal{}}}},
		"a replan as it is":     plan.Replan{Changes: "so"},
		"the approved title":    patch(func(p *plan.Patch) { set(&p.Title, executing(t).step(1).Title) }),
	} {
		for _, actor := range []plan.Actor{ann, bob, person} {
			w := executing(t)
			w.do(ann, patch(func(p *plan.Patch) { set(&p.Title, "Delete all") }))
			_, err := w.try(actor, a)
			if actor.Name == bob.Name && (err == nil || !w.state.HasProposal()) || actor.Name == ann.Name && w.state.HasProposal() {
				t.Errorf("%s by %s: %v", name, actor.Name, err)
			}
		}
	}
}

// TestReplanKeepsTheTerms: an agent's replan neither adds a constraint to an approved plan nor replaces its reasoning unseen. A
// person approves the constraint, or makes the change.
func TestReplanKeepsTheTerms(t *testing.T) {
	begin := func() *workspace {
		w := waiting(t)
		a := submission("Look", "Do")
		a.Reasoning, a.Metadata.Constraints = "It is safe", []string{"Leave production alone"}
		w.do(ann, a)
		w.do(person, decided(plan.Approved, w.answer("")))
		return w
	}
	replan := plan.Replan{Changes: "so", Reasoning: "Production is fine", Constraints: []string{"Use production"}}
	for name, a := range map[string]plan.Action{
		"replan": replan,
		"update": plan.Batch{Word: "update", Parts: []plan.Part{{Action: replan}, {Action: plan.MarkStep{Step: 1, Status: plan.Done}}}},
	} {
		w := begin()
		w.do(ann, a)
		w.wantProposal(plan.PhaseExecuting)
		if p := w.state.Plan; p.Reasoning != "It is safe" || len(p.Metadata.Constraints) != 1 {
			t.Errorf("%s: %q, %q", name, p.Reasoning, p.Metadata.Constraints)
		}
		w.do(person, decided(plan.Approved, w.answer("")))
		if p := w.state.Plan; p.Reasoning != replan.Reasoning || len(p.Metadata.Constraints) != 2 {
			t.Errorf("%s, approved: %q, %q", name, p.Reasoning, p.Metadata.Constraints)
		}
	}
	w := begin()
	replan.Constraints = nil
	w.do(ann, replan)
	if p := w.state.Plan; p.Version != 2 || p.Reasoning != "It is safe" || p.Changes != "so\nProduction is fine" {
		t.Errorf("%d: %q, %q", p.Version, p.Reasoning, p.Changes)
	}
}

// TestWithdrawing: the author or a person may, nobody else.
func TestWithdrawing(t *testing.T) {
	propose := func(w *workspace) { w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}}) }
	for name, c := range map[string]struct {
		before func(*workspace)
		by     plan.Actor
		why    string
	}{
		"its author": {propose, ann, ""},
		"a person":   {propose, person, ""},
		"another agent, the author is gone": {func(w *workspace) {
			propose(w)
			w.seen["ann"] = plan.Sighting{IsGone: true}
		}, bob, ""},
		"returned":      {func(w *workspace) { propose(w); w.do(person, decided(plan.Returned, w.answer("no"))) }, ann, ""},
		"another agent": {propose, bob, "only its author or a person may withdraw it"},
		"none waits":    {func(*workspace) {}, ann, "no proposed change waits"},
		"after end_mode": {func(w *workspace) {
			w.do(ann, plan.EndMode{})
			propose(w)
		}, ann, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := executing(t)
			w.seen = map[string]plan.Sighting{}
			c.before(w)
			phase := w.state.PhaseNow()
			if c.why != "" {
				wantRefusal(t, w.refused(c.by, plan.WithdrawProposal{}), plan.Conflict, "", c.why)
				return
			}
			w.do(c.by, plan.WithdrawProposal{})
			w.wantPhase(phase)
			if w.state.Draft != nil || w.state.ModeNow().Decision.Outcome != plan.Withdrawn {
				t.Errorf("%+v", w.state.ModeNow())
			}
		})
	}
	w := waiting(t)
	wantRefusal(t, w.refused(ann, plan.WithdrawProposal{}), plan.Conflict, "", "submit a revised plan; it replaces this one")
}

// TestProposalOutlastsItsPlan: a plan that completes while its revision waits is not over until that is decided.
func TestProposalOutlastsItsPlan(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(*workspace)
		phase  plan.Phase
	}{
		"approved":  {func(w *workspace) { w.do(person, decided(plan.Approved, w.answer(""))) }, plan.PhaseExecuting},
		"rejected":  {func(w *workspace) { w.do(person, decided(plan.Rejected, w.answer(""))) }, plan.PhaseInactive},
		"withdrawn": {func(w *workspace) { w.do(ann, plan.WithdrawProposal{}) }, plan.PhaseInactive},
		"cancelled": {func(w *workspace) { w.do(person, plan.CancelMode{}) }, plan.PhaseInactive},
		"expired": {func(w *workspace) {
			w.now = w.now.Add(time.Hour)
			w.do(ann, plan.ExpireMode{})
		}, plan.PhaseInactive},
	} {
		t.Run(name, func(t *testing.T) {
			w := executing(t)
			w.limits.ApprovalTimeout = 30 * time.Minute
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}})
			for step := range w.state.Plan.Steps.All() {
				w.mark(step.ID, plan.Done)
			}
			w.wantStatus(plan.StatusCompleted)
			w.wantProposal(plan.PhaseExecuting)
			for _, a := range []plan.Action{plan.Close{Summary: "done"}, plan.EndMode{}} {
				wantRefusal(t, w.refused(ann, a), plan.Conflict, "", "withdraw the proposal first")
			}
			c.decide(w)
			w.wantPhase(c.phase)
			if c.phase == plan.PhaseInactive {
				w.do(ann, plan.Close{Summary: "done"})
				return
			}
			w.wantStatus(plan.StatusActive)
			w.mark(highest(w), plan.Done)
			w.wantPhase(plan.PhaseInactive)
		})
	}
}

// approvedLoop returns a workspace with an approved plan of one loop.
func approvedLoop(t failer) *workspace {
	w := gathering(t)
	a := submission("Each file")
	a.Steps[0].Tool, a.Steps[0].Args, a.Steps[0].ForEach = "view", []byte(`{"path":"$item"}`), "*.txt"
	w.do(ann, a)
	w.do(person, decided(plan.Approved, w.answer("")))
	return w
}

// TestLoopGrowsBesideAProposal: the instances that a run gives a loop survive the approval, and no two steps share an id.
func TestLoopGrowsBesideAProposal(t *testing.T) {
	w := approvedLoop(t)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}})
	proposed := w.state.Draft.Steps.Highest()
	w.do(ann, plan.BeginRun{})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.Items = items("a", "b") }
	w.advance(0)
	if w.state.Plan.Steps.Len() != 3 {
		t.Fatalf("%d steps", w.state.Plan.Steps.Len())
	}
	w.do(person, decided(plan.Approved, w.answer("")))
	if got := w.step(proposed).Title; got != "Deploy" || w.state.Plan.Steps.Len() != 4 || len(w.step(1).Execution.Instances) != 2 {
		t.Errorf("S%03d is %q of %d steps", proposed, got, w.state.Plan.Steps.Len())
	}
}

// TestStartedStepsAreNotRevised: a step that began as approved is not changed under its engine.
func TestStartedStepsAreNotRevised(t *testing.T) {
	w := approvedLoop(t)
	w.do(ann, patch(func(p *plan.Patch) { set(&p.Title, "Other files") }))
	w.do(ann, plan.BeginRun{})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.Items = items("a") }
	w.advance(0)
	wantRefusal(t, w.refused(person, decided(plan.Approved, w.answer(""))), plan.Conflict, "", "was started as it was approved")
}

// TestStaleRevisionIsNotExtended: an agent's edit must not hide that a person changed the plan meanwhile.
func TestStaleRevisionIsNotExtended(t *testing.T) {
	w := executing(t)
	add := plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}}
	w.do(ann, add)
	w.do(person, plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: new("My own")}})
	wantRefusal(t, w.refused(ann, add), plan.Conflict, "", "withdraw the revision, then propose the change again")
	w.do(ann, plan.WithdrawProposal{})
	w.do(ann, add)
	w.do(person, decided(plan.Approved, w.answer("")))
	if w.step(1).Title != "My own" {
		t.Errorf("the person's edit is lost: %q", w.step(1).Title)
	}
}
