package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
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
	_, err := service.AddStep(t.Context(), ann, verbs.AddStep{Steps: []verbs.NewStep{{Title: "Deploy"}}})
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
