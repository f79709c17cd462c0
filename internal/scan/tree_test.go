package scan_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/planloop/planloop/internal/scan"
)

func TestHostileTree(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, files{"secret.go": "package s // TODO: secret\n", "d/x.py": "# TODO: secret\n"})
	tree, root := workspace(t, files{
		"a.go":          "package a // TODO: seen\n",
		"nul.go":        "package a // TODO: binary\x00\n",
		"utf16.py":      "\xff\xfe#\x00 \x00T\x00O\x00D\x00O\x00",
		"latin.py":      "# TODO: caf\xe9\n",
		"d/b.py":        "# TODO: below\n",
		".git/c.py":     "# TODO: in git\n",
		"build/d.py":    "# TODO: built\n",
		"go/build/e.go": "package build // TODO: source\n",
		"vendor/f.go":   "package f // TODO: vendored\n",
	})
	write(t, root, files{"big.py": "# TODO: big\n" + strings.Repeat("x = 1\n", 10<<20/6)})
	for link, target := range map[string]string{
		"loop": ".", "d/up": "..", "self": "self", "out": outside, "secret.go": filepath.Join(outside, "secret.go"), "gone": "nothing", "also.go": "a.go",
	} {
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	r := run(t, tree, scan.Options{})
	same(t, "marks are", titles(r, scan.KindMark), []string{
		`Resolve the TODO "seen" in a.go`, `Resolve the TODO "below" in d/b.py`, `Resolve the TODO "source" in go/build/e.go`, `Resolve the TODO "caf" in latin.py`})
	want := scan.Skipped{Folders: 3, Links: 7, Large: 1, Binary: 2}
	if r.Skipped != want {
		t.Errorf("skipped are %+v, want %+v", r.Skipped, want)
	}
	for _, name := range []string{"out/secret.go", "secret.go", "../x", "/etc/passwd", "self", "gone", "d", "nul.go", ".git/c.py", "d/../.git/c.py", ".GIT/c.py", "", "a\n"} {
		if text, ok := tree.ReadText(name, 100); ok || text != "" {
			t.Errorf("%q reads %q", name, text)
		}
	}
	if _, err := fs.ReadFile(tree.FS(), "out/secret.go"); err == nil {
		t.Error("the file system reads what is outside")
	}
}

func TestFSIsAFileSystem(t *testing.T) {
	tree, _ := workspace(t, files{"a.go": "x", "d/e/f.md": "y", "g/h": ""})
	if err := fstest.TestFS(tree.FS(), "a.go", "d/e/f.md", "g/h"); err != nil {
		t.Error(err)
	}
}

func TestDeepTree(t *testing.T) {
	tree, root := workspace(t, files{strings.Repeat("d/", 64) + "a.py": "# TODO: at the bottom\n"})
	write(t, root, files{strings.Repeat("d/", 80) + "b.py": "# TODO: below\n"})
	r := run(t, tree, scan.Options{})
	if len(r.Findings) != 1 || r.Skipped.Unreadable != 1 {
		t.Errorf("findings are %q, skipped %+v", titles(r, scan.KindMark), r.Skipped)
	}
}

func TestReadText(t *testing.T) {
	tree, _ := workspace(t, files{"a.md": "one\r\ntwo\t\x1b[31m\u202e\u200bthree\n", "u.md": "aé\u20ac", "bad.md": "a\xffb", "e.md": "", "d/x.md": "x"})
	for _, test := range []struct {
		name string
		most int
		want string
		ok   bool
	}{
		{"a.md", 100, "one\ntwo\t[31mthree\n", true}, {"a.md", 4, "one", true}, {"a.md", 0, "", false},
		{"u.md", 6, "aé\u20ac", true}, {"u.md", 5, "aé", true}, {"u.md", 3, "aé", true}, {"u.md", 2, "a", true}, {"u.md", 1, "a", true},
		{"bad.md", 100, "", false}, {"bad.md", 1, "a", true}, {"e.md", 10, "", true}, {"./d/../a.md", 3, "one", true}, {"none.md", 3, "", false},
	} {
		if got, ok := tree.ReadText(test.name, test.most); got != test.want || ok != test.ok {
			t.Errorf("%d bytes of %s are %q, %t", test.most, test.name, got, ok)
		}
	}
}

func TestSummary(t *testing.T) {
	f := files{"README.md": "", "go.mod": "", "z.txt": "", "cmd/x/main.go": "", "cmd/x/other.go": "", "docs/deep/er/note.md": "", "node_modules/m/package.json": ""}
	tree, root := workspace(t, f)
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
	if got := tree.Summary(context.Background(), scan.SummaryOptions{}); got != want {
		t.Errorf("the summary is\n%s", got)
	}
	small := tree.Summary(context.Background(), scan.SummaryOptions{MaxLines: 6})
	if want := "6 files in 6 folders: Go 2, Markdown 2\nREADME.md\ngo.mod\ncmd/ (2 files)\ndocs/ (1 file)\n(7 more entries are not listed)\n"; small != want {
		t.Errorf("in six lines it is\n%s", small)
	}
	many := files{}
	for i := range 3_000 {
		many[strings.Repeat("folder/", i%9)+strings.Repeat("n", 1+i%150)+"/"+strings.Repeat("x", 1+i/150)+".go"] = ""
	}
	write(t, root, many)
	for _, o := range []scan.SummaryOptions{{}, {MaxBytes: 500}, {MaxLines: 3}, {MaxFiles: 50}} {
		got := tree.Summary(context.Background(), o)
		lines, size := 120, 6<<10
		if o.MaxLines > 0 {
			lines = o.MaxLines
		}
		if o.MaxBytes > 0 {
			size = o.MaxBytes
		}
		if strings.Count(got, "\n") > lines || len(got) > size || !strings.HasPrefix(strings.TrimPrefix(got, "more than "), "3006 files") && o.MaxFiles == 0 {
			t.Errorf("%+v: %d lines, %d bytes:\n%s", o, strings.Count(got, "\n"), len(got), got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := tree.Summary(ctx, scan.SummaryOptions{}); got != "more than 0 files in 0 folders\n" {
		t.Errorf("of nothing it is %q", got)
	}
}

func TestLargeFileIsNotRead(t *testing.T) {
	tree, root := workspace(t, nil)
	write(t, root, files{"big.md": "first\n" + string(bytes.Repeat([]byte("x"), 10<<20))})
	if text, ok := tree.ReadText("big.md", 7); text != "first\nx" || !ok {
		t.Errorf("its beginning is %q, %t", text, ok)
	}
}
