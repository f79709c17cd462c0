package plan_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// TestScriptsDeviateToo: a shell without a terminal is taken for its user, and asked
// again like any agent.
func TestScriptsDeviateToo(t *testing.T) {
	w := approvedPlan(t)
	w.do(script, patch(func(p *plan.Patch) { set(&p.Title, "Drop the database") }))
	w.wantPhase(plan.PhaseSubmitted)
}

// TestApprovalBindsAfterTheMode: what is called approved is not edited behind its
// back once the mode is over, whichever way it ended.
func TestApprovalBindsAfterTheMode(t *testing.T) {
	for name, end := range map[string]func(*workspace){
		"said to be done": func(w *workspace) { w.do(ann, plan.EndMode{}) },
		"completed, and opened again": func(w *workspace) {
			w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
			w.do(ann, plan.MarkStep{Step: 2, Status: plan.Done})
			w.do(ann, plan.MarkStep{Step: 2, Status: plan.Pending})
		},
		"cancelled": func(w *workspace) { w.do(person, plan.CancelMode{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := approvedPlan(t)
			end(w)
			w.wantPhase(plan.PhaseInactive)
			w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: new("Drop the database")}})
			w.wantPhase(plan.PhaseSubmitted)
			if step := w.step(2); step.Title != "Do" {
				t.Errorf("the approved step is called %q", step.Title)
			}
		})
	}
}

// TestRejectedSubmissionGoesBackToExecuting: another plan that an agent puts forward
// in the middle does not end the carrying out of the approved one.
func TestRejectedSubmissionGoesBackToExecuting(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, submission("Something else"))
	w.do(person, plan.Reject{Answer: w.answer("")})
	w.wantPhase(plan.PhaseExecuting)
	if former := w.state.Former(); len(former) != 1 || former[0].Reason != "rejected" {
		t.Errorf("the rejected plan is not kept: %+v", former)
	}
}

// TestAnotherPlanEndsTheMode: what replaces the approved plan is not carried out in
// its name, though it may have been approved once.
func TestAnotherPlanEndsTheMode(t *testing.T) {
	w := approvedPlan(t)
	first := w.state.Plan.ID
	w.do(ann, plan.EndMode{})
	w.do(ann, submission("Another"))
	w.do(person, plan.Approve{Answer: w.answer("")})
	w.wantPhase(plan.PhaseExecuting)
	w.do(script, plan.Restore{PlanID: first})
	w.wantPhase(plan.PhaseInactive)
}

// TestRevisionOfAPlanThatChanged is not approved: what a person did meanwhile would
// be lost.
func TestRevisionOfAPlanThatChanged(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, plan.AddSteps{Steps: []plan.NewStep{titled("My own")}})
	wantRefusal(t, w.refused(person, plan.Approve{Answer: w.answer("")}), plan.Conflict, "", "changed while its revision waited")
	w.do(person, plan.Clear{})
	w.wantPhase(plan.PhaseInactive)
	if w.state.Draft != nil {
		t.Error("the revision of a plan that is gone waits still")
	}
}

// TestForceNeedsAPerson: a script takes nobody's claim over, and proves nothing.
func TestForceNeedsAPerson(t *testing.T) {
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build", Verify: "make"}}}})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
	w.refused(script, plan.MarkStep{Step: 1, Status: plan.InProgress, Force: true})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending})
	w.refused(script, plan.MarkStep{Step: 1, Status: plan.Done, Force: true})
	w.do(person, plan.MarkStep{Step: 1, Status: plan.Done, Force: true})
}

// TestEvidenceOfAnEarlierTry does not prove the next one, and is not edited away.
func TestEvidenceOfAnEarlierTry(t *testing.T) {
	zero := 0
	ran := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Command: "make", ExitCode: &zero, Recorded: true}}}
	done := plan.MarkStep{Step: 1, Status: plan.Done}
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build", Verify: "make", AcceptanceCriteria: []string{"c"}}}}})
	w.refused(ann, done)
	w.do(ann, ran)
	w.refused(ann, done) // the criterion is left
	w.do(ann, plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Criterion: "c", Note: "seen"}}})
	w.do(ann, done)
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending})
	w.refused(ann, done)
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
	w.refused(ann, done)
	w.refused(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{Verify: new("true")}})
	w.refused(ann, plan.UpdateStep{Step: 1, Patch: plan.Patch{AcceptanceCriteria: &[]string{}}})
	w.do(person, plan.UpdateStep{Step: 1, Patch: plan.Patch{Verify: new(""), AcceptanceCriteria: &[]string{}}})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done, Note: "looked at it"})
}

// TestEveryFieldOfAStepIsLookedAt: a change of any field of an approved step is either
// put before a person or noted.
func TestEveryFieldOfAStepIsLookedAt(t *testing.T) {
	var p plan.Patch
	fields := reflect.TypeFor[plan.Patch]()
	for i := range fields.NumField() {
		value := reflect.New(fields.Field(i).Type.Elem())
		switch value.Elem().Kind() {
		case reflect.String:
			value.Elem().SetString("other")
			if known, ok := value.Elem().Interface().(interface{ Values() []string }); ok {
				value.Elem().SetString(known.Values()[1])
			}
		case reflect.Bool:
			value.Elem().SetBool(true)
		case reflect.Int:
			value.Elem().SetInt(7)
		case reflect.Slice:
			switch into := value.Interface().(type) {
			case *[]string:
				*into = []string{"other"}
			case *[]plan.StepID:
				*into = []plan.StepID{}
			default:
				value.Elem().SetBytes([]byte(`{"n":1}`))
			}
		}
		p = plan.Patch{}
		reflect.ValueOf(&p).Elem().Field(i).Set(value)
		t.Run(fields.Field(i).Name, func(t *testing.T) {
			w := approvedPlan(t)
			step := w.step(2)
			if reflect.DeepEqual(p.On(step.Spec), step.Spec) {
				t.Skip("it is so already")
			}
			events := w.do(ann, plan.UpdateStep{Step: 2, Patch: p})
			if last := events[len(events)-1].Kind(); last != "plan_submitted" && last != "plan_deviated" {
				t.Errorf("%s was changed, and %s came of it", fields.Field(i).Name, last)
			}
		})
	}
}

// TestOneCommandEndsNoMode: a short time-out that holds for one command is no way out.
func TestOneCommandEndsNoMode(t *testing.T) {
	for name, w := range map[string]*workspace{"gathering": gathering(t), "submitted": waiting(t)} {
		w.limits.GatheringTimeout, w.limits.ApprovalTimeout = time.Millisecond, time.Millisecond
		w.now = w.now.Add(20 * time.Minute)
		if w.expired() {
			t.Error(name, "is over")
		}
		w.refused(ann, plan.SetUp{Outline: plan.Outline{Objective: "Go on"}})
	}
}

// TestATitleAloneExemptsNothing: a step that calls itself the task which asks for the
// plan has to be proven like any other.
func TestATitleAloneExemptsNothing(t *testing.T) {
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "ship it"}, Steps: []plan.NewStep{titled(plan.MetaTitle("ship it")),
		{Spec: plan.Spec{Title: plan.MetaTitle("ship it"), Verify: "false"}}}})
	w.refused(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
}

// TestCancelledRevision: the approved plan goes on.
func TestCancelledRevision(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, plan.CancelMode{})
	w.wantPhase(plan.PhaseExecuting)
	w.do(person, plan.CancelMode{})
	w.wantPhase(plan.PhaseInactive)
}
