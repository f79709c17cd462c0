package worktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/worktree"
)

// folder is a test folder, a git work tree unless it is plain.
type folder struct {
	t   testing.TB
	dir string
}

func plain(t testing.TB) folder {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	return folder{t, t.TempDir()}
}

func versioned(t testing.TB) folder {
	t.Helper()
	f := plain(t)
	f.git("init", "-q", "-b", "main")
	return f
}

// below returns a folder in it.
func (f folder) below(name string) folder {
	f.t.Helper()
	dir := filepath.Join(f.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return folder{f.t, dir}
}

func (f folder) git(args ...string) {
	f.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		f.t.Skip(err)
	}
	settings := []string{"-c", "user.name=n", "-c", "user.email=e@e", "-c", "protocol.file.allow=always"}
	cmd := exec.Command("git", append(settings, args...)...)
	cmd.Dir = f.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// write writes files with the text "one", or the text after an equals sign.
func (f folder) write(names ...string) {
	f.t.Helper()
	for _, name := range names {
		name, text, given := strings.Cut(name, "=")
		if !given {
			text = "one"
		}
		path := filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			f.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f folder) commit(names ...string) {
	f.t.Helper()
	f.write(names...)
	f.git("add", "-A")
	f.git("commit", "-qm", "m")
}

func (f folder) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) look() worktree.Snapshot {
	f.t.Helper()
	s, err := worktree.TakeSnapshot(f.t.Context(), f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f folder) expect(before worktree.Snapshot, moved bool, want ...string) {
	f.t.Helper()
	got, was, err := worktree.ChangedSince(f.t.Context(), before)
	if err != nil || was != moved || !slices.Equal(got, want) {
		f.t.Errorf("%q %t %v, want %q %t", got, was, err, want, moved)
	}
}

// story is a sequence of changes between two looks.
type story struct {
	before, between func(folder)
	changed         []string
	moved           bool
}

// stories run in a work tree with a commit of a.txt, b/c.txt and .gitignore, and in a folder without git with the same
// files.
func stories() map[string]story {
	nothing := func(folder) {}
	return map[string]story{
		"nothing":          {nothing, nothing, nil, false},
		"edited":           {nothing, func(f folder) { f.write("a.txt=two!") }, []string{"a.txt"}, false},
		"removed":          {nothing, func(f folder) { f.remove("b") }, []string{"b/c.txt"}, false},
		"made":             {nothing, func(f folder) { f.write("n.txt", "new/er/m.txt") }, []string{"n.txt", "new/er/m.txt"}, false},
		"ignored":          {nothing, func(f folder) { f.write("x.log", "out/y") }, nil, false},
		"made before":      {func(f folder) { f.write("n.txt") }, nothing, nil, false},
		"made and edited":  {func(f folder) { f.write("n.txt") }, func(f folder) { f.write("n.txt=two") }, []string{"n.txt"}, false},
		"made and removed": {func(f folder) { f.write("n.txt") }, func(f folder) { f.remove("n.txt") }, []string{"n.txt"}, false},
		"edited and restored": {func(f folder) { f.write("a.txt=two") }, func(f folder) { f.write("a.txt=one") },
			[]string{"a.txt"}, false},
		"removed and restored": {func(f folder) { f.remove("a.txt") }, func(f folder) { f.write("a.txt=one") }, []string{"a.txt"}, false},
		"odd names": {nothing, func(f folder) { f.write("é è", "a\nb", " ", "-x", "\"q\"", "t\tab", "# c") },
			[]string{" ", "\"q\"", "# c", "-x", "a\nb", "t\tab", "é è"}, false},
		"a link": {nothing, func(f folder) { _ = os.Symlink("a.txt", filepath.Join(f.dir, "l")) }, []string{"l"}, false},
		"a link elsewhere": {func(f folder) { _ = os.Symlink("/etc", filepath.Join(f.dir, "l")) }, func(f folder) {
			f.remove("l")
			_ = os.Symlink("/usr", filepath.Join(f.dir, "l"))
		}, []string{"l"}, false},
		"made executable": {func(f folder) { f.write("n.sh") }, func(f folder) {
			_ = os.Chmod(filepath.Join(f.dir, "n.sh"), 0o700)
		}, []string{"n.sh"}, false},
		"a file for a folder": {nothing, func(f folder) { f.remove("b"); f.write("b") }, []string{"b", "b/c.txt"}, false},
	}
}

// gitStories run only in the work tree.
func TestCommit(t *testing.T) {
	f := versioned(t)
	f.commit("a.txt=two")
	clean := worktree.Commit(t.Context(), f.dir)
	f.write("n")
	changed := worktree.Commit(t.Context(), f.dir)
	if len(clean) != 7 || changed != clean+" with uncommitted changes" || worktree.Commit(t.Context(), t.TempDir()) != "" {
		t.Errorf("the commit is %q, then %q", clean, changed)
	}
}

func gitStories() map[string]story {
	nothing := func(folder) {}
	return map[string]story{
		"renamed": {nothing, func(f folder) { f.git("mv", "a.txt", "z.txt") }, []string{"a.txt", "z.txt"}, false},
		"edited again at the same time": {func(f folder) { f.write("a.txt=two") }, func(f folder) {
			info, _ := os.Stat(filepath.Join(f.dir, "a.txt"))
			f.write("a.txt=six")
			_ = os.Chtimes(filepath.Join(f.dir, "a.txt"), info.ModTime(), info.ModTime())
		}, []string{"a.txt"}, false},
		"written as it was": {func(f folder) { f.write("a.txt=two") }, func(f folder) { f.write("a.txt=two") }, nil, false},
		"only staged":       {func(f folder) { f.write("a.txt=two", "n") }, func(f folder) { f.git("add", "-A") }, nil, false},
		"edited and staged": {nothing, func(f folder) { f.write("a.txt=two"); f.git("add", "-A") }, []string{"a.txt"}, false},
		"stashed": {func(f folder) { f.write("a.txt=two") }, func(f folder) { f.git("stash", "-q") },
			[]string{"a.txt"}, false},
		"committed":             {nothing, func(f folder) { f.commit("a.txt=two", "n") }, []string{"a.txt", "n"}, true},
		"committed, and edited": {nothing, func(f folder) { f.commit("a.txt=two"); f.write("a.txt=3") }, []string{"a.txt"}, true},
		"what others made is committed": {func(f folder) { f.write("a.txt=two", "n") }, func(f folder) { f.commit("b/c.txt=two") },
			[]string{"b/c.txt"}, true},
		"committed and reverted": {nothing, func(f folder) {
			f.commit("a.txt=two")
			f.git("revert", "--no-edit", "HEAD")
		}, nil, true},
		"a commit taken back, its files kept": {func(f folder) { f.commit("a.txt=two") }, func(f folder) {
			f.git("reset", "-q", "--soft", "HEAD~1")
		}, nil, true},
		"a commit thrown away": {func(f folder) { f.commit("a.txt=two", "n") }, func(f folder) { f.git("reset", "-q", "--hard", "HEAD~1") },
			[]string{"a.txt", "n"}, true},
		"another branch": {func(f folder) {
			f.git("switch", "-qc", "other")
			f.commit("o")
			f.git("switch", "-q", "main")
		}, func(f folder) { f.git("switch", "-q", "other") }, []string{"o"}, true},
		"a conflict": {func(f folder) {
			f.git("switch", "-qc", "other")
			f.commit("a.txt=other")
			f.git("switch", "-q", "main")
			f.commit("a.txt=main")
		}, func(f folder) {
			_ = exec.Command("git", "-C", f.dir, "-c", "user.name=n", "-c", "user.email=e@e", "merge", "-q", "other").Run()
		}, []string{"a.txt"}, false},
		"a repository made": {nothing, func(f folder) { f.below("own").git("init", "-q") }, []string{"own"}, false},
		"a repository nested before": {func(f folder) {
			f.below("own").git("init", "-q")
			f.below("own").commit("x", "y")
		}, func(f folder) { f.write("own/x=two") }, []string{"own/x"}, false},
		"a commit in a nested one": {func(f folder) {
			f.below("own").git("init", "-q")
			f.below("own").commit("x")
		}, func(f folder) { f.below("own").commit("z") }, []string{"own/z"}, true},
		"a nested one that is in the index": {func(f folder) {
			f.below("own").git("init", "-q")
			f.below("own").commit("x")
			f.commit()
		}, func(f folder) { f.write("own/x=two") }, []string{"own/x"}, false},
		"a nested one removed": {func(f folder) { f.below("own").git("init", "-q") }, func(f folder) { f.remove("own") },
			[]string{"own"}, false},
	}
}

func TestWhatHasChanged(t *testing.T) {
	for name, s := range stories() {
		for _, versions := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, with git %t", name, versions), func(t *testing.T) { s.tell(t, versions) })
		}
	}
	for name, s := range gitStories() {
		t.Run(name, func(t *testing.T) { s.tell(t, true) })
	}
}

func (s story) tell(t *testing.T, versions bool) {
	f := plain(t)
	files := []string{"a.txt", "b/c.txt", ".gitignore=*.log\nout/\n"}
	if f.write(files...); versions {
		f.git("init", "-q", "-b", "main")
		f.commit()
	}
	s.before(f)
	seen := f.look()
	s.between(f)
	f.expect(seen, s.moved, s.changed...)
}

func TestBeforeTheFirstCommit(t *testing.T) {
	f := versioned(t)
	f.write("a", "b")
	seen := f.look()
	f.commit("b=two", "c")
	f.expect(seen, true, "b", "c")
}

func TestSubmodules(t *testing.T) {
	other := versioned(t)
	other.commit("s.txt", "t.txt")
	f := versioned(t)
	f.git("submodule", "--quiet", "add", other.dir, "deps/sub")
	f.commit("a.txt")
	clean := f.look()
	f.write("deps/sub/s.txt=two", "deps/sub/new", "a.txt=two")
	f.expect(clean, false, "a.txt", "deps/sub/new", "deps/sub/s.txt")
	dirty := f.look()
	f.expect(dirty, false)
	f.below("deps/sub").commit("t.txt=two")
	f.expect(dirty, true, "deps/sub/t.txt")
	f.expect(clean, true, "a.txt", "deps/sub/new", "deps/sub/s.txt", "deps/sub/t.txt")
}

// A workspace may be a subfolder of a work tree: files outside of it are ignored.
func TestFolderOfAWorkTree(t *testing.T) {
	f := versioned(t)
	f.commit("inner/a", "inner/deep/b", "innermost/x", "outer")
	inner := f.below("inner")
	seen := inner.look()
	f.write("inner/deep/b=two", "inner/n", "outer=two", "innermost/x=two")
	inner.expect(seen, false, "deep/b", "n")
	f.commit("inner/a=two")
	inner.expect(seen, true, "a", "deep/b", "n")
}

// A folder ignored by the repository around it is treated as one without git.
func TestIgnoredFolder(t *testing.T) {
	f := versioned(t)
	f.commit(".gitignore=own/\n")
	own := f.below("own")
	own.write("a")
	seen := own.look()
	own.write("a=two!")
	own.expect(seen, false, "a")
}

// If the repository's work tree is elsewhere, its files are not taken for the folder's.
func TestWorkTreeElsewhere(t *testing.T) {
	elsewhere := plain(t)
	f := versioned(t)
	f.git("config", "core.worktree", elsewhere.dir)
	f.write("a")
	seen := f.look()
	elsewhere.write("b")
	f.write("a=two!")
	f.expect(seen, false, "a")
}

// Programs named in any setting of a repository are not run, and the environment does not redirect git.
func TestNothingIsRun(t *testing.T) {
	f := versioned(t)
	spy, ran := filepath.Join(t.TempDir(), "spy"), filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(spy, []byte("#!/bin/sh\necho \"$0 $*\" >>"+ran+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.commit("a.txt", "b.txt", ".gitattributes=*.txt filter=spy diff=spy merge=spy\n")
	nested := []folder{f.below("own"), f.below("sub")}
	for _, n := range nested {
		n.git("init", "-q")
		n.commit("a.txt", ".gitattributes=*.txt filter=nested\n")
		n.git("config", "filter.nested.clean", spy) // the outer repository does not name it
	}
	f.git("add", "sub") // as a submodule
	f.git("commit", "-qm", "sub")
	for _, where := range append(nested, f) {
		for _, name := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external",
			"diff.spy.textconv", "diff.spy.command", "filter.spy.clean", "filter.spy.process",
			"core.alternateRefsCommand", "gpg.program", "alias.status", "credential.helper", "merge.spy.driver", "hook.spy.command"} {
			where.git("config", name, spy)
		}
		where.git("config", "core.hooksPath", filepath.Dir(spy))
		where.git("config", "filter.spy.required", "true")
		where.git("config", "hook.spy.event", "post-index-change")
		for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "query-watchman", "reference-transaction"} {
			if err := os.Symlink(spy, filepath.Join(where.dir, ".git/hooks", hook)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = os.Remove(ran)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_EXTERNAL_DIFF", spy)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", spy)
	seen := f.look()
	f.write("a.txt=two", "own/a.txt=two", "sub/a.txt=two")
	f.expect(seen, false, "a.txt", "own/a.txt", "sub/a.txt")
	if told, err := os.ReadFile(ran); err == nil {
		t.Errorf("it was run:\n%s", told)
	}
	unguarded := exec.Command("git", "status")
	unguarded.Dir, unguarded.Env = f.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	_ = unguarded.Run()
	if _, err := os.Stat(ran); err != nil {
		t.Error("the repository arms nothing")
	}
}

func TestNothingIsWritten(t *testing.T) {
	f := versioned(t)
	f.commit("a.txt")
	index := filepath.Join(f.dir, ".git/index")
	f.write("a.txt=one") // the old content with a new time: git would update its index
	was, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	f.expect(f.look(), false)
	if is, err := os.Stat(index); err != nil || !is.ModTime().Equal(was.ModTime()) || !os.SameFile(was, is) {
		t.Error("the index was written", err)
	}
}

// A look takes limited time with any number of files.
func TestManyFiles(t *testing.T) {
	f := versioned(t)
	for i := range testenv.Count(4_000, 8_000, 50_000) {
		f.write(fmt.Sprintf("d%d/f%d.txt", i/500, i))
	}
	within := func(what string, look func()) {
		t.Helper()
		begun := time.Now()
		look()
		if took := time.Since(begun); took > 3*time.Minute { // on a busy disk
			t.Errorf("%s took %s", what, took)
		} else {
			t.Log(what, took)
		}
	}
	var seen worktree.Snapshot
	within("a look at what git does not know", func() { seen = f.look() })
	f.write("d7/f3501.txt=two", "n")
	within("a comparison", func() { f.expect(seen, false, "d7/f3501.txt", "n") })
	f.commit()
	within("a look at what git knows", func() { seen = f.look() })
	f.write("d7/f3501.txt=three")
	within("a comparison", func() { f.expect(seen, false, "d7/f3501.txt") })
	f.remove(".git")
	within("a look without git", func() { seen = f.look() })
	f.write("d7/f3501.txt=fourth")
	within("a comparison", func() { f.expect(seen, false, "d7/f3501.txt") })
}

func TestFaults(t *testing.T) {
	f := versioned(t)
	f.commit("a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := worktree.TakeSnapshot(ended, f.dir); err == nil {
		t.Error("an ended context is no error")
	}
	if _, err := worktree.TakeSnapshot(t.Context(), filepath.Join(f.dir, "missing")); err == nil {
		t.Error("a missing folder is no error")
	}
	seen := f.look()
	f.remove(".git")
	if changed, _, err := worktree.ChangedSince(t.Context(), seen); err == nil || changed != nil {
		t.Error("a repository that is gone is no error", changed)
	}
}
