package toolbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

func tree() map[string]string {
	return map[string]string{
		".gitignore":             "*.log\n/build/\n!keep.log\n",
		".git/config":            "needle\n",
		".git/info/exclude":      "private\n",
		"main.go":                "package main\n\n// needle\n",
		"main_test.go":           "package main\n",
		"main/inner.go":          "needle and Needle\r\n",
		"main/.gitignore":        "secret.go\n",
		"main/secret.go":         "needle\n",
		"debug.log":              "needle\n",
		"keep.log":               "needle\n",
		"private":                "needle\n",
		"build/out.go":           "needle\n",
		"node_modules/x/x.go":    "needle\n",
		"image.png":              "needle\x00\n",
		"docs/a b.md":            "no\nneedle é\n",
		"docs/deep/er/README.md": "needle",
	}
}

func TestGlob(t *testing.T) {
	box := open(t, tree(), toolbox.Options{})
	tests := []struct {
		in   toolbox.Glob
		want []string
	}{
		{toolbox.Glob{Pattern: "*.go"}, []string{"main.go", "main_test.go"}},
		{toolbox.Glob{Pattern: "./*.go"}, []string{"main.go", "main_test.go"}},
		{toolbox.Glob{Pattern: "**/*.go"}, []string{"main.go", "main/inner.go", "main_test.go"}},
		{toolbox.Glob{Pattern: "**/*.go", Ignored: true}, []string{"build/out.go", "main.go", "main/inner.go", "main/secret.go",
			"main_test.go", "node_modules/x/x.go"}},
		{toolbox.Glob{Pattern: "**/*.go", Path: "build"}, []string{"build/out.go"}},
		{toolbox.Glob{Pattern: "**/*.go", Path: "node_modules/x"}, []string{"node_modules/x/x.go"}},
		{toolbox.Glob{Pattern: "*.go", Path: "main"}, []string{"main/inner.go"}},
		{toolbox.Glob{Pattern: "docs/**/*.md"}, []string{"docs/a b.md", "docs/deep/er/README.md"}},
		{toolbox.Glob{Pattern: "docs/deep/er/README.md"}, []string{"docs/deep/er/README.md"}},
		{toolbox.Glob{Pattern: "{docs,main}"}, []string{"docs/", "main/"}},
		{toolbox.Glob{Pattern: "*.log"}, []string{"keep.log"}},
		{toolbox.Glob{Pattern: "priv*"}, []string{}},
		{toolbox.Glob{Pattern: "main/*", Path: "."}, []string{"main/.gitignore", "main/inner.go"}},
		{toolbox.Glob{Pattern: "**/config", Ignored: true}, []string{}},
	}
	for _, test := range tests {
		reply, err := box.Glob(t.Context(), test.in)
		if err != nil || !slices.Equal(reply.Paths, test.want) || reply.Truncated {
			t.Errorf("%+v: %q, %v", test.in, reply.Paths, err)
		}
		if !strings.HasPrefix(reply.Text(), fmt.Sprint(len(test.want))+" path") {
			t.Errorf("%+v: %s", test.in, reply.Text())
		}
	}
	reply, err := box.Glob(t.Context(), toolbox.Glob{Pattern: "README.md"})
	if err != nil || !strings.Contains(reply.Text(), "**/README.md also looks in the directories below") {
		t.Errorf("%s, %v", reply.Text(), err)
	}
}

// Git leaves out a folder as a whole, and a later line can bring files back.
func TestGlobListsWhatGitDoes(t *testing.T) {
	box := open(t, map[string]string{".gitignore": "*.txt\n!docs\ndata/**\n!data/keep\n", "docs/a.txt": "", "docs/b.md": "",
		"data/keep": "", "data/x": ""}, toolbox.Options{})
	reply, err := box.Glob(t.Context(), toolbox.Glob{Pattern: "**"})
	if want := []string{".gitignore", "data/", "data/keep", "docs/", "docs/b.md"}; err != nil || !slices.Equal(reply.Paths, want) {
		t.Errorf("%q, want %q: %v", reply.Paths, want, err)
	}
}

func TestGlobRefuses(t *testing.T) {
	box := open(t, tree(), toolbox.Options{})
	for pattern, problem := range map[string]string{
		"": "empty", "[": "valid", "{a": "valid", "../*": "upwards", "a/../../*": "upwards", "/etc/*": "not relative",
		"~/*":                      "not relative",
		strings.Repeat("*", 1_001): "too long", strings.Repeat("{a,b}", 7): "alternatives",
	} {
		_, err := box.Glob(t.Context(), toolbox.Glob{Pattern: pattern})
		refused(t, err, plan.InvalidInput, "/pattern", problem)
		if pattern != "" {
			_, err = box.Grep(t.Context(), toolbox.Grep{Pattern: "x", Glob: pattern})
			refused(t, err, plan.InvalidInput, "/glob", problem)
		}
	}
	_, err := box.Glob(t.Context(), toolbox.Glob{Pattern: "*", Path: "main.go"})
	refused(t, err, plan.InvalidInput, "/path", "not a directory")
	_, err = box.Glob(t.Context(), toolbox.Glob{Pattern: "*", Path: "missing"})
	refused(t, err, plan.NotFound, "/path", "does not exist")
}

func TestGlobIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%02d", i)] = ""
	}
	for _, limits := range []toolbox.Limits{{Matches: 10}, {PageBytes: 40}, {Entries: 10}} {
		reply, err := open(t, files, toolbox.Options{Limits: limits}).Glob(t.Context(), toolbox.Glob{Pattern: "*"})
		if err != nil || len(reply.Paths) != 10 || !reply.Truncated || reply.Note == "" || reply.Paths[9] != "f09" {
			t.Errorf("%+v: %+v, %v", limits, reply, err)
		}
	}
	reply, err := open(t, files, toolbox.Options{Limits: toolbox.Limits{SearchTime: 1}}).Glob(t.Context(), toolbox.Glob{Pattern: "*"})
	if err != nil || !reply.Truncated || !strings.Contains(reply.Note, "time was up") {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestGrep(t *testing.T) {
	box := open(t, tree(), toolbox.Options{})
	tests := []struct {
		in   toolbox.Grep
		want string
	}{
		{toolbox.Grep{Pattern: "needle"}, `5 matches in 8 files searched (1 binary file skipped)
docs/a b.md:2: needle é
docs/deep/er/README.md:1: needle
keep.log:1: needle
main.go:3: // needle
main/inner.go:1: needle and Needle`},
		{toolbox.Grep{Pattern: "^needle$", Glob: "*.md"}, "1 match in 2 files searched\ndocs/deep/er/README.md:1: needle"},
		{toolbox.Grep{Pattern: "NEEDLE", IgnoreCase: true, Path: "main"},
			"1 match in 2 files searched\nmain/inner.go:1: needle and Needle"},
		{toolbox.Grep{Pattern: "Needle$", Path: "main/inner.go"}, "1 match in 1 file searched\nmain/inner.go:1: needle and Needle"},
		{toolbox.Grep{Pattern: "needle", Path: "debug.log"}, "1 match in 1 file searched\ndebug.log:1: needle"},
		{toolbox.Grep{Pattern: "needle", Path: "build"}, "1 match in 1 file searched\nbuild/out.go:1: needle"},
		{toolbox.Grep{Pattern: "needle", Path: "docs", Glob: "deep/**"}, "1 match in 1 file searched\ndocs/deep/er/README.md:1: needle"},
		{toolbox.Grep{Pattern: "nothing"}, "0 matches in 8 files searched (1 binary file skipped)"},
		{toolbox.Grep{Pattern: "needle", Max: 1},
			"1 match in 3 files searched, more may match (only the first 1 are given; narrow the search)\ndocs/a b.md:2: needle é"},
	}
	for _, test := range tests {
		reply, err := box.Grep(t.Context(), test.in)
		if err != nil || reply.Text() != test.want {
			t.Errorf("%+v:\n%s\n%v\nwant\n%s", test.in, reply.Text(), err, test.want)
		}
	}
}

func TestGrepRefuses(t *testing.T) {
	box := open(t, tree(), toolbox.Options{})
	for pattern, problem := range map[string]string{"": "empty", "(": "missing closing", `a(?=b)`: "Perl", strings.Repeat("x",
		1_001): "too long", "((a{30}){30}){30}": "repeat", "((abc){30}){30}": "repeats too much"} {
		_, err := box.Grep(t.Context(), toolbox.Grep{Pattern: pattern})
		refused(t, err, plan.InvalidInput, "/pattern", problem)
	}
	_, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "x", Max: -1})
	refused(t, err, plan.InvalidInput, "/max", "less than 1")
}

func TestGrepIsBounded(t *testing.T) {
	files := map[string]string{"a": strings.Repeat("a needle\n", 50), "b": strings.Repeat("a needle\n", 50)}
	for _, limits := range []toolbox.Limits{{Matches: 10}, {PageBytes: 195}, {SearchBytes: 90}} {
		reply, err := open(t, files, toolbox.Options{Limits: limits}).Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
		if err != nil || len(reply.Matches) != 10 || !reply.Truncated || reply.Note == "" {
			t.Errorf("%+v: %+v, %v", limits, reply, err)
		}
	}
	reply, err := open(t, files, toolbox.Options{Limits: toolbox.Limits{SearchTime: 1}}).Grep(t.Context(), toolbox.Grep{Pattern: "x"})
	if err != nil || !reply.Truncated || !strings.Contains(reply.Note, "time was up") {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestGrepCutsLongLines(t *testing.T) {
	long := strings.Repeat("é", 1_000)
	box := open(t, map[string]string{"f": long + "needle\x1b" + long + "\n" + "needle" + long + "\n" + long + "needle\n",
		"g": strings.Repeat("x", 2<<20) + "needle\n"}, toolbox.Options{})
	reply, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
	if err != nil || len(reply.Matches) != 3 || !strings.Contains(reply.Note, "1 long line") {
		t.Fatalf("%+v, %v", reply, err)
	}
	for _, m := range reply.Matches {
		if len(m.Text) > 410 || !strings.Contains(m.Text, "needle") || !strings.Contains(m.Text, "…") || strings.ContainsAny(m.Text,
			"\x1b\ufffd") || strings.Contains(m.Text, `\xc3`) || strings.Contains(m.Text, `\xa9`) {
			t.Errorf("%d: %q", m.Line, m.Text)
		}
	}
}

func TestUnreadableFilesAreCounted(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("root reads everything, and a mode takes nothing from anybody on Windows")
	}
	box := open(t, map[string]string{"a": "needle\n", "d/b": "needle\n", "c": "needle\n"}, toolbox.Options{})
	for _, name := range []string{"a", "d"} {
		if err := os.Chmod(filepath.Join(box.Path(), name), 0); err != nil {
			t.Skip(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(box.Path(), "d"), 0o700) })
	reply, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
	if err != nil || len(reply.Matches) != 1 || !strings.Contains(reply.Note, "1 directory could not be read") ||
		!strings.Contains(reply.Note, "1 file could not") {
		t.Errorf("%+v, %v", reply, err)
	}
	_, err = box.View(t.Context(), toolbox.View{Path: "a"})
	refused(t, err, plan.Conflict, "/path", "may not be read")
}

// Patterns made to take for ever do not, whether in a call or in the workspace.
func TestPatternsMadeToTakeLong(t *testing.T) {
	name := strings.Repeat("a", 250)
	files := map[string]string{strings.Repeat("a/", 100) + name: "x\n", name: strings.Repeat("a", 20_000) + "\n"}
	var rules strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&rules, "%sb%d\n", strings.Repeat("a*", 30), i)
		fmt.Fprintf(&rules, "%sb%d\n", strings.Repeat("**/a/", 10), i)
	}
	box := open(t, files, toolbox.Options{Limits: toolbox.Limits{SearchTime: 300 * time.Millisecond}})
	hostile := open(t, map[string]string{".gitignore": rules.String(), strings.Repeat("a/", 100) + name: "x\n"},
		toolbox.Options{Limits: toolbox.Limits{SearchTime: 300 * time.Millisecond}})
	begun := time.Now()
	for _, pattern := range []string{
		strings.Repeat("a*", 400) + "b", strings.Repeat("**/", 300) + "b", strings.Repeat("**/a*", 150) + "b",
		"**/{" + strings.Repeat("a*a*,", 95) + "a}b", strings.Repeat("{a*,**/}", 6) + "b", "**/" + strings.Repeat("{a,a*,a**,**/}", 3) +
			"/b",
	} {
		for _, box := range []*toolbox.Box{box, hostile} {
			if _, err := box.Glob(t.Context(), toolbox.Glob{Pattern: pattern}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, pattern := range []string{"(a*)*b", "(a|aa)+b", "(.*a){100}b", strings.Repeat("a?", 200) + strings.Repeat("a", 200) + "b",
		"((a{0,20}){0,20})b"} {
		if _, err := box.Grep(t.Context(), toolbox.Grep{Pattern: pattern}); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > 3*time.Minute {
		t.Errorf("took %v", took)
	}
}
