package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// TestCostOfInstructions limits the instructions, which every host loads, to 400 tokens and 2,000 bytes, for every
// strategy and every choice of toolsets.
func TestCostOfInstructions(t *testing.T) {
	count := counter(t)
	toolsets := []string{"planning", "loop", "mode", "execution", "workspace"}
	for _, strategy := range prompts.Strategies() {
		for choice := range 1<<len(toolsets) + 1 {
			var chosen []string // the last choice is empty: the default
			for i, name := range toolsets {
				if choice&(1<<i) != 0 && choice < 1<<len(toolsets) {
					chosen = append(chosen, name)
				}
			}
			if choice < 1<<len(toolsets) && chosen == nil {
				chosen = []string{}
			}
			text := prompts.Instructions(strategy, chosen)
			if n := count(text); n > 400 || len(text) > 2000 {
				t.Errorf("%s, %v: %d tokens and %d bytes, want at most 400 and 2,000", strategy, chosen, n, len(text))
			}
		}
	}
}

// TestInstructionsAreThoseOfTheToolsets checks that the measured instructions are sent.
func TestInstructionsAreThoseOfTheToolsets(t *testing.T) {
	for _, toolsets := range [][]string{nil, {verbs.Planning}, {verbs.Loop}, {verbs.Planning, verbs.Loop}} {
		client := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: toolsets}).connect(t, handshake, nil)
		want := prompts.Instructions(prompts.React, toolsets)
		if got := client.InitializeResult().Instructions; got != want {
			t.Errorf("%v:\n%s\nwant\n%s", toolsets, got, want)
		}
	}
}

// TestCostOfStatus limits a status to 1,500 tokens, in text and in structured content, however long the plan is.
func TestCostOfStatus(t *testing.T) {
	count := counter(t)
	prose := strings.Repeat("Read how the session of a user expires in the middleware and mind the clock. ", 60)
	many := func(n, length int) *[]string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("%d %s", i, prose)[:length]
		}
		return &lines
	}
	title, details, verify, feature, high := prose[:2000], prose[:4000], "go test -run "+prose[:500], plan.Feature, plan.HighRisk
	richest := verbs.TaskFields{Title: &title, Details: &details, Type: &feature, ContextHints: many(100, 512),
		RelevantFilePaths: many(100, 200), AcceptanceCriteria: many(20, 500), Verify: &verify, Risk: &high}
	doing, note := verbs.Doing, prose[:3000]
	id := verbs.TaskID(2)
	for name, do := range map[string]func(b builder){
		"ready":       func(builder) {},
		"in progress": func(b builder) { b.update(verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Status: &doing}}}) },
		"with notes": func(b builder) {
			for range 5 {
				b.update(verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Note: &note}}})
			}
		},
		"failed": func(b builder) { b.update(verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Error: &note}}}) },
		"blocker with output": func(b builder) {
			run := verbs.CheckRun{Signal: "tests", Level: plan.Blocker, Task: 2, Command: "go test ./...", ExitCode: 1,
				Output: prose[:4000]}
			_, err := b.service.RecordCheck(b.t.Context(), another, run)
			b.must(err)
		},
		"warnings": func(b builder) {
			for i, level := range []plan.SignalLevel{plan.Warning, plan.Warning, plan.Warning, plan.Info} {
				b.alert(verbs.Alert{ID: fmt.Sprint("signal ", i), Level: &level, Message: prose[:1000], TaskID: &id})
			}
		},
		"blocker with addresses": func(b builder) {
			run := verbs.CheckRun{Signal: "tests", Level: plan.Blocker, Task: 2, Command: "go test ./...", ExitCode: 2,
				Output: strings.Repeat("goroutine 7 [running]: 0xc00012e0b8(0x1, {0x5f4a20?, 0x7})\n", 80)[:4000]}
			_, err := b.service.RecordCheck(b.t.Context(), another, run)
			b.must(err)
		},
		"steps that ask": func(b builder) {
			for i := range 4 {
				spec := plan.Spec{Title: prose[:200], Pause: prose[:500], Tool: "bash_execute",
					Args: json.RawMessage(`{"command":"` + prose[:900] + `"}`)}
				if i%2 == 0 {
					spec.Pause, spec.RequiresApproval = "", true
				}
				_, err := b.service.AddStepsAfter(b.t.Context(), tester, []plan.NewStep{{Spec: spec}}, nil)
				b.must(err)
			}
			b.does(tester.Actor, plan.BeginRun{})
			b.advances(plan.Schedule{MaxStarts: 4})
			b.does(petra.Actor, plan.PauseRun{Note: prose[:400]})
		},
		"many signals": func(b builder) {
			for i, level := range []plan.SignalLevel{plan.Blocker, plan.Blocker, plan.Warning, plan.Warning, plan.Info, plan.Info} {
				b.alert(verbs.Alert{ID: fmt.Sprint("signal ", i), Level: &level, Message: prose[:1000], TaskID: &id})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, verbs.Options{Workspace: "/home/ann/" + strings.Repeat("a project of many/", 30),
				Doubt: strings.Repeat("the host has 3 folders open; this is the first; ", 8)}, mcpserver.Options{})
			client := w.connect(t, handshake, nil)
			b := builder{t: t, service: w.service, titled: title, session: w.session, seen: signsOfLife{}}
			_, err := w.service.Start(t.Context(), tester, verbs.Start{Goal: prose[:2000]})
			b.must(err)
			done := verbs.Complete
			b.update(verbs.Update{AddTasks: []verbs.NewTask{{TaskFields: richest}}, UpdateTasks: []verbs.TaskUpdate{{ID: 1,
				Status: &done}}})
			do(b)
			result := call(t, client, "planloop_status", nil)
			text, structured := count(text(t, result)), count(result.StructuredContent)
			t.Logf("%d and %d tokens", text, structured)
			if text > 1500 || structured > 1500 {
				data, _ := json.Marshal(result.StructuredContent)
				t.Errorf("%d tokens of text and %d of structured content, want at most 1,500\n%s\n%s", text, structured,
					result.Content[0].(*mcp.TextContent).Text, data)
			}
		})
	}
}

func (b builder) update(in verbs.Update) {
	b.t.Helper()
	_, err := b.service.Update(b.t.Context(), tester, in)
	b.must(err)
}

// vast is a tree with more files than fit into any prompt.
type vast struct{ lines int }

func (vast) Files() (fs.FS, error) { return fstest.MapFS{}, nil }

func (v vast) Summary(context.Context) (string, error) {
	var b strings.Builder
	for i := range v.lines {
		fmt.Fprintf(&b, "src/package%d/file%d.go (%d lines)\n", i%100, i, i)
	}
	return b.String(), nil
}

func (vast) Document(path string, most int) (string, bool) {
	text := strings.Repeat(path+" says much. ", 10_000)
	return text[:min(most, len(text))], true
}

func (vast) Survey(context.Context, func(int)) ([]verbs.Suggestion, string, error) {
	found := make([]verbs.Suggestion, 2000)
	for i := range found {
		title := fmt.Sprintf("Resolve the mark in line %d: %s", i, strings.Repeat("and so on ", 20))
		found[i] = verbs.Suggestion{Title: title, Type: plan.Chore, Reason: "TODO"}
		for n := range min(i, 60) {
			found[i].ContextHints = append(found[i].ContextHints, fmt.Sprintf("Read %d: %s", n, strings.Repeat("a hint ", 40)))
			found[i].RelevantFilePaths = append(found[i].RelevantFilePaths, fmt.Sprintf("src/%s/file%d.go", strings.Repeat("deep/", 20), n))
		}
	}
	return found, strings.Repeat("Much was not read. ", 500), nil
}

// TestCostOfPrompts renders every prompt of a workspace with 100,000 files and a
// plan of 2,000 steps: each stays small enough to be read.
func TestCostOfPrompts(t *testing.T) {
	t.Parallel()
	count := counter(t)
	w := newWorldWith(t, verbs.Options{Tree: vast{100_000}}, mcpserver.Options{})
	client := w.connect(t, handshake, nil)
	long := strings.Repeat("Investigate the flaky authentication test of the login page ", 40)
	var steps []plan.NewStep
	for i := range 2000 {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprintf("%d %s", i, long)[:2000], Details: long, Type: plan.Feature,
			ContextHints: []string{long[:512], long[:512]}, RelevantFilePaths: []string{"a.go"}}})
	}
	_, err := w.service.SetUp(t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: long[:2000]}, Steps: steps})
	testenv.Check(t, err)
	limits := map[string]int{"resume": 1_500, "recover_step": 1_500, "replan": 8_100, "select_agent": 8_000}
	failed, output := long[:2000], strings.Repeat("FAIL 0xc00012e0b8(0x1, {0x5f4a20?, 0x7})\n", 80)
	args := json.RawMessage(`{"command":"` + long + `"}`)
	tool := "bash_execute"
	_, err = w.service.Update(t.Context(), tester, verbs.Update{UpdateTasks: []verbs.TaskUpdate{
		{ID: 2000, TaskFields: verbs.TaskFields{Tool: &tool, Args: &args}, Error: &failed, Output: &output}, {ID: 2000, Note: &failed}}})
	testenv.Check(t, err)
	for _, p := range verbs.Prompts() {
		if p.Name == "execute_plan" { // no plan is approved here
			continue
		}
		arguments := map[string]string{}
		for _, a := range p.Arguments {
			switch {
			case a.Lines:
				arguments[a.Name] = strings.Repeat(long[:1000]+"\n", 20)
			case a.Name != "step_id":
				arguments[a.Name] = long[:2000]
			}
		}
		got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: arguments})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		limit := limits[p.Name]
		if limit == 0 {
			limit = 40_000
		}
		n := count(got.Messages[0].Content.(*mcp.TextContent).Text)
		t.Logf("%s: %d tokens", p.Name, n)
		if n > limit {
			t.Errorf("%s costs %d tokens, want at most %d", p.Name, n, limit)
		}
	}
}
