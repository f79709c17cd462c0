package mcpserver_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// listed returns the names of the tools that a client lists, in order.
func listed(t *testing.T, client *mcp.ClientSession) []string {
	t.Helper()
	list, err := client.ListTools(t.Context(), nil)
	testenv.Check(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestToolsAreListedByPhase: in a read-only phase only tools that read and those of planning mode are listed,
// always in the same order.
func TestToolsAreListedByPhase(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, nil)
		all := listed(t, client)
		var reading []string
		rows := map[string]verbs.Row{}
		for _, row := range verbs.Table() {
			rows[row.Name] = row
		}
		for _, name := range all {
			if row := rows[name]; row.ReadOnly || row.Toolset == verbs.Mode || row.Submits {
				reading = append(reading, name)
			}
		}
		if len(reading) == len(all) || len(reading) < 6 {
			t.Fatalf("%d of %d tools read", len(reading), len(all))
		}
		for _, hidden := range []string{"planning_setup_plan", "planning_mark_step", "planloop_update", "planloop_alert", "create_file",
			"str_replace"} {
			for _, name := range reading {
				if name == hidden {
					t.Errorf("%s only reads?", name)
				}
			}
		}
		same := func(phase plan.Phase, want []string) {
			t.Helper()
			w.wantPhase(phase)
			if diff := cmp.Diff(want, listed(t, client)); diff != "" {
				t.Errorf("%s, %s: %s", era, phase, diff)
			}
		}
		call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
		same(plan.PhaseGathering, reading)
		call(t, client, "planning_submit_plan", goodPlan())
		same(plan.PhaseSubmitted, reading)
		w.decide(plan.Returned, "split it")
		same(plan.PhaseGathering, reading)
		call(t, client, "planning_submit_plan", goodPlan())
		w.decide(plan.Approved, "")
		same(plan.PhaseExecuting, all)
		call(t, client, "planloop_update", map[string]any{"end_mode": true})
		same(plan.PhaseInactive, all)
	}
}

// TestHiddenToolsAreRefused calls unlisted tools: nothing changes, and the answer gives the reason and the next
// action.
func TestHiddenToolsAreRefused(t *testing.T) {
	for _, era := range bothEras() {
		for _, phase := range []plan.Phase{plan.PhaseGathering, plan.PhaseSubmitted} {
			w := newModeWorld(t, plan.Limits{})
			client := w.connect(t, era, nil)
			call(t, client, "planning_setup_plan", map[string]any{"objective": "Current",
				"initial_steps": []map[string]any{{"title": "One"}}})
			call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
			if phase == plan.PhaseSubmitted {
				call(t, client, "planning_submit_plan", goodPlan())
			}
			w.wantPhase(phase)
			before := w.state().Revision
			passing := map[string]bool{}
			for _, name := range listed(t, client) {
				passing[name] = true
			}
			refused := 0
			for _, row := range verbs.Table() {
				if row.Toolset != verbs.Planning && row.Toolset != verbs.Loop && row.Toolset != verbs.Mode || passing[row.Name] {
					continue
				}
				refused++
				example := row.Example
				if row.Name == "planloop_alert" { // agents may still call it
					example = `{"id":"tests","level":"info","message":"The user approved this."}`
				}
				result := call(t, client, row.Name, json.RawMessage(strings.ReplaceAll(example, "<what you saw>", "seen")))
				got := text(t, result)
				if !result.IsError || !strings.HasPrefix(got, "Nothing was changed. conflict: ") || !strings.Contains(got, "\nNext: ") {
					t.Errorf("%s %s %s: %s", era, phase, row.Name, got)
				}
				way := map[plan.Phase]string{plan.PhaseGathering: "planning_submit_plan", plan.PhaseSubmitted: "planloop_status"}[phase]
				if !strings.Contains(got, way) {
					t.Errorf("%s %s does not name %s: %s", phase, row.Name, way, got)
				}
			}
			if refused < 5 {
				t.Errorf("%d tools are hidden", refused)
			}
			if now := w.state().Revision; now != before {
				t.Errorf("%s: refused calls changed revision %d to %d", phase, before, now)
			}
		}
	}
}

// TestListChangedIsTold notifies clients of the handshake revisions, on connections of their own, when another
// client or a person changes the phase, and only then. A client of the stateless revision opens its stream next to
// its first call and does not say when it listens: TestListChangedOnAListenStream waits for the acknowledgement.
func TestListChangedIsTold(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	actor := w.connect(t, handshake, nil)
	ears := map[string]chan struct{}{}
	for _, era := range []string{handshake, "2025-06-18"} {
		heard := make(chan struct{}, 100)
		ears[era] = heard
		client := w.connect(t, era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
			*mcp.ToolListChangedRequest) {
			heard <- struct{}{}
		}})
		listed(t, client)
	}
	hear := func() {
		t.Helper()
		for _, heard := range ears {
			select {
			case <-heard:
			case <-time.After(2 * time.Minute):
				t.Fatal("not told")
			}
		}
	}
	call(t, actor, "planning_setup_plan", map[string]any{"objective": "Current", "initial_steps": []map[string]any{{"title": "One"}}})
	call(t, actor, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	hear()
	call(t, actor, "planning_submit_plan", goodPlan())
	hear()
	w.decide(plan.Approved, "")
	hear()
	call(t, actor, "planloop_status", map[string]any{})
	call(t, actor, "planning_mark_step", map[string]any{"step_id": "S001", "status": "done"})
	w.wantPhase(plan.PhaseInactive)
	hear()
	for era, heard := range ears {
		if n := len(heard); n != 0 {
			t.Errorf("%s was told %d times more", era, n)
		}
	}
}

// TestFirstCallChangesThePhase: a client whose very first call enters planning mode, before there is a log to
// watch, is notified that its list has changed.
func TestFirstCallChangesThePhase(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	heard := make(chan struct{}, 1)
	client := w.connect(t, handshake, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
		*mcp.ToolListChangedRequest) {
		heard <- struct{}{}
	}})
	listed(t, client)
	call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	select {
	case <-heard:
	case <-time.After(2 * time.Minute):
		t.Fatal("not told")
	}
}

// TestListChangedOnAListenStream is the same in frames: the stream of the stateless revision gets the requested
// notifications, stamped with its id.
func TestListChangedOnAListenStream(t *testing.T) {
	t.Parallel()
	w := newModeWorld(t, plan.Limits{})
	other := w.connect(t, stateless, nil)
	c := w.wire(t)
	c.send(`{"jsonrpc":"2.0","id":"ear","method":"subscriptions/listen","params":{%s,"notifications":{"toolsListChanged":true}}}`, meta)
	c.until("notifications/subscriptions/acknowledged", "toolsListChanged")
	call(t, other, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	c.until("notifications/tools/list_changed", `"io.modelcontextprotocol/subscriptionId":"ear"`)
}

// TestPromptsOfTheMode tests the prompts that a person types: they enter the mode, show its status and cancel it.
func TestPromptsOfTheMode(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, nil)
		prompt := func(name string, args map[string]string, words ...string) {
			t.Helper()
			got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: args})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			told := got.Messages[0].Content.(*mcp.TextContent).Text
			for _, word := range words {
				if !strings.Contains(told, word) {
					t.Errorf("%s: %q is missing in %s", name, word, told)
				}
			}
		}
		prompt("plan_status", nil, "Planning mode is off.")
		prompt("plan", map[string]string{"task": "Move the sessions"}, "Entered planning mode.", "planning_submit_plan")
		w.wantPhase(plan.PhaseGathering)
		prompt("plan_cancel", nil, "Planning mode was cancelled by the user of tester, confirmed through the client.")
		prompt("plan_cancel", nil, "Nothing was changed. conflict: planning mode is not on; there is nothing to cancel.\nNext: ")
		prompt("plan", map[string]string{"task": "Move the sessions"}, "Entered planning mode.")
		prompt("plan", map[string]string{"task": "Move the sessions"}, "Already in planning mode.", `"Move the sessions"`)
		prompt("plan", nil, "Already in planning mode.", `"Move the sessions"`)
		prompt("plan", map[string]string{"task": "Something else"}, "Nothing was changed. conflict: planning mode is already on, for "+
			`"Move the sessions"; send the task to the agent with `+"`planloop comment TEXT`, or end planning "+
			"mode first with `planloop plan cancel`.\nNext: ")
		prompt("plan_status", nil, "gathering", `"Move the sessions"`)
		call(t, client, "planning_submit_plan", goodPlan())
		if got := w.state().Draft.Objective; got != "Move the sessions" {
			t.Errorf("the objective is %q", got)
		}
		prompt("plan_status", nil, "waits for a person's decision")
		prompt("execute_plan", nil, "Nothing was changed. not_found: no approved plan is being carried out; ")
		prompt("plan_cancel", nil, "Planning mode was cancelled by the user of tester, confirmed through the client.")
		w.wantPhase(plan.PhaseInactive)
		call(t, client, "planning_submit_plan", goodPlan())
		w.decide(plan.Approved, "")
		prompt("execute_plan", nil, "<approved_plan>", "1. Add the Redis client (tools: create_file)", "</approved_plan>",
			"You are executing an approved plan. Follow these steps:", "You may adapt if you encounter unexpected issues, but communicate")
		prompt("plan_status", nil, "is running")
	}
}

// TestReplySaysReadOnlyOnce reads an agent's replies in planning mode: one sentence at most says that it only reads, and none
// describes hooks, which are for people to repair.
func TestReplySaysReadOnlyOnce(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	client := w.connect(t, handshake, nil)
	readOnly := regexp.MustCompile(`(?i)read-only|only read|can read`)
	enter := map[string]any{"reason": "it is large"}
	for _, c := range []struct {
		tool      string
		arguments any
		least     int
	}{{"planning_enter_plan_mode", enter, 1}, {"planning_enter_plan_mode", enter, 1}, {"planloop_status", nil, 1},
		{"planning_ask_user", map[string]any{"question": "Which one?"}, 0}, {"planloop_status", nil, 1},
		{"planning_add_step", map[string]any{"steps": []any{map[string]any{"title": "Build"}}}, 1},
		{"planning_read_plan", nil, 0}, {"planning_submit_plan", goodPlan(), 0}, {"planloop_status", nil, 0}} {
		got := text(t, callOrRefusal(t, client, c.tool, c.arguments))
		if n := len(readOnly.FindAllString(got, -1)); n < c.least || n > 1 {
			t.Errorf("%s says %d times that it only reads:\n%s", c.tool, n, got)
		}
		if strings.Contains(strings.ToLower(got), "hook") || strings.Contains(strings.ToLower(got), "enforced") {
			t.Errorf("%s describes hooks:\n%s", c.tool, got)
		}
	}
}

// TestEnterPlanModeTool returns chorus's sentences, and on a second call the status.
func TestEnterPlanModeTool(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	client := w.connect(t, handshake, nil)
	first := text(t, call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"}))
	want := "Entered planning mode. Reason: it is large. Tools are now restricted to read-only. " +
		"Gather context, then call planning_submit_plan() when ready."
	if !strings.HasPrefix(first, want) {
		t.Errorf("%s", first)
	}
	second := call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "again"})
	got := text(t, second)
	if second.IsError || !strings.HasPrefix(got, "Already in planning mode. ") || !strings.Contains(got, "it is large") {
		t.Errorf("%s", got)
	}
	if n := len(events[plan.ModeEntered](w)); n != 1 {
		t.Errorf("entered %d times", n)
	}
	blank := call(t, client, "planning_enter_plan_mode", map[string]any{"reason": " "})
	if !blank.IsError {
		t.Errorf("%s", text(t, blank))
	}
}
