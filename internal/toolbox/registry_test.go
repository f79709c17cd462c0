package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/toolschema"
	"github.com/planloop/planloop/plan"
)

func tool(t interface {
	Helper()
	Fatalf(string, ...any)
}, box *toolbox.Box, name string) toolbox.Tool {
	t.Helper()
	found, ok := box.Tools().Lookup(name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	return found
}

func reference(text string) bool { return strings.HasPrefix(text, "$S0") || text == "$item" }

// faults formats faults as "field: problem".
func faults(all []*plan.ValidationError) []string {
	var list []string
	for _, one := range all {
		list = append(list, one.Field+": "+one.Problem)
	}
	return list
}

// TestStepsMayUseEveryTool: the registry has each row of the table, listed or not.
func TestStepsMayUseEveryTool(t *testing.T) {
	registry := open(t, nil, toolbox.Options{}).Tools()
	want := []string{"view", "glob", "grep", "bash_execute", "create_file", "str_replace", "read_file", "write_file"}
	if got := registry.Names(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for _, name := range registry.Names() {
		tool, _ := registry.Lookup(name)
		if tool.Check(json.RawMessage(tool.Example)) != nil || !json.Valid(tool.Schema) || !json.Valid(tool.Output) {
			t.Errorf("%s: %v", name, faults(tool.Check(json.RawMessage(tool.Example))))
		}
		if tool.Definition() != "" {
			t.Errorf("%s has a definition, and it is ours", name)
		}
	}
	if _, ok := registry.Lookup("toString"); ok {
		t.Error("it has a tool that nobody put there")
	}
}

// TestForeignToolsHaveADefinition: it covers the name, the server's description and a usable schema, next to the
// workspace's tools.
func TestForeignToolsHaveADefinition(t *testing.T) {
	tool := toolbox.Tool{Spec: toolbox.Spec{Name: "a__b"}, Given: "1", Schema: json.RawMessage(`{"type":"object","required":["x"]}`)}
	foreign := toolbox.Foreign(tool)
	testenv.Check(t, foreign.Usable())
	registry := testenv.Must(open(t, nil, toolbox.Options{}).Tools().With(foreign))(t)
	if found, ok := registry.Lookup("a__b"); !ok || len(found.Check(json.RawMessage(`{}`))) != 1 || found.Definition() == "" {
		t.Errorf("%v, %q", ok, found.Definition())
	}
	for what, change := range map[string]func(*toolbox.Tool){
		"name": func(t *toolbox.Tool) { t.Name += "c" }, "what is said of it": func(t *toolbox.Tool) { t.Given += "2" }} {
		other := foreign
		if change(&other); other.Definition() == foreign.Definition() {
			t.Errorf("another %s does not change the definition", what)
		}
	}
	tool.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"^(?!x)"},"b":{"pattern":"^x"}}}`)
	if foreign = toolbox.Foreign(tool); foreign.Usable() != nil || len(foreign.Check(json.RawMessage(`{"a":"x","b":"y"}`))) != 1 {
		t.Errorf("a pattern that is not Go's: %v, %v", foreign.Usable(), foreign.Check(json.RawMessage(`{"a":"x","b":"y"}`)))
	}
	for _, schema := range []string{"", "{", `{"$ref":"http://localhost/x"}`, `{"type":7}`, `{"$ref":"file:///etc/passwd"}`} {
		unusable := toolbox.Foreign(toolbox.Tool{Schema: json.RawMessage(schema)})
		if unusable.Usable() == nil || unusable.Check(json.RawMessage(`{}`)) == nil {
			t.Errorf("%s is taken", schema)
		}
		foreign.Output = json.RawMessage(schema)
		if foreign.Usable() == nil && schema != "" {
			t.Errorf("%s is taken as what it gives", schema)
		}
	}
}

func TestCheckTellsOfAllThatIsWrong(t *testing.T) {
	box := open(t, nil, toolbox.Options{})
	for _, test := range []struct {
		tool, args string
		want       []string
	}{
		{"view", `{"path":"a"}`, nil},
		{"view", ` `, []string{"/path: missing"}},
		{"view", `null`, []string{"/path: missing"}},
		{"view", `[1]`, []string{": found an array"}},
		{"view", `{"path"`, []string{": invalid JSON"}},
		{"view", `{"path":"a","path":"b"}`, []string{": duplicate"}},
		{"view", `{"path":"a","from":-1,"to":"x","lines":3}`, []string{"/to: found the string", "/lines: unknown field", "/from: minimum"}},
		{"view", `{"path":"$S001.files[0]","from":"$S002"}`, nil},
		{"view", `{"path":["$S001","b"]}`, []string{"/path: found an array"}},
		{"view", `{"path":"a","from":"$HOME"}`, []string{"/from: found the string"}},
		{"view", `{"path":"a","lines":"$S001"}`, []string{"/lines: unknown field"}},
		{"bash_execute", `{"command":"cat \"$FILE\"","env":{"FILE":"$item","N":[1,{"a":null}],"X":null},"timeout":"$S001"}`, nil},
		{"bash_execute", `{"command":"ls","env":"$item"}`, nil},
		{"bash_execute", `{"command":"ls","env":["A=b"],"timeout":601}`, []string{"/env: found an array", "/timeout: maximum"}},
		{"write_file", `{"path":"a","content":"$S001"}`, nil},
		{"write_file", `{"path":"a","content":"..."}`, nil},
		{"write_file", `{"file":"a"}`, []string{"unknown field", "/path: missing", "/content: missing"}},
		{"view", `{"path":"/etc/passwd","from":9,"to":3}`, []string{"/to: is before from"}},
		{"view", `{"path":"../x","to":"$S001"}`, []string{"/path: "}},
		{"glob", `{"pattern":"../*"}`, []string{"/pattern: leads upwards"}},
		{"glob", `{"pattern":"$item","path":"$S001"}`, nil},
		{"grep", `{"pattern":"$S001.a[0](","glob":"$item{"}`, nil},
		{"grep", `{"pattern":"(","glob":"{","more":1}`, []string{"/pattern: is not an RE2", "/more: unknown"}},
		{"create_file", `{"path":"a/","content":"x"}`, []string{"/path: names a directory"}},
		{"str_replace", `{"path":"a","old":"$S001","new":"$S001"}`, nil},
		{"read_file", `{"path":"~/x"}`, []string{"/path: begins with ~"}},
		{"bash_execute", `{"command":" ","env":{"PATH":"$item","B":"\u0000"},"timeout":0}`, []string{"/command: is empty"}},
		{"bash_execute", `{"command":"$S001","env":{"PATH":"$item","IFS":1}}`, []string{"/env/PATH: ", "/env/IFS: "}},
		{"grep", `{"pattern":"x","max":1001,"ignored":"$S001"}`, []string{"/max: maximum"}},
	} {
		got := faults(tool(t, box, test.tool).CheckWith(json.RawMessage(test.args), reference))
		missing := slices.ContainsFunc(test.want, func(want string) bool {
			return !slices.ContainsFunc(got, func(fault string) bool { return strings.Contains(fault, want) })
		})
		if missing || len(got) != len(test.want) {
			t.Errorf("%s %s\n got %q\nwant %q", test.tool, test.args, got, test.want)
		}
	}
	if got := tool(t, box, "view").Check(json.RawMessage(`{"path":"a","from":"$S001"}`)); len(got) != 1 {
		t.Errorf("a reference is nothing to a call: %q", faults(got))
	}
}

// TestToolsOfOthersAreJudgedByTheirSchema: only the schema of another server's tool is known, and a reference fits
// anywhere.
func TestToolsOfOthersAreJudgedByTheirSchema(t *testing.T) {
	box := open(t, nil, toolbox.Options{})
	other := toolbox.Tool{Spec: toolbox.Spec{Name: "mail__send"}, Schema: json.RawMessage(`{"type":"object","required":["to"],
		"properties":{"to":{"anyOf":[{"type":"array","items":{"type":"string","pattern":"@"}},{"type":"integer"}]},
		"body":{"type":"object","properties":{"kind":{"enum":["a","b"]}},"additionalProperties":false}}}`)}
	registry := testenv.Must(box.Tools().With(other))(t)
	other, ok := registry.Lookup("mail__send")
	if !ok || !slices.Equal(registry.Names(), append(box.Tools().Names(), "mail__send")) {
		t.Errorf("got %v", registry.Names())
	}
	for args, want := range map[string]int{
		`{"to":["a@b"],"body":{"kind":"a"}}`:                0,
		`{"to":"$S001","body":{"kind":"$S002"}}`:            0,
		`{"to":["a@b","$item"],"body":"$S002"}`:             0,
		`{"to":["$item","nobody"]}`:                         1,
		`{"to":"nobody"}`:                                   1,
		`{"body":{"kind":"c","x/y":1,"$S001":2},"other":1}`: 4,
		``:                1,
		`{"to":1,"to":2}`: 1,
		`{"to":`:          1,
		`"$S001"`:         0,
		`{"to":7,"body":{"kind":"$S001","kind2":"$S001"}}`:      1,
		`{"to":[["$S001"]],"body":{"kind":["$S001","\u0000"]}}`: 2,
	} {
		if got := faults(other.CheckWith(json.RawMessage(args), reference)); len(got) != want {
			t.Errorf("%s: %q, want %d", args, got, want)
		}
	}
	if got := other.CheckWith(json.RawMessage(`{"to":1,"body":{"x/~y":1}}`), reference); len(got) != 1 || got[0].Field != "/body/x~1~0y" {
		t.Errorf("%q", faults(got))
	}
	const want = "fits none of its alternatives: got string, want array; or got string, want integer"
	if got := other.Check(json.RawMessage(`{"to":"nobody"}`)); len(got) != 1 || got[0].Problem != want {
		t.Errorf("%q", faults(got))
	}
	for _, taken := range []string{"view", ""} {
		if _, err := registry.With(toolbox.Tool{Spec: toolbox.Spec{Name: taken}}); err == nil {
			t.Errorf("a second %q was taken", taken)
		}
	}
}

// TestSchemasThatCannotBeUsed: an invalid schema, or one that reads a file, refuses every call.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	for _, schema := range []string{``, `{`, `{"type":"thing"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"https://example.org/x.json"}`,
		`{"pattern":"("}`} {
		bad := toolbox.Tool{Spec: toolbox.Spec{Name: "x"}, Schema: json.RawMessage(schema),
			Run: func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
				t.Error("it was called")
				return toolbox.Outcome{}, nil
			}}
		if got := bad.Check(json.RawMessage(`{}`)); len(got) != 1 || !strings.Contains(got[0].Problem, "schema that cannot be used") {
			t.Errorf("%s: %q", schema, faults(got))
		}
		if out, err := bad.Call(t.Context(), json.RawMessage(`{}`), toolbox.Watch{}); err != nil || out.OK || out.Error == "" {
			t.Errorf("%s: %+v, %v", schema, out, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	box := open(f, nil, toolbox.Options{})
	for _, name := range box.Tools().Names() {
		f.Add(name, tool(f, box, name).Example)
	}
	f.Add("bash_execute", `{"command":"$S001","env":{"A":{"b":["$item"]}},"timeout":"$S002"}`)
	f.Add("view", `{"path":"..","from":-1e400}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		tool, ok := box.Tools().Lookup(name)
		if !ok {
			return
		}
		plain := tool.Check(json.RawMessage(args))
		loose := tool.CheckWith(json.RawMessage(args), reference)
		if len(loose) > len(plain) {
			t.Errorf("%s: references make it worse: %q, %q", args, faults(loose), faults(plain))
		}
		if all := tool.CheckWith(json.RawMessage(args), func(string) bool { return false }); len(all) != len(plain) {
			t.Errorf("%s: %q, %q", args, faults(all), faults(plain))
		}
		for _, one := range plain {
			if one.Problem == "" || one.Kind != plan.InvalidInput || one.Field != "" && one.Field[0] != '/' {
				t.Errorf("%s: %+v", args, one)
			}
		}
	})
}

// TestToolsOfOtherServersAreAsTheyAreNow: each lookup finds the current tools, and none replaces a tool of the
// workspace.
func TestToolsOfOtherServersAreAsTheyAreNow(t *testing.T) {
	var others []toolbox.Tool
	registry := open(t, nil, toolbox.Options{Others: func() []toolbox.Tool { return others }}).Tools()
	own := registry.Names()
	if _, ok := registry.Lookup("zoo__look"); ok {
		t.Error("found before it was there")
	}
	others = []toolbox.Tool{{Spec: toolbox.Spec{Name: "zoo__look", Title: "One"}}, {Spec: toolbox.Spec{Name: "view", Title: "Not ours"}}}
	if found, ok := registry.Lookup("zoo__look"); !ok || found.Title != "One" {
		t.Errorf("%v %+v", ok, found.Spec)
	}
	if found, _ := registry.Lookup("view"); found.Title == "Not ours" {
		t.Error("a tool of the workspace was replaced")
	}
	if got := registry.Names(); !slices.Contains(got, "zoo__look") || !slices.Equal(got[:len(own)], own) {
		t.Errorf("got %v", got)
	}
}

var update = flag.Bool("update", false, "rewrite the schemas")

// TestSchemas proves that the embedded schemas match the Go types.
func TestSchemas(t *testing.T) {
	for _, row := range toolbox.Table() {
		input, output, err := row.Schemas()
		if err != nil && !*update {
			t.Fatal(err)
		}
		current(t, "schemas/"+row.Name+".input.json", input, row.In, toolschema.Input)
		current(t, "schemas/"+row.Name+".output.json", output, row.Out, toolschema.Output)
	}
}

func current(t *testing.T, file string, got []byte, of reflect.Type, generate func(reflect.Type) ([]byte, error)) {
	t.Helper()
	want := testenv.Must(generate(of))(t)
	if *update {
		testenv.Check(t, os.WriteFile(file, want, 0o644))
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s is stale, run go generate ./internal/toolbox\n got %s\nwant %s", file, got, want)
	}
}

func decodeFrom(text string) func(any) error {
	return func(into any) error {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		return decoder.Decode(into)
	}
}

// TestExamples calls each tool with its example.
func TestExamples(t *testing.T) {
	names := map[string]bool{}
	for _, row := range toolbox.Table() {
		if names[row.Name] || row.Title == "" || row.Description == "" || row.ReadOnly && row.Destructive {
			t.Errorf("%+v", row.Spec)
		}
		names[row.Name] = true
		box := open(t, map[string]string{"main.go": "package main\n\nfunc main() {\n\tfmt.Print(1)\n}\n", "x_test.go": "",
			"config.json": "{}"},
			toolbox.Options{Runner: &runner{}})
		reply, err := row.Call(t.Context(), box, decodeFrom(row.Example), toolbox.Watch{})
		if err != nil || reply.Text() == "" {
			t.Errorf("%s: %v, %v", row.Name, reply, err)
		}
		data, err := json.Marshal(reply)
		if err != nil || data[0] != '{' {
			t.Errorf("%s: %s, %v", row.Name, data, err)
		}
	}
}

func TestCallHandsOnErrors(t *testing.T) {
	box := open(t, nil, toolbox.Options{})
	view := toolbox.Table()[0]
	wrong := errors.New("wrong")
	reply, err := view.Call(t.Context(), box, func(any) error { return wrong }, toolbox.Watch{})
	if reply != nil || !errors.Is(err, wrong) {
		t.Errorf("%v, %v", reply, err)
	}
	reply, err = view.Call(t.Context(), box, decodeFrom(`{"path":"missing"}`), toolbox.Watch{})
	if reply != nil {
		t.Errorf("%v", reply)
	}
	refused(t, err, plan.NotFound, "/path", "does not exist")
}

// TestStepsOfPlansAsPrinted runs the example in which a step's content is another step's output (execution: Execution
// Context).
func TestStepsOfPlansAsPrinted(t *testing.T) {
	rows := map[string]toolbox.Row{}
	for _, row := range toolbox.Table() {
		rows[row.Name] = row
	}
	box := open(t, map[string]string{"data.json": "{\"a\": 1}\r\n", "processed.json": "old"}, toolbox.Options{})
	first := testenv.Must(rows["read_file"].Call(t.Context(), box, decodeFrom(`{"path":"data.json"}`), toolbox.Watch{}))(t)
	content := testenv.Must(json.Marshal(map[string]any{"path": "processed.json", "content": first.(toolbox.Valuer).Value()}))(t)
	testenv.Must(rows["write_file"].Call(t.Context(), box, decodeFrom(string(content)), toolbox.Watch{}))(t)
	if got := read(t, box, "processed.json"); got != "{\"a\": 1}\r\n" {
		t.Errorf("got %q", got)
	}
}
