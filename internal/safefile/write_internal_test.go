package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Without hard links a new file is written directly, and replaces none.
func TestNewFilesWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, want := range []error{nil, fs.ErrExist} {
		if err := place(root, "gone", "a.md", []byte("ours\n"), Options{New: true}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "a.md")); err != nil || string(text) != "ours\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
}
