package tree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/tree"
)

// largeTree writes n files in folders of a hundred, most of them source.
func largeTree(b *testing.B, n int) *tree.Tree {
	b.Helper()
	root := b.TempDir()
	body := strings.Repeat("\tif err := step(1); err != nil {\n\t\treturn err // not now\n\t}\n", 60)
	for i := range n {
		folder := filepath.Join(root, fmt.Sprintf("area%d", i/10_000), fmt.Sprintf("part%d", i/1_000), fmt.Sprintf("p%d", i/100))
		if i%100 == 0 {
			testenv.Check(b, os.MkdirAll(folder, 0o755))
			testenv.Check(b, os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*.log\n/tmp/\n!keep.log\nbuild/**\n"), 0o644))
		}
		testenv.Check(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d", i)+extension(i)), []byte(content(i, body)), 0o644))
	}
	return openTree(b, root)
}

func extension(i int) string {
	return [...]string{".go", ".go", "_test.go", ".py", ".ts", ".test.ts", ".md", ".yaml", ".png", ".go"}[i%10]
}

func content(i int, body string) string {
	switch extension(i) {
	case ".go":
		return fmt.Sprintf("package p\n\n// F%d does.\nfunc F%d() error {\n%s\treturn nil // TODO: thing %d\n}\n", i, i, body, i%500)
	case "_test.go":
		return fmt.Sprintf("package p\n\nfunc TestF(t *testing.T) error {\n%s\treturn F%d()\n}\n", body, i-1)
	case ".py":
		return fmt.Sprintf("def f%d():\n    return '%s'\n", i, strings.Repeat("x", 100))
	case ".ts", ".test.ts":
		return fmt.Sprintf("export function g%d() {\n%s}\n", i, body)
	}
	return "# Text\n\n[a](b.md) and [c](d.md)\n" + body
}

func BenchmarkScan100kFiles(b *testing.B) {
	opened := largeTree(b, 100_000)
	for b.Loop() {
		r, err := tree.Scan(context.Background(), opened, tree.ScanOptions{Duration: time.Minute, MaxFiles: 200_000})
		if err != nil || r.Cut != tree.Whole || len(r.Findings) == 0 {
			b.Fatalf("%d findings, cut by %q: %v", len(r.Findings), r.Cut, err)
		}
	}
}

func BenchmarkSummary100kFiles(b *testing.B) {
	opened := largeTree(b, 100_000)
	for b.Loop() {
		if got := tree.Summary(context.Background(), opened, tree.SummaryOptions{Duration: time.Minute}); len(got) > 6<<10 ||
			len(got) < 1<<10 {
			b.Fatal(got)
		}
	}
}
