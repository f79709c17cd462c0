package planloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
	"github.com/planloop/planloop/resources"
)

// TestExamplesAreCalls takes every example of a call from the texts for models and people, the documents, rules, prompts, descriptions,
// help texts and refusals, and passes it to the schema of its tool and to its decoder.
func TestExamplesAreCalls(t *testing.T) {
	schemas := inputSchemas(t)
	tools := map[string]int{}
	for source, text := range exampleTexts(t) {
		found := 0
		for _, e := range examples(t, schemas, text) {
			found++
			tools[e.tool]++
			e.check(t, source, schemas[e.tool])
		}
		if least := map[string]int{"docs/agents.md": 3, "docs/reference/formats.md": 4, "docs/reference/tools.md": 14,
			"internal/cli/commands.txt": 3, "mcpserver/testdata/mistakes.txt": 60, "prompt decompose_goal": 1}[source]; found < least {
			t.Errorf("%s: %d examples were found, want %d: the test reads too little", source, found, least)
		}
	}
	for _, row := range verbs.Table() {
		if tools[row.Name] == 0 {
			t.Errorf("no example of %s was found", row.Name)
		}
	}
	t.Logf("examples by tool: %v", tools)
}

// inputSchemas compiles the schemas that hosts get.
func inputSchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	compiler, all := jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	for _, row := range verbs.Table() {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(readDoc(t, "mcpserver/schemas/"+row.Name+".input.json")))
		if err == nil {
			err = compiler.AddResource(row.Name, document)
		}
		if err == nil {
			all[row.Name], err = compiler.Compile(row.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// exampleTexts returns all texts with calls, by source.
func exampleTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"docs/agents.md": resources.AgentsMD("docs/agents.md"), "planning guide": resources.PlanningGuide(),
		"prompt decompose_goal": prompts.Decompose(prompts.DecomposeData{Goal: "Ship it", ForAgent: true, Task: 1}),
		"prompt judge_plan":     prompts.Judge(prompts.JudgeData{ForAgent: true}), "prompt suggest_tasks": prompts.SuggestTasks(
			prompts.SuggestData{ForAgent: true})}
	for _, strategy := range prompts.Strategies() {
		texts["instructions, "+string(strategy)] = prompts.Instructions(strategy, []string{verbs.Planning, verbs.Loop, verbs.Mode})
	}
	for _, row := range verbs.Table() {
		texts["table, "+row.Name] = row.Description + "\n" + row.Name + " " + row.Example
	}
	for i, words := range wordings(t) {
		texts[fmt.Sprintf("wording %d", i)] = words
	}
	files := append(documents(t), "internal/cli/commands.txt")
	for _, dir := range []string{"mcpserver/testdata", "testdata/script", "internal/verbs/testdata", "prompts/testdata"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Base(path) != "badinput.txt" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.ToSlash(file)] = ours(file, string(data))
	}
	return texts
}

// wordings writes every call of a next action or an advice for a model, with every toolset, and for a terminal.
func wordings(t *testing.T) []string {
	t.Helper()
	faces := []verbs.Face{terminal.CommandLine{}, mcpserver.Tools{User: terminal.CommandLine{}}}
	for _, toolset := range []string{verbs.Planning, verbs.Loop, verbs.Mode, verbs.Execution} {
		faces = append(faces, mcpserver.Tools{Toolsets: []string{toolset}, User: terminal.CommandLine{}})
	}
	var all []string
	for _, kind := range testenv.Constants(t, "internal/verbs/caller.go", "CallKind") {
		call := verbs.Call{Kind: verbs.CallKind(kind), Step: 2, ID: "draft", Page: 2}
		if call.Kind == verbs.CallApplyTemplate {
			call.JSON = "{}"
		} else if call.Kind == verbs.CallClear {
			call.ID = strings.Repeat("an id that has no room ", 10)
		}
		for _, face := range faces {
			for i, choice := range []plan.Choice{plan.Retry, plan.Skip, plan.Happened, plan.Abort} {
				call.Choice, call.Status = choice, plan.StepStatus(plan.StepStatus("").Values()[i])
				text, _ := face.Word(call)
				all = append(all, text)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ours reduces a recorded dialogue to planloop's part.
func ours(file, text string) string {
	if !strings.Contains(file, "testdata") {
		return regexp.MustCompile("(?s)### `(\\w+)`\n.*?```json\n").ReplaceAllString(text, "$1 ")
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if _, correct, ok := strings.Cut(line, "A correct call: "); ok {
			b.WriteString(strings.NewReplacer(`\"`, `"`, `\u003c`, "<", `\u003e`, ">").Replace(correct) + "\n")
		} else if _, next, ok := strings.Cut(line, "Next: "); ok && strings.HasSuffix(file, ".txt") {
			b.WriteString(next)
		} else if strings.Contains(file, "verbs/testdata") && !strings.Contains(line, `\"`) { // all of it is a reply or a prompt
			b.WriteString(line)
		}
	}
	return b.String()
}

// example is a call of a tool.
type example struct{ tool, arguments string }

var namesTool = regexp.MustCompile(`(plan(?:ning|loop)_[a-z_]+)[ \t]+$|planloop (update|alert|submit|replan)(?: --json| --file -)? '$`)

// examples finds the objects in a text that are arguments: by the name of a tool or a command before them, or by their members.
func examples(t *testing.T, schemas map[string]*jsonschema.Schema, text string) []example {
	t.Helper()
	var found []example
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		var raw json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(filled(text[i:])))
		named := namesTool.FindStringSubmatch(text[max(0, i-60):i])
		if err := decoder.Decode(&raw); err != nil {
			if named != nil && named[1] != "" {
				t.Errorf("no JSON: %.120q", text[i:])
			}
			continue
		}
		tool := ""
		switch {
		case named != nil && named[1] != "":
			tool = named[1]
		case named != nil:
			tool = map[string]string{"update": "planloop_update", "alert": "planloop_alert", "submit": "planning_submit_plan",
				"replan": "planning_replan"}[named[2]]
		default:
			tool = toolFor(raw)
		}
		if schemas[tool] != nil {
			found = append(found, example{tool, string(raw)})
			_, rest, _ := strings.Cut(text[i:], "}")
			i += len(text[i:]) - len(rest) - 1
		}
	}
	return found
}

// filled returns a text with its placeholders replaced with one of the offered words.
func filled(text string) string {
	text = regexp.MustCompile(`"<?(\w+)(?: ?\| ?\w+)+>?"`).ReplaceAllString(text, `"$1"`)
	text = strings.ReplaceAll(text, `"id":"<id>"`, `"id":1`)
	return strings.NewReplacer(`"add_tasks":[...]`, `"add_tasks":[{"title":"something"}]`,
		"[...]", `["something"]`, `"<true|false>"`, "true").Replace(text)
}

// toolFor returns the tool that an object without a name before it must belong to, "" for other objects.
func toolFor(raw json.RawMessage) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for key, tool := range map[string]string{"add_tasks": "planloop_update", "update_tasks": "planloop_update",
		"final_summary": "planloop_update", "verdict": "planloop_update", "end_mode": "planloop_update",
		"initial_steps": "planning_setup_plan"} {
		if object[key] != nil {
			return tool
		}
	}
	switch keys := slices.Sorted(maps.Keys(object)); {
	case object["summary"] != nil && object["steps"] != nil:
		return "planning_submit_plan"
	case slices.Equal(keys, []string{"task"}), slices.Equal(keys, []string{"wait"}), slices.Equal(keys, []string{"full"}):
		return "planloop_status"
	}
	return ""
}

func (e example) check(t *testing.T, source string, schema *jsonschema.Schema) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(e.arguments))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %s %s: the schema refuses it: %v", source, e.tool, e.arguments, err)
	}
	for _, row := range verbs.Table() {
		if row.Name != e.tool {
			continue
		}
		said := regexp.MustCompile(`"<[^"<>]*>"|"\.\.\."|"…"`).ReplaceAll([]byte(e.arguments), []byte(`"S001"`)) // as a reader would
		if err := verbs.Decode(bytes.TrimSpace(said), reflect.New(row.In).Interface()); err != nil {
			t.Errorf("%s: %s %s: %v", source, e.tool, e.arguments, err)
		}
	}
}
