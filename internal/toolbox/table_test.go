package toolbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/toolschema"
	"github.com/planloop/planloop/plan"
)

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
	want, err := generate(of)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
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
	first, err := rows["read_file"].Call(t.Context(), box, decodeFrom(`{"path":"data.json"}`), toolbox.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"path": "processed.json", "content": first.(toolbox.Valuer).Value()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows["write_file"].Call(t.Context(), box, decodeFrom(string(content)), toolbox.Watch{}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, box, "processed.json"); got != "{\"a\": 1}\r\n" {
		t.Errorf("got %q", got)
	}
}
