package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// replacements are the ways to replace, clear or archive the current plan, one for each action that can.
func (w *workspace) replacements(former string) map[string]plan.Action {
	other := plan.Outline{Objective: "Another"}
	return map[string]plan.Action{
		"set up":       plan.SetUp{Outline: other, Steps: []plan.NewStep{titled("x")}},
		"set up empty": plan.SetUp{Outline: other},
		"import":       plan.SetUp{Outline: other, Steps: []plan.NewStep{titled("x")}, Import: plan.Import{ID: "elsewhere-1"}},
		"import a version of it": plan.SetUp{Outline: other, Steps: []plan.NewStep{titled("x")},
			Import: plan.Import{ID: w.state.Plan.Root() + "-v2", Version: 2}},
		"clear":   plan.Clear{},
		"restore": plan.Restore{PlanID: former},
		"batch":   plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Clear{}}}},
	}
}

// TestApprovedPlanStays: only a person who is present and has confirmed it replaces or clears an approved, unfinished plan, in
// every phase; any other plan can be replaced as before.
func TestApprovedPlanStays(t *testing.T) {
	unconfirmed := person
	unconfirmed.IsUnconfirmed = true
	begin := map[string]func() *workspace{
		"executing": func() *workspace { return executing(t) },
		"after end_mode": func() *workspace {
			w := executing(t)
			w.do(ann, plan.EndMode{})
			return w
		},
		"replanning": func() *workspace {
			w := waiting(t)
			a := submission("Look", "Do")
			a.Steps[0].Critical = true
			w.do(ann, a)
			w.do(person, decided(plan.Approved, w.answer("")))
			w.mark(1, plan.Failed)
			w.wantStatus(plan.StatusReplanning)
			return w
		},
		"failed": func() *workspace {
			w := executing(t)
			critical := true
			w.do(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{Critical: &critical}}) // binds nothing
			for range plan.DefaultMaxReplans + 1 {
				w.mark(1, plan.Failed)
				if w.state.Plan.Status == plan.StatusReplanning {
					w.do(ann, plan.Replan{Changes: "again"})
				}
			}
			w.wantStatus(plan.StatusFailed)
			return w
		},
	}
	for phase, begun := range begin {
		for name := range begun().replacements("") {
			for _, actor := range append(pretenders(), ann, bob, script, ci, itself, client, unconfirmed) {
				w := withFormer(t, begun())
				approved := w.state.Plan
				refused := w.refusedOrDraft(actor, w.replacements(w.state.FormerPlans()[0].ID)[name])
				if w.state.Plan != approved || refused != nil && refused.ApprovedPlan != approved.ID {
					t.Errorf("%s, %s by %s: %v", phase, name, actor.Name, refused)
				}
			}
			w := withFormer(t, begun())
			w.do(person, w.replacements(w.state.FormerPlans()[0].ID)[name])
		}
	}
	for name, finish := range map[string]func(*workspace){
		"completed":    func(w *workspace) { w.mark(1, plan.Done); w.mark(2, plan.Skipped) },
		"abandoned":    func(w *workspace) { w.mark(1, plan.Skipped); w.mark(2, plan.Skipped) },
		"not approved": func(w *workspace) { w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Plain"}}) },
	} {
		w := executing(t)
		finish(w)
		if _, err := w.try(ann, plan.SetUp{Outline: plan.Outline{Objective: "Next"}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProposalOutlivesItsPlan: no agent drops a proposal by replacing or clearing the plan that it changes, even if that plan has
// come to its end; a person does.
func TestProposalOutlivesItsPlan(t *testing.T) {
	for end, status := range map[string]plan.StepStatus{"completed": plan.Done, "abandoned": plan.Skipped} {
		begin := func() *workspace {
			w := withFormer(t, executing(t))
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("Deploy")}})
			w.mark(1, status)
			w.mark(2, status)
			w.wantProposal(plan.PhaseInactive)
			return w
		}
		for name := range begin().replacements("") {
			for _, actor := range append(pretenders(), ann, bob, script, ci) {
				w := begin()
				a := w.replacements(w.state.FormerPlans()[0].ID)[name]
				if _, err := w.try(actor, a); err == nil || !w.state.HasProposal() {
					t.Errorf("%s, %s by %s: %v", end, name, actor.Name, err)
				}
			}
		}
		w := begin()
		w.do(person, w.replacements("")["set up"])
	}
}

// withFormer adds a former plan to restore.
func withFormer(t *testing.T, w *workspace) *workspace {
	t.Helper()
	id := w.state.Plan.ID
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Kept"}, Steps: []plan.NewStep{titled("k")}})
	w.do(person, plan.Restore{PlanID: id})
	return w
}

// refusedOrDraft returns the refusal of an action; a restore may make a draft instead.
func (w *workspace) refusedOrDraft(actor plan.Actor, a plan.Action) *plan.ValidationError {
	w.t.Helper()
	if _, isRestore := a.(plan.Restore); isRestore && !actor.IsPresent() {
		if events := w.do(actor, a); !slices.Equal(kinds(events), []string{"draft_made"}) {
			w.t.Fatalf("a restore by %s: %v", actor.Name, kinds(events))
		}
		return nil
	}
	return w.refused(actor, a)
}

// TestDroppedDraftsComeBackAsDrafts: a plan that was never in force comes back as a draft, by anybody's restore, with its comments
// and with what was decided about it.
func TestDroppedDraftsComeBackAsDrafts(t *testing.T) {
	for outcome, drop := range map[string]func(*workspace){
		"rejected":   func(w *workspace) { w.do(person, decided(plan.Rejected, w.answer("no, never"))) },
		"cancelled":  func(w *workspace) { w.do(person, plan.CancelMode{}) },
		"expired":    func(w *workspace) { w.now = w.now.Add(time.Hour); w.do(ann, plan.ExpireMode{}) },
		"superseded": func(w *workspace) { w.do(ann, submission("Else")); w.do(person, decided(plan.Rejected, w.answer(""))) },
		"returned": func(w *workspace) {
			w.do(person, decided(plan.Returned, w.answer("no, never")))
			w.do(ann, submission("Else"))
			w.do(person, decided(plan.Rejected, w.answer("")))
		},
	} {
		for _, actor := range []plan.Actor{ann, script, client, person} {
			w := waiting(t)
			id := w.state.Draft.ID
			w.do(person, plan.AddComment{Text: "mind it"})
			drop(w)
			before := w.state.Plan
			events := w.do(actor, plan.Restore{PlanID: id})
			d := w.state.Draft
			if !slices.Equal(kinds(events), []string{"draft_made"}) || w.state.Plan != before || d == nil || d.Status != plan.StatusDraft ||
				d.ID != id || d.Approval != nil || w.state.PhaseNow() != plan.PhaseInactive {
				t.Fatalf("%s, restored by %s: %v", outcome, actor.Name, kinds(events))
			}
			if comments := w.state.CommentsOn(d); len(comments) == 0 || comments[0].Text != "mind it" {
				t.Errorf("%s: the comments are %+v", outcome, comments)
			}
			head, ok := w.state.EarlierPlan(d)
			if spoken := outcome == "rejected" || outcome == "returned"; !ok || spoken && (head.Decided.By != "petra" ||
				head.Decided.Comment != "no, never") {
				t.Errorf("%s: %+v", outcome, head)
			}
			err := w.refused(actor, plan.Restore{PlanID: id})
			wantRefusal(t, err, plan.Conflict, "", "already waits for a decision", w.state.Draft.ID)
			w.refused(ann, decided(plan.Approved, plan.DecideDraft{Digest: plan.Digest(d)}))
			w.do(person, decided(plan.Approved, plan.DecideDraft{Digest: plan.Digest(d)}))
			w.wantPhase(plan.PhaseExecuting)
		}
	}
}

// TestOnlyAPersonPutsAFormerPlanInForce: a plan that was once in force becomes current by a present person's restore alone.
func TestOnlyAPersonPutsAFormerPlanInForce(t *testing.T) {
	for name, leave := range map[string]func(*workspace){
		"replaced": func(w *workspace) { w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Next"}}) },
		"cleared":  func(w *workspace) { w.do(person, plan.Clear{}) },
		"replanned": func(w *workspace) {
			w.do(person, plan.Replan{Changes: "another way"})
		},
	} {
		for _, actor := range append(pretenders(), ann, script, ci, client, person) {
			w := executing(t)
			id := w.state.Plan.ID
			leave(w)
			before := w.state.Plan
			w.do(actor, plan.Restore{PlanID: id})
			if actor == person {
				if w.state.Plan.ID != id || w.state.Draft != nil {
					t.Errorf("%s: a person's restore makes %s current", name, w.state.Plan.ID)
				}
				continue
			}
			d := w.state.Draft
			if w.state.Plan != before || d == nil || d.Approval != nil || d.Root() == before.Root() {
				t.Errorf("%s, restored by %s: %+v", name, actor.Name, d)
			}
			if head, ok := w.state.EarlierPlan(d); !ok || head.ID != id || head.Decided.Outcome != plan.Approved {
				t.Errorf("%s: the earlier plan is %+v", name, head)
			}
		}
	}
}

// TestAgentsCannotLeaveAnApprovedPlan lets agents, scripts and CI do anything, for any time, beside an approved plan: while it is
// unfinished it stays the current plan with the approved steps, and no other plan is in force in the phase executing.
func TestAgentsCannotLeaveAnApprovedPlan(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := executing(t)
		w.limits = plan.Limits{PersonOnly: true}
		digest := plan.Digest(w.state.Plan)
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			before := w.state
			act(t, w, rapid.SampledFrom([]plan.Actor{ann, bob, script, ci, client}).Draw(t, "actor"), drawAction(t, w))
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour)
			p := w.state.Plan
			bound := before.Plan.IsBinding() && before.Plan.Approval.Digest == digest
			if bound && (p == nil || p.Approval == nil || p.Root() != before.Plan.Root()) {
				t.Fatalf("an approved, unfinished plan gave way to %+v", p)
			}
			if p.IsBinding() && plan.Digest(p) != digest && len(p.Approval.Deviations) == 0 {
				t.Fatalf("the steps are not as approved:\n%s", describe(p.Steps))
			}
			if p.Approval != nil && p.Approval.Digest != digest || w.state.PhaseNow() == plan.PhaseExecuting && p.Approval == nil {
				t.Fatal("a plan is in force that no person approved")
			}
		}
	})
}

// TestTimeOpensNoGate: once a person began the mode or acted in it, or a plan was submitted, no time ends it.
func TestTimeOpensNoGate(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := newWorkspace(t)
		touched := false
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			actor := rapid.SampledFrom([]plan.Actor{ann, bob, person, client, script}).Draw(t, "actor")
			a := rapid.Custom(func(t *rapid.T) plan.Action { return drawModeAction(t, w) }).Draw(t, "action")
			before := w.state
			act(t, w, actor, a)
			changed := w.state.Revision != before.Revision
			if phase := w.state.PhaseNow(); !phase.IsRestricted() {
				touched = false
			} else if changed {
				began := !before.PhaseNow().IsRestricted()
				touched = !began && touched || actor.Way() != "" || actor.Kind != plan.Agent && began || phase == plan.PhaseSubmitted
			}
			late := w.now.Add(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "hours")) * time.Hour)
			if e := plan.Expiry(w.state, late, w.limits, time.Time{}); touched && e != nil {
				t.Fatalf("time ended a mode that a person had touched: %+v", e)
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
		}
	})
}

// TestPlanWithoutStepsIsNotApproved: there is nothing to agree to, and nothing to carry out.
func TestPlanWithoutStepsIsNotApproved(t *testing.T) {
	w := newWorkspace(t)
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Any"}, Draft: true})
	approve := plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)}
	if err := w.refused(person, approve); !strings.Contains(err.Error(), "has no steps") {
		t.Error(err)
	}
	approve.Outcome = plan.Rejected
	w.do(person, approve)
}
