//go:build unix

package presence_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// permissive lets every new file have the mode it asks for.
func permissive() { syscall.Umask(0) }

func TestModes(t *testing.T) {
	state := t.TempDir()
	p := start(t, state, "client#1")
	defer func() {
		_ = p.stop.Close()
		_ = p.cmd.Wait()
	}()
	folder := filepath.Join(state, "seen")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for path, want := range map[string]os.FileMode{
		folder:                                   0o700,
		filepath.Join(folder, entries[0].Name()): 0o600,
		filepath.Join(folder, entries[1].Name()): 0o600,
		filepath.Join(folder, entries[2].Name()): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
