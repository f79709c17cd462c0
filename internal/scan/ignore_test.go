package scan_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/scan"
)

// source are the files that the rules are tried on; each has a mark that names it.
func source() []string {
	return []string{
		"a.py", "b.py", "keep.py", "foo.py", "a b.py", "#x.py", "!y.py", "[z].py", "docs/a.py", "docs/keep.py", "docs/sub/a.py", "data/a.py", "data/keep.py",
		"data/x/keep.py", "data/x/y/a.py", "src/foo/a.py", "src/foo/keep.py", "src/bar/a.py", "foo/a.py", "foo/x/foo/b.py", "log1/a.py", "log2/k/keep.py", "x/y/z/a.py",
	}
}

func ignoreCases() []files {
	var cases []files
	for _, rules := range []string{
		"*\n!*/\n!keep.py\n", "data/**\n!data/keep.py\n", "data/*\n!data/keep.py\n", "data/\n!data/keep.py\n", "*.py\n!docs\n", "*.py\n!docs/\n", "*.py\n!/docs/*.py\n",
		"/*\n!/src\n/src/*\n!/src/foo\n", "log[0-9]/*\n!log2/k/\n", "\ufeffa.py\n", "**/foo/a.py\n", "foo/**/b.py\n", "src/*/a.py\n", "/a.py\n", "a.py \n", "a\\ b.py\n", "foo\n", "foo/\n", "\\#x.py\n",
		"\\!y.py\n", "# a.py\n\n\r\nb.py\r\n", "[ab].py\n", "[!ab].py\n", "[[:lower:]].py\n", "?.py\n", "\\[z].py\n", "**\n!a.py\n", "**/\n", "/**\n", "x/**/a.py\n", "x/**\n!x/y\n", "/\n", "!\n", "!a.py\n", "a.py/\n", "d*/sub\n", "*/sub/\n",
		"keep.py\n!docs/keep.py\ndata/x\n", "foo**\n", "**foo.py\n", "src/foo/\n!src/foo/keep.py\n",
	} {
		cases = append(cases, files{".gitignore": rules})
	}
	return append(cases,
		files{".gitignore": "*.py\n", "docs/.gitignore": "!a.py\n", "docs/sub/.gitignore": "a.py\n"},
		files{".gitignore": "/data/x\n!keep.py\n", "data/.gitignore": "/keep.py\n!x\n", "src/.gitignore": "foo/*\n!foo/keep.py\n"},
		files{".gitignore": "docs/\n", "docs/.gitignore": "!*\n", "foo/.gitignore": "/foo\nx/foo\n"},
		files{".git/info/exclude": "a.py\nb.py\n", ".gitignore": "!b.py\n", "docs/.gitignore": "!a.py\n"},
	)
}

// TestIgnoresWhatGitIgnores compares with git itself.
func TestIgnoresWhatGitIgnores(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, rules := range ignoreCases() {
		tree, root := workspace(t, nil)
		git(t, root, "init", "-q")
		write(t, root, rules)
		for _, name := range source() {
			write(t, root, files{name: "# TODO: " + "read\n"})
		}
		want := strings.Split(git(t, root, "ls-files", "-z", "-co", "--exclude-standard"), "\x00")
		want = slices.DeleteFunc(want, func(name string) bool { return filepath.Ext(name) != ".py" })
		slices.Sort(want)
		if got := seen(t, tree); !slices.Equal(got, want) {
			t.Errorf("%q:\n got  %q\n want %q", rules, got, want)
		}
	}
}

// seen returns the Python files that a walk reaches, by its summary.
func seen(t *testing.T, tree *scan.Tree) []string {
	t.Helper()
	var names, above []string
	for line := range strings.Lines(tree.Summary(context.Background(), scan.SummaryOptions{MaxLines: 1_000, MaxBytes: 1 << 20})) {
		name := strings.TrimLeft(line, " ")
		depth := (len(line) - len(name)) / 2
		name, _, isFolder := strings.Cut(strings.TrimSuffix(name, "\n"), "/ (")
		above = append(above[:min(depth, len(above))], name)
		if !isFolder && filepath.Ext(name) == ".py" {
			names = append(names, strings.Join(above, "/"))
		}
	}
	slices.Sort(names)
	return names
}

func git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = folder
	command.Env = append(command.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+folder)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, stderr.String())
	}
	return string(out)
}
