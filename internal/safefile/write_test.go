package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/safefile"
)

// requireOnly checks that the folder has only the file with a text, or is empty for "".
func requireOnly(t *testing.T, path, want string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if want == "" && len(entries) == 0 {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want || len(entries) != 1 {
		t.Errorf("%v, %q, %v", err, text, entries)
	}
}

func put(t *testing.T, path, text string, mode fs.FileMode) fs.FileInfo {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permissions")
	}
	for name, c := range map[string]struct {
		options safefile.Options
		like    bool
		want    fs.FileMode
	}{
		"exact":                 {safefile.Options{Mode: 0o666}, false, 0o666},
		"of the former":         {safefile.Options{}, true, 0o640},
		"exact, over a former":  {safefile.Options{Mode: 0o600}, true, 0o600},
		"a new file, exact":     {safefile.Options{Mode: 0o606, New: true}, false, 0o606},
		"a new file, for alone": {safefile.Options{Mode: 0o600, New: true}, false, 0o600},
	} {
		path := filepath.Join(t.TempDir(), "a.txt")
		if c.like {
			c.options.Like = put(t, path, "former", 0o640)
		}
		if err := safefile.WriteFile(path, []byte("text"), c.options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		requireOnly(t, path, "text")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != c.want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// With New an existing file is not replaced, even if it appears at the last moment.
func TestNewFilesReplaceNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	confirm := func() error { return os.WriteFile(path, []byte("theirs"), 0o600) }
	for range 2 {
		err := safefile.WriteFile(path, []byte("ours"), safefile.Options{New: true, Confirm: confirm})
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
		requireOnly(t, path, "theirs")
		confirm = nil
	}
}

func TestConfirmKeepsTheFormer(t *testing.T) {
	path, no := filepath.Join(t.TempDir(), "a.txt"), errors.New("no")
	put(t, path, "former", 0o600)
	err := safefile.WriteFile(path, []byte("text"), safefile.Options{Confirm: func() error { return no }})
	if err != no {
		t.Errorf("%v", err)
	}
	requireOnly(t, path, "former")
}

// An error names the requested file, and leaves no temporary file.
func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"none/a.txt", "../a.txt"} {
		err := safefile.Write(root, name, []byte("text"), safefile.Options{})
		if failed, ok := errors.AsType[*fs.PathError](err); !ok || failed.Path != name || strings.Contains(err.Error(), ".planloop-") {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(full, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = safefile.WriteFile(full, []byte("text"), safefile.Options{})
	if failed, ok := errors.AsType[*fs.PathError](err); !ok || failed.Path != full {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}

func TestLinksAreReplaced(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "theirs.txt"), "theirs", 0o600)
	path := filepath.Join(dir, "a.txt")
	if err := os.Symlink("theirs.txt", path); err != nil {
		t.Skip(err)
	}
	if err := safefile.WriteFile(path, []byte("ours"), safefile.Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "theirs.txt")); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
}
