package tree_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/tree"
)

// reporter is a test, or a round of one with random material.
type reporter interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// git runs the real git in a folder, without any configuration.
func git(t reporter, folder, input string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = folder
	command.Env = append(command.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+folder)
	command.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil && stderr.Len() > 0 { // no ignored path is an exit code without a message
		t.Fatalf("git %q: %v: %s", arguments, err, stderr.String())
	}
	return string(out)
}

// repository returns a new git repository without files.
func repository(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	git(t, root, "", "init", "-q")
	return root
}

// files are the contents of a workspace by path.
type files map[string]string

func write(t reporter, root string, f files) {
	t.Helper()
	for name, content := range f {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// ignored applies the rules in ignore files to every path and its parents, like a walk, and returns the ignored ones.
func ignored(rules files, paths []string, fold bool) []string {
	var list []string
	for _, name := range paths {
		r := (*tree.Rules)(nil).With(".", []byte(rules[".git/info/exclude"]), fold).With(".", []byte(rules[".gitignore"]), fold)
		elements := strings.Split(strings.TrimSuffix(name, "/"), "/")
		for i := range elements {
			at := strings.Join(elements[:i+1], "/")
			isDir := i+1 < len(elements) || strings.HasSuffix(name, "/")
			if r.Ignores(at, isDir) {
				list = append(list, name)
				break
			}
			if isDir {
				r = r.With(at, []byte(rules[at+"/.gitignore"]), fold)
			}
		}
	}
	return list
}

// agree compares the rules with git.
func agree(t reporter, root string, rules files, paths []string, fold bool) {
	t.Helper()
	// git would take a slash at the end for a folder without a name in it.
	plain := strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00")
	out := git(t, root, plain, "-c", fmt.Sprintf("core.ignorecase=%t", fold), "check-ignore", "--no-index", "-z", "--stdin")
	want := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		want = nil
	}
	got := ignored(rules, paths, fold)
	for i := range got {
		got[i] = strings.TrimSuffix(got[i], "/")
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q, fold %t:\n got  %q\n want %q", rules, fold, got, want)
	}
}

func TestIgnoresWhatGitIgnores(t *testing.T) {
	paths := []string{
		"a.py", "b.py", "keep.py", "foo.py", "a b.py", "#x.py", "!y.py", "[z].py", "docs/a.py", "docs/keep.py", "docs/sub/a.py",
		"data/a.py", "data/keep.py",
		"data/x/keep.py", "data/x/y/a.py", "src/foo/a.py", "src/foo/keep.py", "src/bar/a.py", "foo/a.py", "foo/x/foo/b.py", "log1/a.py",
		"log2/k/keep.py", "x/y/z/a.py",
	}
	cases := []files{
		{".gitignore": "*.py\n", "docs/.gitignore": "!a.py\n", "docs/sub/.gitignore": "a.py\n"},
		{".gitignore": "/data/x\n!keep.py\n", "data/.gitignore": "/keep.py\n!x\n", "src/.gitignore": "foo/*\n!foo/keep.py\n"},
		{".gitignore": "docs/\n", "docs/.gitignore": "!*\n", "foo/.gitignore": "/foo\nx/foo\n"},
		{".git/info/exclude": "a.py\nb.py\n", ".gitignore": "!b.py\n", "docs/.gitignore": "!a.py\n"},
		{".gitignore": "*.py\n!docs\ndata/**\n!data/keep.py\n"},
	}
	for _, rules := range []string{
		"*\n!*/\n!keep.py\n", "data/**\n!data/keep.py\n", "data/*\n!data/keep.py\n", "data/\n!data/keep.py\n", "*.py\n!docs\n",
		"*.py\n!docs/\n", "*.py\n!/docs/*.py\n",
		"/*\n!/src\n/src/*\n!/src/foo\n", "log[0-9]/*\n!log2/k/\n", "\ufeffa.py\n", "**/foo/a.py\n", "foo/**/b.py\n", "src/*/a.py\n",
		"/a.py\n", "a.py \n", "a\\ b.py\n", "foo\n", "foo/\n", "\\#x.py\n",
		"\\!y.py\n", "# a.py\n\n\r\nb.py\r\n", "[ab].py\n", "[!ab].py\n", "[[:lower:]].py\n", "?.py\n", "\\[z].py\n", "**\n!a.py\n",
		"**/\n", "/**\n", "x/**/a.py\n", "x/**\n!x/y\n", "/\n", "!\n", "!a.py\n", "a.py/\n", "d*/sub\n", "*/sub/\n",
		"keep.py\n!docs/keep.py\ndata/x\n", "foo**\n", "**foo.py\n", "src/foo/\n!src/foo/keep.py\n", "a.py\x00.py\n", "b.py\\ \n",
		"foo**/a.py\n", "/foo**\n", "data\\/a.py\n", "**\\/a.py\n", "a.py\\\n",
	} {
		cases = append(cases, files{".gitignore": rules})
	}
	root := repository(t)
	for _, rules := range cases {
		for _, old := range []string{".gitignore", "docs/.gitignore", "docs/sub/.gitignore", "data/.gitignore", "src/.gitignore",
			"foo/.gitignore", ".git/info/exclude"} {
			if _, err := os.Stat(filepath.Join(root, old)); err == nil {
				write(t, root, files{old: ""})
			}
		}
		write(t, root, rules)
		for _, name := range paths {
			write(t, root, files{name: ""})
		}
		agree(t, root, rules, paths, false)
		agree(t, root, rules, paths, true)
	}
}

// TestIgnoresWhatGitIgnoresAnywhere generates trees and rules.
func TestIgnoresWhatGitIgnoresAnywhere(t *testing.T) {
	top := repository(t)
	names := rapid.SampledFrom([]string{"a", "b", "ab", "aa", "ba", "A", "aB", "a.b", "b.a", "abab", "x-a", "a b", "a ", "é", "[a]", "*",
		"!a", "#a", `a\b`, "]", "-"})
	pieces := rapid.SampledFrom([]string{"a", "b", "a", "b", "A", "ab", ".", "-", "é", "*", "*", "**", "?", "/", "/", "/", "**/", "/**",
		"/**/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]",
		"[a", "[]", "[[:alpha:]]", "[[:upper:]]", "[[:x:]]", "[[:a]", "[:]", "[A-Z]", "[b-a]", `[\]]`, `[a\-b]`, "[a-", "[/]", `\`, `\a`,
		`\*`, `\\`, `\/`, `\ `, " ", "#", "!", "]", "\t", "\x00"})
	line := rapid.Custom(func(r *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 6).Draw(r, "pieces"), "")
		prefix := rapid.SampledFrom([]string{"", "", "", "!", "/", "!/", "\\"}).Draw(r, "prefix")
		return prefix + text + rapid.SampledFrom([]string{"", "", "", "/", " ", "  ", "/ ", "\r"}).Draw(r, "suffix")
	})
	lines := rapid.Custom(func(r *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(line, 0, 4).Draw(r, "lines"), "\n")
		return rapid.SampledFrom([]string{"", "", "", "\ufeff"}).Draw(r, "mark") + text + rapid.SampledFrom([]string{"", "\n"}).Draw(r,
			"end")
	})
	round := 0
	rapidtest.Check(t, func(r *rapid.T) {
		round++
		root := filepath.Join(top, fmt.Sprintf("r%d", round))
		defer os.RemoveAll(root) //nolint:errcheck // the test's folder goes as a whole
		// The minimum that git accepts as a repository; git init would take as long as the test.
		write(t, root, files{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/.keep": "", ".git/refs/.keep": ""})
		folders := []string{"."}
		paths := []string{}
		for range rapid.IntRange(1, 14).Draw(r, "entries") {
			above := rapid.SampledFrom(folders).Draw(r, "above")
			name := path.Join(above, names.Draw(r, "name"))
			if slices.Contains(folders, name) || slices.Contains(paths, name) {
				continue
			}
			if rapid.Bool().Draw(r, "folder") && strings.Count(name, "/") < 4 {
				folders = append(folders, name)
				write(t, root, files{name + "/.keep": ""})
			} else {
				paths = append(paths, name)
				write(t, root, files{name: ""})
			}
		}
		rules := files{".gitignore": lines.Draw(r, "rules")}
		if rapid.Bool().Draw(r, "exclude") {
			rules[".git/info/exclude"] = lines.Draw(r, "excludes")
		}
		for range rapid.IntRange(0, 2).Draw(r, "nested") {
			rules[path.Join(rapid.SampledFrom(folders).Draw(r, "in"), ".gitignore")] = lines.Draw(r, "nested rules")
		}
		write(t, root, rules)
		for _, folder := range folders[1:] {
			paths = append(paths, folder+"/")
		}
		if len(paths) == 0 {
			return
		}
		agree(r, root, rules, paths, rapid.Bool().Draw(r, "fold"))
	})
}

// TestPatternsMadeToTakeLong would not end if all possible matches were tried.
func TestPatternsMadeToTakeLong(t *testing.T) {
	for _, rules := range []string{strings.Repeat("**/", 200) + "b", strings.Repeat("a*", 200) + "b", strings.Repeat("**/a*", 100) + "b",
		strings.Repeat("*", 10_000) + "b"} {
		r := (*tree.Rules)(nil).With(".", []byte(rules), false)
		if r.Ignores(strings.Repeat("aaaa/", 500)+"c", false) {
			t.Errorf("%.20q matches", rules)
		}
	}
}
