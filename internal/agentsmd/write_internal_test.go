package agentsmd

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// A change by another program between reading and writing must not be lost.
func TestSomebodyElseIsFaster(t *testing.T) {
	for name, c := range map[string]struct {
		before string // "" for no file
		meddle func(path string) error
		after  string // "" for no file
	}{
		"writes":           {"a\n", func(path string) error { return os.WriteFile(path, []byte("b\n"), 0o644) }, "b\n"},
		"appends":          {"a\n", func(path string) error { return os.WriteFile(path, []byte("a\nb\n"), 0o644) }, "a\nb\n"},
		"replaces":         {"a\n", func(path string) error { return replaceBy(path, "c\n") }, "c\n"},
		"removes":          {"a\n", os.Remove, ""},
		"protects":         {"a\n", func(path string) error { return os.Chmod(path, 0o444) }, "a\n"},
		"makes it binary":  {"a\n", func(path string) error { return os.WriteFile(path, []byte("\x00"), 0o644) }, "\x00"},
		"creates":          {"", func(path string) error { return os.WriteFile(path, []byte("b\n"), 0o644) }, "b\n"},
		"creates an empty": {"", func(path string) error { return os.WriteFile(path, nil, 0o644) }, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, root := openTemp(t)
			path := filepath.Join(dir, "a.md")
			if c.before != "" {
				testenv.Check(t, os.WriteFile(path, []byte(c.before), 0o644))
			}
			was, refused := read(root, "a.md")
			if refused != nil {
				t.Fatal(refused)
			}
			testenv.Check(t, c.meddle(path))
			requireChanged(t, replace(root, was, []byte("ours\n")))
			if was.exists() {
				requireChanged(t, replace(root, was, nil))
			}
			requireLeft(t, dir, c.after)
		})
	}
}

func openTemp(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root := testenv.Must(os.OpenRoot(dir))(t)
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, root
}

func replaceBy(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func requireChanged(t *testing.T, err error) {
	t.Helper()
	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.State != Changed || refusal.Fix != "try again" {
		t.Errorf("%v", err)
	}
}

// requireLeft checks that the folder has only a.md with a text, or is empty for "".
func requireLeft(t *testing.T, dir, want string) {
	t.Helper()
	entries := testenv.Must(os.ReadDir(dir))(t)
	if want == "" && len(entries) == 0 {
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.md"))
	if want == "empty" {
		want = ""
	}
	if err != nil || string(text) != want || len(entries) != 1 {
		t.Errorf("%v, %q, %v", err, text, entries)
	}
	if runtime.GOOS == "windows" {
		_ = os.Chmod(filepath.Join(dir, "a.md"), 0o644) // or it cannot be cleaned up
	}
}
