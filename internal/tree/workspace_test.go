package tree_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/tree"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

// scanned opens a new folder that holds files.
func scanned(t testing.TB, f files) (*tree.Tree, string) {
	t.Helper()
	root := t.TempDir()
	write(t, root, f)
	return openTree(t, root), root
}

func openTree(t testing.TB, root string) *tree.Tree {
	t.Helper()
	opened := testenv.Must(tree.Open(root))(t)
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// run scans a tree without reaching a limit.
func run(t testing.TB, opened *tree.Tree, o tree.ScanOptions) tree.ScanResult {
	t.Helper()
	r := testenv.Must(tree.Scan(context.Background(), opened, o))(t)
	if r.Cut != tree.Whole {
		t.Fatalf("the scan was cut short by %q", r.Cut)
	}
	return r
}

// titles returns the titles of the findings in order.
func titles(r tree.ScanResult) []string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Title)
	}
	return list
}

func sameStrings(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}
