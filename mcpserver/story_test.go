package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// golden compares text with a file in testdata, or rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if updateGolden() {
		testenv.Check(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	testenv.Check(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// transcript calls tools and records the part of each answer that a model sees.
type transcript struct {
	strings.Builder
	client *mcp.ClientSession
}

func (tr *transcript) call(t *testing.T, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result := call(t, tr.client, tool, json.RawMessage(arguments))
	verdict := ""
	if result.IsError {
		verdict = " (error)"
	}
	fmt.Fprintf(tr, "> %s %s%s\n%s\n", tool, shortened(arguments), verdict, text(t, result))
	if result.StructuredContent != nil {
		data, err := json.Marshal(result.StructuredContent)
		testenv.Check(t, err)
		fmt.Fprintf(tr, "%s\n", data)
	}
	tr.WriteString("\n")
	return result
}

func shortened(s string) string {
	if len(s) > 120 {
		return s[:100] + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
}

// TestStory walks through the six tools; the golden file is the model's view.
func TestStory(t *testing.T) {
	for _, era := range []string{handshake, stateless} {
		t.Run(era, func(t *testing.T) { testStory(t, era) })
	}
}

func testStory(t *testing.T, era string) {
	tr := &transcript{client: newWorld(t).connect(t, era, nil)}
	tr.call(t, "planning_read_plan", `{}`)
	tr.call(t, "planning_setup_plan", `{"objective":"Fix the login bug"}`)
	tr.call(t, "planning_add_step", `{"steps":[{"title":"Write a failing test","details":"in auth_test.go"},`+
		`{"title":"Fix the session check"},{"title":"Update the docs"}]}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S001","status":"in_progress"}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S001","status":"done","note":"fails as expected"}`)
	tr.call(t, "planning_update_step", `{"step_id":"S002","title":"Fix the session expiry check","details":"only the >= is wrong"}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S002","status":"blocked","note":"waiting for a decision"}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S003","status":"done"}`)
	tr.call(t, "planning_read_plan", `{}`)
	tr.call(t, "planning_read_plan", `{"status":"open"}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S002","status":"done"}`)
	tr.call(t, "planning_add_step", `{"steps":[{"title":"Too late"}]}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S003","status":"pending","note":"a page was missed"}`)
	tr.call(t, "planning_clear_plan", `{}`)
	tr.call(t, "planning_clear_plan", `{}`)
	tr.call(t, "planning_mark_step", `{"step_id":"S001","status":"done"}`)
	tr.call(t, "planning_read_plan", `{}`)
	golden(t, "story.txt", withoutTimes(tr.String()))
}

// TestBadInput gives each kind of bad input to a real client. Every answer names the error, its place, and the next
// action; nothing changes; the server survives.
func TestBadInput(t *testing.T) {
	for _, era := range []string{handshake, stateless} {
		t.Run(era, func(t *testing.T) { testBadInput(t, era) })
	}
}

func testBadInput(t *testing.T, era string) {
	w := newWorld(t)
	tr := &transcript{client: w.connect(t, era, nil)}
	tr.call(t, "planning_setup_plan", `{"objective":"Stay the same","initial_steps":[{"title":"One"},{"title":"Two"}]}`)
	before, err := w.service.State(t.Context())
	testenv.Check(t, err)
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, bad := range [][2]string{
		{"planning_setup_plan", `{}`},
		{"planning_setup_plan", `{"objective":null}`},
		{"planning_setup_plan", `{"objective":"   "}`},
		{"planning_setup_plan", `{"objective":7}`},
		{"planning_setup_plan", `{"objective":"a","objektive":"b"}`},
		{"planning_setup_plan", `{"Objective":"a"}`},
		{"planning_setup_plan", `{"objective":"a","initial_steps":"none"}`},
		{"planning_setup_plan", `{"objective":"a","initial_steps":[{"title":"ok"},{"titel":"typo"}]}`},
		{"planning_setup_plan", `{"objective":"a","initial_steps":[{"title":"ok","details":"d","description":"other details"}]}`},
		{"planning_setup_plan", `{"objective":"` + long(241) + `"}`},
		{"planning_setup_plan", `{"objective":"caf\u00e9"}`},
		{"planning_setup_plan", `{"objective":"bell \u0007"}`},
		{"planning_setup_plan", `{"objective":"escape \u001b[31m"}`},
		{"planning_setup_plan", `{"objective":"bidi \u202e"}`},
		{"planning_setup_plan", `{"objective":"two\nlines"}`},
		{"planning_setup_plan", `{"objective":"` + long(1<<20) + `"}`},
		{"planning_add_step", `{"steps":[]}`},
		{"planning_add_step", `{"steps":[{"title":""}]}`},
		{"planning_add_step", `{"steps":[{"title":"` + long(161) + `"}]}`},
		{"planning_add_step", `{"steps":[{"title":"x","details":"` + long(513) + `"}]}`},
		{"planning_add_step", `{"steps":[{"title":"x","step_id":"S009"}]}`},
		{"planning_update_step", `{"step_id":"S001"}`},
		{"planning_update_step", `{"step_id":"S001","details":"  "}`},
		{"planning_update_step", `{"step_id":"S000","title":"x"}`},
		{"planning_update_step", `{"step_id":"first","title":"x"}`},
		{"planning_update_step", `{"step_id":"S099","title":"x"}`},
		{"planning_mark_step", `{"step_id":"S001","status":"finish it"}`},
		{"planning_mark_step", `{"step_id":"S001","status":"done","note":" "}`},
		{"planning_mark_step", `{"step_id":"S001","status":"done","note":"` + long(513) + `"}`},
		{"planning_mark_step", `{"step_id":{"numbers":[1]},"status":"done"}`},
		{"planning_mark_step", `{"status":"done"}`},
		{"planning_clear_plan", `{"force":true}`},
		{"planning_read_plan", `{"status":"halfway"}`},
		{"planning_read_plan", `{"from":-1}`},
	} {
		if result := tr.call(t, bad[0], bad[1]); !result.IsError {
			t.Errorf("%s %s was accepted", bad[0], shortened(bad[1]))
		}
	}
	after, err := w.service.State(t.Context())
	testenv.Check(t, err)
	if after.Revision != before.Revision {
		t.Errorf("revision %d became %d", before.Revision, after.Revision)
	}
	golden(t, "badinput.txt", withoutTimes(tr.String()))
}

// TestCoercions sends forms that models often use and that can mean only one thing.
func TestCoercions(t *testing.T) {
	for _, era := range []string{handshake, stateless} {
		t.Run(era, func(t *testing.T) { testCoercions(t, era) })
	}
}

func testCoercions(t *testing.T, era string) {
	tr := &transcript{client: newWorld(t).connect(t, era, nil)}
	for _, odd := range [][2]string{
		{"planning_setup_plan", `{"objective":" padded ","initial_steps":"[{\"title\":\"a list in a string\"}]"}`},
		{"planning_add_step", `{"steps":{"title":"one object for a list"}}`},
		{"planning_add_step", `{"steps":[{"description":"description for title","details":null}]}`},
		{"planning_mark_step", `{"id":"S001","status":"in_progress"}`},
		{"planning_mark_step", `{"step_id":2,"status":"in_progress"}`},
		{"planning_mark_step", `{"step_id":"step_3","status":"in_progress"}`},
		{"planning_mark_step", `{"step_id":" S001 ","status":"done","note":null}`},
		{"planning_mark_step", `{"step_id":"task 2","status":"COMPLETED"}`},
		{"planning_update_step", `{"step_id":"s1","title":"An id in another spelling"}`},
		{"planning_read_plan", `{"status":"Finished","from":"#1"}`},
	} {
		if result := tr.call(t, odd[0], odd[1]); result.IsError {
			t.Errorf("%s %s was refused: %s", odd[0], odd[1], text(t, result))
		}
	}
	golden(t, "coercions.txt", withoutTimes(tr.String()))
}

// TestUnknownTool calls an unknown tool: it gets a protocol error, as it should, with the tool that was probably
// meant.
func TestUnknownTool(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	for name, want := range map[string]string{"planning_approve": "did you mean planning_submit_plan?",
		"xyz": "Tools: planning_setup_plan, ", "TodoWrite": "did you mean planning_setup_plan?", "planloop_stats": "planloop_status?",
		"planning_delete_plan": "planning_clear_plan?",
		"planning_remove_step": "planloop_update?", "planning_status": "planloop_status?",
		"mcp__planloop__planloop_status": "planloop_status?", "planning_exit_plan_mode": "planning_submit_plan?",
		"get_next_task": "planloop_status?", "a\x1b[31m": `a\x1b[31m`} {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams || !strings.Contains(refused.Message, want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	call(t, client, "planning_setup_plan", map[string]any{"objective": "still alive"})
}

// TestAnnotations checks the annotations that hosts expect from every tool.
func TestAnnotations(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	list, err := client.ListTools(t.Context(), nil)
	testenv.Check(t, err)
	if len(list.Tools) != len(verbs.Table()) {
		t.Errorf("%d tools, want all %d", len(list.Tools), len(verbs.Table()))
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || a == nil ||
			a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s lacks title, description, output schema or annotations", tool.Name)
		}
		schema, _ := json.Marshal(tool.InputSchema)
		root := strings.ReplaceAll(string(schema), `{"anyOf":[{"type":"integer"},{"type":"string"}]`, "{") // hosts accept it below the root
		for _, banned := range []string{"$ref", "anyOf", "oneOf", `"null"`, "$schema"} {
			if strings.Contains(root, banned) {
				t.Errorf("%s: the input schema has %s", tool.Name, banned)
			}
		}
		takesUnlisted := []string{"planloop_start", "planloop_update", "planning_submit_plan",
			"planning_recover_step"} // their calls refuse unknown fields
		if !strings.Contains(string(schema), `"additionalProperties":false`) && !slices.Contains(takesUnlisted, tool.Name) {
			t.Errorf("%s: the input schema accepts unknown fields", tool.Name)
		}
	}
}

// TestIdentity checks the metadata that a host may show.
func TestIdentity(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	info := client.InitializeResult()
	if info.ServerInfo.Title == "" || info.ServerInfo.Version != "test" || info.ServerInfo.WebsiteURL == "" ||
		len(info.ServerInfo.Icons) != 1 {
		t.Errorf("identity is incomplete: %+v", info.ServerInfo)
	}
	if !strings.Contains(info.Instructions, "planning_setup_plan") {
		t.Errorf("instructions do not tell how to begin: %s", info.Instructions)
	}
}

// TestResources reads every resource and template.
func TestResources(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "First plan", "initial_steps": []map[string]any{{"title": "Old"}}})
	call(t, client, "planning_setup_plan", map[string]any{"objective": "Second plan",
		"initial_steps": []map[string]any{{"title": "One"}, {"title": "Two"}}})
	list, err := client.ListResources(t.Context(), nil)
	testenv.Check(t, err)
	var out strings.Builder
	whole := map[string]string{"plan://agents.md": w.service.AgentsMD(), "plan://planning-guide.md": resources.PlanningGuide()}
	for _, r := range list.Resources {
		body := read(t, client, r.URI)
		if text, ok := whole[r.URI]; ok && body == text {
			body = "(as package resources has it)"
		}
		if strings.HasPrefix(r.MIMEType, "text/html") {
			body = "(a page)"
		}
		fmt.Fprintf(&out, "## %s · %s · %s · %s\n%s\n", r.URI, r.Title, r.MIMEType, r.Description, body)
	}
	fmt.Fprintf(&out, "## plan://steps/S002\n%s\n", read(t, client, "plan://steps/S002"))
	golden(t, "resources.txt", withoutTimes(out.String()))
	for _, uri := range []string{"plan://nowhere", "plan://steps/S099", "plan://steps/x", "plan://plans/none", "file:///etc/passwd"} {
		if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		} else {
			t.Logf("%s: %v", uri, err)
		}
	}
}

func read(t *testing.T, client *mcp.ClientSession, uri string) string {
	t.Helper()
	result, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	return result.Contents[0].Text
}

// TestRestoredPlanIsNoFormerOne lists the restored plan only as the current one.
func TestRestoredPlanIsNoFormerOne(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	var ids []string
	for _, objective := range []string{"First", "Second"} {
		call(t, client, "planning_setup_plan", map[string]any{"objective": objective})
		state, err := w.service.State(t.Context())
		testenv.Check(t, err)
		ids = append(ids, state.Plan.ID)
	}
	if _, err := w.service.Restore(t.Context(), verbs.Caller{Actor: plan.NewActor(plan.ChannelPage, "ann")}, ids[0]); err != nil {
		t.Fatal(err)
	}
	list, err := client.ListResources(t.Context(), nil)
	testenv.Check(t, err)
	var former []string
	for _, r := range list.Resources {
		if id, ok := strings.CutPrefix(r.URI, "plan://plans/"); ok {
			former = append(former, id)
		}
	}
	if !slices.Equal(former, ids[1:]) {
		t.Errorf("former plans %q, want %q", former, ids[1:])
	}
}

// TestCompletion completes the arguments of templates and prompts.
func TestCompletion(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "Fix it",
		"initial_steps": []map[string]any{{"title": "One"}, {"title": "Two"}}})
	complete := func(ref *mcp.CompleteReference, name, value string) []string {
		result, err := client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref,
			Argument: mcp.CompleteParamsArgument{Name: name, Value: value}})
		testenv.Check(t, err)
		return result.Completion.Values
	}
	step := &mcp.CompleteReference{Type: "ref/resource", URI: "plan://steps/{step_id}"}
	if got := complete(step, "step_id", "s"); len(got) != 2 || got[0] != "S001" {
		t.Errorf("steps: %v", got)
	}
	if got := complete(&mcp.CompleteReference{Type: "ref/resource", URI: "plan://plans/{plan_id}"}, "plan_id", "fix"); len(got) != 1 {
		t.Errorf("plans: %v", got)
	}
	if got := complete(&mcp.CompleteReference{Type: "ref/prompt", Name: "react"}, "goal", ""); len(got) != 1 || got[0] != "Fix it" {
		t.Errorf("goal: %v", got)
	}
	if got := complete(step, "step_id", "x"); len(got) != 0 {
		t.Errorf("nothing begins with x: %v", got)
	}
}

// TestPrompts lists and renders all prompts, with and without a plan.
func TestPrompts(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	list, err := client.ListPrompts(t.Context(), nil)
	testenv.Check(t, err)
	get := func(name string, arguments map[string]string) (string, error) {
		got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: arguments})
		if err != nil {
			return "", err
		}
		return got.Messages[0].Content.(*mcp.TextContent).Text, nil
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
		if p.Title == "" || p.Description == "" {
			t.Errorf("%s lacks title or description", p.Name)
		}
	}
	for _, c := range []struct {
		name      string
		arguments map[string]string
		want      string // without a plan; "" if it is then refused
	}{
		{"react", map[string]string{"goal": "Ship it"}, "Ship it"},
		{"plan_act_reflect", map[string]string{"goal": "Ship it"}, "Ship it"},
		{"goal_decompose_route_synthesise", map[string]string{"goal": "Ship it"}, "Ship it"},
		{"decompose_goal", map[string]string{"goal": "Ship it"}, "Ship it"},
		{"judge_plan", nil, "no plan exists to judge; set one up first."},
		{"suggest_tasks", map[string]string{"focus": "the map"}, "the map"},
		{"resume", nil, "planning_setup_plan"},
	} {
		if !slices.Contains(names, c.name) {
			t.Errorf("%s is not listed among %v", c.name, names)
		}
		body, err := get(c.name, c.arguments)
		if err != nil || !strings.Contains(body, c.want) {
			t.Errorf("%s without a plan: %v\n%s", c.name, err, body)
		}
	}
	call(t, client, "planning_setup_plan", map[string]any{"objective": "The plan at hand",
		"initial_steps": []map[string]any{{"title": "Draw the map"}}})
	for _, c := range [][]string{{"judge_plan", "Draw the map", "is_approved"}, {"resume", "The plan at hand", "Draw the map", "S001"},
		{"decompose_goal", "The plan at hand"}, {"suggest_tasks", "Draw the map"}} {
		body, err := get(c[0], nil)
		testenv.Check(t, err)
		for _, word := range c[1:] {
			if !strings.Contains(body, word) {
				t.Errorf("%s does not tell %q:\n%s", c[0], word, body)
			}
		}
	}
	for _, bad := range []map[string]string{{"gaol": "x"}, {"goal": "two\nlines\x07"}} {
		if _, err := get("react", bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if _, err := get("judge", nil); err == nil {
		t.Error("an unknown prompt was rendered")
	}
}

// TestEventsAreHeardOf subscribes to the events: each change by another client is reported, and the newest events
// are read, from the first to the last and through a purge.
func TestEventsAreHeardOf(t *testing.T) {
	w := newWorld(t)
	updated := make(chan string, 10)
	client := w.connect(t, handshake, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context,
		r *mcp.ResourceUpdatedNotificationRequest) {
		updated <- r.Params.URI
	}})
	other := w.connect(t, stateless, nil)
	testenv.Check(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "plan://events"}))
	var read struct {
		Revision int
		Events   []struct {
			Type, TaskID, StepID string
			StepIndex            int
		}
		Note string
	}
	heard := func(revision int, want ...string) {
		t.Helper()
		if got := <-updated; got != "plan://events" {
			t.Errorf("told of %s", got)
		}
		result, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "plan://events"})
		testenv.Check(t, err)
		read.Events, read.Note = nil, ""
		testenv.Check(t, json.Unmarshal([]byte(result.Contents[0].Text), &read))
		var types []string
		for _, e := range read.Events {
			types = append(types, strings.TrimSpace(e.Type+" "+e.StepID))
		}
		if read.Revision != revision || !slices.Equal(types[max(0, len(types)-len(want)):], want) {
			t.Errorf("at %d: %q, want %q", read.Revision, types, want)
		}
	}
	call(t, other, "planning_setup_plan", map[string]any{"objective": "Watched", "initial_steps": []map[string]any{{"title": "One"}}})
	heard(1, "PLAN_CREATED")
	call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
	heard(2, "PLAN_CREATED", "STEP_STARTED S001")
	call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": "done"})
	heard(3, "PLAN_CREATED", "STEP_STARTED S001", "STEP_COMPLETED S001")
	if read.Note != "" || read.Events[0].TaskID == "" || read.Events[0].TaskID != read.Events[2].TaskID {
		t.Errorf("%+v", read)
	}
	for i := range 60 {
		call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": []string{"pending", "done"}[i%2]})
		heard(4+i, []string{"STEP_RETRIED S001", "STEP_COMPLETED S001"}[i%2])
	}
	if len(read.Events) != 50 || !strings.Contains(read.Note, "planloop log --events") {
		t.Errorf("%d events, %q", len(read.Events), read.Note)
	}
	testenv.Check(t, w.service.Purge(t.Context(), verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "bob")}))
	heard(1)
	if len(read.Events) != 0 {
		t.Errorf("after the purge: %+v", read.Events)
	}
}

// TestSubscription receives a change that another client made.
func TestSubscription(t *testing.T) {
	w := newWorld(t)
	updated := make(chan string, 10)
	client := w.connect(t, handshake, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context,
		r *mcp.ResourceUpdatedNotificationRequest) {
		updated <- r.Params.URI
	}})
	other := w.connect(t, handshake, nil)
	call(t, other, "planning_setup_plan", map[string]any{"objective": "Watched",
		"initial_steps": []map[string]any{{"title": "One"}, {"title": "Two"}}})
	for _, uri := range []string{"plan://current", "plan://steps/S002"} {
		testenv.Check(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
	}
	call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": "done"})
	if got := <-updated; got != "plan://current" {
		t.Errorf("S001 changed, told of %s", got)
	}
	testenv.Check(t, client.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "plan://current"}))
	call(t, other, "planning_mark_step", map[string]any{"step_id": "S002", "status": "in_progress"})
	if got := <-updated; got != "plan://steps/S002" {
		t.Errorf("S002 changed, told of %s", got)
	}
}
