package history

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// timelineOf writes a timeline as a line per step, in minutes after the first.
func timelineOf(states []plan.State, root string, begin time.Time) []string {
	timeline := Timeline{Plan: root}
	for _, s := range states {
		timeline.Add(s)
	}
	lines := []string{}
	for _, step := range timeline.Steps() {
		line := step.Step.String()
		for _, part := range step.Parts {
			line += fmt.Sprintf(" %s %g-", part.Kind, part.From.Sub(begin).Minutes())
			if !part.To.IsZero() {
				line += fmt.Sprint(part.To.Sub(begin).Minutes())
			}
		}
		if step.Tokens > 0 {
			line += fmt.Sprintf(" %d tokens", step.Tokens)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTimeline(t *testing.T) {
	mark := func(step plan.StepID, status plan.StepStatus) plan.Action {
		return plan.MarkStep{Step: step, Status: status}
	}
	result := func(step plan.StepID, attempt int, ok, isTransient bool) plan.Action {
		return plan.Schedule{MaxStarts: int(step) - 1, Results: []plan.AttemptResult{{Attempt: plan.Attempt{Step: step, Attempt: attempt},
			Result: plan.Result{OK: ok, Error: map[bool]string{false: "exit 1"}[ok], Value: json.RawMessage(`""`)},
			Tokens: 700, IsTransient: isTransient}}}
	}
	type does struct {
		by plan.Actor
		a  plan.Action
	}
	start := does{person, plan.BeginRun{}}
	runs := func() plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: "runs", Tool: "write_file"}}
	}
	titled := func(deps ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: "agent's", DependsOn: deps}}
	}
	for name, c := range map[string]struct {
		steps []plan.NewStep
		acts  []does // the first in minute 2, the next in minute 3
		want  []string
	}{
		"nothing started": {[]plan.NewStep{titled()}, []does{{person, mark(1, plan.Skipped)}}, []string{}},
		"an agent's marks": {[]plan.NewStep{titled(), titled(1), titled()},
			[]does{{agent, mark(1, plan.InProgress)}, {agent, mark(3, plan.Skipped)}, {agent, mark(1, plan.Done)},
				{agent, mark(2, plan.InProgress)}},
			[]string{"S001 running 2-4", "S002 waiting 2-5 running 5-", "S003 waiting 2-3"}},
		"done without a start": {[]plan.NewStep{titled(), titled()}, []does{{agent, mark(1, plan.Done)}},
			[]string{"S001 running 2-2", "S002 waiting 2-"}},
		"given up, blocked and done again": {[]plan.NewStep{titled()},
			[]does{{agent, mark(1, plan.InProgress)}, {agent, mark(1, plan.Pending)}, {agent, mark(1, plan.InProgress)},
				{agent, mark(1, plan.Blocked)}, {agent, mark(1, plan.InProgress)}, {agent, mark(1, plan.Done)},
				{person, mark(1, plan.InProgress)}},
			[]string{"S001 failed 2-3 waiting 3-4 failed 4-5 waiting 5-6 running 6-7 running 8-"}},
		"an engine": {[]plan.NewStep{runs(), titled(1)},
			[]does{start, {engine, plan.Schedule{MaxStarts: 1}}, {engine, result(1, 1, true, false)}},
			[]string{"S001 running 3-4 700 tokens", "S002 waiting 3-"}},
		"an engine's failure": {[]plan.NewStep{runs()},
			[]does{start, {engine, plan.Schedule{MaxStarts: 1}}, {engine, result(1, 1, false, false)}},
			[]string{"S001 failed 3-4 700 tokens"}},
		"retried at once and later": {[]plan.NewStep{runs(), runs()},
			[]does{start, {engine, plan.Schedule{MaxStarts: 2}}, {engine, result(2, 1, false, true)}, {engine, result(1, 1, false, true)},
				{engine, plan.Schedule{MaxStarts: 1}}, {engine, result(1, 2, true, false)}},
			[]string{"S001 failed 3-5 waiting 5-6 running 6-7 700 tokens", "S002 failed 3-4 running 4-"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &told{found: plainly}
			w.do(t, agent, plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: c.steps})
			begin, states := w.now.Add(-time.Minute), []plan.State{w.state}
			for _, act := range c.acts {
				if advance, is := act.a.(plan.Schedule); is {
					for i := range advance.Results {
						advance.Results[i].Attempt.Plan = w.state.Plan.Root()
					}
				}
				testenv.Check(t, w.try(t, act.by, act.a))
				states = append(states, w.state)
			}
			if diff := cmp.Diff(c.want, timelineOf(states, w.state.Plan.Root(), begin)); diff != "" {
				t.Error(diff)
			}
			if got := timelineOf(states, "another", begin); len(got) != 0 {
				t.Errorf("of another plan: %q", got)
			}
		})
	}
}
