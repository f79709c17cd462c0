package main

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestPlanIDs(t *testing.T) {
	s := &story{t: t, by: "alice"}
	for _, objective := range []string{"Fix one", "Fix two", "Release"} {
		s.do(plan.SetUp{Outline: plan.Outline{Objective: objective}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Step"}}}})
	}
	ids := s.state.PlanIDs()
	if len(ids) != 3 || !strings.HasPrefix(ids[0], "release-") {
		t.Fatalf("%q", ids)
	}
	for _, c := range []struct{ named, want, problem string }{
		{"rel", "release-", ""},
		{ids[1], ids[1], ""},
		{"fix-o", "fix-one-", ""},
		{"fix", "", `plan_id: "fix" begins the ids of several plans; give more of one: fix-`},
		{"nope", "", `plan_id: there is no plan "nope"`},
		{"", "", `plan_id: there is no plan ""`},
	} {
		got, err := planID(s.state, c.named)
		if c.problem == "" && (err != nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%q is %q, %v", c.named, got, err)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%q is %q, %v", c.named, got, err)
		}
	}
	if _, err := formerID(s.state, "rel"); err == nil {
		t.Error("the current plan is not a former one")
	}
	s.do(plan.Clear{})
	if id, err := formerID(s.state, "rel"); err != nil || id != ids[0] {
		t.Errorf("a cleared plan can be restored: %q, %v", id, err)
	}
	if rows := planRows(s.state); len(rows) != 3 || rows[0].current || rows[0].status != "cleared" {
		t.Errorf("%+v", rows)
	}
}
