package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/scan"
)

// TestHostileTree: a scan reads what is text, and neither follows links nor reads
// what is skipped.
func TestHostileTree(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, files{"secret.go": "package s // TODO: secret\n", "d/x.py": "# TODO: secret\n"})
	opened, root := workspace(t, files{
		"a.go":          "package a // TODO: seen\n",
		"nul.go":        "package a // TODO: binary\x00\n",
		"utf16.py":      "\xff\xfe#\x00 \x00T\x00O\x00D\x00O\x00",
		"latin.py":      "# TODO: caf\xe9\n",
		"d/b.py":        "# TODO: below\n",
		".git/c.py":     "# TODO: in git\n",
		"build/d.py":    "# TODO: built\n",
		"go/build/e.go": "package build // TODO: source\n",
		"vendor/f.go":   "package f // TODO: vendored\n",
		"back`quote.py": "# TODO: not to be named\n",
	})
	write(t, root, files{"big.py": "# TODO: big\n" + strings.Repeat("x = 1\n", 10<<20/6)})
	for link, target := range map[string]string{
		"loop": ".", "d/up": "..", "self": "self", "out": outside, "secret.go": filepath.Join(outside, "secret.go"), "gone": "nothing",
		"also.go": "a.go",
	} {
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	same(t, "marks are", titles(run(t, opened, scan.Options{}), scan.KindMark), []string{
		`Resolve the TODO "seen" in a.go`, `Resolve the TODO "below" in d/b.py`, `Resolve the TODO "source" in go/build/e.go`,
		`Resolve the TODO "caf" in latin.py`})
}

func TestSummary(t *testing.T) {
	f := files{"README.md": "", "go.mod": "", "z.txt": "", "cmd/x/main.go": "", "cmd/x/other.go": "", "docs/deep/er/note.md": "",
		"node_modules/m/package.json": ""}
	opened, root := workspace(t, f)
	want := `7 files in 7 folders: Go 2, Markdown 2
README.md
go.mod
z.txt
cmd/ (2 files)
  x/ (2 files)
    main.go
    other.go
docs/ (1 file)
  deep/ (1 file)
    er/ (1 file)
      note.md
`
	want = strings.Replace(want, "7 files in 7 folders", "6 files in 6 folders", 1)
	if got := scan.Summary(context.Background(), opened, scan.SummaryOptions{}); got != want {
		t.Errorf("the summary is\n%s", got)
	}
	small := scan.Summary(context.Background(), opened, scan.SummaryOptions{MaxLines: 6})
	if want := "6 files in 6 folders: Go 2, Markdown 2\nREADME.md\ngo.mod\ncmd/ (2 files)\ndocs/ (1 file)\n(7 more entries are not " +
		"listed)\n"; small != want {
		t.Errorf("in six lines it is\n%s", small)
	}
	many := files{}
	for i := range 3_000 {
		many[strings.Repeat("folder/", i%9)+strings.Repeat("n", 1+i%150)+"/"+strings.Repeat("x", 1+i/150)+".go"] = ""
	}
	write(t, root, many)
	for _, o := range []scan.SummaryOptions{{}, {MaxBytes: 500}, {MaxLines: 3}, {MaxFiles: 50}} {
		got := scan.Summary(context.Background(), opened, o)
		lines, size := 120, 6<<10
		if o.MaxLines > 0 {
			lines = o.MaxLines
		}
		if o.MaxBytes > 0 {
			size = o.MaxBytes
		}
		if strings.Count(got, "\n") > lines || len(got) > size || !strings.HasPrefix(strings.TrimPrefix(got, "more than "),
			"3006 files") && o.MaxFiles == 0 {
			t.Errorf("%+v: %d lines, %d bytes:\n%s", o, strings.Count(got, "\n"), len(got), got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := scan.Summary(ctx, opened, scan.SummaryOptions{}); got != "more than 0 files in 1 folder\n" {
		t.Errorf("of nothing it is %q", got)
	}
}
