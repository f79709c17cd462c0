package plan_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestABlockerHalts: with an open blocker no other step starts and no summary is accepted; its own
// step can be worked on, steps in progress can be finished, and a person may insist.
func TestABlockerHalts(t *testing.T) {
	blocker := func(on plan.StepID) plan.RaiseSignal {
		return plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red", Step: on}
	}
	lint := func(level plan.SignalLevel) plan.RaiseSignal {
		return plan.RaiseSignal{ID: "lint", Level: level, Message: "unused", Step: 2}
	}
	mark := func(id plan.StepID, status plan.StepStatus) plan.MarkStep {
		return plan.MarkStep{Step: id, Status: status}
	}
	force := plan.MarkStep{Step: 1, Status: plan.InProgress, Force: true}
	for name, c := range map[string]struct {
		before []plan.Action
		by     plan.Actor
		does   plan.Action
		halts  bool
	}{
		"starting another":              {[]plan.Action{blocker(2)}, ann, mark(1, plan.InProgress), true},
		"starting one of all":           {[]plan.Action{blocker(0)}, ann, mark(1, plan.InProgress), true},
		"starting a failed one again":   {[]plan.Action{mark(1, plan.Failed), blocker(2)}, ann, mark(1, plan.InProgress), true},
		"a person starts another":       {[]plan.Action{blocker(2)}, person, mark(1, plan.InProgress), true},
		"a person insists":              {[]plan.Action{blocker(2)}, person, force, false},
		"an agent insists":              {[]plan.Action{blocker(2)}, ann, force, true},
		"starting what it concerns":     {[]plan.Action{blocker(1)}, ann, mark(1, plan.InProgress), false},
		"a second one concerns another": {[]plan.Action{blocker(1), lint(plan.Blocker)}, ann, mark(2, plan.InProgress), false},
		"a warning":                     {[]plan.Action{lint(plan.Warning)}, ann, mark(1, plan.InProgress), false},
		"cleared":                       {[]plan.Action{blocker(0), plan.ClearSignal{ID: "tests"}}, ann, mark(1, plan.InProgress), false},
		"finishing":                     {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann, mark(1, plan.Done), false},
		"finishing without a start":     {[]plan.Action{blocker(2)}, ann, mark(1, plan.Done), false},
		"failing":                       {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann, mark(1, plan.Failed), false},
		"a note while in progress": {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann,
			plan.MarkStep{Step: 1, Status: plan.InProgress, Note: "on it"}, false},
		"the final summary": {[]plan.Action{mark(1, plan.Done), mark(2, plan.Done), blocker(0)}, ann, plan.Close{Summary: "done"},
			true},
		"the final summary after it": {[]plan.Action{mark(1, plan.Done), mark(2, plan.Done), blocker(0),
			plan.ClearSignal{ID: "tests"}}, ann, plan.Close{Summary: "done"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{titled("One"), titled("Two")}})
			for _, a := range c.before {
				w.do(ann, a)
			}
			if !c.halts {
				w.do(c.by, c.does)
				return
			}
			if refusal := w.refused(c.by, c.does); !strings.Contains(refusal.Problem, `the blocker "tests"`) {
				t.Errorf("refused by: %v", refusal)
			}
		})
	}
}
