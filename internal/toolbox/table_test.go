package toolbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/toolschema"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestFace writes down what hosts are told of the tools: each change of it shows.
func TestFace(t *testing.T) {
	var face bytes.Buffer
	for _, row := range toolbox.Table() {
		in, err := toolschema.Input(row.In)
		if err != nil {
			t.Fatal(err)
		}
		out, err := toolschema.Output(row.Out)
		if err != nil {
			t.Fatal(err)
		}
		encoder := json.NewEncoder(&face)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(struct {
			toolbox.Spec
			Input, Output json.RawMessage
		}{row.Spec, in, out}); err != nil {
			t.Fatal(err)
		}
	}
	golden := filepath.Join("testdata", "face.json")
	if *update {
		if err := os.WriteFile(golden, face.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(face.Bytes(), bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%v; the face is now\n%s", err, face.Bytes())
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
		reply, err := row.Call(t.Context(), box, decodeFrom(row.Example))
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
	if reply, err := view.Call(t.Context(), box, func(any) error { return wrong }); reply != nil || !errors.Is(err, wrong) {
		t.Errorf("%v, %v", reply, err)
	}
	reply, err := view.Call(t.Context(), box, decodeFrom(`{"path":"missing"}`))
	if reply != nil {
		t.Errorf("%v", reply)
	}
	refused(t, err, plan.NotFound, "/path", "does not exist")
}

// TestStepsOfPlansAsPrinted runs the example in which a step's content is what
// another one read (execution: Execution Context).
func TestStepsOfPlansAsPrinted(t *testing.T) {
	rows := map[string]toolbox.Row{}
	for _, row := range toolbox.Table() {
		rows[row.Name] = row
	}
	box := open(t, map[string]string{"data.json": "{\"a\": 1}\r\n", "processed.json": "old"}, toolbox.Options{})
	first, err := rows["read_file"].Call(t.Context(), box, decodeFrom(`{"path":"data.json"}`))
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"path": "processed.json", "content": first.(toolbox.Valuer).Value()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows["write_file"].Call(t.Context(), box, decodeFrom(string(content))); err != nil {
		t.Fatal(err)
	}
	if got := read(t, box, "processed.json"); got != "{\"a\": 1}\r\n" {
		t.Errorf("got %q", got)
	}
}
