package tree_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/tree"
)

func open(t testing.TB, root string) *tree.Tree {
	t.Helper()
	opened := testenv.Must(tree.Open(root))(t)
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// workspace opens a new folder that holds files.
func workspace(t testing.TB, f files) (*tree.Tree, string) {
	t.Helper()
	root := t.TempDir()
	write(t, root, f)
	return open(t, root), root
}

// below returns the names that a walk yields, folders with a slash.
func below(t testing.TB, opened *tree.Tree, directory string, o tree.Options) ([]string, *tree.Walk) {
	t.Helper()
	var names []string
	w := opened.Walk(o)
	for name, e := range w.Below(t.Context(), directory) {
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return names, w
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := tree.Open(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "give a directory") {
		t.Errorf("the error is %v", err)
	}
}

func TestWalk(t *testing.T) {
	opened, _ := workspace(t, files{
		".gitignore": "*.log\n/out/\n", ".git/info/exclude": "private\n", ".git/config": "", "a.go": "", "a/b.go": "",
		"a/.gitignore": "!keep.log\nsub/x\n", "a/keep.log": "", "a/z.log": "",
		"a/sub/x": "", "a/sub/y": "", "a-b": "", "out/o": "", "private": "", "z/.gitignore": "*", "z/w": "",
	})
	got, w := below(t, opened, ".", tree.Options{})
	same(t, "in order", got, []string{".gitignore", "a-b", "a.go", "a/", "a/.gitignore", "a/b.go", "a/keep.log", "a/sub/", "a/sub/y", "z/"})
	if w.Cut != tree.Whole || w.Unreadable != 0 || w.Crowded != "" {
		t.Errorf("%+v", w)
	}
	got, _ = below(t, opened, ".", tree.Options{Breadth: true})
	same(t, "by level", got, []string{".gitignore", "a-b", "a.go", "a/", "z/", "a/.gitignore", "a/b.go", "a/keep.log", "a/sub/", "a/sub/y"})
	got, _ = below(t, opened, "a/sub", tree.Options{})
	same(t, "from within", got, []string{"a/sub/y"})
	got, _ = below(t, opened, "out", tree.Options{})
	same(t, "from what is ignored", got, []string{"out/o"})
	got, _ = below(t, opened, "a", tree.Options{Ignored: true, Skip: func(name string, _ fs.DirEntry) bool { return name == "a/sub" }})
	same(t, "with what is ignored", got, []string{"a/.gitignore", "a/b.go", "a/keep.log", "a/z.log"})
	got, w = below(t, opened, ".", tree.Options{Entries: 3})
	if same(t, "three", got, []string{".gitignore", "a-b", "a.go"}); w.Cut != tree.ByEntries {
		t.Errorf("cut by %q", w.Cut)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w = opened.Walk(tree.Options{})
	for range w.Below(ctx, ".") {
		cancel()
	}
	if w.Cut != tree.ByContext {
		t.Errorf("cut by %q", w.Cut)
	}
}

// TestTheSameAsGitLists compares a walk with git's list.
func TestTheSameAsGitLists(t *testing.T) {
	root := repository(t)
	write(t, root, files{
		".gitignore": "*.txt\n!docs\ndata/**\n!data/keep\n", "docs/a.txt": "", "docs/b.md": "", "data/keep": "", "data/x": "",
		"a/b/.gitignore": "c*\n!cc\n", "a/b/c": "", "a/b/cc": "",
	})
	want := strings.Split(strings.TrimSuffix(git(t, root, "", "ls-files", "-z", "-co", "--exclude-standard"), "\x00"), "\x00")
	slices.Sort(want)
	all, _ := below(t, open(t, root), ".", tree.Options{})
	same(t, "files", slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "/") }), want)
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, files{"secret.go": "secret", "d/x.py": ""})
	opened, root := workspace(t, files{"a.go": "", "d/b.py": "", ".git/c.py": "", "real": "a.go\n"})
	for link, target := range map[string]string{
		"loop": ".", "d/up": "..", "self": "self", "out": outside, "secret.go": filepath.Join(outside, "secret.go"), "gone": "nothing",
		".gitignore": "real",
	} {
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	got, _ := below(t, opened, ".", tree.Options{})
	same(t, "walked", got, []string{".gitignore", "a.go", "d/", "d/b.py", "d/up", "gone", "loop", "out", "real", "secret.go", "self"})
	for _, name := range []string{"out/secret.go", "secret.go", "../x", "/etc/passwd", "self", "gone", "d", ".git/c.py", "d/../.git/c.py",
		".GIT/c.py", "", "a\n"} {
		if text, ok := opened.ReadText(name, 100); ok || text != "" {
			t.Errorf("%q reads %q", name, text)
		}
	}
	if _, err := fs.ReadFile(opened.FS(), "out/secret.go"); err == nil {
		t.Error("the file system reads what is outside")
	}
}

func TestFSIsAFileSystem(t *testing.T) {
	opened, _ := workspace(t, files{"a.go": "x", "d/e/f.md": "y", "g/h": ""})
	if err := fstest.TestFS(opened.FS(), "a.go", "d/e/f.md", "g/h"); err != nil {
		t.Error(err)
	}
}

func TestDeepTree(t *testing.T) {
	opened, root := workspace(t, files{strings.Repeat("d/", 256) + "a": ""})
	write(t, root, files{strings.Repeat("d/", 300) + "b": ""})
	got, w := below(t, opened, ".", tree.Options{})
	if len(got) != 258 || w.Unreadable != 1 {
		t.Errorf("%d entries, %d unreadable", len(got), w.Unreadable)
	}
}

func TestReadText(t *testing.T) {
	opened, _ := workspace(t, files{"a.md": "one\r\ntwo\t\x1b[31m\u202e\u200bthree\n", "u.md": "aé\u20ac", "bad.md": "a\xffb", "e.md": "",
		"d/x.md": "x"})
	for _, test := range []struct {
		name string
		most int
		want string
		ok   bool
	}{
		{"a.md", 100, "one\ntwo\t[31mthree\n", true}, {"a.md", 4, "one\n", true}, {"a.md", 0, "", false},
		{"u.md", 6, "aé\u20ac", true}, {"u.md", 5, "aé", true}, {"u.md", 3, "aé", true}, {"u.md", 2, "a", true}, {"u.md", 1, "a", true},
		{"bad.md", 100, "", false}, {"bad.md", 1, "a", true}, {"e.md", 10, "", true}, {"./d/../a.md", 3, "one", true}, {"none.md", 3, "",
			false},
	} {
		if got, ok := opened.ReadText(test.name, test.most); got != test.want || ok != test.ok {
			t.Errorf("%d bytes of %s are %q, %t", test.most, test.name, got, ok)
		}
	}
}

func TestLargeFileIsNotRead(t *testing.T) {
	opened, root := workspace(t, nil)
	write(t, root, files{"big.md": "first\n" + string(bytes.Repeat([]byte("x"), 10<<20))})
	if text, ok := opened.ReadText("big.md", 7); text != "first\nx" || !ok {
		t.Errorf("its beginning is %q, %t", text, ok)
	}
}

func TestInRepository(t *testing.T) {
	for path, want := range map[string]bool{
		".git": true, ".git/config": true, "a/.GIT/hooks/x.md": true, "a/.git./x": true, ".git ./x": true, "git~1/config": true,
		"GIT~1":         true,
		".git:stream/x": true, ".g\u200dit/x": true, "a/../.git": true,
		"": false, ".": false, ".gitignore": false, ".github/x.md": false, "a.git/x": false, "git/x": false, "git~2": false,
		"a/../b": false,
	} {
		if got := tree.InRepository(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
