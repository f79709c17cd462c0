package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/scan"
	"github.com/planloop/planloop/internal/tree"
)

// files are the contents of a workspace by path.
type files map[string]string

// write puts files into a folder.
func write(t testing.TB, root string, f files) {
	t.Helper()
	for name, content := range f {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// workspace opens a new folder that holds files.
func workspace(t testing.TB, f files) (*tree.Tree, string) {
	t.Helper()
	root := t.TempDir()
	write(t, root, f)
	return open(t, root), root
}

func open(t testing.TB, root string) *tree.Tree {
	t.Helper()
	opened, err := tree.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// run scans a tree without reaching a limit.
func run(t testing.TB, opened *tree.Tree, o scan.Options) scan.Result {
	t.Helper()
	r, err := scan.Scan(context.Background(), opened, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Cut != tree.Whole {
		t.Fatalf("the scan was cut short by %q", r.Cut)
	}
	return r
}

// titles returns the titles of the findings in order.
func titles(r scan.Result) []string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Title)
	}
	return list
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}
