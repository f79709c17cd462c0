package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// after moves the clock to d after from.
func (w *workspace) after(from time.Time, d time.Duration) { w.now = from.Add(d) }

// expired reports whether planning mode is over now.
func (w *workspace) expired() bool {
	return plan.Expiry(w.state, w.now, w.limits, w.lastActivity()) != nil
}

func TestPlanTimeoutCancelsMode(t *testing.T) {
	for _, c := range []struct {
		limit, waited time.Duration
		over          bool
	}{
		{0, 30 * time.Minute, false}, {0, 10 * 365 * 24 * time.Hour, false}, // by default a plan waits for ever
		{30 * time.Minute, 30*time.Minute - time.Millisecond, false}, {30 * time.Minute, 30 * time.Minute, true},
		{time.Minute, 59 * time.Second, false}, {time.Minute, time.Minute, true},
		{-1, 10 * 365 * 24 * time.Hour, false},
	} {
		w := waitingWithin(t, plan.Limits{ApprovalTimeout: c.limit})
		asked := w.state.ModeNow().Request.At
		w.seen["ann"] = plan.Sighting{At: asked.Add(c.waited)} // signs of life do not prolong the wait
		answer := w.answer("")
		w.after(asked, c.waited)
		if got := w.expired(); got != c.over {
			t.Errorf("%v of %v: over %v", c.waited, c.limit, got)
			continue
		}
		if !c.over {
			w.do(person, decided(plan.Approved, answer))
			continue
		}
		for _, a := range answers(answer) {
			wantRefusal(t, w.refused(person, a), plan.Conflict, "", "no plan waits")
		}
		w.refused(person, plan.CancelMode{})
	}
}

func TestGatheringTimeoutCancelsMode(t *testing.T) {
	for _, c := range []struct {
		limit, waited, seen time.Duration
		over                bool
	}{
		{0, time.Hour - time.Millisecond, 0, false}, {0, time.Hour, 0, true},
		// silence counts, not the total time
		{0, 5 * time.Hour, 4*time.Hour + time.Minute, false}, {0, 5 * time.Hour, 4 * time.Hour, true},
		{time.Minute, 2 * time.Minute, 0, true}, {time.Minute, 2 * time.Minute, 90 * time.Second, false},
		{-1, 10 * 365 * 24 * time.Hour, 0, false},
	} {
		w := gatheringWithin(t, plan.Limits{GatheringTimeout: c.limit})
		since := w.state.ModeNow().Since
		w.seen["bob"] = plan.Sighting{At: since.Add(c.seen)} // any actor's sign of life counts, not only that of the one that entered
		w.after(since, c.waited)
		if got := w.expired(); got != c.over {
			t.Errorf("%v of %v, last seen after %v: over %v", c.waited, c.limit, c.seen, got)
			continue
		}
		if _, err := w.try(ann, plan.AddSteps{Steps: []plan.NewStep{titled("x")}}); err == nil {
			t.Error("there is no plan to add to")
		}
		if c.over {
			w.do(bob, plan.SetUp{Outline: plan.Outline{Objective: "Go on"}})
			w.wantPhase(plan.PhaseInactive)
		} else {
			w.refused(bob, plan.SetUp{Outline: plan.Outline{Objective: "Go on"}})
		}
	}
}

// TestChangesKeepGatheringAlive: a question or a person's comment ends the silence.
func TestChangesKeepGatheringAlive(t *testing.T) {
	w := gathering(t)
	for _, text := range []string{"1?", "2?", "3?"} {
		w.now = w.now.Add(50 * time.Minute)
		w.do(bob, plan.AskUser{Text: text})
		w.wantPhase(plan.PhaseGathering)
	}
	w.now = w.now.Add(time.Hour)
	if !w.expired() {
		t.Error("an hour of silence is no end")
	}
}

// TestExpiryIsRecordedFirst: the next accepted action records it, once, with the limit in force and
// the time of the end.
func TestExpiryIsRecordedFirst(t *testing.T) {
	w := waitingWithin(t, plan.Limits{ApprovalTimeout: 10 * time.Minute})
	asked := w.state.ModeNow().Request.At
	w.limits.ApprovalTimeout = time.Second // set for one command, it does not shorten the mode
	w.after(asked, 2*time.Hour)
	w.refused(ann, plan.MarkStep{Step: 1, Status: plan.Done}) // records nothing
	w.wantPhase(plan.PhaseSubmitted)
	events := w.do(ann, plan.EnterMode{Reason: "again"})
	if len(events) != 3 || plan.EventKind(events[0]) != "plan_archived" { // the draft is kept
		t.Fatalf("%v", kinds(events))
	}
	e, ok := events[1].(plan.ModeExpired)
	if !ok || e.Phase != plan.PhaseSubmitted || e.Limit != "10m0s" || !e.At.Equal(asked.Add(10*time.Minute)) {
		t.Errorf("%+v", events[1])
	}
	w.wantPhase(plan.PhaseGathering)
	if w.state.Draft != nil {
		t.Error("the draft is there still")
	}
	w.limits.ApprovalTimeout = time.Hour // the recorded limit applies
	if got := foldAll(w.log); got.PhaseNow() != plan.PhaseGathering || got.Draft != nil {
		t.Errorf("folded again: %s", got.PhaseNow())
	}
}

// TestExpiryIsRecordedByItself: any observer can have it recorded, once, and not before its time.
func TestExpiryIsRecordedByItself(t *testing.T) {
	w := waitingWithin(t, plan.Limits{ApprovalTimeout: 10 * time.Minute})
	w.unchanged(ann, plan.ExpireMode{})
	w.after(w.state.ModeNow().Request.At, 11*time.Minute)
	if events := w.do(ann, plan.ExpireMode{}); plan.EventKind(events[len(events)-1]) != "mode_expired" {
		t.Errorf("%v", kinds(events))
	}
	w.wantPhase(plan.PhaseInactive)
	w.unchanged(ann, plan.ExpireMode{})
}

// TestLimitsInForce: the limits at the beginning of the mode apply until it ends, through every
// phase and for every process, whatever their configuration; stricter configured ones apply as
// well.
func TestLimitsInForce(t *testing.T) {
	strict := plan.Limits{ApprovalTimeout: 2 * time.Hour, GatheringTimeout: 3 * time.Hour, PersonOnly: true}
	loose := plan.Limits{ApprovalTimeout: time.Second, GatheringTimeout: time.Second}
	begin := map[string]func(*workspace){
		"gathering": func(*workspace) {},
		"submitted": func(w *workspace) { w.do(ann, submission("Look")) },
		"submitted again": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(ann, submission("Look closer"))
		},
		"returned": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Returned, w.answer("split it")))
		},
		"returned and submitted": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Returned, w.answer("split it")))
			w.do(ann, submission("Look", "Do"))
		},
		"a deviation": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Approved, w.answer("")))
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Delete all", Tools: []string{"bash"}}}}})
		},
	}
	for name, reach := range begin {
		for _, first := range []plan.Limits{strict, loose} {
			w := gatheringWithin(t, first)
			w.limits = map[bool]plan.Limits{true: loose, false: strict}[first.PersonOnly]
			reach(w)
			in := w.state.LimitsInForce(w.limits)
			times := in.GatheringTimeout == strict.GatheringTimeout && in.ApprovalTimeout == strict.ApprovalTimeout
			if !in.PersonOnly || !times && name != "a deviation" { // its end leaves the approved plan as it was
				t.Errorf("%s, strict first %v: %+v", name, first.PersonOnly, in)
			}
			if w.state.PhaseNow() == plan.PhaseSubmitted {
				wantRefusal(t, w.refused(client, decided(plan.Approved, w.answer(""))), plan.Conflict, "", "approval: person")
			}
			wantRefusal(t, w.refused(client, plan.CancelMode{}), plan.Conflict, "", "approval: person")
			w.do(person, plan.CancelMode{})
			if got := w.state; got.PhaseNow() == plan.PhaseInactive && got.LimitsInForce(loose).PersonOnly {
				t.Errorf("%s: it holds beyond the mode", name)
			}
		}
	}
}

// TestExpiryAloneIsRecorded: an action that changes nothing itself records it too.
func TestExpiryAloneIsRecorded(t *testing.T) {
	w := waiting(t)
	w.now = w.now.Add(time.Hour)
	events := w.do(ann, plan.EndMode{})
	if len(events) != 2 || plan.EventKind(events[1]) != "mode_expired" {
		t.Fatalf("%v", kinds(events))
	}
	w.wantPhase(plan.PhaseInactive)
	w.wantDecision(plan.Expired, "planloop", "", "not decided within 30m")
}

// TestTimeoutsHoldAcrossRestarts: another process that reads the log sees the mode end at the same
// time.
func TestTimeoutsHoldAcrossRestarts(t *testing.T) {
	for name, begin := range map[string]func(failer) *workspace{"gathering": gathering, "submitted": waiting} {
		w := begin(t)
		limit := map[string]time.Duration{"gathering": time.Hour, "submitted": 30 * time.Minute}[name]
		last := w.state.UpdatedAt
		for _, s := range []plan.State{w.state, foldAll(w.log), reread(t, w.state)} {
			if plan.Expiry(s, last.Add(limit-time.Millisecond), halfAnHour(), time.Time{}) != nil {
				t.Errorf("%s is over too early", name)
			}
			if plan.Expiry(s, last.Add(limit), halfAnHour(), time.Time{}) == nil {
				t.Errorf("%s is not over", name)
			}
		}
	}
}

// TestClockSetBackOpensNothing: a mode that was over when a record was written stays over, and a
// clock from before the mode began neither ends nor prolongs it.
func TestClockSetBackOpensNothing(t *testing.T) {
	w := waiting(t)
	answer := w.answer("")
	w.now = w.now.Add(40 * time.Minute)
	w.do(ann, plan.EndMode{}) // records the expiry
	w.now = w.now.Add(-24 * time.Hour)
	w.refused(person, decided(plan.Approved, answer))
	w.wantPhase(plan.PhaseInactive)

	w = waiting(t)
	w.now = w.now.Add(-24 * time.Hour)
	if w.expired() {
		t.Error("a clock that was set back ends the mode")
	}
	w.do(person, plan.AddComment{Text: "late"}) // a record of the past does not move the time back
	w.now = w.state.ModeNow().Request.At.Add(30 * time.Minute)
	if !w.expired() {
		t.Error("the mode lasts longer than its limit")
	}
	w = waiting(t)
	answer = w.answer("")
	w.limits.ApprovalTimeout = 2 * time.Hour
	w.now = w.now.Add(time.Hour)
	w.do(person, plan.AddComment{Text: "an hour later"})
	w.limits.ApprovalTimeout = 30 * time.Minute
	w.now = w.now.Add(-50 * time.Minute) // by the log it is over all the same
	w.refused(person, decided(plan.Approved, answer))
}

// TestExpiredRevisionGoesOnAsApproved: without a decision about a change, the approved plan
// continues as it was.
func TestExpiredRevisionGoesOnAsApproved(t *testing.T) {
	w := executing(t)
	approved := w.state.Plan
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Delete all", Tools: []string{"bash_execute"}}}}})
	w.wantProposal(plan.PhaseExecuting)
	w.now = w.now.Add(time.Hour)
	w.mark(1, plan.InProgress)
	w.wantPhase(plan.PhaseExecuting)
	w.wantDecision(plan.Expired, "planloop", "", "not decided within 30m")
	if w.state.Draft != nil || w.state.Plan.Steps.Len() != approved.Steps.Len() || w.state.Plan.Approval == nil {
		t.Error("the plan is not as it was approved")
	}
}

// TestExpiryIsMonotonous: once over, it is over at any later time, and a longer limit or a later
// sign of life never ends it earlier.
func TestExpiryIsMonotonous(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom([]func(failer) *workspace{gathering, waiting}).Draw(t, "phase")(t)
		limit := time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "limit"))
		longer := limit + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "longer"))
		at := w.now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(5*time.Hour)).Draw(t, "at")))
		later := at.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later")))
		seen := w.now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(5*time.Hour)).Draw(t, "seen")))
		over := func(at time.Time, limit time.Duration, seen time.Time) bool {
			return plan.Expiry(w.state, at, plan.Limits{ApprovalTimeout: limit, GatheringTimeout: limit}, seen) != nil
		}
		if over(at, limit, seen) && !over(later, limit, seen) {
			t.Fatal("it began anew")
		}
		if over(at, longer, seen) && !over(at, limit, seen) || over(at, limit, seen) && !over(at, limit, time.Time{}) {
			t.Fatal("more time ended it earlier")
		}
	})
}
