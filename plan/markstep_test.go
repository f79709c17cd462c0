package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// Marking leaves a step with what its new status says about it, whatever it was before.
func TestMarkStepFromEveryStatusToEveryOther(t *testing.T) {
	for _, from := range plan.StepStatus("").Values() {
		for _, to := range plan.StepStatus("").Values() {
			if from == to {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				w := withPlan(t, titled("a"), titled("b"))
				if from != "pending" {
					w.do(ann, plan.MarkStep{Step: 1, Status: plan.StepStatus(from), Note: "first"})
				}
				before, at := w.step(1), w.now
				w.do(ann, plan.MarkStep{Step: 1, Status: plan.StepStatus(to), Note: "then"})
				checkMarked(t, before, w.step(1), at)
				if got := w.state.Plan.UpdatedAt; !got.Equal(at) {
					t.Errorf("the plan was updated at %v, want %v", got, at)
				}
				if other := w.step(2); other.Status != plan.Pending || len(other.Notes) != 0 {
					t.Errorf("the other step changed: %+v", other)
				}
			})
		}
	}
}

func checkMarked(t *testing.T, before, after *plan.Step, at time.Time) {
	t.Helper()
	if after.Title != before.Title || after.ID != before.ID {
		t.Errorf("the step became %+v", after)
	}
	if want := append(slices.Clone(before.Notes), "then"); !slices.Equal(after.Notes, want) {
		t.Errorf("notes %v, want %v", after.Notes, want)
	}
	ended := slices.Contains([]plan.StepStatus{plan.Done, plan.Failed, plan.Skipped, plan.Cancelled}, after.Status)
	if ended != after.CompletedAt.Equal(at) || ended == after.CompletedAt.IsZero() {
		t.Errorf("%s at %v has completed_at %v", after.Status, at, after.CompletedAt)
	}
	running := after.Status == plan.InProgress
	if running != (after.ClaimedBy == "ann") || running != after.LeaseUntil.Equal(at.Add(30*time.Minute)) {
		t.Errorf("%s is claimed by %q until %v", after.Status, after.ClaimedBy, after.LeaseUntil)
	}
	wantStart, wantAttempts := before.StartedAt, before.Attempts
	switch after.Status {
	case plan.InProgress:
		wantStart, wantAttempts = at, before.Attempts+1
	case plan.Pending:
		wantStart = time.Time{}
	}
	if !after.StartedAt.Equal(wantStart) || after.Attempts != wantAttempts {
		t.Errorf("%s: started_at %v, attempts %d; want %v, %d", after.Status, after.StartedAt, after.Attempts, wantStart, wantAttempts)
	}
	wantError := ""
	switch {
	case after.Status == plan.Failed:
		wantError = "then"
	case after.Status == plan.Skipped, after.Status == plan.Cancelled:
		wantError = before.Error // why it was given up
	}
	if after.Error != wantError {
		t.Errorf("%s: error %q, want %q", after.Status, after.Error, wantError)
	}
	if (after.Status == plan.Done || after.Status == plan.Failed) && after.ExecutedBy != "ann" {
		t.Errorf("%s: executed by %q", after.Status, after.ExecutedBy)
	}
}

func TestMarkStepAgainAndAgain(t *testing.T) {
	for _, status := range plan.StepStatus("").Values() {
		t.Run(status, func(t *testing.T) {
			w := withPlan(t, titled("a"), titled("b"))
			mark := plan.MarkStep{Step: 1, Status: plan.StepStatus(status)}
			if status != "pending" {
				w.do(ann, mark)
			}
			w.unchanged(ann, mark)
			before := w.step(1)
			mark.Note = "more"
			w.do(ann, mark)
			after := w.step(1)
			if !slices.Equal(after.Notes, []string{"more"}) || after.Attempts != before.Attempts || !after.StartedAt.Equal(before.StartedAt) {
				t.Errorf("a note changed %+v to %+v", before.Progress, after.Progress)
			}
		})
	}
}

func TestNoteOnADoneStepKeepsWhoAndWhen(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.Done)
	at := w.step(1).CompletedAt
	w.do(bob, plan.MarkStep{Step: 1, Status: plan.Done, Note: "looked at it"})
	if step := w.step(1); !step.CompletedAt.Equal(at) || step.ExecutedBy != "ann" {
		t.Errorf("executed by %s at %v, want ann at %v", step.ExecutedBy, step.CompletedAt, at)
	}
}

func TestNotesKeepTheirOrderAndTheirLimit(t *testing.T) {
	w := withPlan(t, titled("a"))
	for i := range plan.MaxNotes {
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending, Note: fmt.Sprint("note ", i)})
	}
	notes := w.step(1).Notes
	for i, note := range notes {
		if note != fmt.Sprint("note ", i) {
			t.Fatalf("note %d is %q", i, note)
		}
	}
	got := w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Done, Note: "one more"})
	wantRefusal(t, got, plan.Conflict, "", "S001 has 1000 notes", "report without a note")
	w.mark(1, plan.Done)
}

func TestNotesOfTwoBranchesStayApart(t *testing.T) {
	w := withPlan(t, titled("a"))
	for i := range 5 {
		w.do(ann, plan.MarkStep{Step: 1, Status: plan.Pending, Note: fmt.Sprint(i)})
	}
	left := plan.Apply(w.state, plan.StepMarked{Step: 1, Status: plan.Pending, Note: "left"})
	right := plan.Apply(w.state, plan.StepMarked{Step: 1, Status: plan.Pending, Note: "right"})
	if l, r := left.Plan.Steps.At(0).Notes[5], right.Plan.Steps.At(0).Notes[5]; l != "left" || r != "right" || len(w.step(1).Notes) != 5 {
		t.Errorf("notes %q and %q, %d before", l, r, len(w.step(1).Notes))
	}
}

func TestMarkStepRefuses(t *testing.T) {
	done := plan.MarkStep{Step: 1, Status: plan.Done}
	cleared := withPlan(t, titled("a"))
	cleared.do(ann, plan.Clear{})
	completed := withPlan(t, titled("a"))
	completed.mark(1, plan.Done)
	tests := map[string]struct {
		w      *workspace
		action plan.MarkStep
		kind   plan.ErrorKind
		field  string
		words  []string
	}{
		"no plan":         {newWorkspace(t), done, plan.NotFound, "", []string{"there is no plan yet"}},
		"cleared":         {cleared, done, plan.Conflict, "", []string{"the plan was cleared", "set up a new plan"}},
		"closed":          {completed.closed(), plan.MarkStep{Step: 1, Status: plan.Pending}, plan.Conflict, "", []string{"closed with its final summary"}},
		"failed":          {withPlan(t, titled("a")).inStatus(plan.StatusFailed), done, plan.Conflict, "", []string{"the plan is failed"}},
		"draft":           {withPlan(t, titled("a")).inStatus(plan.StatusDraft), done, plan.Conflict, "", []string{"the plan is draft"}},
		"no such step":    {withPlan(t, titled("a")), plan.MarkStep{Step: 2, Status: plan.Done}, plan.NotFound, "/step_id", []string{"there is no step S002"}},
		"no step id":      {withPlan(t, titled("a")), plan.MarkStep{Status: plan.Done}, plan.NotFound, "/step_id", nil},
		"negative id":     {withPlan(t, titled("a")), plan.MarkStep{Step: -1, Status: plan.Done}, plan.NotFound, "/step_id", nil},
		"start too early": {withPlan(t, titled("a"), titled("b", 1)), plan.MarkStep{Step: 2, Status: plan.InProgress}, plan.Conflict, "", []string{"S002 waits for S001"}},
		"end too early": {withPlan(t, titled("a", 2, 3), titled("b"), titled("c")), done, plan.Conflict, "",
			[]string{"S001 waits for S002 and S003"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, test.w.refused(ann, test.action), test.kind, test.field, test.words...)
		})
	}
}

func TestStepsThatWaitCanBePutAside(t *testing.T) {
	for _, status := range []plan.StepStatus{plan.Blocked, plan.Failed, plan.Skipped, plan.Cancelled} {
		w := withPlan(t, titled("a"), titled("b", 1))
		w.mark(2, status)
		if got := w.step(2).Status; got != status {
			t.Errorf("the step is %s, want %s", got, status)
		}
	}
}

// Only done satisfies a dependency.
func TestDependentsWaitUntilDone(t *testing.T) {
	for _, word := range plan.StepStatus("").Values() {
		status := plan.StepStatus(word)
		w := withPlan(t, titled("a"), titled("b", 1), titled("c", 1, 2))
		if status != plan.Pending {
			w.mark(1, status)
		}
		steps := w.state.Plan.Steps
		if status == plan.Done {
			if !steps.IsReady(2) || len(steps.WaitingOn(2)) != 0 || !slices.Equal(steps.WaitingOn(3), []plan.StepID{2}) {
				t.Errorf("after done, S002 waits for %v, S003 for %v", steps.WaitingOn(2), steps.WaitingOn(3))
			}
			continue
		}
		if steps.IsReady(2) || !slices.Equal(steps.WaitingOn(2), []plan.StepID{1}) {
			t.Errorf("after %s, S002 waits for %v", status, steps.WaitingOn(2))
		}
		wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 2, Status: plan.InProgress}), plan.Conflict, "", "S002 waits for S001")
		wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 3, Status: plan.Done}), plan.Conflict, "", "S003 waits for S001 and S002")
	}
}

func TestReopenedDependencyHoldsWhatHasStarted(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1))
	w.mark(1, plan.Done)
	w.mark(2, plan.InProgress)
	w.mark(1, plan.Pending)
	w.do(ann, plan.MarkStep{Step: 2, Status: plan.InProgress, Note: "still at it"})
	wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 2, Status: plan.Done}), plan.Conflict, "", "S002 waits for S001")
	w.mark(1, plan.Done)
	w.mark(2, plan.Done)
	w.wantStatus(plan.StatusCompleted)
}

func TestSeveralStepsInProgress(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	w.do(bob, plan.MarkStep{Step: 2, Status: plan.InProgress})
	w.do(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
	if got := w.state.Plan.Steps.Next().ID; got != 1 {
		t.Errorf("the next step is %s", got)
	}
	var running []plan.StepID
	for step := range w.state.Plan.Steps.Running() {
		running = append(running, step.ID)
	}
	if !slices.Equal(running, []plan.StepID{1, 2}) {
		t.Errorf("in progress are %v", running)
	}
}
