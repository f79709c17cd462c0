package mcpserver

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/planloop/planloop/internal/toolschema"
	"github.com/planloop/planloop/internal/verbs"
)

var update = flag.Bool("update", false, "rewrite schemas and golden files")

// TestSchemas checks that the embedded schemas match the Go types.
func TestSchemas(t *testing.T) {
	for _, row := range verbs.Table() {
		checkSchema(t, "schemas/"+row.Name+".input.json", row.In, toolschema.Input)
		checkSchema(t, "schemas/"+row.Name+".output.json", row.Out, toolschema.Output)
	}
}

func checkSchema(t *testing.T, file string, of reflect.Type, generate func(reflect.Type) ([]byte, error)) {
	t.Helper()
	want, err := generate(of)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale, run go generate ./mcpserver\n got %s\nwant %s", file, got, want)
	}
}
