package template_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/template"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// given are values as JSON.
func given(values map[string]string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range values {
		out[name] = json.RawMessage(value)
	}
	return out
}

// read reads a template of the user's that can be used.
func read(t *testing.T, text string) template.Template {
	t.Helper()
	read := template.Read("x", template.User, "", []byte(text))
	if read.Err != nil {
		t.Fatal(read.Err)
	}
	return read
}

func made(t *testing.T, of template.Template, values map[string]string) template.Made {
	t.Helper()
	made, err := of.Make(given(values))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// details are what an error says, one line for each thing that is wrong.
func details(err error) string {
	var refused *plan.ValidationError
	if !errors.As(err, &refused) {
		return fmt.Sprint(err)
	}
	return strings.Join(refused.Details(), "\n")
}

// TestShippedTemplates: each can be used, asks for what it needs, and makes a plan.
func TestShippedTemplates(t *testing.T) {
	all, err := template.Library{}.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
		if one.Err != nil {
			t.Error(one.Err)
			continue
		}
		values := map[string]json.RawMessage{}
		for _, p := range one.Parameters {
			if p.Needed() {
				values[p.Name] = json.RawMessage(`"ab"`)
			}
		}
		made, err := one.Make(values)
		if err != nil || len(made.Steps) < 3 {
			t.Errorf("%s: %d steps, %v", one.FullName(), len(made.Steps), err)
		}
		for i, s := range made.Steps {
			if s.Details == "" || len(s.ContextHints) == 0 || len(s.AcceptanceCriteria) == 0 || len(s.RelevantFilePaths) == 0 {
				t.Errorf("%s: step %d lacks details, hints, criteria or paths", one.FullName(), i+1)
			}
		}
	}
	if want := []string{"bug-fix", "dependency-upgrade", "feature", "refactoring", "release"}; !slices.Equal(names, want) {
		t.Errorf("%v are shipped, want %v", names, want)
	}
}

// TestDocumentedTemplate: the one that the documentation shows is one.
func TestDocumentedTemplate(t *testing.T) {
	document, err := os.ReadFile("../../docs/templates.md")
	_, text, found := strings.Cut(string(document), "```yaml\n")
	text, _, closed := strings.Cut(text, "```\n")
	if err != nil || !found || !closed {
		t.Fatal("the documentation shows no template", err)
	}
	values := map[string]string{"name": `"export"`, "package": `"cmd"`}
	if got := made(t, read(t, text), values).Steps; len(got) != 2 || got[0].Title != "Implement the command export" || got[0].Verify != "" {
		t.Errorf("got %+v", got)
	}
}

const rich = `
description: Move a table
parameters:
  table: {description: the table}
  count: {type: integer, default: 3}
  ratio: {type: number, required: false}
  dry: {type: boolean, default: true}
  paths: {type: list}
  out: {type: path, required: false}
  mood: {type: choice, choices: [calm, bold], default: calm}
  check: {type: command, required: false}
objective: "Move {{ table }}"
constraints: ["{{table}} stays readable", "{{out}}"]
tasks:
  - ref: copy
    title: "Copy {{table}} ({{mood}}, {{count}})"
    details: "Braces: {{{{table}}. Paths: {{paths}}. Ratio {{ratio}}."
    relevant_file_paths: ["{{paths}}", "db/{{out}}", "{{out}}"]
    verify: "{{check}}"
    tool: copy_table
    args: {table: "{{table}}", n: "{{count}}", dry: "{{dry}}", paths: "{{paths}}", ratio: "{{ratio}}", list: ["{{ratio}}", "{{{{"],
      literal: "$$x"}
  - ref: look
    title: Look at it
    dependencies: [1]
    tool: look
    args: {rows: "$copy.rows[0]"}
    when: steps.copy.ok
    for_each: [a.txt, b.txt]
  - title: Tell of it
    depends_on: [look, S001]
`

func TestMake(t *testing.T) {
	recipe := read(t, rich)
	got := made(t, recipe, map[string]string{"table": `"$S001 {{count}}"`, "paths": `["a b.go","$S002"]`, "dry": `"no"`})
	want := template.Made{
		Outline: plan.Outline{Objective: "Move $S001 {{count}}", Metadata: plan.Metadata{Constraints: []string{
			"$S001 {{count}} stays readable"}}},
		Steps: []plan.NewStep{
			{Spec: plan.Spec{Title: "Copy $S001 {{count}} (calm, 3)", Details: "Braces: {{table}}. Paths: a b.go, $S002. Ratio .",
				RelevantFilePaths: []string{"a b.go", "$S002", "db/"}, Tool: "copy_table", Args: json.RawMessage(
					`{"table":"$$S001 {{count}}","n":3,"dry":false,"paths":["a b.go","$$S002"],"list":["{{"],"literal":"$$x"}`)}},
			{Spec: plan.Spec{Title: "Look at it", DependsOn: []plan.StepID{1}, Tool: "look",
				Args: json.RawMessage(`{"rows":"$S001.rows[0]"}`), When: "steps.S001.ok",
				ForEach: `["a.txt","b.txt"]`}},
			{Spec: plan.Spec{Title: "Tell of it", DependsOn: []plan.StepID{2, 1}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again := made(t, recipe, map[string]string{"table": `"t"`, "paths": `"a, b"`, "check": `"go test ./... # {{x}}"`, "out": `"c"`,
		"ratio": `"-0.5"`, "mood": `"bold"`, "count": `7`})
	if step := again.Steps[0]; step.Verify != "go test ./... # {{x}}" || step.Title != "Copy t (bold, 7)" ||
		!slices.Equal(step.RelevantFilePaths, []string{"a", "b", "db/c", "c"}) || !strings.Contains(string(step.Args), `"ratio":-0.5,`) {
		t.Errorf("got %+v", step)
	}
	if names := fmt.Sprint(recipe.Parameters[0].Name, recipe.Parameters[4].Name); names != "tablepaths" {
		t.Errorf("the parameters are not in the order in which they are written: %s", names)
	}
}

// TestTold holds what is told of values and of files that are wrong: all of it, with the lines.
func TestTold(t *testing.T) {
	var b strings.Builder
	recipe := read(t, rich)
	long := `"` + strings.Repeat("x", 1990) + `"`
	for _, c := range []struct{ name, values string }{
		{"nothing", `{}`}, {"blank", `{"table":" ","paths":[]}`}, {"an unknown one", `{"table":"t","paths":"a","tabel":1}`},
		{"wrong types", `{"table":{},"paths":[["a"]],"count":1.5,"ratio":"NaN","dry":"maybe","mood":"sad"}`},
		{"paths that lead out", `{"table":"t","paths":["a","../b"],"out":"/etc"}`},
		{"lines", `{"table":"a\nb","paths":"a"}`}, {"hidden text", `{"table":"a\u202eb","paths":"a"}`},
		{"a placeholder", `{"table":"<a string: the table>","paths":"a"}`}, {"a list for a text", `{"table":["a","b"],"paths":"a"}`},
		{"too long", `{"table":` + long + `,"paths":"a"}`}, {"a huge number", `{"table":"t","paths":"a","count":99999999999999999}`},
		{"too many", `{"table":"t","paths":[` + strings.Repeat(`"a",`, 100) + `"b"]}`},
	} {
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.values), &values); err != nil {
			t.Fatal(err)
		}
		_, err := recipe.Make(values)
		fmt.Fprintf(&b, "## values: %s\n%s\n\n", c.name, details(err))
	}
	for _, c := range wrong() {
		read := template.Read("x", template.User, "/home/ann/x.yaml", []byte(c.text))
		fmt.Fprintf(&b, "## file: %s\n%s\n\n", c.name, details(read.Err))
	}
	const golden = "testdata/told.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if diff := cmp.Diff(string(want), b.String()); diff != "" || err != nil {
		t.Errorf("%v; run with -update and read the difference:\n%s", err, diff)
	}
}

// wrong are templates that cannot be used.
func wrong() []struct{ name, text string } {
	const step = "objective: o\nsteps:\n  - title: t\n    "
	const asks = "parameters:\n  name: {}\n  check: {type: command}\n" + step
	return []struct{ name, text string }{
		{"unknown fields", "objektive: o\nsteps:\n  - title: t\n    hints: [a]\n    verfiy: x\n"},
		{"wrong types", "objective: 3\nsteps:\n  - title: t\n    timeout: soon\n  - x\n"},
		{"wrong words", step + "type: fancy\n    risk: none\n"},
		{"a duplicate key", "objective: o\nobjective: p\n"},
		{"no steps", "objective: o\nsteps: []\n"},
		{"another name", "name: y\n" + step},
		{"no parameter", asks + "details: '{{nam}} {{ name }'\n"},
		{"a misspelt one", asks + "details: '{{nam}}'\n"},
		{"places", asks + "verify: '{{name}}'\n    tool: '{{name}}'\n    when: '{{name}} == 1'\n    for_each: '{{name}}'\n" +
			"    tools: ['{{name}}']\n    creates: ['x/{{name}}']\n    suggested_agent: '{{name}}'\n" +
			"    args: {command: 'rm {{name}}', k: ['{{other}}']}\n"},
		{"a part of a command", asks + "verify: 'x && {{check}}'\n"},
		{"a type", "parameters: {f: {type: text}}\n" + step},
		{"declarations", "parameters:\n  A: {}\n  b: {type: choice}\n  c: {default: 1, required: true}\n" +
			"  d: {type: integer, default: x}\n  e: {choices: [a]}\n" + step},
		{"a default that leads out", "parameters:\n  p: {type: list, default: [../x]}\n" + step + "creates: ['{{p}}']\n"},
		{"refs", "objective: o\nsteps:\n  - {ref: a, title: t, depends_on: [b, S009]}\n  - {ref: a, title: u}\n  - {ref: s1, title: v}\n"},
		{"a circle", "objective: o\nsteps:\n  - {ref: a, title: t, depends_on: [b]}\n  - {ref: b, title: u, depends_on: [a]}\n"},
		{"a circle of values", "objective: o\nsteps:\n  - {ref: a, title: t, tool: x, args: {k: $a.x}}\n"},
		{"a reference", "objective: o\nsteps:\n  - {title: t, tool: x, args: {a: $S007.x}}\n"},
		{"a path that leads out", step + "relevant_file_paths: [../x]\n"},
		{"hidden text", step + "details: \"a\\u202eb\"\n"},
		{"too large", step + "details: " + strings.Repeat("x", 256<<10) + "\n"},
		{"no UTF-8", "objective: \xff"},
		{"no YAML", "objective: ["},
		{"a bomb", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 12)},
		{"a tag", step + "details: !!binary x\n"},
	}
}

// TestCommandsOfTheWorkspace: its templates name no command in the caller's place.
func TestCommandsOfTheWorkspace(t *testing.T) {
	text := []byte("parameters:\n  check: {type: command, default: rm -rf .}\nobjective: o\nsteps:\n  - {title: t, verify: '{{check}}'}\n")
	if own := template.Read("x", template.User, "", text); own.Err != nil || made(t, own, nil).Steps[0].Verify != "rm -rf ." {
		t.Error("a template of the user's has no default for a command")
	}
	foreign := template.Read("x", template.Workspace, ".planloop/templates/x.yaml", text)
	if !strings.Contains(details(foreign.Err), "/parameters/check/default: line 2: is given for a command in a template of the workspace") {
		t.Errorf("got %s", details(foreign.Err))
	}
}
