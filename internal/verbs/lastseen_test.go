package verbs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// TestReplacedPlan refuses an agent's mark, once, after the plan it knows was replaced: its step id now means another
// step.
func TestReplacedPlan(t *testing.T) {
	s := service(time.Now, nil)
	carl := verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "carl"}, Face: mcpserver.Tools{}}
	setUp := func(c verbs.Caller, objective string) {
		t.Helper()
		in := verbs.SetupPlan{Objective: objective, InitialSteps: []verbs.NewStep{{Title: "One"}, {Title: "Two"}}}
		if _, err := s.SetupPlan(t.Context(), c, in); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(c verbs.Caller) error {
		_, err := s.MarkStep(t.Context(), c, verbs.MarkStep{StepID: 2, Status: "done"})
		return err
	}
	setUp(ann, "Shared work")
	if _, err := s.ReadPlan(t.Context(), carl, verbs.ReadPlan{}); err != nil {
		t.Fatal(err)
	}
	setUp(ann, "Other work")
	err := mark(carl)
	var refused *plan.ValidationError
	if !errors.As(err, &refused) || refused.Kind != plan.Conflict || !strings.Contains(err.Error(), "Other work") ||
		!strings.Contains(err.Error(), "planning_read_plan") {
		t.Errorf("got %v", err)
	}
	if err := mark(carl); err != nil {
		t.Errorf("after being told: %v", err)
	}
	if err := mark(bob); err != nil {
		t.Errorf("who was told of no plan: %v", err)
	}
	setUp(carl, "Carl's own")
	if err := mark(carl); err != nil {
		t.Errorf("who replaced it himself: %v", err)
	}
	if err := mark(ann); err == nil {
		t.Error("ann was not told that carl replaced the plan")
	}
}
