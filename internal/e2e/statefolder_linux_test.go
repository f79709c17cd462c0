package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// tree lists the content of a path, with modes, sizes and the text of plain files.
func tree(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			fmt.Fprintln(&all, path, entry.Type())
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %s %q\n", path, info.Mode(), text)
		return err
	})
	testenv.Check(t, err)
	info, err := os.Stat(path)
	testenv.Check(t, err)
	return info.Mode().String() + "\n" + all.String()
}

// TestLinksInTheStateFolder: a link in place of the state folder, of its parent, or of anything in it is not followed: its target stays
// unchanged, and if planloop needs the file it reports the link.
func TestLinksInTheStateFolder(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{
		"..": true, ".": true, "growth": true, "growth/head": true, "lock": true, "plan.db": true, "plan.db-wal": true, "plan.db-shm": true,
		"approval.key": false, "workspace.json": false, "seen": false, "servers": false, "snapshot-1.json": false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.withModule()
			setUp(p, 2)
			submit := asking(t, "planning_submit_plan", submission("Add the Redis client"))
			p.feed(submit, "serve") // creates the key
			path := filepath.Join(p.stateDir(), name)
			victim := filepath.Join(t.TempDir(), "victim")
			if err := os.Rename(path, victim); errors.Is(err, fs.ErrNotExist) {
				err = os.WriteFile(victim, []byte("kept"), 0o600)
				testenv.Check(t, err)
			} else if err != nil {
				t.Fatal(err)
			}
			testenv.Check(t, os.Chmod(victim, map[bool]fs.FileMode{true: 0o755, false: 0o644}[isFolder(t, victim)]))
			testenv.Check(t, os.Symlink(victim, path))
			before := tree(t, victim)
			var said strings.Builder
			for _, args := range [][]string{{"show"}, {"comment", "x"}, {"status"}, {"doctor"}, {"plan", "status"}} {
				got := p.run(args...)
				said.WriteString(got.out + got.err)
				if args[0] == "status" && (got.code != 0) != refused {
					t.Errorf("%v: %+v", args, got)
				}
			}
			got := p.feed(submit, "serve")
			said.WriteString(got.out + got.err)
			if after := tree(t, victim); after != before {
				t.Errorf("what the link leads to has changed:\n%s\nwas\n%s", after, before)
			}
			if refused && !strings.Contains(said.String(), "is a link") {
				t.Errorf("nobody says that it is a link:\n%s", said.String())
			}
		})
	}
}

func isFolder(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	testenv.Check(t, err)
	return info.IsDir()
}

// TestStateOfAnotherUser: neither another user's folder nor one that others may write counts as the user's own.
func TestStateOfAnotherUser(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"another user's":        func(path string) error { return os.Chown(path, 65534, 65534) },
		"others may write":      func(path string) error { return os.Chmod(path, 0o707) },
		"its group may write":   func(path string) error { return os.Chmod(path, 0o770) },
		"a pipe for the marker": func(path string) error { return replaceByPipe(filepath.Join(path, "workspace.json")) },
		"a pipe for the head":   func(path string) error { return replaceByPipe(filepath.Join(path, "growth/head")) },
		"a pipe for the lock":   func(path string) error { return replaceByPipe(filepath.Join(path, "lock")) },
	} {
		for _, above := range []bool{false, true} {
			p := newPlace(t)
			setUp(p, 1)
			path := p.stateDir()
			if above && !strings.Contains(name, "pipe") {
				path = filepath.Dir(path)
			}
			if err := spoil(path); err != nil {
				t.Skip(err)
			}
			got := p.run("step", "mark", "S001", "done")
			if want := name != "a pipe for the marker"; (got.code != 0) != want {
				t.Errorf("%s, above: %t: %+v", name, above, got)
			}
		}
	}
}

func replaceByPipe(path string) error {
	return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
}
