package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// A mark leaves a step with the data of its new status, whatever the old one.
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
			if !slices.Equal(after.Notes, []string{"more"}) || after.Attempts != before.Attempts ||
				!after.StartedAt.Equal(before.StartedAt) {
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
		"no plan": {newWorkspace(t), done, plan.NotFound, "", []string{"no plan exists yet"}},
		"cleared": {cleared, done, plan.Conflict, "", []string{"the plan was cleared", "set up a new plan"}},
		"closed": {completed.closed(), plan.MarkStep{Step: 1, Status: plan.Pending}, plan.Conflict, "",
			[]string{"closed with its final summary"}},
		"failed": {withPlan(t, titled("a")).inStatus(plan.StatusFailed), done, plan.Conflict, "", []string{"the plan has failed"}},
		"draft":  {withPlan(t, titled("a")).inStatus(plan.StatusDraft), done, plan.Conflict, "", []string{"the plan is a draft"}},
		"no such step": {withPlan(t, titled("a")), plan.MarkStep{Step: 2, Status: plan.Done}, plan.NotFound, "/step_id",
			[]string{"step S002 does not exist"}},
		"no step id":  {withPlan(t, titled("a")), plan.MarkStep{Status: plan.Done}, plan.NotFound, "/step_id", nil},
		"negative id": {withPlan(t, titled("a")), plan.MarkStep{Step: -1, Status: plan.Done}, plan.NotFound, "/step_id", nil},
		"start too early": {withPlan(t, titled("a"), titled("b", 1)), plan.MarkStep{Step: 2, Status: plan.InProgress}, plan.Conflict,
			"", []string{"S002 waits for S001"}},
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
			if !steps.IsReady(2) || len(steps.UnmetDependencies(2)) != 0 || !slices.Equal(steps.UnmetDependencies(3), []plan.StepID{2}) {
				t.Errorf("after done, S002 waits for %v, S003 for %v", steps.UnmetDependencies(2), steps.UnmetDependencies(3))
			}
			continue
		}
		if steps.IsReady(2) || !slices.Equal(steps.UnmetDependencies(2), []plan.StepID{1}) {
			t.Errorf("after %s, S002 waits for %v", status, steps.UnmetDependencies(2))
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

// claimed returns a workspace with ann at work on S001 since 09:00:01.
func claimed(t failer) *workspace {
	w := withPlan(t, titled("a"), titled("b"))
	w.mark(1, plan.InProgress)
	return w
}

func TestOwnersNamesWhoHoldsAClaim(t *testing.T) {
	w := claimed(t)
	for _, test := range []struct {
		action plan.Action
		want   []string
	}{
		{plan.MarkStep{Step: 1}, []string{"ann"}}, {plan.ClaimStep{Step: 1}, []string{"ann"}},
		{plan.MarkStep{Step: 2}, nil}, {plan.MarkStep{Step: 9}, nil}, {plan.UpdateStep{Step: 1}, nil}, {plan.Clear{}, nil},
	} {
		if got := plan.ClaimOwners(w.state, test.action); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", plan.ActionWord(test.action), got, test.want)
		}
	}
	if got := plan.ClaimOwners(plan.State{}, plan.MarkStep{Step: 1}); got != nil {
		t.Errorf("without a plan: %v", got)
	}
}

// An actor that may not take over a claim may not mark the step either.
func TestWhoMayTouchAClaimedStep(t *testing.T) {
	lease := 30 * time.Minute
	start := claimed(t).step(1).StartedAt
	tests := map[string]struct {
		actor plan.Actor
		seen  plan.Sighting
		now   time.Time
		force bool
		may   bool
	}{
		"the owner":                  {actor: ann, now: start.Add(time.Minute), may: true},
		"the owner, long after":      {actor: ann, now: start.Add(9 * lease), may: true},
		"another":                    {actor: bob, now: start.Add(time.Minute)},
		"another at the lease's end": {actor: bob, now: start.Add(lease)},
		"another after the lease":    {actor: bob, now: start.Add(lease + time.Millisecond), may: true},
		"another, owner seen since":  {actor: bob, seen: plan.Sighting{At: start.Add(lease)}, now: start.Add(2 * lease)},
		"another, seen a lease ago": {actor: bob, seen: plan.Sighting{At: start.Add(lease)}, now: start.Add(2*lease + 1e6),
			may: true},
		"another, seen before the claim": {actor: bob, seen: plan.Sighting{At: start.Add(-lease)}, now: start.Add(lease)},
		"another, connection gone": {actor: bob, seen: plan.Sighting{At: start, IsGone: true}, now: start.Add(time.Second),
			may: true},
		"another by force": {actor: bob, now: start.Add(time.Minute), force: true},
		"CI by force":      {actor: plan.Actor{Kind: plan.CI, Name: "ci"}, now: start.Add(time.Minute), force: true},
		"planloop by force": {actor: plan.Actor{Kind: plan.Planloop, Name: "planloop"}, now: start.Add(time.Minute),
			force: true},
		"a person":                        {actor: person, now: start.Add(time.Minute)},
		"a person by force":               {actor: person, now: start.Add(time.Minute), force: true, may: true},
		"another after the lease, forced": {actor: bob, now: start.Add(lease + time.Second), force: true, may: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var actions []plan.Action
			for _, status := range plan.StepStatus("").Values() {
				actions = append(actions, plan.MarkStep{Step: 1, Status: plan.StepStatus(status), Note: "n", Force: test.force})
			}
			for _, a := range append(actions, plan.ClaimStep{Step: 1, Force: test.force}) {
				w := claimed(t)
				w.seen["ann"], w.now = test.seen, test.now
				if test.may {
					w.do(test.actor, a)
					continue
				}
				wantRefusal(t, w.refused(test.actor, a), plan.Conflict, "", `S001 is claimed by "ann" until `, "work on another step")
			}
		})
	}
}

func TestRefusalSaysUntilWhen(t *testing.T) {
	w := claimed(t)
	wantWords(t, w.refused(bob, plan.ClaimStep{Step: 1}).Error(), "until 09:30 UTC")
	w.now = w.now.Add(20 * time.Minute)
	w.seen["ann"] = plan.Sighting{At: w.now}
	wantWords(t, w.refused(bob, plan.ClaimStep{Step: 1}).Error(), "until 09:50 UTC")
	w.limits.Lease = time.Hour
	wantWords(t, w.refused(bob, plan.ClaimStep{Step: 1}).Error(), "until 10:20 UTC")
}

func TestRefusalEscapesTheOwner(t *testing.T) {
	body := claimed(t).state.Body() // of a log older than the checks of names
	step := *body.Plan.Steps[0]
	step.ClaimedBy, body.Plan.Steps[0] = "x\x1b[2J", &step
	w := newWorkspace(t)
	w.state = body.Build()
	wantWords(t, w.refused(bob, plan.ClaimStep{Step: 1}).Error(), `claimed by "x\x1b[2J" until`)
}

func TestTakingOverByMarking(t *testing.T) {
	w := claimed(t)
	before, at := w.step(1), w.now
	w.seen["ann"] = plan.Sighting{IsGone: true}
	events := w.do(bob, plan.MarkStep{Step: 1, Status: plan.InProgress})
	if got := kinds(events); !slices.Equal(got, []string{"step_marked"}) {
		t.Errorf("events %v", got)
	}
	step := w.step(1)
	if step.ClaimedBy != "bob" || !step.LeaseUntil.Equal(at.Add(30*time.Minute)) {
		t.Errorf("claimed by %s until %v", step.ClaimedBy, step.LeaseUntil)
	}
	if !step.StartedAt.Equal(before.StartedAt) || step.Attempts != 1 {
		t.Errorf("started %v, attempts %d", step.StartedAt, step.Attempts)
	}
}

func TestClaimStep(t *testing.T) {
	w := claimed(t)
	w.limits.Lease = time.Hour
	at := w.now
	if got := kinds(w.do(ann, plan.ClaimStep{Step: 1})); !slices.Equal(got, []string{"step_claimed"}) {
		t.Errorf("events %v", got)
	}
	if step := w.step(1); step.ClaimedBy != "ann" || !step.LeaseUntil.Equal(at.Add(time.Hour)) || step.Attempts != 1 {
		t.Errorf("renewed: %+v", step.Progress)
	}
	w.do(person, plan.ClaimStep{Step: 1, Force: true})
	if step := w.step(1); step.ClaimedBy != "petra" || step.Status != plan.InProgress || step.ExecutedBy != "" {
		t.Errorf("taken over: %+v", step.Progress)
	}
	wantRefusal(t, w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Done}), plan.Conflict, "", `claimed by "petra"`)
	w.do(person, plan.MarkStep{Step: 1, Status: plan.Done})
	if step := w.step(1); step.ExecutedBy != "petra" || step.ClaimedBy != "" {
		t.Errorf("done: %+v", step.Progress)
	}
}

func TestClaimStepRefuses(t *testing.T) {
	claim := plan.ClaimStep{Step: 1, Force: true}
	cleared := withPlan(t, titled("a"))
	cleared.do(ann, plan.Clear{})
	tests := map[string]struct {
		w     *workspace
		step  plan.StepID
		kind  plan.ErrorKind
		field string
		words []string
	}{
		"no plan":         {newWorkspace(t), 1, plan.NotFound, "", []string{"no plan exists yet"}},
		"no such step":    {claimed(t), 3, plan.NotFound, "/step_id", []string{"step S003 does not exist"}},
		"not in progress": {claimed(t), 2, plan.Conflict, "", []string{"S002 is pending and has no claim", "mark it in_progress"}},
		"cleared":         {cleared, 1, plan.Conflict, "", []string{"the plan was cleared"}},
		"failed":          {claimed(t).inStatus(plan.StatusFailed), 1, plan.Conflict, "", []string{"the plan has failed"}},
		"closed":          {claimed(t).closed(), 1, plan.Conflict, "", []string{"final summary"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claim.Step = test.step
			wantRefusal(t, test.w.refused(person, claim), test.kind, test.field, test.words...)
		})
	}
}

func TestLapsed(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	step := &plan.Step{Progress: plan.Progress{ClaimedBy: "ann", LeaseUntil: now}}
	for name, test := range map[string]struct {
		owner plan.Sighting
		now   time.Time
		want  bool
	}{
		"at the end":         {plan.Sighting{}, now, false},
		"after the end":      {plan.Sighting{}, now.Add(1), true},
		"gone":               {plan.Sighting{IsGone: true}, now.Add(-time.Hour), true},
		"seen since":         {plan.Sighting{At: now}, now.Add(time.Minute), false},
		"seen a lease ago":   {plan.Sighting{At: now}, now.Add(time.Minute + 1), true},
		"seen, lease longer": {plan.Sighting{At: now.Add(-time.Hour)}, now, false},
	} {
		if got := plan.IsLeaseExpired(step, test.owner, test.now, time.Minute); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Evidence names an existing criterion by its text, shortened or spaced in any way; missing ones
// are listed in full.
func TestEvidenceNamesACriterionOfTheStep(t *testing.T) {
	long := "describe(['1','2','NA','']) gives count 2, missing 2, mean 1.5, and \"median\" " + strings.Repeat("x", 200)
	criteria := []string{long, "The list is sorted", "The list is short"}
	spec := plan.Spec{Title: "Describe", AcceptanceCriteria: criteria}
	for given, want := range map[string]string{
		long: long, long[:40]: long, long[:59] + "…": long, " the  LIST is sorted.": criteria[1], "The list is sh...": criteria[2],
		"The list is": "", "...": "", "Something else": "",
	} {
		w := withPlan(t, plan.NewStep{Spec: spec})
		report := plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Note: "seen"}, {Criterion: given, Note: "seen"}}}
		if want == "" {
			err := w.refused(ann, report)
			if err.Field != "/evidence/1/criterion" || !strings.Contains(err.Fix, plan.QuoteWhole(long)+", "+plan.QuoteWhole(criteria[1])) {
				t.Errorf("%q: refused as %v", given, err)
			}
			continue
		}
		w.do(ann, report)
		missing := strings.Join(plan.MissingEvidence(w.step(1)), "\n")
		for _, criterion := range criteria {
			if strings.Contains(missing, plan.QuoteWhole(criterion)) == (criterion == want) {
				t.Errorf("after evidence for %q this is missing:\n%s", given, missing)
			}
		}
	}
	w := withPlan(t, plan.NewStep{Spec: plan.Spec{Title: "Anything"}})
	w.do(ann, plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Criterion: "whatever", Note: "seen"}}})
	all := slices.Repeat([]string{strings.Repeat("y", 900)}, 3)
	if got := plan.MissingEvidence(&plan.Step{Spec: plan.Spec{AcceptanceCriteria: all}}); len(got) != 2 || got[1] != "2 more criteria" {
		t.Errorf("missing %q", got)
	}
}
