package mcpserver_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// prompt returns the text of a prompt.
func prompt(t *testing.T, client *mcp.ClientSession, name string, arguments map[string]string) string {
	t.Helper()
	got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got.Messages[0].Content.(*mcp.TextContent).Text
}

// ways returns the calls that recover_step offers, by number.
func ways(t *testing.T, text string) map[string][]string {
	t.Helper()
	offered := map[string][]string{}
	for _, line := range regexp.MustCompile(`(?m)^([1-4])\. [A-Z].*$`).FindAllStringSubmatch(text, -1) {
		for _, call := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line[0], -1) {
			offered[line[1]] = append(offered[line[1]], call[1])
		}
	}
	if len(offered) != 4 {
		t.Fatalf("%d ways are offered:\n%s", len(offered), text)
	}
	return offered
}

// makeCall makes a call like a model that has read it and filled the text between angle brackets.
func makeCall(t *testing.T, client *mcp.ClientSession, written string) {
	t.Helper()
	tool, arguments, _ := strings.Cut(written, " ")
	filled := strings.NewReplacer("<name>", "path", "<another value>", "b.txt", "<why>", "Not needed",
		"<the difference>", "The dates are mended first",
		"<the fix>", "Mend the parser of dates", "<file to read first>", "Read `dates.go` first",
		"<file to change>", "dates.go", "<its name>", "tester").Replace(arguments)
	if strings.ContainsAny(filled, "<>") {
		t.Fatalf("%s asks for what nobody knows", written)
	}
	var given any
	if filled != "" {
		if err := json.Unmarshal([]byte(filled), &given); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
	}
	if result := call(t, client, tool, given); result.IsError {
		t.Fatalf("%s is refused: %s", written, text(t, result))
	}
}

// TestRecoveryWorksAsWritten makes each call that recover_step offers, exactly as written: for steps of tools and
// of agents, critical or not, with or without dependencies.
func TestRecoveryWorksAsWritten(t *testing.T) {
	kinds := map[string]plan.Spec{
		"an agent's":           {Title: "Read the dates"},
		"an agent's, critical": {Title: "Read the dates", Critical: true},
		"a tool's":             {Title: "Read the dates", Tool: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`)},
		"a tool's, critical": {Title: "Read the dates", Tool: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`),
			Critical: true},
		"a tool's, with dependencies": {Title: "Read the dates", Tool: "read_file", DependsOn: []plan.StepID{1}},
	}
	became := map[string]func(*testing.T, *plan.Plan){
		"1": func(t *testing.T, p *plan.Plan) {
			step, _ := p.Steps.Get(2)
			if step.Status == plan.Failed || step.Tool != "" && string(step.Args) != `{"path":"b.txt"}` {
				t.Errorf("%s with %s", step.Status, step.Args)
			}
		},
		"2": func(t *testing.T, p *plan.Plan) {
			if step, _ := p.Steps.Get(2); step.Status != plan.Skipped {
				t.Errorf("%s", step.Status)
			}
		},
		"3": func(t *testing.T, p *plan.Plan) {
			step, _ := p.Steps.Get(2)
			fix, _ := p.Steps.Get(4)
			waits := slices.Equal(p.Steps.UnmetDependencies(2), []plan.StepID{4})
			if fix.Title != "Mend the parser of dates" || step.Status != plan.Pending || !waits {
				t.Errorf("%q was added; the step is %s and waits for %v", fix.Title, step.Status, p.Steps.UnmetDependencies(2))
			}
		},
		"4": func(t *testing.T, p *plan.Plan) {
			if p.Status != plan.StatusAbandoned {
				t.Errorf("the plan is %s", p.Status)
			}
		},
	}
	for kind, failing := range kinds {
		for way, check := range became {
			var toolsets []string // nil: all
			try := func(t *testing.T) {
				w := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: toolsets})
				client := w.connect(t, handshake, nil)
				first := plan.NewStep{Spec: plan.Spec{Title: "Fetch the dates"}, Progress: plan.Progress{Status: plan.Done}}
				last := plan.NewStep{Spec: plan.Spec{Title: "Print the dates", DependsOn: []plan.StepID{2}}}
				_, err := w.service.SetUp(t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: "Print dates"},
					Steps: []plan.NewStep{first, {Spec: failing}, last}})
				testenv.Check(t, err)
				makeCall(t, client, `planloop_update {"update_tasks":[{"id":2,"error":"no such file: a.txt"}]}`)
				told := prompt(t, client, "recover_step", nil)
				for _, want := range []string{"S002 Read the dates", "no such file: a.txt", "(S003)", failing.Tool, string(failing.Args)} {
					if !strings.Contains(told, want) {
						t.Errorf("%q is not told:\n%s", want, told)
					}
				}
				for _, call := range ways(t, told)[way] {
					makeCall(t, client, call)
				}
				state, err := w.service.State(t.Context())
				testenv.Check(t, err)
				check(t, state.Plan)
			}
			t.Run(kind+" "+way, try)
			toolsets = []string{verbs.Planning, verbs.Loop, verbs.Mode}
			t.Run(kind+" "+way+" without execution", try)
		}
	}
}

func TestNothingToRecoverFrom(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	if got := prompt(t, client, "recover_step", nil); !strings.Contains(got, "no plan exists") {
		t.Errorf("without a plan: %s", got)
	}
	setUp(t, w)
	for arguments, want := range map[string]string{"": "no step has failed", "S001": "S001 is pending",
		"S009": "step S009 does not exist"} {
		if got := prompt(t, client, "recover_step", map[string]string{"step_id": arguments}); !strings.Contains(got, want) {
			t.Errorf("%q: %s", arguments, got)
		}
	}
}

func setUp(t *testing.T, w world) {
	t.Helper()
	steps := []plan.NewStep{
		{Spec: plan.Spec{Title: "Analyze existing codebase structure and auth patterns", SuggestedAgent: "planner"},
			Progress: plan.Progress{Status: plan.Pending}},
		{Spec: plan.Spec{Title: "Implement authentication middleware", SuggestedAgent: "developer"}},
		{Spec: plan.Spec{Title: "Implement login endpoint", SuggestedAgent: "developer", DependsOn: []plan.StepID{2},
			AcceptanceCriteria: []string{"Accepts email/password", "Validates against user store", "Returns JWT on success",
				"Returns 401 on invalid credentials"}}},
		{Spec: plan.Spec{Title: "Write integration tests for auth flow", SuggestedAgent: "tester", DependsOn: []plan.StepID{2, 3}}},
		{Spec: plan.Spec{Title: "Review and validate implementation", SuggestedAgent: "reviewer", DependsOn: []plan.StepID{4}}},
	}
	_, err := w.service.SetUp(t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: "Implement user authentication with JWT"},
		Steps: steps})
	testenv.Check(t, err)
}

// TestSelectAgentOfRawkosExample brings rawko's example plan to its state and compares with the result of rawko's
// function.
func TestSelectAgentOfRawkosExample(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	setUp(t, w)
	makeCall(t, client, `planloop_update {"update_tasks":[{"id":1,"status":"IN_PROGRESS"},`+
		`{"id":1,"output":"Found existing auth utilities in src/auth/","status":"DONE"}]}`)
	makeCall(t, client, `planloop_update {"update_tasks":[{"id":2,"error":"the library\nwas renamed"}]}`)
	makeCall(t, client, `planloop_update {"update_tasks":[{"id":2,"status":"DONE"},{"id":3,"status":"IN_PROGRESS"}]}`)
	want, err := os.ReadFile(filepath.Join("..", "prompts", "testdata", "rawko", "arbiter_example.txt"))
	testenv.Check(t, err)
	told := unmarked(t, client, "select_agent", nil)
	if !strings.HasPrefix(told, string(want)+"\n---\n") {
		t.Errorf("the prompt begins otherwise:\n%s", told)
	}
	for _, entry := range []string{"- S001 done by tester: Found existing auth utilities in src/auth/\n",
		"- S003 in_progress by tester\n", "- planner\n- tester\n- developer\n- reviewer\n"} {
		if !strings.Contains(told, entry) {
			t.Errorf("%q is not told:\n%s", entry, told)
		}
	}
	choose := regexp.MustCompile("Record the choice: `([^`]+)`").FindStringSubmatch(told)
	makeCall(t, client, choose[1])
	told = prompt(t, client, "select_agent", map[string]string{"task": "Another"})
	if !strings.Contains(told, "Suggested agent: tester\n") || !strings.HasPrefix(told, "## Current Task\n\nAnother\n\n") {
		t.Errorf("the choice is not told, or the task:\n%s", told)
	}
}

// TestSelectAgentWithoutPlan has only the task's section before planloop's addition.
func TestSelectAgentWithoutPlan(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	told := unmarked(t, client, "select_agent", map[string]string{"task": "Ship it"})
	if before, _, _ := strings.Cut(told, "\n---\n"); before != "## Current Task\n\nShip it\n" {
		t.Errorf("%q", before)
	}
	if told := unmarked(t, client, "select_agent", nil); !strings.Contains(told, "needs a plan or a task") {
		t.Errorf("without a task: %s", told)
	}
}

// TestReplanTellsWhatBecameOfThePlan shows the statuses, results and error of a plan that must be revised, and the
// caller's findings.
func TestReplanTellsWhatBecameOfThePlan(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	_, err := w.service.SetUp(t.Context(), tester, plan.SetUp{
		Outline: plan.Outline{Objective: "Print dates", ContextNotes: "Dates are in UTC.",
			Metadata: plan.Metadata{Constraints: []string{"No new dependencies"}}},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Fetch the dates"}}, {Spec: plan.Spec{Title: "Parse the dates", Critical: true}}}})
	testenv.Check(t, err)
	makeCall(t, client, `planloop_update {"update_tasks":[{"id":1,"status":"DONE","output":"400 dates"},{"id":2,"error":"bad month"}]}`)
	told := unmarked(t, client, "replan", map[string]string{"discoveries": "Months begin at 0\n\nYears do not",
		"constraints": "Keep the format"})
	for _, want := range []string{"S001 [done] Fetch the dates\n   output: 400 dates\nS002 [failed] Parse the dates\n   error: bad month\n",
		"S002 Parse the dates", "- Dates are in UTC.\n- Months begin at 0\n- Years do not\n", "- No new dependencies\n- Keep the format\n",
		`planning_replan {"changes":`, "becomes version 2"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
}

// TestPlanWithToolsIsTakenAsPrinted fills the form that plan_with_tools prints and submits it as the prompt says:
// steps with tools need no more fields, and the sources of the plan are kept.
func TestPlanWithToolsIsTakenAsPrinted(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	told := prompt(t, client, "plan_with_tools", map[string]string{"request": "Process the data", "constraints": "Keep the original"})
	var form map[string]any
	testenv.Check(t, json.Unmarshal([]byte(regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(told)[1]), &form))
	first := form["steps"].([]any)[0].(map[string]any)
	second := maps.Clone(first)
	first["description"], first["tool"], first["args"] = "Read data.json", "read_file", map[string]any{"path": "data.json"}
	second["id"], second["description"], second["tool"] = "step_2", "Write processed.json", "write_file"
	second["dependsOn"] = []string{"step_1"}
	second["args"] = map[string]any{"path": "processed.json", "content": "$step_1"}
	second["requires_approval"], second["for_each"], second["when"], second["timeout"] = true, "*.txt", "steps.S001.ok", 30
	form["steps"], form["constraints"] = []any{first, second}, []string{"Keep the original"}
	if answer := call(t, client, "planning_submit_plan", form); answer.IsError || strings.Contains(text(t, answer), "Warning") {
		t.Fatal(text(t, answer))
	}
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	draft := state.Draft
	if draft.Reasoning != form["reasoning"] || draft.EstimatedDuration != 120 || !slices.Equal(draft.Metadata.Constraints,
		[]string{"Keep the original"}) {
		t.Errorf("kept: %+v", draft.Outline)
	}
	wrote, _ := draft.Steps.Get(2)
	if wrote.Tool != "write_file" || !slices.Equal(wrote.DependsOn, []plan.StepID{1}) || !wrote.RequiresApproval || wrote.Timeout != 30 {
		t.Errorf("step 2: %+v", wrote.Spec)
	}
	again := verbs.DraftSubmission(draft)
	if _, err := w.service.SubmitPlan(t.Context(), tester, again); err != nil {
		t.Fatal(err)
	}
	if state, err = w.service.State(t.Context()); err != nil || !cmp.Equal(state.Draft.Outline, draft.Outline) {
		t.Errorf("submitted again: %+v, %v", state.Draft.Outline, err)
	}
}

// unmarked returns a prompt without the marks of untrusted text.
func unmarked(t *testing.T, client *mcp.ClientSession, name string, arguments map[string]string) string {
	t.Helper()
	return strings.ReplaceAll(prompt(t, client, name, arguments), safetext.Mark, "")
}

// TestPlanWithToolsTellsTheToolbox lists the tools with their arguments.
func TestPlanWithToolsTellsTheToolbox(t *testing.T) {
	tools := func() []verbs.ToolInfo {
		return []verbs.ToolInfo{
			{Name: "run", Description: "Run a command.", Schema: json.RawMessage(`{"type":"object","required":["command","env"],` +
				`"properties":{"zone":{"enum":["a","b"]},"env":{"type":"object"},"command":{"type":"string"},"at":{"type":"integer"}}}`)},
			{Name: "odd", Description: "Says nothing.", Schema: json.RawMessage(`[]`)}, {Name: "bare", Description: "Takes nothing.",
				Schema: json.RawMessage(`{"type":"object"}`)}}
	}
	client := newWorldWith(t, verbs.Options{Tools: tools, Tree: vast{3}}, mcpserver.Options{}).connect(t, handshake, nil)
	told := unmarked(t, client, "plan_with_tools", map[string]string{"request": "Ship it\nby noon", "existing_code": "a.go\nfunc f() {}",
		"memories": "Tests are slow", "constraints": "Go only"})
	for _, want := range []string{"Ship it\nby noon", "file1.go", "- run: Run a command. {command, env: object, at?: integer, " +
		"zone?: a|b}\n- odd: Says nothing.\n- bare: Takes nothing. {}\n", "File \"a.go\"", "a.go says much.", "- Tests are slow\n",
		"- Go only\n", "`planning_submit_plan`"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
}
