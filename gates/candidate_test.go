package gates_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// whole returns a task without flaws if main.go exists.
func whole(id plan.StepID, title string, change ...func(*gates.Task)) gates.Task {
	t := gates.Task{ID: id, Spec: plan.Spec{
		Title: title, Type: plan.Feature, ContextHints: []string{"Read `main.go`."},
		RelevantFilePaths: []string{"main.go"}, AcceptanceCriteria: []string{"The command prints it."},
	}}
	for _, c := range change {
		c(&t)
	}
	return t
}

func paths(list ...string) func(*gates.Task) {
	return func(t *gates.Task) { t.RelevantFilePaths = list }
}
func creates(list ...string) func(*gates.Task) { return func(t *gates.Task) { t.Creates = list } }
func hints(list ...string) func(*gates.Task)   { return func(t *gates.Task) { t.ContextHints = list } }
func after(list ...plan.StepID) func(*gates.Task) {
	return func(t *gates.Task) { t.DependsOn = list }
}

// workspace makes a directory with files and returns it with its os.Root. A name that ends with a slash is a directory.
func workspace(t testing.TB, names ...string) (string, *os.Root) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workspace")
	for _, name := range append(names, "main.go") {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte("x"), 0o644))
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, opts gates.Options, c gates.Candidate) gates.Report {
	t.Helper()
	report, err := gates.Check(context.Background(), c, opts)
	must(t, err)
	return report
}

func tasks(list ...gates.Task) gates.Candidate {
	return gates.Candidate{Objective: "Ship it", New: list}
}

func profile(p gates.Profile) func(string) gates.Level {
	return func(gate string) gates.Level { return gates.ByProfile(p, gate) }
}

// messages formats findings as "gate: message".
func messages(list []gates.Finding) []string {
	var written []string
	for _, f := range list {
		written = append(written, f.Gate+": "+f.Message)
	}
	return written
}
