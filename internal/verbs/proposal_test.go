package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// TestExpiredProposal: a configured approval_timeout drops the proposal alone; its author, the user and the audit are told.
func TestExpiredProposal(t *testing.T) {
	clock := time.Now()
	now := func() time.Time { return clock }
	s := session.New(store.NewMemory(), session.Options{Now: now, Limits: plan.Limits{ApprovalTimeout: 30 * time.Minute}})
	defer s.Close()
	var notices []verbs.Notice
	service := verbs.New(s, verbs.Options{Now: now, Limits: plan.Limits{ApprovalTimeout: 30 * time.Minute},
		Notify: func(n verbs.Notice) { notices = append(notices, n) }})
	outline := plan.Outline{Objective: "Ship it"}
	step := func(title string) []plan.NewStep { return []plan.NewStep{{Spec: plan.Spec{Title: title}}} }
	if _, err := service.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: step("Build"), Draft: true}); err != nil {
		t.Fatal(err)
	}
	state, _ := service.State(t.Context())
	approve := plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)}
	if _, err := service.Decide(t.Context(), person, approve); err != nil {
		t.Fatal(err)
	}
	_, err := service.AddStep(t.Context(), ann, verbs.AddStep{Steps: []verbs.AddedStep{{NewStep: verbs.NewStep{Title: "Deploy"}}}})
	if err == nil || !strings.Contains(err.Error(), "It is proposed to the user; continue with approved steps.") {
		t.Fatal(err)
	}
	clock = clock.Add(time.Hour)
	status, err := service.Status(t.Context(), ann, verbs.Status{})
	if err != nil || status.Phase != plan.PhaseExecuting || !strings.Contains(status.Text(), "not decided within 30m") ||
		!strings.Contains(status.NextAction, "S001") {
		t.Errorf("%v, %s", err, status.Text())
	}
	if last := notices[len(notices)-1]; last.Title != "A proposed change was dropped" || last.Text != "not decided within 30m" {
		t.Errorf("%+v", notices)
	}
	audit, err := history.Audit(service.Records(t.Context(), 0))
	if err != nil || !strings.Contains(audit[len(audit)-1].Sentence(), `proposal expired: "not decided within 30m"`) {
		t.Errorf("%v, %s", err, audit[len(audit)-1].Sentence())
	}
}

// TestReturnedProposalNamesWhoCanRevise: beside a completed plan only the author of a returned proposal is told to revise or
// withdraw it. Others, and the person, wait for the author; the person can drop it.
func TestReturnedProposalNamesWhoCanRevise(t *testing.T) {
	s := service(time.Now, presence{})
	outline := plan.Outline{Objective: "Ship it"}
	steps := []plan.NewStep{{Spec: plan.Spec{Title: "Build"}}}
	if _, err := s.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: steps, Draft: true}); err != nil {
		t.Fatal(err)
	}
	decide := func(outcome plan.Outcome) {
		t.Helper()
		state, _ := s.State(t.Context())
		if _, err := s.Decide(t.Context(), person, plan.DecideDraft{Outcome: outcome, Digest: plan.Digest(state.Draft),
			Comment: "smaller steps"}); err != nil {
			t.Fatal(err)
		}
	}
	decide(plan.Approved)
	deploy := verbs.AddStep{Steps: []verbs.AddedStep{{NewStep: verbs.NewStep{Title: "Deploy"}}}}
	if _, err := s.AddStep(t.Context(), carl, deploy); err == nil {
		t.Fatal("not proposed")
	}
	decide(plan.Returned)
	if _, err := s.Mark(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.Done}); err != nil {
		t.Fatal(err)
	}
	withoutLoop := carl
	withoutLoop.Face = mcpserver.Tools{Toolsets: []string{verbs.Planning}, User: terminal.CommandLine{}}
	for _, test := range []struct {
		who  verbs.Caller
		want string
	}{
		{carl, `or withdraw it: planloop_update {"withdraw":true}.`},
		{withoutLoop, `or withdraw it: ask the user to run planloop update --json '{"withdraw":true}'.`},
		{ann, `Wait until "carl" revises the proposed change: `},
		{person, `Wait until "carl" revises the proposed change: planloop status --wait 5m; drop it: planloop plan cancel.`},
	} {
		next, err := s.NextAction(t.Context(), test.who)
		if err != nil || !strings.Contains(next.For(test.who), test.want) {
			t.Errorf("%s, %v: %s", test.who.Actor.Name, err, next.For(test.who))
		}
	}
}

// TestFailedApprovedPlan: an agent is told to replace an approved plan that has failed only in a way that it can go.
func TestFailedApprovedPlan(t *testing.T) {
	s := session.New(store.NewMemory(), session.Options{Limits: plan.Limits{MaxReplans: -1}})
	defer s.Close()
	v := verbs.New(s, verbs.Options{Limits: plan.Limits{MaxReplans: -1}})
	steps := []plan.NewStep{{Spec: plan.Spec{Title: "Build", Critical: true}}, {Spec: plan.Spec{Title: "Deploy"}}}
	if _, err := v.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps, Draft: true}); err != nil {
		t.Fatal(err)
	}
	state, _ := v.State(t.Context())
	if _, err := v.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Mark(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.Failed}); err != nil {
		t.Fatal(err)
	}
	limited := ann
	limited.Face = mcpserver.Tools{Toolsets: []string{verbs.Planning, verbs.Loop}, User: terminal.CommandLine{}}
	for _, test := range []struct {
		who  verbs.Caller
		want string
	}{
		{carl, "tell the user, then planning_submit_plan."},
		{limited, "tell the user, then ask the user to run planloop clear."},
		{person, "set up a new one with planloop start"},
	} {
		next, err := v.NextAction(t.Context(), test.who)
		if err != nil || !strings.Contains(next.For(test.who), test.want) {
			t.Errorf("%s, %v: %s", test.who.Actor.Name, err, next.For(test.who))
		}
	}
}

// TestTrackViewIsOfOnePlan: a draft beside a completed plan is shown with its own steps, not with the progress of that plan.
func TestTrackViewIsOfOnePlan(t *testing.T) {
	s := service(time.Now, presence{})
	step := func(title string) []plan.NewStep { return []plan.NewStep{{Spec: plan.Spec{Title: title}}} }
	if _, err := s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: step("Build")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MarkStep(t.Context(), ann, verbs.MarkStep{StepID: 1, Status: "done"}); err != nil {
		t.Fatal(err)
	}
	draft := plan.SetUp{Outline: plan.Outline{Objective: "Announce it"}, Steps: append(step("Write"), step("Post")...), Draft: true}
	if _, err := s.SetUp(t.Context(), ann, draft); err != nil {
		t.Fatal(err)
	}
	state, err := s.State(t.Context())
	if view := s.TrackView(state); err != nil || view.Goal != "Announce it" || view.Progress != "0/2 done" {
		t.Errorf("%v, %+v", err, view)
	}
}
