package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// claimed returns a workspace where ann has been at work on S001 since 09:00:01.
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
		if got := plan.Owners(w.state, test.action); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.action.Name(), got, test.want)
		}
	}
	if got := plan.Owners(plan.State{}, plan.MarkStep{Step: 1}); got != nil {
		t.Errorf("without a plan: %v", got)
	}
}

// Whoever may not take a claim over may not mark the step either.
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
		"the owner":                       {actor: ann, now: start.Add(time.Minute), may: true},
		"the owner, long after":           {actor: ann, now: start.Add(9 * lease), may: true},
		"another":                         {actor: bob, now: start.Add(time.Minute)},
		"another at the lease's end":      {actor: bob, now: start.Add(lease)},
		"another after the lease":         {actor: bob, now: start.Add(lease + time.Millisecond), may: true},
		"another, owner seen since":       {actor: bob, seen: plan.Sighting{At: start.Add(lease)}, now: start.Add(2 * lease)},
		"another, seen a lease ago":       {actor: bob, seen: plan.Sighting{At: start.Add(lease)}, now: start.Add(2*lease + 1e6), may: true},
		"another, seen before the claim":  {actor: bob, seen: plan.Sighting{At: start.Add(-lease)}, now: start.Add(lease)},
		"another, connection gone":        {actor: bob, seen: plan.Sighting{At: start, Gone: true}, now: start.Add(time.Second), may: true},
		"another by force":                {actor: bob, now: start.Add(time.Minute), force: true},
		"CI by force":                     {actor: plan.Actor{Kind: plan.CI, Name: "ci"}, now: start.Add(time.Minute), force: true},
		"planloop by force":               {actor: plan.Actor{Kind: plan.Planloop, Name: "planloop"}, now: start.Add(time.Minute), force: true},
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
	body := claimed(t).state.Body() // of a log that was written before names were checked
	step := *body.Plan.Steps[0]
	step.ClaimedBy, body.Plan.Steps[0] = "x\x1b[2J", &step
	w := newWorkspace(t)
	w.state = body.Build()
	wantWords(t, w.refused(bob, plan.ClaimStep{Step: 1}).Error(), `claimed by "x\x1b[2J" until`)
}

func TestTakingOverByMarking(t *testing.T) {
	w := claimed(t)
	before, at := w.step(1), w.now
	w.seen["ann"] = plan.Sighting{Gone: true}
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
		"no plan":         {newWorkspace(t), 1, plan.NotFound, "", []string{"there is no plan yet"}},
		"no such step":    {claimed(t), 3, plan.NotFound, "/step_id", []string{"there is no step S003"}},
		"not in progress": {claimed(t), 2, plan.Conflict, "", []string{"S002 is pending and has no claim", "mark it in_progress"}},
		"cleared":         {cleared, 1, plan.Conflict, "", []string{"the plan was cleared"}},
		"failed":          {claimed(t).inStatus(plan.StatusFailed), 1, plan.Conflict, "", []string{"the plan is failed"}},
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
		"gone":               {plan.Sighting{Gone: true}, now.Add(-time.Hour), true},
		"seen since":         {plan.Sighting{At: now}, now.Add(time.Minute), false},
		"seen a lease ago":   {plan.Sighting{At: now}, now.Add(time.Minute + 1), true},
		"seen, lease longer": {plan.Sighting{At: now.Add(-time.Hour)}, now, false},
	} {
		if got := plan.Lapsed(step, test.owner, test.now, time.Minute); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
