package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestContextJoinsThePlan: constraints and findings are added, each once.
func TestContextJoinsThePlan(t *testing.T) {
	w := withPlan(t, titled("Look"))
	w.do(ann, plan.AddContext{Constraints: []string{"no downtime"}, Findings: "it is slow\n\nby design"})
	w.do(bob, plan.AddContext{Constraints: []string{"no downtime", "no new library"}, Findings: "it is slow\nsince May"})
	p := w.state.Plan
	if want := []string{"no downtime", "no new library"}; !slices.Equal(p.Metadata.Constraints, want) {
		t.Errorf("constraints %q, want %q", p.Metadata.Constraints, want)
	}
	if want := "it is slow\nby design\nsince May"; p.ContextNotes != want {
		t.Errorf("findings %q, want %q", p.ContextNotes, want)
	}
	known := plan.AddContext{Constraints: []string{"no downtime"}, Findings: "since May"}
	if events, err := w.try(ann, known); err != nil || len(events) > 0 {
		t.Errorf("known facts are recorded again: %v, %v", events, err)
	}
	long := strings.Repeat("x", plan.MaxLongText)
	wantRefusal(t, w.refused(ann, plan.AddContext{Findings: long}), plan.Conflict, "", "write them to a file, and name it here")
}

// TestContextOfAnApprovedPlan: a constraint is proposed, findings are free, and neither is lost when a revision is approved.
func TestContextOfAnApprovedPlan(t *testing.T) {
	w := executing(t)
	both := plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.AddContext{Constraints: []string{"no downtime"}}},
		{Action: plan.AddContext{Findings: "it is slow"}}}}
	w.do(ann, both)
	w.wantProposal(plan.PhaseExecuting)
	if p := w.state.Plan; len(p.Metadata.Constraints) > 0 || p.ContextNotes != "it is slow" {
		t.Errorf("constraints %q, findings %q", p.Metadata.Constraints, p.ContextNotes)
	}
	if want := `other constraints: "no downtime"`; w.state.Draft.Changes != want {
		t.Errorf("proposed as %q, want %q", w.state.Draft.Changes, want)
	}
	w.do(bob, plan.AddContext{Findings: "since May"})
	w.do(person, decided(plan.Approved, w.answer("")))
	if p := w.state.Plan; !slices.Equal(p.Metadata.Constraints, []string{"no downtime"}) || p.ContextNotes != "it is slow\nsince May" {
		t.Errorf("approved: constraints %q, findings %q", p.Metadata.Constraints, p.ContextNotes)
	}
	w.do(person, plan.AddContext{Constraints: []string{"no new library"}})
	if p := w.state.Plan; len(p.Metadata.Constraints) != 2 || w.state.HasProposal() {
		t.Errorf("a person's constraint was not added: %q", p.Metadata.Constraints)
	}
}

// TestChangedArgumentsMakeTheStepReady: an approved change of the arguments of a failed step needs no second retry, and the error of
// the former ones is gone.
func TestChangedArgumentsMakeTheStepReady(t *testing.T) {
	for _, critical := range []bool{false, true} {
		w := waiting(t)
		a := submission("Look", "Do")
		a.Steps[0].Tool, a.Steps[0].Args, a.Steps[0].Critical = "view", []byte(`{"path":1}`), critical
		w.do(ann, a)
		w.do(person, decided(plan.Approved, w.answer("")))
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "Invalid args for view"})
		w.do(ann, plan.AnswerStep{Step: 1, Choice: plan.Retry, Args: []byte(`{"path":"go.mod"}`)})
		w.wantProposal(plan.PhaseExecuting)
		if step := w.step(1); step.Status != plan.Failed || string(step.Args) != `{"path":1}` {
			t.Errorf("critical %t: before the approval it is %s with %s", critical, step.Status, step.Args)
		}
		w.do(person, decided(plan.Approved, w.answer("")))
		if step := w.step(1); step.Status != plan.Pending || step.Error != "" || string(step.Args) != `{"path":"go.mod"}` {
			t.Errorf("critical %t: approved, it is %s with %s: %q", critical, step.Status, step.Args, step.Error)
		}
		if w.state.Plan.Status != plan.StatusActive {
			t.Errorf("critical %t: the plan is %s", critical, w.state.Plan.Status)
		}
	}
}
