package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestVocabularies(t *testing.T) {
	for name, test := range map[string]struct{ got, want []string }{
		"step statuses": {plan.StepStatus("").Values(), []string{"pending", "in_progress", "blocked", "done", "failed", "skipped",
			"cancelled"}},
		"plan statuses": {plan.PlanStatus("").Values(), []string{"draft", "active", "replanning", "completed", "failed", "abandoned"}},
		"phases":        {plan.Phase("").Values(), []string{"inactive", "gathering", "submitted", "executing"}},
		"types":         {plan.StepType("").Values(), []string{"feature", "bugfix", "chore", "test"}},
		"risks":         {plan.Risk("").Values(), []string{"low", "medium", "high"}},
		"levels":        {plan.SignalLevel("").Values(), []string{"blocker", "warning", "info"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestVocabulariesAreNotShared(t *testing.T) {
	plan.StepStatus("").Values()[0] = "mine"
	if got := plan.StepStatus("").Values()[0]; got != "pending" {
		t.Errorf("a caller changed the vocabulary to %q", got)
	}
}

func TestOneOf(t *testing.T) {
	for _, word := range plan.StepStatus("").Values() {
		if err := plan.OneOf("/status", plan.StepStatus(word)); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	if err := plan.OneOf("/status", plan.StepStatus("")); err != nil {
		t.Errorf("empty: %v", err)
	}
	for _, word := range []string{"Done", "done ", "ready", "TODO", "complete", "\x1b[31m"} {
		var refusal *plan.ValidationError
		if err := plan.OneOf("/status", plan.StepStatus(word)); !errors.As(err, &refusal) {
			t.Fatalf("%q: %v", word, err)
		}
		wantRefusal(t, refusal, plan.InvalidInput, "/status", plan.Quote(word)+" is not known",
			"use one of pending, in_progress, blocked, done, failed, skipped, cancelled")
	}
}

func TestFinished(t *testing.T) {
	for _, word := range plan.StepStatus("").Values() {
		status := plan.StepStatus(word)
		want := status == plan.Done || status == plan.Skipped || status == plan.Cancelled
		if status.IsFinished() != want {
			t.Errorf("%s: finished is %v", status, status.IsFinished())
		}
	}
	if plan.StepStatus("bogus").IsFinished() {
		t.Error("an unknown status is finished")
	}
}

func TestPhaseNow(t *testing.T) {
	if got := (plan.State{}).PhaseNow(); got != plan.PhaseInactive {
		t.Errorf("the phase of an empty workspace is %q", got)
	}
	if got := (plan.State{Phase: plan.PhaseSubmitted}).PhaseNow(); got != plan.PhaseSubmitted {
		t.Errorf("the phase is %q", got)
	}
}

// TestReadStatus: both vocabularies, in any case and spelling; a word without one clear meaning is
// not a status.
func TestReadStatus(t *testing.T) {
	for status, spellings := range map[plan.StepStatus]string{
		plan.Pending:    "pending Pending TODO todo to-do not_started not-started open",
		plan.InProgress: "in_progress IN_PROGRESS in-progress doing started running",
		plan.Blocked:    "blocked BLOCKED",
		plan.Done:       "done DONE Done complete completed COMPLETED finished Done! ok x [x] ✅", plan.Failed: "failed FAILED",
		plan.Skipped: "skipped SKIPPED skip", plan.Cancelled: "cancelled CANCELLED canceled", "": "ready unknown donee",
	} {
		for word := range strings.FieldsSeq(spellings) {
			if got := plan.ReadStatus(word); got != status {
				t.Errorf("%q is read as %q, want %q", word, got, status)
			}
		}
	}
	for word, want := range map[string]plan.StepStatus{" in progress ": plan.InProgress, "In Progress": plan.InProgress, "": "", " ": ""} {
		if got := plan.ReadStatus(word); got != want {
			t.Errorf("%q is read as %q, want %q", word, got, want)
		}
	}
}
