package plan_test

import (
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// TestTwoCriticalFailures keeps a plan in replanning until the last critical
// failure is dealt with.
func TestTwoCriticalFailures(t *testing.T) {
	f := plan.Facts{Now: time.Unix(1_772_355_600, 0), Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}}
	critical := plan.NewStep{Spec: plan.Spec{Title: "Migrate", Critical: true}}
	var s plan.State
	for _, c := range []struct {
		a    plan.Action
		want plan.PlanStatus
	}{
		{plan.SetUp{Outline: plan.Outline{Objective: "Move"}, Steps: []plan.NewStep{critical, critical}}, plan.StatusActive},
		{plan.MarkStep{Step: 1, Status: plan.Failed, Note: "no space"}, plan.StatusReplanning},
		{plan.MarkStep{Step: 2, Status: plan.Failed}, plan.StatusReplanning},
		{plan.MarkStep{Step: 1, Status: plan.InProgress}, plan.StatusReplanning},
		{plan.MarkStep{Step: 2, Status: plan.InProgress}, plan.StatusActive},
		{plan.MarkStep{Step: 1, Status: plan.Done}, plan.StatusActive},
		{plan.MarkStep{Step: 2, Status: plan.Done}, plan.StatusCompleted},
	} {
		events, err := plan.Decide(s, c.a, f)
		if err != nil {
			t.Fatalf("%+v: %v", c.a, err)
		}
		for _, e := range events {
			s = plan.Apply(s, e)
		}
		if s.Plan.Status != c.want {
			t.Fatalf("after %+v the plan is %s, want %s", c.a, s.Plan.Status, c.want)
		}
	}
}

// TestDecideTrustsNoWord refuses a status and a title that no input may have.
func TestDecideTrustsNoWord(t *testing.T) {
	f := plan.Facts{Now: time.Unix(1_772_355_600, 0), Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}}
	events, err := plan.Decide(plan.State{}, plan.SetUp{Outline: plan.Outline{Objective: "x"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "One"}}}}, f)
	if err != nil {
		t.Fatal(err)
	}
	s := plan.Apply(plan.State{}, events[0])
	blank := ""
	for _, a := range []plan.Action{
		plan.MarkStep{Step: 1, Status: "bogus"}, plan.MarkStep{Step: 1},
		plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &blank}},
	} {
		if events, err := plan.Decide(s, a, f); err == nil {
			t.Errorf("%+v was accepted: %v", a, events)
		}
	}
}
