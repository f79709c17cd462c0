package plan_test

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

func patch(change func(*plan.Patch)) plan.Action {
	var p plan.Patch
	change(&p)
	return plan.UpdateStep{Step: 1, Patch: p}
}

func adding(change func(*plan.Spec)) plan.Action {
	step := titled("One more")
	change(&step.Spec)
	return plan.AddSteps{Steps: []plan.NewStep{step}}
}

// splitting returns the action that splits a new step off the first.
func splitting(change func(*plan.Spec)) plan.Action {
	step := titled("One more")
	change(&step.Spec)
	step.Splits = 1
	return plan.AddSteps{Steps: []plan.NewStep{step}}
}

// wantProposal checks that a change waits beside the approved plan, in a phase that restricts nothing.
func (w *workspace) wantProposal(phase plan.Phase) {
	w.t.Helper()
	w.wantPhase(phase)
	if !w.state.HasProposal() || w.state.ModeNow().Request == nil {
		w.t.Fatalf("no proposal waits: %+v", w.state.ModeNow())
	}
}

func set[T any](target **T, value T) { *target = &value }

// approvedPlan returns a workspace that carries out a plan of steps with tools, risks, criteria,
// verification, dependencies and an executable step.
func approvedPlan(t failer) *workspace {
	t.Helper()
	w := gatheringWithin(t, halfAnHour())
	a := submission("Look", "Do")
	a.Steps[0].Verify, a.Steps[0].RequiresApproval, a.Steps[0].Tools = "go test ./...", true, []string{"view", "grep"}
	a.Steps[0].Tool, a.Steps[0].Args = "view", []byte(`{"path":"go.mod"}`)
	a.Steps[0].RelevantFilePaths, a.Steps[1].DependsOn = []string{"go.mod"}, []plan.StepID{1}
	w.do(ann, a)
	w.do(person, decided(plan.Approved, w.answer("")))
	w.wantPhase(plan.PhaseExecuting)
	return w
}

// TestSmallDeviationIsNoted: it takes effect at once, and the approval remembers it.
func TestSmallDeviationIsNoted(t *testing.T) {
	for name, a := range map[string]plan.Action{
		"hints":                        patch(func(p *plan.Patch) { set(&p.ContextHints, []string{"Read `go.mod`"}) }),
		"another type":                 patch(func(p *plan.Patch) { set(&p.Type, plan.Bugfix) }),
		"another agent":                patch(func(p *plan.Patch) { set(&p.SuggestedAgent, "bob") }),
		"more time":                    patch(func(p *plan.Patch) { set(&p.Timeout, 90) }),
		"a step with approved paths":   splitting(func(s *plan.Spec) { s.Creates = []string{"go.mod"} }),
		"a step without tools":         splitting(func(*plan.Spec) {}),
		"a step with approved tools":   splitting(func(s *plan.Spec) { s.Tools = []string{"grep", "view"} }),
		"a step of an approved risk":   splitting(func(s *plan.Spec) { s.Risk = plan.MediumRisk }),
		"a step of a lower risk":       splitting(func(s *plan.Spec) { s.Risk = plan.LowRisk }),
		"a step split, with criterion": splitting(func(s *plan.Spec) { s.AcceptanceCriteria = []string{"it works"} }),
	} {
		t.Run(name, func(t *testing.T) {
			w := approvedPlan(t)
			approval := *w.state.Plan.Approval
			events := w.do(ann, a)
			w.wantPhase(plan.PhaseExecuting)
			noted, ok := events[len(events)-1].(plan.PlanDeviated)
			if !ok || len(noted.Deviations) != 1 || noted.By != "ann" {
				t.Fatalf("%v: %+v", kinds(events), events[len(events)-1])
			}
			got := w.state.Plan.Approval
			if len(got.Deviations) != 1 || got.Digest != approval.Digest || got.By != approval.By {
				t.Errorf("the approval is %+v", got)
			}
		})
	}
}

// TestLargeDeviationAsksAgain: it does not take effect but goes to a person, next to the approved
// plan.
func TestLargeDeviationAsksAgain(t *testing.T) {
	for name, c := range map[string]struct {
		action plan.Action
		why    string
	}{
		"title":       {patch(func(p *plan.Patch) { set(&p.Title, "Delete") }), "another title"},
		"details":     {patch(func(p *plan.Patch) { set(&p.Details, "and delete the database") }), "other details"},
		"paths":       {patch(func(p *plan.Patch) { set(&p.RelevantFilePaths, []string{"go.mod", "go.sum"}) }), "other paths"},
		"fewer paths": {patch(func(p *plan.Patch) { set(&p.RelevantFilePaths, []string{}) }), "other paths"},
		"fewer tools": {patch(func(p *plan.Patch) { set(&p.Tools, []string{"view"}) }), "other tools"},
		"less risk":   {patch(func(p *plan.Patch) { set(&p.Risk, plan.LowRisk) }), "S001: lower risk (low)"},
		"less risk among others": {patch(func(p *plan.Patch) {
			set(&p.Risk, plan.LowRisk)
			set(&p.Title, "Delete")
			set(&p.Details, "all of it")
			set(&p.Tool, "create_file")
			set(&p.Args, []byte(`{"path":"x"}`))
		}), "S001: lower risk (low), another title, other details, another tool or arguments"},
		"an added criterion": {patch(func(p *plan.Patch) { set(&p.AcceptanceCriteria, []string{"it works", "it is fast", "it is small"}) }),
			"other criteria"},
		"creates": {patch(func(p *plan.Patch) { set(&p.Creates, []string{"x.go"}) }), "other paths that it creates"},
		"a new tool": {patch(func(p *plan.Patch) { set(&p.Tools, []string{"view", "grep", "bash_execute"}) }),
			"other tools"},
		"a tool of another step": {plan.UpdateStep{Step: 2, Patch: plan.Patch{Tools: &[]string{"view", "grep"}}}, "other tools"},
		"another executable":     {patch(func(p *plan.Patch) { set(&p.Tool, "create_file") }), "another tool or arguments"},
		"other arguments": {patch(func(p *plan.Patch) { set(&p.Args, []byte(`{"path":"/etc/passwd"}`)) }),
			"another tool or arguments"},
		"more risk": {patch(func(p *plan.Patch) { set(&p.Risk, plan.HighRisk) }), "S001: higher risk (high)"},
		"a dropped criterion": {patch(func(p *plan.Patch) { set(&p.AcceptanceCriteria, []string{"it works"}) }),
			"other criteria"},
		"another verification":       {patch(func(p *plan.Patch) { set(&p.Verify, "true") }), "another verification command"},
		"no verification":            {patch(func(p *plan.Patch) { set(&p.Verify, "") }), "another verification command"},
		"no approval of the step":    {patch(func(p *plan.Patch) { set(&p.RequiresApproval, false) }), "no longer asks for approval"},
		"other dependencies":         {plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{}}}, "other dependencies"},
		"a step with a new tool":     {adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }), "new tool"},
		"a step of a higher risk":    {adding(func(s *plan.Spec) { s.Risk = plan.HighRisk }), "new risk"},
		"a step that splits none":    {adding(func(*plan.Spec) {}), "One more"},
		"a split with a new tool":    {splitting(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }), `tools "bash_execute"`},
		"a split of a higher risk":   {splitting(func(s *plan.Spec) { s.Risk = plan.HighRisk }), "higher risk (high)"},
		"a split that runs":          {splitting(func(s *plan.Spec) { s.Tool = "view" }), `tool "view"`},
		"a split verified otherwise": {splitting(func(s *plan.Spec) { s.Verify = "true" }), `verification "true"`},
		"a split with a new path":    {splitting(func(s *plan.Spec) { s.RelevantFilePaths = []string{"go.sum"} }), `paths "go.sum"`},
		"a split that creates":       {splitting(func(s *plan.Spec) { s.Creates = []string{"x"} }), `paths it creates "x"`},
		"a split with a criterion":   {splitting(func(s *plan.Spec) { s.AcceptanceCriteria = []string{"429"} }), `criteria "429"`},
		"a split safe to do twice":   {splitting(func(s *plan.Spec) { s.Idempotent = true }), "idempotent"},
		"a split robbed of its dependency": {plan.Batch{Word: "update", Parts: []plan.Part{
			{Action: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Part"}, Splits: 2}}}},
			{Action: plan.UpdateStep{Step: 3, Patch: plan.Patch{DependsOn: &[]plan.StepID{}}}}}}, "other dependencies"},
		"a split of no step": {plan.AddSteps{Steps: []plan.NewStep{{
			Spec: plan.Spec{Title: "One more"}, Splits: 9}}}, "One more"},
		"another order":              {plan.MoveStep{Step: 2}, "another place in the order"},
		"no pause":                   {patch(func(p *plan.Patch) { set(&p.Pause, "Go?") }), "another question"},
		"another condition":          {patch(func(p *plan.Patch) { set(&p.When, "true") }), "another condition"},
		"said to be idempotent":      {patch(func(p *plan.Patch) { set(&p.Idempotent, true) }), "safe to do twice"},
		"a step that runs something": {adding(func(s *plan.Spec) { s.Tool = "view" }), "runs the tool"},
		"within a batch": {plan.Batch{Word: "update", Parts: []plan.Part{
			{Action: adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} })}}}, "new tool"},
	} {
		for _, actor := range []plan.Actor{ann, ci, itself} {
			t.Run(name+" by "+string(actor.Kind), func(t *testing.T) {
				w := approvedPlan(t)
				before := w.state.Plan
				w.do(actor, c.action)
				w.wantProposal(plan.PhaseExecuting)
				now := w.state.Plan.Body()
				now.Highest = before.Body().Highest // minted ids are not part of the agreement
				if jsonOf(t, now) != jsonOf(t, before.Body()) {
					t.Error("the approved plan was changed")
				}
				draft := w.state.Draft
				if draft == nil || draft.ID != before.ID || draft.Approval != nil || draft.Status != plan.StatusDraft {
					t.Fatalf("the draft is %+v", draft)
				}
				wantWords(t, draft.Changes, c.why)
				w.do(ann, plan.ReportStep{Step: 1, Note: "approved work continues"})
				w.do(person, decided(plan.Approved, w.answer("")))
				w.wantPhase(plan.PhaseExecuting)
				if w.state.Plan.ID != before.ID || len(w.state.FormerPlans()) != 0 || w.state.Plan.Approval == nil ||
					len(w.step(1).Notes) != 1 {
					t.Errorf("the revision became %s, with %d former plans", w.state.Plan.ID, len(w.state.FormerPlans()))
				}
			})
		}
	}
}

// TestMoreCareNeedsNoAgreement: a flag that holds a step back may be set unasked.
func TestMoreCareNeedsNoAgreement(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{RequiresApproval: new(true), Critical: new(true)}})
	w.wantPhase(plan.PhaseExecuting)
}

// TestEditsWaitAlone: if a batch goes beyond the approval, its marks, reports and signals take
// effect whatever happens to the edits; anything that needs an edit waits with it.
func TestEditsWaitAlone(t *testing.T) {
	batch := plan.Batch{Word: "update", Parts: []plan.Part{
		{Action: plan.MarkStep{Step: 1, Status: plan.Done, Note: "seen"}},
		{Action: plan.ReportStep{Step: 1, Output: "ok", Evidence: []plan.Evidence{{Note: "green"}}}},
		{Action: plan.RaiseSignal{ID: "slow", Level: plan.Warning, Message: "slow"}},
		{Action: plan.AddSteps{Steps: []plan.NewStep{titled("Deploy it")}}},
		{Action: plan.MarkStep{Step: 3, Status: plan.Blocked, Note: "no host"}},
		{Action: plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{}}}},
		{Action: plan.MarkStep{Step: 2, Status: plan.InProgress}},
	}}
	for _, outcome := range []plan.Outcome{plan.Approved, plan.Rejected, plan.Returned, plan.Expired} {
		t.Run(string(outcome), func(t *testing.T) {
			w := approvedPlan(t)
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
			w.do(ann, passed(1))
			w.do(ann, batch)
			w.wantProposal(plan.PhaseExecuting)
			kept := func(when string) {
				t.Helper()
				step := w.step(1)
				if step.Status != plan.Done || len(step.Notes) != 1 || step.Output != "ok" || len(step.Evidence) != 2 ||
					w.step(2).Status != plan.InProgress || len(w.state.Signals) != 1 {
					t.Errorf("%s: %+v, %+v, %+v", when, step, w.step(2), w.state.Signals)
				}
			}
			kept("while it waits")
			if w.state.Plan.Steps.Len() != 2 || len(w.step(2).DependsOn) != 1 {
				t.Error("an edit did not wait")
			}
			switch outcome {
			case plan.Expired:
				w.now = w.now.Add(time.Hour)
				w.do(ann, plan.ExpireMode{})
			default:
				w.do(person, decided(outcome, w.answer("so")))
			}
			kept("afterwards")
			if added := w.state.Plan.Steps.Len() == 3; added != (outcome == plan.Approved) {
				t.Errorf("%d steps", w.state.Plan.Steps.Len())
			}
		})
	}
}

// TestDigestAndDeviationAgree: a field bound by an approval is in its digest and needs a new
// agreement to change; any other field is neither.
func TestDigestAndDeviationAgree(t *testing.T) {
	values := map[string]string{"type": "test", "depends_on": "S002", "risk": "high", "args": `{"a":1}`, "timeout": "30",
		"retry": `{"attempts":2}`}
	binds := []string{"title", "details", "depends_on", "risk", "relevant_file_paths", "creates", "acceptance_criteria", "verify",
		"tools", "tool", "args", "cwd", "output_file", "pause", "when", "for_each"}
	for _, f := range plan.SpecFields() {
		if f.Kind == plan.FlagField {
			continue // it binds one way
		}
		step := plan.Step{ID: 1, Spec: plan.Spec{Title: "One"}}
		body := plan.Body{Plan: plan.Plan{ID: "p", Outline: plan.Outline{Objective: "o"}}, Steps: []*plan.Step{&step}}
		before := plan.Digest(body.Build())
		changed := step
		text := cmp.Or(values[f.Name], "other")
		if !f.Set(&changed, text) {
			t.Fatalf("%s does not take %s", f.Name, text)
		}
		body.Steps = []*plan.Step{&changed}
		want := slices.Contains(binds, f.Name)
		if got := plan.Digest(body.Build()) != before; got != want || (f.Binding == plan.BindsAny) != want {
			t.Errorf("%s: in the digest: %t, binding %v, want %t", f.Name, got, f.Binding, want)
		}
	}
}

// TestProgressIsNoDeviation: marks, notes, evidence and signals are what a plan is for.
func TestProgressIsNoDeviation(t *testing.T) {
	w := approvedPlan(t)
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve}) // it announces its question
	for _, a := range []plan.Action{
		plan.MarkStep{Step: 1, Status: plan.InProgress, Note: "n"}, plan.ReportStep{Step: 1, Output: "o", AffectedFiles: []string{"x"}},
		plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red"}, passed(1),
		plan.MarkStep{Step: 1, Status: plan.Done},
	} {
		w.do(ann, a)
		w.wantPhase(plan.PhaseExecuting)
	}
	if got := w.state.Plan.Approval.Deviations; len(got) != 0 {
		t.Errorf("noted as deviations: %q", got)
	}
}

// TestPersonsChangeNeedsNoAgreement: a person who may approve may change.
func TestPersonsChangeNeedsNoAgreement(t *testing.T) {
	w := approvedPlan(t)
	w.do(person, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.wantPhase(plan.PhaseExecuting)
}

// TestRevisionKeepsProgress: work done while the revision waited stays done.
func TestRevisionKeepsProgress(t *testing.T) {
	w := approvedPlan(t)
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
	w.mark(1, plan.InProgress)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, plan.MarkStep{Step: 1, Status: plan.Done, Note: "by hand", Force: true})
	w.do(person, decided(plan.Approved, w.answer("")))
	step := w.step(1)
	if step.Status != plan.Done || len(step.Notes) != 1 || w.step(3).Status != plan.Pending {
		t.Errorf("%+v, %+v", step, w.step(3))
	}
}

// TestRejectedRevisionGoesOnAsApproved: only the change is dropped.
func TestRejectedRevisionGoesOnAsApproved(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, decided(plan.Rejected, w.answer("not that")))
	w.wantPhase(plan.PhaseExecuting)
	w.wantDecision(plan.Rejected, "petra", plan.WayPerson, "not that")
	if w.state.Plan.Steps.Len() != 2 || w.state.Draft != nil {
		t.Error("the plan is not as it was approved")
	}
}

// TestReturnedRevision waits for its author; a plan of its own may follow.
func TestReturnedRevision(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, decided(plan.Returned, w.answer("without the shell")))
	w.wantPhase(plan.PhaseExecuting)
	w.wantDecision(plan.Returned, "petra", plan.WayPerson, "without the shell")
	w.do(ann, submission("Look", "Do", "Check"))
	w.wantProposal(plan.PhaseExecuting)
	w.do(person, decided(plan.Approved, w.answer("")))
	w.wantPhase(plan.PhaseExecuting)
	if w.state.Plan.Steps.Len() != 3 || len(w.state.FormerPlans()) != 1 {
		t.Errorf("%d steps, %d former plans", w.state.Plan.Steps.Len(), len(w.state.FormerPlans()))
	}
}

// TestCommentsOfDecisionsAreKept: those of requested changes and of approvals stay with the plan, however many and long, and do not
// prevent its restore.
func TestCommentsOfDecisionsAreKept(t *testing.T) {
	w := waiting(t)
	long := "first line\n" + strings.Repeat("x", plan.MaxLongText-11)
	for range 120 {
		w.do(person, decided(plan.Returned, w.answer(long)))
		w.do(ann, submission("Look", "Do", "Check"))
	}
	w.do(person, decided(plan.Approved, w.answer(long)))
	comments := w.state.Plan.Approval.Comments()
	if len(comments) != 101 || comments[0] != "changes requested by petra: "+long || comments[100] != "approved by petra: "+long {
		t.Errorf("%d comments, the last is %.40q", len(comments), comments[len(comments)-1])
	}
	if requested := w.state.ModeNow().Requested; len(requested) != 0 {
		t.Errorf("still requested: %.40q", requested)
	}
	id := w.state.Plan.ID
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Other"}})
	w.do(person, plan.Restore{PlanID: id})
	if got := len(w.state.Plan.Approval.Comments()); got != 101 {
		t.Errorf("%d comments after the restore", got)
	}
}

// TestDeviationsAreBounded changes an approved plan more often than it remembers.
func TestDeviationsAreBounded(t *testing.T) {
	w := approvedPlan(t)
	for range 120 {
		w.do(ann, splitting(func(*plan.Spec) {}))
	}
	if got := w.state.Plan.Approval.Deviations; len(got) != 100 {
		t.Errorf("%d are remembered", len(got))
	}
	last := w.state.Plan.Approval.Deviations[99]
	wantWords(t, last, "S122")
}

// TestScriptsDeviateToo: a shell without a terminal counts as its user, and needs a new agreement
// like an agent.
func TestScriptsDeviateToo(t *testing.T) {
	w := approvedPlan(t)
	w.do(script, patch(func(p *plan.Patch) { set(&p.Title, "Drop the database") }))
	w.wantProposal(plan.PhaseExecuting)
}

// TestApprovalBindsAfterTheMode: an approved plan is not edited unnoticed once the mode is over,
// however it ended.
func TestApprovalBindsAfterTheMode(t *testing.T) {
	for name, end := range map[string]func(*workspace){
		"reported as done": func(w *workspace) { w.do(ann, plan.EndMode{}) },
		"completed, and opened again": func(w *workspace) {
			w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
			w.do(ann, passed(1))
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
			w.wantProposal(plan.PhaseInactive)
			if step := w.step(2); step.Title != "Do" {
				t.Errorf("the approved step is called %q", step.Title)
			}
		})
	}
}

// TestRejectedSubmissionGoesBackToExecuting: another plan submitted by an agent halfway does not
// end the execution of the approved one.
func TestRejectedSubmissionGoesBackToExecuting(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, submission("Something else"))
	w.do(person, decided(plan.Rejected, w.answer("")))
	w.wantPhase(plan.PhaseExecuting)
	if former := w.state.FormerPlans(); len(former) != 1 || former[0].Reason != "rejected" {
		t.Errorf("the rejected plan is not kept: %+v", former)
	}
}

// TestAnotherPlanEndsTheMode: a plan that replaces the approved one is not carried out in its name,
// even if it was approved before.
func TestAnotherPlanEndsTheMode(t *testing.T) {
	w := approvedPlan(t)
	first := w.state.Plan.ID
	w.do(ann, plan.EndMode{})
	w.do(ann, submission("Another"))
	w.do(person, decided(plan.Approved, w.answer("")))
	w.wantPhase(plan.PhaseExecuting)
	w.do(person, plan.Restore{PlanID: first})
	w.wantPhase(plan.PhaseInactive)
}

// TestRevisionOfAPlanThatChanged is not approved: a person's work in between would be lost.
func TestRevisionOfAPlanThatChanged(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, plan.AddSteps{Steps: []plan.NewStep{titled("My own")}})
	wantRefusal(t, w.refused(person, decided(plan.Approved, w.answer(""))), plan.Conflict, "", "changed while its revision waited")
	w.do(person, plan.Clear{})
	w.wantPhase(plan.PhaseInactive)
	if w.state.Draft != nil {
		t.Error("the revision of a plan that is gone waits still")
	}
}

// TestForceNeedsAPerson: a script cannot take over a claim, and proves nothing.
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

// TestEvidenceOfAnEarlierTry does not prove the next one, and cannot be edited away.
func TestEvidenceOfAnEarlierTry(t *testing.T) {
	zero := 0
	ran := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Command: "make", ExitCode: &zero, Recorded: true}}}
	done := plan.MarkStep{Step: 1, Status: plan.Done}
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build", Verify: "make",
		AcceptanceCriteria: []string{"c"}}}}})
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

// TestEveryFieldOfAStepIsLookedAt: a change of any field of an approved step either goes to a
// person or is noted.
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
				if fields.Field(i).Name == "Retry" {
					value.Elem().SetBytes([]byte(`{"attempts":2}`))
				}
			}
		}
		p = plan.Patch{}
		reflect.ValueOf(&p).Elem().Field(i).Set(value)
		t.Run(fields.Field(i).Name, func(t *testing.T) {
			w := approvedPlan(t)
			step := w.step(2)
			if reflect.DeepEqual(p.Apply(step.Spec), step.Spec) {
				t.Skip("it is so already")
			}
			events := w.do(ann, plan.UpdateStep{Step: 2, Patch: p})
			if last := plan.EventKind(events[len(events)-1]); last != "change_proposed" && last != "plan_deviated" {
				t.Errorf("%s was changed, and %s came of it", fields.Field(i).Name, last)
			}
		})
	}
}

// TestOneCommandEndsNoMode: a short time-out for one command is not a way out.
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

// TestATitleAloneExemptsNothing: a step with the title of the task that asks for the plan needs
// proof like any other.
func TestATitleAloneExemptsNothing(t *testing.T) {
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "ship it"}, Steps: []plan.NewStep{titled(plan.MetaTitle("ship it")),
		{Spec: plan.Spec{Title: plan.MetaTitle("ship it"), Verify: "false"}}}})
	w.refused(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
}

// TestCancelledRevision: the approved plan continues.
func TestCancelledRevision(t *testing.T) {
	w := approvedPlan(t)
	w.do(ann, adding(func(s *plan.Spec) { s.Tools = []string{"bash_execute"} }))
	w.do(person, plan.CancelMode{})
	w.wantPhase(plan.PhaseExecuting)
	w.do(person, plan.CancelMode{})
	w.wantPhase(plan.PhaseInactive)
}

// TestASplitIsUnseen: the approver of a plan has not seen later splits until the plan is approved
// again.
func TestASplitIsUnseen(t *testing.T) {
	w := approvedPlan(t)
	part := titled("Delete the production database")
	part.Splits = 1
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{part}})
	highest := w.state.Plan.Steps.Highest()
	if got := w.state.Plan.Approval.UnseenSteps; len(got) != 1 || got[0] != highest {
		t.Errorf("unseen: %v, want %s", got, highest)
	}
	if got := foldAll(w.log).Plan.Approval.UnseenSteps; len(got) != 1 {
		t.Errorf("folded again: %v", got)
	}
}

// TestSplitStaysWithinItsStep: a step that splits an approved one is added without asking only if
// it may do no more than that one, and start no earlier.
func TestSplitStaysWithinItsStep(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		texts := func(name string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID[string]).Draw(t, name)
		}
		spec := func(name string, deps ...plan.StepID) plan.Spec {
			word := func(field string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name+field) }
			flag := func(field string) bool { return rapid.Bool().Draw(t, name+field) }
			return plan.Spec{Title: name, Tools: texts(name + "tools"), RelevantFilePaths: texts(name + "paths"),
				Creates: texts(name + "creates"), AcceptanceCriteria: texts(name + "criteria"), Verify: word("verify", "", "a", "b"),
				Risk: plan.Risk(word("risk", "", "low", "medium", "high")), Pause: word("pause", "", "a"), When: word("when", "", "a"),
				ForEach: word("for_each", "", "a"), Tool: word("tool", "", "a"), Critical: flag("critical"), Idempotent: flag("idempotent"),
				RequiresApproval: flag("approval"),
				DependsOn:        rapid.SliceOfNDistinct(rapid.SampledFrom(deps), 0, 2, rapid.ID).Draw(t, name+"deps")}
		}
		w := newWorkspace(t)
		w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "o", Summary: "s"}, Steps: []plan.NewStep{titled("One"), titled("Two"),
			{Spec: spec("whole", 1, 2)}}})
		w.do(person, decided(plan.Approved, w.answer("")))
		w.do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: spec("part", 1, 2), Splits: 3}}})
		if w.state.HasProposal() {
			return
		}
		whole, part := w.step(3), w.step(4)
		ranks := append([]string{""}, plan.Risk("").Values()...)
		paths := slices.Concat(whole.RelevantFilePaths, whole.Creates)
		for what, held := range map[string]bool{
			"tools": within(part.Tools, whole.Tools), "creates": within(part.Creates, paths),
			"paths":        within(part.RelevantFilePaths, paths),
			"criteria":     within(part.AcceptanceCriteria, whole.AcceptanceCriteria),
			"verification": part.Verify == "" || part.Verify == whole.Verify, "tool": part.Tool == "" && part.Args == nil,
			"risk": (part.Risk == "") == (whole.Risk == "") &&
				slices.Index(ranks, string(part.Risk)) <= slices.Index(ranks, string(whole.Risk)),
			"dependencies": within(whole.DependsOn, part.DependsOn), "loop": part.ForEach == "" || part.ForEach == whole.ForEach,
			"pause": whole.Pause == "" || part.Pause == whole.Pause, "condition": whole.When == "" || part.When == whole.When,
			"flags": (!whole.Critical || part.Critical) && (!whole.RequiresApproval || part.RequiresApproval) &&
				(!part.Idempotent || whole.Idempotent),
			"start": within(w.state.Plan.Steps.UnmetDependencies(3), w.state.Plan.Steps.UnmetDependencies(4)),
		} {
			if !held {
				t.Fatalf("%s of the part go beyond the step's:\n%+v\n%+v", what, part.Spec, whole.Spec)
			}
		}
	})
}

func within[T comparable](part, whole []T) bool {
	return !slices.ContainsFunc(part, func(entry T) bool { return !slices.Contains(whole, entry) })
}
