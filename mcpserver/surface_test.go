package mcpserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// boxTools are the toolbox's tools for steps.
type boxTools struct{ *toolbox.Registry }

func (b boxTools) Tool(name string) (runnable.Tool, bool) { return b.Lookup(name) }

// executing returns a world with all toolsets and real tools for steps.
func executing(t *testing.T) (world, *mcp.ClientSession) {
	t.Helper()
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600))
	box, err := toolbox.Open(dir, toolbox.Options{})
	testenv.Check(t, err)
	w := newWorldWith(t, verbs.Options{StepTools: boxTools{box.Tools()}}, mcpserver.Options{})
	return w, w.connect(t, handshake, nil)
}

// TestFactsHaveOneForm: constraints and findings, as a list or as a text, mean the same in every tool that takes them.
func TestFactsHaveOneForm(t *testing.T) {
	step := map[string]any{"title": "Look into the module", "type": "chore", "context_hints": []string{"Read the module file"},
		"creates": []string{"notes.md"}, "acceptance_criteria": []string{"it is clear"}, "risk": "low", "tools": []string{"view"}}
	for name, facts := range map[string]map[string]any{
		"lists": {"constraints": []string{"no downtime"}, "findings": []string{"it is slow", "since May"}},
		"texts": {"constraints": "no downtime", "findings": "it is slow\nsince May"},
		"notes": {"constraints": []string{"no downtime"}, "context_notes": "it is slow\nsince May"},
	} {
		for tool, arguments := range map[string]map[string]any{
			"planloop_start":       {"goal": "Make it fast", "steps": []any{step}},
			"planloop_update":      {},
			"planning_submit_plan": {"summary": "Make it fast.", "steps": []any{step}},
		} {
			w := newWorld(t)
			client := w.connect(t, handshake, nil)
			switch tool {
			case "planloop_update":
				call(t, client, "planning_setup_plan", map[string]any{"objective": "Make it fast"})
			case "planning_submit_plan":
				call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
			}
			for field, value := range facts {
				arguments[field] = value
			}
			result := call(t, client, tool, arguments)
			state, err := w.service.State(t.Context())
			if err != nil || result.IsError {
				t.Fatalf("%s, %s: %v, %s", tool, name, err, text(t, result))
			}
			p := state.Plan
			if tool == "planning_submit_plan" {
				p = state.Draft
			}
			if !slices.Equal(p.Metadata.Constraints, []string{"no downtime"}) || p.ContextNotes != "it is slow\nsince May" {
				t.Errorf("%s, %s: constraints %q, findings %q", tool, name, p.Metadata.Constraints, p.ContextNotes)
			}
			if tool == "planloop_start" && (p.Steps.Len() != 1 || p.Steps.At(0).Title != "Look into the module") {
				t.Errorf("%s: %d steps", tool, p.Steps.Len())
			}
		}
	}
}

// TestStartJudgesItsSteps: a start with steps that the gates refuse changes nothing.
func TestStartJudgesItsSteps(t *testing.T) {
	w := newWorld(t)
	result := call(t, w.connect(t, handshake, nil), "planloop_start", map[string]any{"goal": "Make it fast", "steps": []string{"stuff"}})
	state, err := w.service.State(t.Context())
	if err != nil || !result.IsError || state.Plan != nil || !strings.Contains(text(t, result), "context_hints") {
		t.Errorf("%v, %v: %s", err, state.Plan, text(t, result))
	}
}

// TestReportsHaveOneLimit: notes, output and evidence have the same.
func TestReportsHaveOneLimit(t *testing.T) {
	client := newWorld(t).connect(t, handshake, nil)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "Make it fast", "initial_steps": []string{"Look"}})
	for field, report := range map[string]func(text string) any{
		"note":     func(text string) any { return text },
		"output":   func(text string) any { return text },
		"evidence": func(text string) any { return []any{map[string]any{"note": text}} },
	} {
		for length, refused := range map[int]bool{plan.MaxLongText: false, plan.MaxLongText + 1: true} {
			result := call(t, client, "planloop_update", map[string]any{"update_tasks": []any{
				map[string]any{"id": 1, field: report(strings.Repeat("x", length))}}})
			if result.IsError != refused {
				t.Errorf("%s of %d characters: %s", field, length, text(t, result))
			}
		}
	}
}

// TestExecutionIsLearnedFromTheSchemas: with the toolset execution, the schemas list how a step becomes runnable; without, they do
// not.
func TestExecutionIsLearnedFromTheSchemas(t *testing.T) {
	takers := []string{"planloop_update", "planning_submit_plan", "planning_replan", "planning_recover_step"}
	fields := []string{`"tool":`, `"args":`, `"when":`, `"for_each":`, `"requires_approval":`, `"timeout":`}
	for _, toolsets := range [][]string{{verbs.Planning, verbs.Loop, verbs.Mode}, {verbs.Loop, verbs.Mode, verbs.Execution}} {
		learned := slices.Contains(toolsets, verbs.Execution)
		w := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: toolsets})
		list, err := w.connect(t, handshake, nil).ListTools(t.Context(), nil)
		testenv.Check(t, err)
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			testenv.Check(t, err)
			for _, field := range fields {
				if slices.Contains(takers, tool.Name) && strings.Contains(string(schema), field) != learned {
					t.Errorf("%v: %s lists %s: %t", toolsets, tool.Name, field, !learned)
				}
			}
			if tool.Name == "planning_execute_plan" && !strings.Contains(tool.Description, "create_file {path, content,") {
				t.Errorf("the tools of steps are not listed with their arguments: %s", tool.Description)
			}
		}
	}
}

// TestExampleOfARunnableStep: the step that the instructions show is accepted.
func TestExampleOfARunnableStep(t *testing.T) {
	_, client := executing(t)
	var example map[string]any
	_, rest, _ := strings.Cut(prompts.Instructions(prompts.React, []string{verbs.Execution}), `{"title"`)
	testenv.Check(t, json.NewDecoder(strings.NewReader(`{"title"`+rest)).Decode(&example))
	call(t, client, "planning_setup_plan", map[string]any{"objective": "Keep a copy", "initial_steps": []string{"Read it"}})
	call(t, client, "planloop_update", map[string]any{"update_tasks": []any{map[string]any{"id": 1, "when": "true"}}})
	added := map[string]any{"context_hints": []string{"Read the module file"}, "relevant_file_paths": []string{"go.mod"}, "type": "chore"}
	for field, value := range example {
		added[field] = value
	}
	if result := call(t, client, "planloop_update", map[string]any{"add_tasks": []any{added}}); result.IsError {
		t.Error(text(t, result))
	}
}

// TestRefusedArgumentsAreNotRetried: the way on from a step whose arguments its tool refused is a retry with others.
func TestRefusedArgumentsAreNotRetried(t *testing.T) {
	for name, c := range map[string]struct{ args, want string }{
		"wrong":          {`{"path":"go.mod","from":"x"}`, `{"step_id":"S001","choice":"retry","args":{"from":"<from>","path":"go.mod"}}`},
		"missing":        {`{}`, `{"step_id":"S001","choice":"retry","args":{"path":"<path>"}}`},
		"unknown":        {`{"path":"go.mod","file":"go.mod"}`, `{"step_id":"S001","choice":"retry","args":{"path":"go.mod"}}`},
		"from reference": {`{"path":"$S002"}`, `{"step_id":"S001","choice":"retry","args":{"path":"<path>"}}`},
	} {
		w, client := executing(t)
		steps := []plan.NewStep{{Spec: plan.Spec{Title: "Read it", Tool: "view", Args: json.RawMessage(c.args)}},
			{Spec: plan.Spec{Title: "Name it"}}}
		for _, a := range []plan.Action{plan.SetUp{Outline: plan.Outline{Objective: "Keep a copy"}, Steps: steps},
			plan.MarkStep{Step: 2, Status: plan.Done},
			plan.MarkStep{Step: 1, Status: plan.Failed, Note: runnable.InvalidArgs + " view in S001"}} {
			if _, err := w.session.Do(t.Context(), tester.Actor, a, nil); err != nil {
				t.Fatal(err)
			}
		}
		said := text(t, call(t, client, "planloop_status", map[string]any{}))
		if want := "planning_recover_step " + c.want; !strings.Contains(said, want) {
			t.Errorf("%s: want %s in\n%s", name, want, said)
		}
	}
}
