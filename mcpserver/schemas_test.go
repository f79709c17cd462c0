package mcpserver

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolschema"
	"github.com/planloop/planloop/internal/verbs"
)

var update = flag.Bool("update", false, "rewrite schemas and golden files")

// TestSchemas checks that the embedded schemas match the Go types.
func TestSchemas(t *testing.T) {
	executing := toolschema.InputWith(verbs.Execution)
	for _, row := range verbs.Table() {
		plain := toolschema.Input
		if row.Toolset == verbs.Execution {
			plain = executing
		}
		checkSchema(t, "schemas/"+row.Name+".input.json", row.In, plain)
		checkSchema(t, "schemas/"+row.Name+".output.json", row.Out, toolschema.Output)
		file := "schemas/" + row.Name + ".execution.json"
		if with, without := generated(t, row.In, executing), generated(t, row.In, plain); !bytes.Equal(with, without) {
			checkSchema(t, file, row.In, executing)
		} else if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is like the schema without that toolset; remove it", file)
		}
	}
}

func generated(t *testing.T, of reflect.Type, generate func(reflect.Type) ([]byte, error)) []byte {
	t.Helper()
	schema, err := generate(of)
	testenv.Check(t, err)
	return schema
}

func checkSchema(t *testing.T, file string, of reflect.Type, generate func(reflect.Type) ([]byte, error)) {
	t.Helper()
	want := generated(t, of, generate)
	if *update {
		testenv.Check(t, os.WriteFile(file, want, 0o644))
		return
	}
	got, err := os.ReadFile(file)
	testenv.Check(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale, run go generate ./mcpserver\n got %s\nwant %s", file, got, want)
	}
}
