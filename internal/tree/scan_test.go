package tree_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/tree"
)

func TestFindingsAreRankedTasks(t *testing.T) {
	opened, _ := scanned(t, files{
		"src/a.go": "package src\n\n// TODO: handle empty input\nfunc a() {}\n\n// XXX: odd\nfunc b() {}\n",
		"src/b.go": "package src\n\n// FIXME(ann): off by one\nfunc c() {}\n\n// Parse parses.\nfunc Parse() int {\n\treturn 1\n}\n",
		"c.py":     "# HACK: until the server answers\n",
	})
	r := run(t, opened, tree.ScanOptions{})
	want := []tree.Finding{
		{Path: "src/b.go", Line: 3, Title: `Resolve the FIXME "off by one" in src/b.go`, Type: "bugfix", Count: 1,
			Paths: []string{"src/b.go"}, Hints: []string{"Read line 3 of `src/b.go`, which says: FIXME: off by one"}},
		{Path: "src/a.go", Line: 6, Title: `Resolve the note XXX "odd" in src/a.go`, Type: "chore", Count: 1,
			Paths: []string{"src/a.go"}, Hints: []string{"Read line 6 of `src/a.go`, which says: XXX: odd"}},
		{Path: "c.py", Line: 1, Title: `Resolve the HACK "until the server answers" in c.py`, Type: "chore", Count: 1,
			Paths: []string{"c.py"}, Hints: []string{"Read line 1 of `c.py`, which says: HACK: until the server answers"}},
		{Path: "src/a.go", Line: 3, Title: `Resolve the TODO "handle empty input" in src/a.go`, Type: "chore", Count: 1,
			Paths: []string{"src/a.go"}, Hints: []string{"Read line 3 of `src/a.go`, which says: TODO: handle empty input"}},
	}
	if diff := cmp.Diff(want, r.Findings, cmpopts.IgnoreUnexported(tree.Finding{})); diff != "" {
		t.Error(diff)
	}
	if r.Files != 3 || r.Folders != 2 || r.Read != 3 || r.Note() != "" {
		t.Errorf("counts are %+v", r)
	}
}

func TestTheSameMarkIsOneFinding(t *testing.T) {
	f := files{}
	for i := range 12 {
		f[fmt.Sprintf("p/f%02d.py", i)] = "# TODO: drop python 2\n# TODO:   drop python 2\n# TODO\n"
	}
	opened, _ := scanned(t, f)
	r := run(t, opened, tree.ScanOptions{})
	first := r.Findings[0]
	if first.Count != 24 || len(first.Paths) != 5 || first.Paths[0] != "p/f00.py" || first.Line != 1 {
		t.Errorf("the finding is %+v", first)
	}
	if want := "Resolve it in all 24 places: line 1 of p/f00.py, line 2 of p/f00.py, line 1 of p/f01.py, line 2 of p/f01.py, line 1 " +
		"of p/f02.py, 19 more"; first.Hints[1] != want {
		t.Errorf("the places are %q", first.Hints[1])
	}
	if n := len(r.Findings); n != 13 || r.Findings[1].Title != "Resolve the TODO in p/f00.py at line 3" {
		t.Errorf("%d findings: %q", n, titles(r))
	}
}

func TestScanIsStable(t *testing.T) {
	f := files{}
	for i := range 200 {
		f[fmt.Sprintf("d%d/f%d.go", i%7, i)] = fmt.Sprintf("package d\n// TODO: x%d\n// FIXME: y%d\nfunc F%d() {}\n", i%50, i%20, i)
	}
	opened, _ := scanned(t, f)
	want := run(t, opened, tree.ScanOptions{})
	for range 5 {
		got := run(t, opened, tree.ScanOptions{}).Findings
		if diff := cmp.Diff(want.Findings, got, cmpopts.IgnoreUnexported(tree.Finding{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestTextsOfFindingsAreSafe(t *testing.T) {
	long := strings.Repeat("verylong", 20)
	opened, _ := scanned(t, files{
		"a.go":                      "package a\n// TODO: see `missing/file.go` \x1b[2J\u202eevil " + long + "\n",
		long + "/" + long + "/b.go": "package b\n// XXX: " + long + "\n",
		"d.py":                      "# FIXME: read input and write output; improve everything\n",
	})
	r := run(t, opened, tree.ScanOptions{})
	if len(r.Findings) != 3 {
		t.Errorf("findings are %q", titles(r))
	}
	for _, f := range r.Findings {
		for _, text := range append(f.Hints, f.Title) {
			if strings.ContainsAny(text, "\x1b\u202e\n") || strings.Contains(text, "`missing") || len([]rune(text)) > 512 {
				t.Errorf("%q is unsafe", text)
			}
		}
		if len([]rune(f.Title)) > 160 {
			t.Errorf("%q has %d characters", f.Title, len([]rune(f.Title)))
		}
	}
	if want := "Resolve the FIXME in d.py at line 1"; r.Findings[0].Title != want {
		t.Errorf("the title is %q, want %q", r.Findings[0].Title, want)
	}
}

func TestBounds(t *testing.T) {
	f := files{}
	for i := range 300 {
		f[fmt.Sprintf("d%d/f%d.py", i%10, i)] = "def f():\n    pass  # TODO: x\n"
	}
	opened, _ := scanned(t, f)
	r, err := tree.Scan(context.Background(), opened, tree.ScanOptions{MaxFiles: 100})
	if err != nil || r.Cut != tree.ByEntries || r.Files != 90 ||
		r.Note() != "The scan stopped after 90 files in 11 folders; the rest of the tree was not read." {
		t.Errorf("%d files in %d folders, cut by %q: %q, %v", r.Files, r.Folders, r.Cut, r.Note(), err)
	}
	r, err = tree.Scan(context.Background(), opened, tree.ScanOptions{Duration: time.Nanosecond})
	if err != nil || r.Cut != tree.ByContext || r.Note() == "" {
		t.Errorf("cut by %q: %v", r.Cut, err)
	}
	opened, _ = scanned(t, files{"large.py": strings.Repeat("#", 256<<10) + "\n", "small.py": "# TODO: x\n"})
	if r := run(t, opened, tree.ScanOptions{}); r.Files != 2 || r.Read != 1 {
		t.Errorf("%d of %d files were read", r.Read, r.Files)
	}
}

func TestProgressAndCancel(t *testing.T) {
	f := files{}
	for i := range 2_000 {
		f[fmt.Sprintf("d%d/f%d.py", i%20, i)] = "# TODO: x\n"
	}
	opened, _ := scanned(t, f)
	last := 0
	r := run(t, opened, tree.ScanOptions{Progress: func(done int) {
		if done <= last {
			t.Errorf("%d files after %d", done, last)
		}
		last = done
	}})
	if last != r.Files || last != 2_000 {
		t.Errorf("%d of %d files were reported", last, r.Files)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := tree.Scan(ctx, opened, tree.ScanOptions{Progress: func(int) { cancel() }})
	if !errors.Is(err, context.Canceled) || r.Cut != tree.ByContext || r.Read == 2_000 {
		t.Errorf("%d files were read, cut by %q: %v", r.Read, r.Cut, err)
	}
}

func TestScanRefuses(t *testing.T) {
	if _, err := tree.Open(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "give a directory") {
		t.Errorf("the error is %v", err)
	}
}

// TestTimeHoldsForHostileContent: content made to be slow to read or match does not exceed the limit by much.
func TestTimeHoldsForHostileContent(t *testing.T) {
	const size = 250 << 10
	rules := strings.Repeat("a*b*c*d*e*f/**/x*y*z/**/"+strings.Repeat("a*", 20)+"\n", 3_000)
	f := files{".gitignore": rules}
	for i := range 400 {
		f[fmt.Sprintf("a/%s/%d.txt", strings.Repeat("a", 200), i)] = ""
	}
	f["a.md"] = strings.Repeat("<!-- TODO ", size/10)
	for name, text := range map[string]string{"a.go": "/*", "b.go": "'", "c.go": "// TODO:", "d.ts": "/[", "e.py": "\"\"\"",
		"f.go": "(", "g.sh": "# TODO(\n", "h.go": "[]"} {
		f[name] = "package a\n" + strings.Repeat(text+"\n", size/(len(text)+1)-100)
	}
	opened, _ := scanned(t, f)
	begin := time.Now()
	r, err := tree.Scan(context.Background(), opened, tree.ScanOptions{Duration: 3 * time.Second})
	if took := time.Since(begin); err != nil || took > time.Minute {
		t.Errorf("the scan took %s, cut by %q: %v", took, r.Cut, err)
	}
}

// TestTitlesAreDifferent: a plan would accept only one of two findings with the same title.
func TestTitlesAreDifferent(t *testing.T) {
	long := strings.Repeat("very ", 30)
	opened, _ := scanned(t, files{"a.py": "# TODO: Use it.\n# TODO: use it\n# TODO: " + long + "long\n# TODO: " + long + "wide\n" +
		"# TODO: write a, b\n"})
	sameStrings(t, "titles are", titles(run(t, opened, tree.ScanOptions{})), []string{
		`Resolve the TODO "Use it" in a.py`, "Resolve the TODO in a.py at line 2",
		`Resolve the TODO "` + strings.TrimSpace(strings.Repeat("very ", 12)) + `..." in a.py`, "Resolve the TODO in a.py at line 4",
		"Resolve the TODO in a.py at line 5",
	})
}
