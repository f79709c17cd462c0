//go:build unix

package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/safefile"
)

// spoilt returns a folder of ours below another of ours, after spoil changed something.
func spoilt(t *testing.T, spoil func(ours, folder, victim string) error) (folder, victim string) {
	t.Helper()
	top := t.TempDir()
	ours, victim := filepath.Join(top, "planloop"), filepath.Join(top, "victim")
	folder = filepath.Join(ours, "app")
	for _, dir := range []string{folder, filepath.Join(victim, "app")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(victim, 0o755), spoil(ours, folder, victim)); err != nil {
		t.Fatal(err)
	}
	return folder, victim
}

// linked replaces a folder by a link.
func linked(from, to string) error { return errors.Join(os.RemoveAll(from), os.Symlink(to, from)) }

func TestFolder(t *testing.T) {
	foreign := func(path string) error { return os.Chown(path, 65534, 65534) }
	for name, c := range map[string]struct {
		spoil func(ours, folder, victim string) error
		says  string
		root  bool
	}{
		"as it should be":                  {func(_, _, _ string) error { return nil }, "", false},
		"a link in its place":              {func(_, folder, victim string) error { return linked(folder, victim) }, "is a link", false},
		"a link to nothing":                {func(_, folder, _ string) error { return linked(folder, "nothing") }, "is a link", false},
		"a link in place of the one above": {func(ours, _, victim string) error { return linked(ours, victim) }, "is a link", false},
		"a file in its place": {func(_, folder, _ string) error {
			return errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o600))
		}, "not a folder", false},
		"others may write":                   {func(_, folder, _ string) error { return os.Chmod(folder, 0o702) }, "chmod go-w", false},
		"its group may write":                {func(_, folder, _ string) error { return os.Chmod(folder, 0o770) }, "chmod go-w", false},
		"others may write above":             {func(ours, _, _ string) error { return os.Chmod(ours, 0o777) }, "chmod go-w", false},
		"others may write above, as in /tmp": {func(ours, _, _ string) error { return os.Chmod(ours, 0o777|fs.ModeSticky) }, "", false},
		"others may read":                    {func(_, folder, _ string) error { return os.Chmod(folder, 0o755) }, "", false},
		"another user's":                     {func(_, folder, _ string) error { return foreign(folder) }, "belongs to user 65534", true},
		"another user's above":               {func(ours, _, _ string) error { return foreign(ours) }, "belongs to user 65534", true},
		"a link above both": {func(ours, folder, victim string) error {
			top := filepath.Dir(ours)
			return errors.Join(os.Rename(top, top+".moved"), os.Symlink(top+".moved", top))
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			folder, victim := spoilt(t, c.spoil)
			for what, err := range map[string]error{"look": safefile.CheckFolder(folder), "make": safefile.MakeFolder(folder)} {
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			info, err := os.Stat(victim)
			if err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("what the link leads to has changed: %v, %v", info, err)
			}
		})
	}
}

func TestMakeIsPrivateWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		old := syscall.Umask(umask)
		folder := filepath.Join(t.TempDir(), "planloop", "app")
		err := safefile.MakeFolder(folder)
		syscall.Umask(old)
		info, missing := os.Stat(folder)
		if err != nil || missing != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("umask %o: %v, %v, %v", umask, info, err, missing)
		}
	}
	if err := safefile.CheckFolder(filepath.Join(t.TempDir(), "none", "app")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestFile: a link or a pipe is not opened, and a pipe does not block.
func TestFile(t *testing.T) {
	empty := func(path string, mode fs.FileMode) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode))
	}
	for name, c := range map[string]struct {
		spoil func(path, victim string) error
		says  string
	}{
		"a plain file":     {func(path, _ string) error { return os.WriteFile(path, []byte("old"), 0o600) }, ""},
		"a link":           {func(path, victim string) error { return os.Symlink(victim, path) }, "is a link"},
		"a link to none":   {func(path, victim string) error { return os.Symlink(victim+".none", path) }, "is a link"},
		"a pipe":           {func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"a folder":         {func(path, _ string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"others may write": {func(path, _ string) error { return empty(path, 0o606) }, "chmod"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, victim := filepath.Join(dir, "file"), filepath.Join(dir, "victim")
			if err := errors.Join(os.WriteFile(victim, []byte("kept"), 0o644), c.spoil(path, victim)); err != nil {
				t.Fatal(err)
			}
			file, err := safefile.Open(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC)
			if err == nil {
				err = file.Close()
			}
			_, unread := safefile.Read(path, 10)
			for _, err := range []error{err, unread} {
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v", err)
				}
			}
			text, err := os.ReadFile(victim)
			info, _ := os.Stat(victim)
			if _, made := os.Stat(victim + ".none"); err != nil || string(text) != "kept" || info.Mode().Perm() != 0o644 || made == nil {
				t.Errorf("what the link leads to has changed: %q, %v, %v", text, info, err)
			}
		})
	}
}
