package planloop_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestEventReference proves that docs/reference/events.md lists the log's events with their fields and comments. -update writes it.
func TestEventReference(t *testing.T) {
	const file = "docs/reference/events.md"
	comments := typeComments(t, "plan")
	var b strings.Builder
	b.WriteString("# Events\n\nThe events of the log, written from the program. A plan's state is the sum of its events.\n" +
		"Their meaning never changes. `planloop log --json` prints the log.\n\n| event | fields | meaning |\n| --- | --- | --- |\n")
	for _, e := range plan.Events() {
		kind := reflect.TypeOf(e)
		var fields []string
		for i := range kind.NumField() {
			if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				fields = append(fields, "`"+name+"`")
			}
		}
		comment := strings.TrimPrefix(strings.Join(strings.Fields(comments[kind.Name()]), " "), kind.Name()+" ")
		if comment == "" {
			t.Errorf("plan.%s has no comment", kind.Name())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", plan.EventKind(e), strings.Join(fields, ", "), strings.ReplaceAll(comment, "|", `\|`))
	}
	if *update {
		testenv.Check(t, os.WriteFile(file, []byte(b.String()), 0o644))
	} else if readDoc(t, file) != b.String() {
		t.Errorf("%s is stale, run go test . -run TestEventReference -update", file)
	}
}

// typeComments returns the comments of a package's types.
func typeComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	testenv.Check(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		testenv.Check(t, err)
		for _, declared := range file.Decls {
			if of, ok := declared.(*ast.GenDecl); ok && of.Tok == token.TYPE {
				for _, spec := range of.Specs {
					comments[spec.(*ast.TypeSpec).Name.Name] = of.Doc.Text()
				}
			}
		}
	}
	return comments
}
