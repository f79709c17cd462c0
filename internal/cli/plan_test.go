package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestPlanIDs(t *testing.T) {
	var state plan.State
	do := func(a plan.Action) {
		t.Helper()
		now := time.Date(2026, 1, 23, 10, 0, 0, 0, time.UTC)
		events, err := plan.Decide(state, a, plan.Facts{Now: now, Actor: plan.Actor{Kind: plan.Person, Name: "alice"}})
		testenv.Check(t, err)
		state = plan.Fold(state, plan.Record{Seq: state.Revision + 1, Time: now, Events: events})
	}
	for _, objective := range []string{"Fix one", "Fix two", "Release"} {
		do(plan.SetUp{Outline: plan.Outline{Objective: objective}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Step"}}}})
	}
	ids := state.PlanIDs()
	if len(ids) != 3 || !strings.HasPrefix(ids[0], "release-") {
		t.Fatalf("%q", ids)
	}
	for _, c := range []struct{ named, want, problem string }{
		{"rel", "release-", ""},
		{ids[1], ids[1], ""},
		{"fix-o", "fix-one-", ""},
		{"fix", "", `plan_id: "fix" matches the ids of several plans; give more of the id: fix-`},
		{"nope", "", `plan_id: plan "nope" does not exist`},
		{"", "", `plan_id: plan "" does not exist`},
	} {
		got, err := planID(state, c.named)
		if c.problem == "" && (err != nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%q is %q, %v", c.named, got, err)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%q is %q, %v", c.named, got, err)
		}
	}
	if _, err := formerID(state, "rel"); err == nil {
		t.Error("the current plan is not a former one")
	}
	do(plan.Clear{})
	if id, err := formerID(state, "rel"); err != nil || id != ids[0] {
		t.Errorf("a cleared plan can be restored: %q, %v", id, err)
	}
}
