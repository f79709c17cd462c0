package gates_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// found returns the objections of paths_exist and hint_paths to a candidate, by the path at the end of the message.
func found(report gates.Report) []string {
	var list []string
	for _, f := range report.Findings {
		if f.Gate == "paths_exist" || f.Gate == "hint_paths" {
			list = append(list, f.Message)
		}
	}
	return list
}

func TestPathsOutside(t *testing.T) {
	dir, root := workspace(t, "src/a.go", "src/sub/b.go")
	secret := filepath.Join(filepath.Dir(dir), "secret.txt")
	must(t, os.WriteFile(secret, []byte("x"), 0o600))
	for link, target := range map[string]string{
		"out": "..", "src/etc": "/etc", "src/secret.txt": "../../secret.txt", "self": "self", "one": "two", "two": "one",
		"src/deep": "../src/../..",
		"in":       "src", "broken": "src/none.go", "absolute": dir,
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	refused := []string{
		"/etc/passwd", "/", "//server/share", "..", "../secret.txt", "../../etc/passwd", "src/../../secret.txt", "src/../..", "./../x",
		"src/../main.go", "..\\secret.txt", "src/.. /x", "src/. ./x", ".../x",
		"~", "~/x", "~root/x", "C:/x", "c:x", "C:\\x", `\\server\share\x`, `\\?\C:\x`, `src\a.go`, "main.go\x00.txt", "\x00", "main.go\n",
		"src/\x1b[31m", "main\u202e.go", "\xff",
		"file:///etc/passwd", "file:x", "https://example.com/a.go", "$HOME/x", "${HOME}/x", "$(pwd)/x", "%USERPROFILE%\\x", "%TEMP%/x",
		"", " ",
		"out", "out/secret.txt", "out/*", "src/etc", "src/etc/passwd", "src/etc/none", "src/secret.txt", "self", "self/x", "one", "two/x",
		"src/deep/secret.txt", "absolute/main.go",
		strings.Repeat("a/", 513),
	}
	for _, given := range refused {
		for _, field := range []string{"relevant_file_paths", "creates"} {
			task := whole(1, "Print the version", paths("main.go", given))
			if field == "creates" {
				task = whole(1, "Print the version", creates(given))
			}
			got := found(check(t, gates.Options{Files: root.FS()}, tasks(task)))
			if given == "main.go\n" { // trimmed
				continue
			}
			if field == "creates" && strings.Contains(given, "*") { // patterns in creates are not looked up
				continue
			}
			if len(got) != 1 || strings.Contains(got[0], "non-existent") || !strings.Contains(got[0], "`"+field+"`") {
				t.Errorf("%q in %s: %q", given, field, got)
			}
		}
	}
	for _, given := range []string{"main.go", "./main.go", "src", "src/", "src//a.go", ".", "in", "in/a.go", "in/*.go", "src/sub/b.go",
		" main.go "} {
		if got := found(check(t, gates.Options{Files: root.FS()}, tasks(whole(1, "Print the version", paths(given))))); len(got) != 0 {
			t.Errorf("%q: %q", given, got)
		}
	}
	for _, given := range []string{"broken", "main.go/x", "none", "src/c.go", "*/secret.txt", "*/passwd", "**/passwd", strings.Repeat("x",
		300)} {
		got := found(check(t, gates.Options{Files: root.FS()}, tasks(whole(1, "Print the version", paths(given)))))
		if len(got) != 1 || !strings.Contains(got[0], "non-existent") && !strings.Contains(got[0], "outside") {
			t.Errorf("%q: %q", given, got)
		}
	}
}

func TestPathPatterns(t *testing.T) {
	_, root := workspace(t, "src/a.go", "src/deep/er/b.ts", "app/[id]/page.tsx", "app/{slug}.md", ".git/HEAD", "node_modules/x/x.proto",
		"docs/")
	for given, want := range map[string]bool{
		"src/*.go": true, "src/**/*.ts": true, "**/*.ts": true, "src/**": true, "*.go": true, "{src,lib}/*.go": true, "sr?/a.go": true,
		"[ms]*": true, "docs/**": true,
		"app/[id]/page.tsx": true, "app/{slug}.md": true, "app/*/page.tsx": true, "node_modules/**/*.proto": true, ".git/H*": true,
		"src/*.py": false, "**/*.py": false, "lib/**": false, "{lib,pkg}/*.go": false, "**/*.proto": false, "**/HEAD": false,
		"docs/*": false,
		"[":      false, "src/{a": false, "{a,b}{a,b}{a,b}{a,b}.go": false, strings.Repeat("*a", 40): false,
	} {
		got := found(check(t, gates.Options{Files: root.FS()}, tasks(whole(1, "Print the version", paths(given)))))
		if (len(got) == 0) != want {
			t.Errorf("%q: %q", given, got)
		}
	}
}

// A pattern is not searched for ever: all patterns together read a bounded number of entries.
func TestPatternTooWide(t *testing.T) {
	files := &counting{MapFS: fstest.MapFS{"main.go": {Data: []byte("x")}}}
	for i := range 60 {
		for j := range 1_000 {
			files.MapFS[fmt.Sprintf("d%d/f%d", i, j)] = &fstest.MapFile{}
		}
	}
	got := found(check(t, gates.Options{Files: files}, tasks(whole(1, "Print the version", paths("**/*.zzz", "**/*.yyy", "main.go",
		"d1/f[1]")))))
	want := []string{
		"Task 'Print the version' lists a pattern in `relevant_file_paths` that is too broad to search: `**/*.zzz`.",
		"Task 'Print the version' lists a pattern in `relevant_file_paths` that is too broad to search: `**/*.yyy`.",
	}
	if diff := cmp.Diff(want, got[:min(2, len(got))]); diff != "" {
		t.Error(diff)
	}
	if files.read > 60_000 {
		t.Errorf("%d entries were read", files.read)
	}
}

// counting counts calls of a file system.
type counting struct {
	fstest.MapFS
	read  int
	stats map[string]int
}

func (c *counting) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := c.MapFS.ReadDir(name)
	c.read += len(list)
	return list, err
}

func (c *counting) Stat(name string) (fs.FileInfo, error) {
	if c.stats != nil {
		c.stats[name]++
	}
	return c.MapFS.Stat(name)
}

func TestEachPathIsLookedAtOnce(t *testing.T) {
	files := &counting{MapFS: fstest.MapFS{"main.go": {Data: []byte("x")}}, stats: map[string]int{}}
	var list []gates.Task
	for i := range 50 {
		list = append(list, whole(plan.StepID(i+1), fmt.Sprint("Print page ", i), paths("main.go", "./main.go", "gone.go"),
			hints("Read `main.go` and `gone.go`."), creates("new.go")))
	}
	check(t, gates.Options{Files: files}, tasks(list...))
	if diff := cmp.Diff(map[string]int{"main.go": 1, "gone.go": 1, "new.go": 1}, files.stats); diff != "" {
		t.Error(diff)
	}
}

// Paths that a task creates may be named by it and by later tasks.
func TestCreatedPaths(t *testing.T) {
	_, root := workspace(t)
	have := plan.NewSteps([]*plan.Step{
		{ID: 1, Spec: plan.Spec{Title: "Write one", Creates: []string{"one.go"}}, Progress: plan.Progress{Status: plan.Pending}},
		{ID: 2, Spec: plan.Spec{Title: "Write two", Creates: []string{"two.go"}, DependsOn: []plan.StepID{1}},
			Progress: plan.Progress{Status: plan.InProgress}},
		{ID: 3, Spec: plan.Spec{Title: "Write three", Creates: []string{"three.go"}}, Progress: plan.Progress{Status: plan.Cancelled}},
	})
	for name, test := range map[string]struct {
		list []gates.Task
		want []string
	}{
		"itself":        {[]gates.Task{whole(4, "Print a", paths("a.go", "./a.go"), creates("a.go"))}, nil},
		"a hint":        {[]gates.Task{whole(4, "Print a", hints("Write `pkg/a.go`."), creates("pkg/a.go"))}, nil},
		"before":        {[]gates.Task{whole(4, "Print a", creates("a.go")), whole(5, "Print b", paths("a.go"), after(4))}, nil},
		"before, later": {[]gates.Task{whole(4, "Print b", paths("a.go"), after(5)), whole(5, "Print a", creates("a.go"))}, nil},
		"far before": {[]gates.Task{whole(4, "Print a", creates("a.go")), whole(5, "Print b", after(4)), whole(6, "Print c",
			paths("a.go"), after(5))}, nil},
		"an existing step":  {[]gates.Task{whole(4, "Print a", paths("one.go", "two.go"), after(2))}, nil},
		"an unrelated task": {[]gates.Task{whole(4, "Print a", creates("a.go")), whole(5, "Print b", paths("a.go"))}, []string{"a.go"}},
		"a later task": {[]gates.Task{whole(4, "Print a", paths("b.go")), whole(5, "Print b", creates("b.go"), after(4))},
			[]string{"b.go"}},
		"an unrelated step":  {[]gates.Task{whole(4, "Print a", paths("two.go"), after(1))}, []string{"two.go"}},
		"a cancelled step":   {[]gates.Task{whole(4, "Print a", paths("three.go"), after(3))}, []string{"three.go"}},
		"its directory":      {[]gates.Task{whole(4, "Print a", paths("pkg", "pkg/sub/"), creates("pkg/sub/a.go"))}, nil},
		"in a directory":     {[]gates.Task{whole(4, "Print a", paths("pkg/a.go", "lib.d/x/y.go"), creates("pkg", "lib.d/"))}, nil},
		"in a file":          {[]gates.Task{whole(4, "Print a", paths("pkg.go/a.go"), creates("pkg.go"))}, []string{"pkg.go/a.go"}},
		"a name's beginning": {[]gates.Task{whole(4, "Print a", paths("pkgs/a.go"), creates("pkg/"))}, []string{"pkgs/a.go"}},
		"a pattern":          {[]gates.Task{whole(4, "Print a", paths("pkg/*.go", "pkg/**"), creates("pkg/a.go"))}, nil},
		"by a pattern":       {[]gates.Task{whole(4, "Print a", paths("pkg/a.go", "x/pkg"), creates("pkg/*.go", "x/**"))}, nil},
		"another pattern":    {[]gates.Task{whole(4, "Print a", paths("pkg/*.ts"), creates("pkg/a.go"))}, []string{"pkg/*.ts"}},
		"outside":            {[]gates.Task{whole(4, "Print a", paths("../a.go"), creates("../a.go"))}, []string{"../a.go", "../a.go"}},
		"in a circle": {[]gates.Task{whole(4, "Print a", paths("b.go"), after(5)), whole(5, "Print b", creates("b.go"), after(4))},
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := found(check(t, gates.Options{Files: root.FS()}, gates.Candidate{Have: have, New: test.list}))
			for i := range got {
				got[i] = strings.TrimSuffix(got[i][strings.LastIndex(got[i], ": `")+3:], "`.")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An unreadable path exists; a line number after a path is recognized.
func TestPathRemedies(t *testing.T) {
	dir, root := workspace(t, "locked/a.go")
	report := check(t, gates.Options{Files: root.FS()}, tasks(whole(1, "Print a", paths("main.go:12"))))
	if want := "write `main.go` without the line"; len(report.Findings) != 1 || report.Findings[0].Fix != want {
		t.Errorf("%+v", report.Findings)
	}
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("nothing can be locked here")
	}
	must(t, os.Chmod(filepath.Join(dir, "locked"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	if got := found(check(t, gates.Options{Files: root.FS()}, tasks(whole(1, "Print a", paths("locked/a.go"))))); len(got) != 0 {
		t.Error(got)
	}
}
