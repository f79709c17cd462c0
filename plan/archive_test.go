package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestClearAbandonsAndEmpties(t *testing.T) {
	for _, status := range []plan.PlanStatus{plan.StatusActive, plan.StatusReplanning, plan.StatusCompleted, plan.StatusFailed} {
		t.Run(string(status), func(t *testing.T) {
			w := withPlan(t, titled("a"), titled("b"))
			w.mark(1, plan.Done)
			w.mark(2, plan.InProgress)
			w.inStatus(status)
			former, at := w.state, w.now
			events := w.do(ann, plan.Clear{})
			if got := kinds(events); !slices.Equal(got, []string{"plan_archived", "plan_cleared"}) {
				t.Errorf("events %v", got)
			}
			w.wantStatus(plan.StatusAbandoned)
			p := w.state.Plan
			if p.ID != former.Plan.ID || p.Objective != "Ship it" || p.Steps.Len() != 0 || p.Steps.Highest() != 2 ||
				!p.UpdatedAt.Equal(at) {
				t.Errorf("what is left: %+v", p)
			}
			want := plan.PastPlan{ID: p.ID, Objective: "Ship it", Status: plan.StatusAbandoned, Version: 1, Steps: 2, Done: 1,
				CreatedAt: p.CreatedAt, ArchivedAt: at, Revision: former.Revision, Reason: "cleared"}
			if got, _ := w.state.PastPlan(p.ID); got != want {
				t.Errorf("head %+v, want %+v", got, want)
			}
		})
	}
}

func TestArchiveNamesTheRevisionOfTheBody(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.Done)
	want := written(t, plan.State{Plan: w.state.Plan})
	w.do(ann, plan.Clear{})
	if got := written(t, plan.State{Plan: w.past(w.state.Plan.ID)}); got != want {
		t.Errorf("the log has\n%s, want\n%s", got, want)
	}
}

func TestClearRefuses(t *testing.T) {
	wantRefusal(t, newWorkspace(t).refused(ann, plan.Clear{}), plan.NotFound, "", "no plan exists yet")
	w := withPlan(t, titled("a"))
	w.do(ann, plan.Clear{})
	wantRefusal(t, w.refused(ann, plan.Clear{}), plan.Conflict, "", "the plan is already abandoned", "set up a new plan")
	w = withPlan(t, titled("a"))
	w.mark(1, plan.Skipped)
	wantRefusal(t, w.refused(ann, plan.Clear{}), plan.Conflict, "", "already abandoned")
}

func TestClearLeavesTheDraft(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Draft"}, Draft: true})
	w.do(ann, plan.Clear{})
	if w.state.Draft == nil || w.state.Draft.Objective != "Draft" {
		t.Errorf("the draft is %+v", w.state.Draft)
	}
}

func TestPurgedHistoryChangesNothing(t *testing.T) {
	w := withPlan(t, titled("a"))
	before := written(t, w.state)
	if got := written(t, plan.Apply(w.state, plan.HistoryPurged{Records: 7})); got != before {
		t.Errorf("the state became %s", got)
	}
}

func TestRestoreBringsAClearedPlanBack(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1), titled("c"))
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.Done, Note: "n"})
	former := w.state.Plan
	w.do(ann, plan.Clear{})
	at := w.now
	events := w.do(person, plan.Restore{PlanID: former.ID})
	if got := kinds(events); !slices.Equal(got, []string{"plan_restored"}) {
		t.Errorf("events %v", got)
	}
	want := *former
	want.UpdatedAt = at
	if got := written(t, plan.State{Plan: w.state.Plan}); got != written(t, plan.State{Plan: &want}) {
		t.Errorf("restored %s", got)
	}
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("d")}})
	if got := w.state.Plan.Steps.Highest(); got != 4 {
		t.Errorf("the next id is %s", got)
	}
	if next := w.state.Plan.Steps.Next(); next.ID != 2 {
		t.Errorf("the next step is %s", next.ID)
	}
}

func TestRestoreArchivesTheCurrentPlan(t *testing.T) {
	w := withPlan(t, titled("a"))
	first := w.state.Plan.ID
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x"), titled("y")}})
	second := w.state.Plan.ID
	events := w.do(person, plan.Restore{PlanID: first})
	if got := kinds(events); !slices.Equal(got, []string{"plan_archived", "plan_restored"}) {
		t.Errorf("events %v", got)
	}
	if w.state.Plan.ID != first || w.state.Plan.CreatedBy != "ann" {
		t.Errorf("current is %s by %s", w.state.Plan.ID, w.state.Plan.CreatedBy)
	}
	head, ok := w.state.PastPlan(second)
	if !ok || head.Reason != "restored_over" || head.Steps != 2 || head.Revision != 2 {
		t.Errorf("head %+v", head)
	}
	w.do(person, plan.Restore{PlanID: second})
	if w.state.Plan.ID != second || w.state.Plan.Steps.Len() != 2 {
		t.Errorf("back again: %s", w.state.Plan.ID)
	}
}

func TestRestoreOverAClearedPlanArchivesNothing(t *testing.T) {
	w := withPlan(t, titled("a"))
	first := w.state.Plan.ID
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}})
	second := w.state.Plan.ID
	w.do(ann, plan.Clear{})
	w.do(person, plan.Restore{PlanID: first})
	if head, _ := w.state.PastPlan(second); head.Reason != "cleared" || head.Steps != 1 {
		t.Errorf("the cleared plan's head became %+v", head)
	}
	w.do(person, plan.Restore{PlanID: second})
	if w.state.Plan.Steps.Len() != 1 {
		t.Error("the cleared plan came back without its step")
	}
}

func TestRestoreKeepsOneHeadAPlan(t *testing.T) {
	w := withPlan(t, titled("a"))
	id := w.state.Plan.ID
	for range 3 {
		w.do(ann, plan.Clear{})
		w.do(person, plan.Restore{PlanID: id})
		w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("x")}})
	}
	w.do(ann, plan.Clear{})
	heads := w.state.Past
	if len(heads) != 1 || heads[0].Steps != 4 || heads[0].Revision != w.state.Revision-1 {
		t.Errorf("heads %+v", heads)
	}
	w.do(person, plan.Restore{PlanID: id})
	if got := w.state.Plan.Steps.Len(); got != 4 {
		t.Errorf("%d steps came back", got)
	}
}

func TestRestoreDropsClaims(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.InProgress)
	claimedStep := w.step(1)
	id := w.state.Plan.ID
	w.do(ann, plan.Clear{})
	w.do(person, plan.Restore{PlanID: id})
	step := w.step(1)
	if step.ClaimedBy != "" || !step.LeaseUntil.IsZero() || step.Status != plan.InProgress || step.Attempts != 1 {
		t.Errorf("restored as %+v", step.Progress)
	}
	if claimedStep.ClaimedBy != "ann" || w.past(id).Steps.At(0).ClaimedBy != "ann" {
		t.Error("the former body lost its claim too")
	}
	past := w.past(id)
	w.do(bob, plan.Clear{})
	testenv.Must(plan.Decide(w.state, plan.Restore{PlanID: id}, plan.Facts{Now: w.now, Actor: person, FormerPlan: past}))(t)
	if got := past.Steps.At(0).ClaimedBy; got != "ann" {
		t.Errorf("restoring changed the claim of the former body to %q", got)
	}
	w.do(person, plan.Restore{PlanID: id})
	w.do(bob, plan.MarkStep{Step: 1, Status: plan.InProgress})
	if got := w.step(1).ClaimedBy; got != "bob" {
		t.Errorf("claimed by %q", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	w := withPlan(t, titled("a"))
	current := w.state.Plan.ID
	wantRefusal(t, w.refused(person, plan.Restore{PlanID: current}), plan.Conflict, "", "is the current one")
	wantRefusal(t, w.refused(person, plan.Restore{PlanID: "no-such-1"}), plan.NotFound, "/plan_id",
		`former plan "no-such-1" does not exist`, "list the former plans")
	wantRefusal(t, newWorkspace(t).refused(ann, plan.Restore{}), plan.NotFound, "/plan_id", "does not exist")
	w.do(ann, plan.Clear{})
	w.do(person, plan.Restore{PlanID: current})
	wantRefusal(t, w.refused(person, plan.Restore{PlanID: current}), plan.Conflict, "", "is the current one")
}

// A plan that already came back as a draft, or another version of it, waits for the decision: beside its own plan in force the
// draft would become that plan's revision, which nobody proposed.
func TestRestoreBesideTheSamePlansDraft(t *testing.T) {
	w := executing(t)
	first := w.state.Plan.ID
	w.do(person, plan.Replan{Changes: "another way"})
	second := w.state.Plan.ID
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Next"}})
	next := w.state.Plan.ID
	w.do(ann, plan.Restore{PlanID: first})
	for _, id := range []string{first, second} {
		err := w.refused(person, plan.Restore{PlanID: id})
		wantRefusal(t, err, plan.Conflict, "", "already waits for a decision", w.state.Draft.ID)
	}
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Last"}})
	w.do(person, plan.Restore{PlanID: next})
	if w.state.Plan.ID != next || w.state.Draft == nil {
		t.Errorf("%s is current, with the draft %v", w.state.Plan.ID, w.state.Draft)
	}
}

func TestRestoreNeedsTheRightBody(t *testing.T) {
	w := withPlan(t, titled("a"))
	id := w.state.Plan.ID
	w.do(ann, plan.Clear{})
	for name, past := range map[string]*plan.Plan{"none": nil, "another": {ID: "other-1"}} {
		if events, err := plan.Decide(w.state, plan.Restore{PlanID: id}, plan.Facts{Now: w.now, FormerPlan: past}); err == nil {
			t.Errorf("%s: accepted with %v", name, kinds(events))
		}
	}
}

func TestFormerPlansAreThoseThatCanBeRestored(t *testing.T) {
	w := withPlan(t, titled("a"))
	expect := func(when string, former, all []string) {
		t.Helper()
		var got []string
		for _, head := range w.state.FormerPlans() {
			got = append(got, head.ID)
		}
		if !slices.Equal(got, former) {
			t.Errorf("%s: former %q, want %q", when, got, former)
		}
		if got := w.state.PlanIDs(); !slices.Equal(got, all) {
			t.Errorf("%s: all %q, want %q", when, got, all)
		}
	}
	first := w.state.Plan.ID
	expect("one plan", nil, []string{first})
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Next"}})
	second := w.state.Plan.ID
	expect("replaced", []string{first}, []string{second, first})
	w.now = w.now.Add(-time.Hour) // the clock is set back
	w.do(person, plan.Restore{PlanID: first})
	expect("restored", []string{second}, []string{first, second})
	w.do(ann, plan.Clear{})
	expect("cleared", []string{first, second}, []string{first, second})
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Draft"}, Draft: true})
	draft := w.state.Draft.ID
	expect("a draft", []string{first, second}, []string{first, draft, second})
}

// Drafts that superseded each other within a millisecond are all forms of the last one, so comments on them are kept.
func TestFormsOfOneMillisecond(t *testing.T) {
	w := newWorkspace(t)
	forms := []string{}
	for _, title := range []string{"a", "b", "c", "d"} {
		w.do(ann, submission(title))
		forms = append(forms, w.state.Draft.ID)
		w.still = title != "a"
		w.do(person, plan.AddComment{Text: "about " + title})
	}
	slices.Reverse(forms)
	if got := w.state.PlanForms(w.state.Draft); !slices.Equal(got, forms) {
		t.Errorf("forms %q, want %q", got, forms)
	}
	if got := w.state.CommentsOn(w.state.Draft); len(got) != len(forms) {
		t.Errorf("%d comments on them: %v", len(got), got)
	}
}

// A waiting revision has the id of the plan it revises: the plan's head yields the plan, whatever
// happened to the revision.
func TestAHeadStandsForThePlanAndNotForItsRevision(t *testing.T) {
	w := newWorkspace(t)
	w.limits = halfAnHour()
	w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{titled("a")}})
	id := w.state.Draft.ID
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("b"), titled("c")}})
	if w.state.Draft == nil || w.state.Draft.ID != id {
		t.Fatal("no revision waits")
	}
	w.now = w.now.Add(time.Hour)
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Next"}})
	if body := w.past(id); body == nil || body.Status != plan.StatusActive || body.Steps.Len() != 1 {
		t.Errorf("the head stands for %+v", body)
	}
	w.do(person, plan.Restore{PlanID: id})
	if n := w.state.Plan.Steps.Len(); n != 1 {
		t.Errorf("the plan was restored with %d steps", n)
	}
}

// The head of a former plan names the state before the action, so a batch must not change the plan
// before archiving it.
func TestNoPlanIsPutAwayInTheMiddleOfABatch(t *testing.T) {
	w := withPlan(t, titled("a"))
	add := plan.Part{Field: "/0", Action: plan.AddSteps{Steps: []plan.NewStep{titled("b")}}}
	for _, last := range []plan.Action{plan.Clear{}, plan.SetUp{Outline: plan.Outline{Objective: "Next"}}} {
		refusal := w.refused(ann, plan.Batch{Word: "update", Parts: []plan.Part{add, {Field: "/1", Action: last}}})
		wantRefusal(t, refusal, plan.Conflict, "/1", "in the middle of other changes")
	}
	w.do(ann, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.SetUp{Outline: plan.Outline{Objective: "Next"}}}, add}})
}
