package history

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func logOf(records ...plan.Record) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		for i, r := range records {
			r.Seq = plan.Revision(i + 1)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A decision is about the plan that waited then, and the entries after an approval are about the
// approved plan, whatever else was submitted and dropped in between.
func TestAuditNamesThePlan(t *testing.T) {
	codex, alice := plan.Actor{Kind: plan.Agent, Name: "codex"}, plan.Actor{Kind: plan.Person, Name: "alice"}
	submitted := func(id, digest string) plan.PlanSubmitted {
		return plan.PlanSubmitted{Plan: plan.Body{Plan: plan.Plan{ID: id}}, Request: plan.Request{ID: "R1", Digest: digest}}
	}
	entries, err := Audit(logOf(
		plan.Record{Actor: codex, Events: []plan.Event{submitted("a", "aaaaaaaaaaaa")}},
		plan.Record{Actor: codex, Events: []plan.Event{plan.NoDecisionReceived{Request: "R1", How: "declined"}}},
		plan.Record{Actor: alice, Events: []plan.Event{plan.PlanApproved{Approval: plan.Approval{Digest: "aaaaaaaaaaaa",
			Way: string(plan.WayPerson)}}}},
		plan.Record{Actor: codex, Events: []plan.Event{submitted("a", "bbbbbbbbbbbb")}},
		plan.Record{Actor: codex, Events: []plan.Event{plan.PlanRejected{Plan: "a", Way: plan.WayClient, Reason: "no"}}},
		plan.Record{Actor: codex, Events: []plan.Event{plan.StepMarked{Step: 1}, plan.PlanDeviated{Deviations: []string{"x", "y"}}}},
		plan.Record{Actor: codex, Events: []plan.Event{plan.StepMarked{Step: 2}, plan.ModeEnded{By: "planloop", Why: "done"}}},
		plan.Record{Actor: alice, Events: []plan.Event{plan.ModeExpired{Phase: plan.PhaseGathering, Limit: "1h0m0s"}, plan.PlanCleared{}}},
	))
	testenv.Check(t, err)
	want := []Decision{
		{Revision: 1, Event: "submitted", By: "codex", Kind: plan.Agent, PlanID: "a", Digest: "aaaaaaaa", Request: "R1"},
		{Revision: 2, Event: "undecided", By: "codex", Kind: plan.Agent, PlanID: "a", Digest: "aaaaaaaa", Request: "R1",
			Text: "the dialogue was declined; the plan still waits"},
		{Revision: 3, Event: "approved", By: "alice", Kind: plan.Person, Way: plan.WayPerson, PlanID: "a", Digest: "aaaaaaaa"},
		{Revision: 4, Event: "submitted", By: "codex", Kind: plan.Agent, PlanID: "a", Digest: "bbbbbbbb", Request: "R1"},
		{Revision: 5, Event: "rejected", By: "codex", Kind: plan.Agent, Way: plan.WayClient, PlanID: "a", Digest: "bbbbbbbb", Text: "no"},
		{Revision: 6, Event: "deviated", By: "codex", Kind: plan.Agent, PlanID: "a", Digest: "aaaaaaaa", Text: "x; y"},
		{Revision: 7, Event: "ended", By: "planloop", Kind: plan.Planloop, PlanID: "a", Digest: "aaaaaaaa", Text: "done"},
		{Revision: 8, Event: "expired", By: "planloop", Kind: plan.Planloop, Text: "1h0m0s of silence"},
	}
	if diff := cmp.Diff(want, entries, cmpopts.IgnoreUnexported(Decision{})); diff != "" {
		t.Error(diff)
	}
	if got, want := entries[4].Sentence(),
		`rejected by the user of codex, confirmed through the client: "no"; plan a, bbbbbbbb`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := entries[7].Sentence(), `planning mode expired: "1h0m0s of silence"`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The audit has exactly the events that decide or ask for a decision.
func TestAuditPicksDecisions(t *testing.T) {
	var picked []string
	for _, e := range plan.Events() {
		if _, ok := new(auditedPlans).entry(e); ok {
			picked = append(picked, plan.EventKind(e))
		}
	}
	slices.Sort(picked)
	want := []string{"approval_given", "change_proposed", "draft_edited", "draft_made", "history_purged",
		"host_review_left", "left_undecided", "mode_cancelled", "mode_ended",
		"mode_entered",
		"mode_expired", "mode_restored",
		"plan_approved", "plan_deviated", "plan_rejected", "plan_restored", "plan_returned", "plan_submitted", "proposal_withdrawn",
		"question_answered",
		"question_asked", "step_answered", "step_asked", "track_shared", "undone_accepted"}
	if diff := cmp.Diff(want, picked); diff != "" {
		t.Error(diff)
	}
}

func TestModeSentences(t *testing.T) {
	for _, c := range []struct {
		events []plan.Event
		want   string
	}{
		{[]plan.Event{plan.ModeExpired{Phase: plan.PhaseSubmitted, Limit: "30m0s"}, plan.StepMarked{Step: 1, Status: plan.Done}},
			`planning mode expired after 30m0s of waiting for a decision; S001 marked done by alice`},
		{[]plan.Event{plan.StepMarked{Step: 1, Status: plan.Done}, plan.PlanCompleted{}, plan.ModeEnded{Why: "the plan is completed"}},
			`S001 marked done by alice; the plan is completed; planning mode ended: the plan is completed`},
		{[]plan.Event{plan.ModeEntered{Task: "Move it"}}, `planning mode entered by alice: "Move it"`},
		{[]plan.Event{plan.PlanApproved{Approval: plan.Approval{Way: string(plan.WayClient), Comment: "go"}}},
			`the plan approved by the user of alice, confirmed through the client: "go"`},
		{[]plan.Event{plan.ApprovalGiven{Vote: plan.Vote{Comment: "fine"}, Way: plan.WayPerson, Given: 1, Needed: 2}},
			`approval 1 of 2 given by alice: "fine"`},
		{[]plan.Event{plan.ApprovalGiven{Vote: plan.Vote{Comment: "fine"}, Way: plan.WayPerson, Given: 2, Needed: 2},
			plan.PlanApproved{Approval: plan.Approval{Way: string(plan.WayPerson), Comment: "fine"}}},
			`approval 2 of 2 given by alice; the plan approved: "fine"`},
		{[]plan.Event{plan.TrackShared{From: "ann's laptop", Records: 12, DropsApprovals: true}},
			`the track shared with the team by alice: 12 earlier changes from ann's laptop, without their approvals`},
		{[]plan.Event{plan.PlanReturned{Comment: "split\nit"}}, `the plan returned for changes by alice: "split it"`},
		{[]plan.Event{plan.NoDecisionReceived{How: "timed_out"}},
			`approval sought by alice: the dialogue timed out; the plan still waits`},
		{[]plan.Event{plan.QuestionAnswered{ID: "Q2", Answer: "yes"}}, `Q2 answered by alice: "yes"`},
	} {
		if got := Sentence(plan.Record{Actor: plan.Actor{Name: "alice"}, Events: c.events}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The audit names each approval with its proof, and marks all that came before the track was shared.
func TestAuditOfATeam(t *testing.T) {
	at := plan.NewActor(plan.ChannelPage, "bob")
	entries, err := Audit(func(yield func(plan.Record, error) bool) {
		for i, e := range []plan.Event{
			plan.PlanApproved{Approval: plan.Approval{Digest: "aaaaaaaaaa", Way: string(plan.WayPerson)}},
			plan.TrackShared{From: "ann's laptop", Records: 1, DropsApprovals: true},
			plan.ApprovalGiven{Request: "R3", Way: plan.WayPerson, Given: 1, Needed: 2,
				Vote: plan.Vote{Digest: "bbbbbbbbbb", Proof: plan.ProofPasskey}},
		} {
			if !yield(plan.Record{Seq: plan.Revision(i + 1), Actor: at, Events: []plan.Event{e}}, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Sentence())
	}
	want := []string{"approved by bob (person), aaaaaaaa; before sharing, from ann's laptop",
		`shared with the team by bob (person): "1 change from ann's laptop"`,
		"approval 1 of 2 given by bob (person), bbbbbbbb, signed with a passkey"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
