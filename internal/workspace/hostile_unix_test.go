//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/workspace"
)

// Opening a pipe would wait for its writer for ever.
func TestPipesAreNotOpened(t *testing.T) {
	s := layers{}.sources(t)
	if err := os.MkdirAll(s.Workspace.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(s.Workspace.Path, workspace.FileName)
	if err := syscall.Mkfifo(own, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, s)
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	users, err := workspace.ConfigFile(s.Getenv, s.Home)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(users), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(users, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, s)
}
