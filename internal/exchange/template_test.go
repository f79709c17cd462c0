package exchange_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// given returns values as JSON.
func given(values map[string]string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range values {
		out[name] = json.RawMessage(value)
	}
	return out
}

// read reads a valid template of the user.
func read(t *testing.T, text string) exchange.Template {
	t.Helper()
	read := exchange.ReadTemplate("x", exchange.UserTemplate, "", []byte(text))
	if read.Err != nil {
		t.Fatal(read.Err)
	}
	return read
}

func made(t *testing.T, of exchange.Template, values map[string]string) exchange.TemplateChange {
	t.Helper()
	return testenv.Must(of.Make(given(values)))(t)
}

// details returns the errors, one per line.
func details(err error) string {
	var refused *plan.ValidationError
	if !errors.As(err, &refused) {
		return fmt.Sprint(err)
	}
	return strings.Join(refused.Details(), "\n")
}

// TestBuiltInTemplates: each is valid and makes a plan.
func TestBuiltInTemplates(t *testing.T) {
	all := testenv.Must(exchange.TemplateLibrary{}.List(t.Context()))(t)
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
		if one.Err != nil {
			t.Error(one.Err)
			continue
		}
		values := map[string]json.RawMessage{}
		for _, p := range one.Parameters {
			if p.Default == nil {
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
		t.Errorf("%v are built in, want %v", names, want)
	}
}

// TestDocumentedTemplate: the template in the documentation is valid.
func TestDocumentedTemplate(t *testing.T) {
	document, err := os.ReadFile("../../docs/reference/formats.md")
	_, text, found := strings.Cut(string(document), "```yaml\n")
	text, _, closed := strings.Cut(text, "```\n")
	if err != nil || !found || !closed {
		t.Fatal("the documentation shows no template", err)
	}
	values := map[string]string{"name": `"export"`, "folder": `"cmd"`}
	if got := made(t, read(t, text), values).Steps; len(got) != 2 || got[0].Title != "Implement the command export" || got[0].Verify != "" {
		t.Errorf("got %+v", got)
	}
}

const rich = `
description: Move a table
parameters:
  - {name: table, description: the table}
  - {name: count, default: 3}
  - {name: out, default: ""}
  - {name: check}
objective: "Move {{ table }}"
metadata: {constraints: ["{{table}} stays readable", "{{out}}"]}
steps:
  - step_id: S002
    title: "Copy {{table}} ({{count}})"
    details: "Braces: {{{{table}}. Out: {{out}}."
    relevant_file_paths: ["db/{{table}}", "{{out}}"]
    verify: "{{check}}"
    tool: copy_table
    args: {table: "{{table}}", n: "{{count}}", list: ["{{out}}", "{{{{"], "{{table}}": 7000000000000000001, literal: "$$x"}
    status: done
    output: all of it
  - step_id: S004
    title: Look at it
    tool: look
    args: {rows: "$S002.rows[0]"}
    when: steps.S002.ok
    for_each: '["a.txt","b.txt"]'
  - step_id: S005
    title: Announce it
    depends_on: [S004, S002]
`

func TestMake(t *testing.T) {
	recipe := read(t, rich)
	got := made(t, recipe, map[string]string{"table": `"$S001 {{count}}"`, "check": `"go test ./... # {{x}}"`})
	want := exchange.TemplateChange{
		Outline: plan.Outline{Objective: "Move $S001 {{count}}", Metadata: plan.Metadata{Constraints: []string{
			"$S001 {{count}} stays readable"}}},
		Steps: []plan.NewStep{
			{Spec: plan.Spec{Title: "Copy $S001 {{count}} (3)", Details: "Braces: {{table}}. Out: .", Verify: "go test ./... # {{x}}",
				RelevantFilePaths: []string{"db/$S001 {{count}}"}, Tool: "copy_table", Args: json.RawMessage(
					`{"table":"$$S001 {{count}}","n":"3","list":["","{{"],"{{table}}":7000000000000000001,"literal":"$$x"}`)}},
			{Spec: plan.Spec{Title: "Look at it", DependsOn: []plan.StepID{1}, Tool: "look",
				Args: json.RawMessage(`{"rows":"$S001.rows[0]"}`), When: "steps.S001.ok",
				ForEach: `["a.txt","b.txt"]`}},
			{Spec: plan.Spec{Title: "Announce it", DependsOn: []plan.StepID{2, 1}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again := made(t, recipe, map[string]string{"table": `"t"`, "check": `"true"`, "out": `"c"`, "count": `7`}).Steps[0]
	if again.Title != "Copy t (7)" || !slices.Equal(again.RelevantFilePaths, []string{"db/t", "c"}) ||
		!strings.Contains(string(again.Args), `"list":["c",`) {
		t.Errorf("got %+v", again)
	}
}

// TestPlanFilesAreTemplates: an export of planloop is a template, also as JSON.
func TestPlanFilesAreTemplates(t *testing.T) {
	for _, text := range []string{
		"revision: 7\nphase: inactive\nplan:\n  id: p-1\n  objective: o\n  steps:\n  - {step_id: S001, title: t, status: done}\n",
		`{"plan": {"objective": "o", "steps": [{"step_id": "S001", "title": "t", "details": "{{{{x"}]}, "parameters": []}`,
	} {
		if got := made(t, read(t, text), nil); got.Outline.Objective != "o" || len(got.Steps) != 1 || got.Steps[0].Status != "" {
			t.Errorf("%s made %+v", text, got)
		}
	}
}

// TestTold checks the reports about invalid values and files: all errors, with lines.
func TestTold(t *testing.T) {
	var b strings.Builder
	recipe := read(t, rich)
	long := `"` + strings.Repeat("x", 1990) + `"`
	for _, c := range []struct{ name, values string }{
		{"nothing", `{}`}, {"blank", `{"table":" ","check":"x"}`}, {"an unknown one", `{"table":"t","check":"x","tabel":1}`},
		{"not texts", `{"table":{},"check":["a"]}`}, {"a path that leads out", `{"table":"t","check":"x","out":"../b"}`},
		{"lines", `{"table":"a\nb","check":"x"}`}, {"hidden text", `{"table":"a\u202eb","check":"x"}`},
		{"a placeholder", `{"table":"<a text: the table>","check":"x"}`}, {"too long", `{"table":` + long + `,"check":"x"}`},
	} {
		var values map[string]json.RawMessage
		testenv.Check(t, json.Unmarshal([]byte(c.values), &values))
		_, err := recipe.Make(values)
		fmt.Fprintf(&b, "## values: %s\n%s\n\n", c.name, details(err))
	}
	for _, c := range wrong() {
		read := exchange.ReadTemplate("x", exchange.UserTemplate, "/home/ann/x.yaml", []byte(c.text))
		fmt.Fprintf(&b, "## file: %s\n%s\n\n", c.name, details(read.Err))
	}
	golden(t, "template.txt", b.String())
}

// wrong returns invalid templates.
func wrong() []struct{ name, text string } {
	const step = "objective: o\nsteps:\n  - title: t\n    "
	const asks = "parameters: [{name: name}, {name: check}]\n" + step
	return []struct{ name, text string }{
		{"an unknown field", "objective: o\nsteps:\n  - title: t\n    verfiy: x\n"},
		{"a wrong type", "objective: o\nsteps:\n  - title: t\n    timeout: soon\n"},
		{"a wrong word", step + "risk: none\n"},
		{"a duplicate key", "objective: o\nobjective: p\n"},
		{"no mapping", "[a]\n"},
		{"no plan", "description: d\n"},
		{"no parameter", asks + "details: '{{nam}} {{ name }'\n"},
		{"a misspelt one", asks + "details: '{{nam}}'\n"},
		{"places", asks + "verify: 'x {{name}}'\n    tool: '{{name}}'\n    for_each: '{{name}}'\n    tools: ['{{name}}']\n" +
			"    suggested_agent: '{{name}}'\n    args: {command: 'rm {{name}}', k: ['{{other}}']}\n"},
		{"parameters as a mapping", "parameters: {f: {}}\n" + step},
		{"an unknown key of a parameter", "parameters: [{name: f, type: list}]\n" + step},
		{"declarations", "parameters: [{name: A}, {name: b}, {name: b}, {name: d, default: [x]}]\n" + step},
		{"a circle", "objective: o\nsteps:\n  - {title: t, depends_on: [S002]}\n  - {title: u, depends_on: [S001]}\n"},
		{"a reference", "objective: o\nsteps:\n  - {title: t, tool: x, args: {a: $S007.x}}\n"},
		{"a path that leads out", step + "relevant_file_paths: [../x]\n"},
		{"hidden text", step + "details: \"a\\u202eb\"\n"},
		{"hidden text in the description", "description: \"a\\u202eb\"\n" + step},
		{"hidden text in a default", "parameters: [{name: a, default: \"a\\u202eb\"}]\n" + step},
		{"too large", step + "details: " + strings.Repeat("x", 256<<10) + "\n"},
		{"no UTF-8", "objective: \xff"},
		{"no YAML", "objective: ["},
		{"a bomb", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 12)},
		{"a tag", step + "details: !!binary x\n"},
	}
}
