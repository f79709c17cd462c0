package plan_test

import (
	"slices"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestWorkspaceSignals: a track reads the signals of main that CI or a person raised for the workspace, beside its own.
func TestWorkspaceSignals(t *testing.T) {
	ci := plan.NewActor(plan.ChannelCI, "ci")
	red := func(reach plan.Reach) plan.RaiseSignal {
		return plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red", Reach: reach}
	}
	concern := plan.RaiseSignal{ID: "tests", Level: plan.Info, Message: "flaky", Reach: plan.ReachTrack}
	ofStep := red("")
	ofStep.Step = 1
	type raised struct {
		by plan.Actor
		a  plan.Action
	}
	bot := plan.NewActor(plan.ChannelMCP, "claude-code#1a2b3c")
	for name, test := range map[string]struct {
		main, own []raised
		want      []plan.SignalLevel // of the open signals of the track
	}{
		"CI's":                          {main: []raised{{ci, red(plan.ReachWorkspace)}}, want: []plan.SignalLevel{plan.Blocker}},
		"a person's":                    {main: []raised{{person, red(plan.ReachWorkspace)}}, want: []plan.SignalLevel{plan.Blocker}},
		"CI's for main":                 {main: []raised{{ci, red(plan.ReachTrack)}}},
		"an agent's":                    {main: []raised{{bot, red(plan.ReachTrack)}}},
		"an agent cannot raise for all": {main: []raised{{bot, red(plan.ReachWorkspace)}}},
		"CI's in an old log":            {main: []raised{{ci, red("")}}, want: []plan.SignalLevel{plan.Blocker}},
		"an agent's in an old log":      {main: []raised{{bot, red("")}}},
		"of a step in an old log":       {main: []raised{{ci, ofStep}}},
		"updated by main's agent": {main: []raised{{ci, red(plan.ReachWorkspace)}, {bot, concern}},
			want: []plan.SignalLevel{plan.Info}},
		"raised again by main's agent once cleared": {main: []raised{{ci, red(plan.ReachWorkspace)},
			{bot, plan.ClearSignal{ID: "tests"}}, {bot, red(plan.ReachTrack)}}},
		"beside an own one of less weight": {main: []raised{{ci, red(plan.ReachWorkspace)}}, own: []raised{{bot, concern}},
			want: []plan.SignalLevel{plan.Blocker, plan.Info}},
		"beside a cleared own one": {main: []raised{{ci, red(plan.ReachWorkspace)}},
			own: []raised{{bot, concern}, {bot, plan.ClearSignal{ID: "tests"}}}, want: []plan.SignalLevel{plan.Blocker}},
	} {
		t.Run(name, func(t *testing.T) {
			main, own := executing(t), executing(t)
			for _, r := range test.main {
				main.do(r.by, r.a)
			}
			for _, r := range test.own {
				own.do(r.by, r.a)
			}
			state := own.state.WithWorkspaceSignals(main.state)
			var got []plan.SignalLevel
			for _, level := range []plan.SignalLevel{plan.Blocker, plan.Warning, plan.Info} {
				for range state.OpenSignals(level) {
					got = append(got, level)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, not %v", got, test.want)
			}
			if len(own.state.WorkspaceSignals()) != 0 {
				t.Error("the track's own state has changed")
			}
		})
	}
}
