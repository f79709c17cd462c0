package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// signsOfLife returns the test's sighting for every name.
type signsOfLife map[string]plan.Sighting

func (signsOfLife) Touch(string)                     {}
func (signsOfLife) Join(string) func()               { return func() {} }
func (s signsOfLife) Seen(name string) plan.Sighting { return s[name] }
func (signsOfLife) LastActivity() time.Time          { return time.Time{} }

func (s signsOfLife) Lives() bool {
	seen := s[engine.Name]
	return !seen.At.IsZero() && !seen.IsGone
}

func (signsOfLife) SettleLost(context.Context) error { return errors.New("it cannot be settled here") }

func (signsOfLife) Running() []verbs.RunningStep {
	return []verbs.RunningStep{{Step: 1, Percent: 40, What: "compiling", Log: "a.go\nb.go\n"}}
}

var engine = plan.NewActor(plan.ChannelEngine, "engine#1")

// runs sets up a plan of two steps, the first as changed by f, begins a run and lets an engine start the ready
// steps.
func (b builder) runs(f func(*plan.Spec)) {
	b.t.Helper()
	first := plan.Spec{Title: b.titled, Tool: "bash_execute", Args: json.RawMessage(`{"command":"true"}`)}
	f(&first)
	steps := []plan.NewStep{{Spec: first}, {Spec: plan.Spec{Title: b.titled, DependsOn: []plan.StepID{1}}}}
	_, err := b.service.SetUp(b.t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: b.titled}, Steps: steps})
	b.must(err)
	b.does(tester.Actor, plan.BeginRun{})
	b.advances(plan.Schedule{MaxStarts: 1})
}

func (b builder) does(by plan.Actor, a plan.Action) {
	b.t.Helper()
	_, err := b.session.Do(b.t.Context(), by, a, nil)
	b.must(err)
}

func (b builder) advances(a plan.Schedule) {
	b.t.Helper()
	b.seen[engine.Name] = plan.Sighting{At: time.Now()}
	_, err := b.session.Do(b.t.Context(), engine, a, func(state plan.State, facts *plan.Facts) error {
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		for _, step := range plan.StartableSteps(a.ApplyResults(state, *facts), a.MaxStarts) {
			facts.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args, LoopDigest: "list",
				Items: []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}}
		}
		return nil
	})
	b.must(err)
}

// leaves removes the engine, as if it had been killed.
func (b builder) leaves() {
	b.seen[engine.Name] = plan.Sighting{At: time.Now(), IsGone: true}
}

func (b builder) ends(result plan.Result, interrupted bool) {
	b.t.Helper()
	state, err := b.service.State(b.t.Context())
	b.must(err)
	first, _ := state.Plan.Steps.Get(1)
	b.advances(plan.Schedule{Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: state.Plan.Root(), Step: 1,
		Attempt: first.Attempts},
		Result: result, IsInterrupted: interrupted}}})
}

// runStates lists the kinds of state in runs.
func runStates() []kindOfState {
	plain := func(*plan.Spec) {}
	broken := plan.Result{Error: "it does not work"}
	return []kindOfState{
		{name: "being run", reach: func(b builder) { b.runs(plain) }},
		{name: "what ran is gone", reach: func(b builder) { b.runs(plain); b.leaves() }},
		{name: "to be run", reach: func(b builder) {
			b.runs(plain)
			b.ends(broken, false)
			b.does(tester.Actor, plan.AnswerStep{Step: 1, Choice: plan.Retry})
			b.leaves()
		}},
		{name: "paused by a person", reach: func(b builder) {
			b.runs(plain)
			b.ends(broken, false)
			b.does(petra.Actor, plan.PauseRun{})
			b.does(tester.Actor, plan.AnswerStep{Step: 1, Choice: plan.Retry})
		}},
		{name: "a tool failed", reach: func(b builder) { b.runs(plain); b.ends(broken, false) }},
		{name: "a critical tool failed", reach: func(b builder) {
			b.runs(func(s *plan.Spec) { s.Critical = true })
			b.ends(broken, false)
		}},
		{name: "unknown", reach: func(b builder) { b.runs(plain); b.ends(broken, true) }},
		{name: "asks for approval", reach: func(b builder) { b.runs(func(s *plan.Spec) { s.RequiresApproval = true }) }},
		{name: "asks a question", reach: func(b builder) { b.runs(func(s *plan.Spec) { s.Pause = b.titled }) }},
		{name: "denied", reach: func(b builder) {
			b.runs(func(s *plan.Spec) { s.RequiresApproval = true })
			b.does(petra.Actor, plan.AnswerStep{Step: 1, Choice: plan.Deny})
		}},
		{name: "a loop", reach: func(b builder) { b.runs(func(s *plan.Spec) { s.ForEach = `["a","b"]` }) }},
	}
}

// TestNextActionsInRuns records the next action in the states of runs: by default, with the execution tools, and
// for a person.
func TestNextActionsInRuns(t *testing.T) {
	var out strings.Builder
	for _, kind := range runStates() {
		service := inState(t, kind, "Build")
		fmt.Fprintf(&out, "# %s\n", kind.name)
		for _, c := range []struct {
			name   string
			caller verbs.Caller
		}{
			{"default", verbs.Caller{Actor: tester.Actor,
				Face: mcpserver.Tools{Toolsets: []string{verbs.Planning, verbs.Loop, verbs.Mode}, User: terminal.CommandLine{}}}},
			{"execution", verbs.Caller{Actor: tester.Actor, Face: mcpserver.Tools{User: terminal.CommandLine{}}}},
			{"person", petra},
		} {
			reply, err := service.Status(t.Context(), c.caller, verbs.Status{})
			testenv.Check(t, err)
			fmt.Fprintf(&out, "%s, %s: %s\n  (%s)\n", c.name, reply.Now.Reason, reply.NextAction, reply.Now.AgentInstructions)
		}
		out.WriteString("\n")
	}
	golden(t, "next_in_runs.txt", out.String())
}
