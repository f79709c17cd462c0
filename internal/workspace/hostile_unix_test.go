//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// Opening a pipe would wait for its writer for ever.
func TestPipesAreNotOpened(t *testing.T) {
	s := layers{}.sources(t)
	testenv.Check(t, os.MkdirAll(s.Workspace.Path, 0o755))
	own := filepath.Join(s.Workspace.Path, workspace.FileName)
	testenv.Check(t, syscall.Mkfifo(own, 0o644))
	refused(t, s)
	testenv.Check(t, os.Remove(own))
	users := testenv.Must(workspace.ConfigFile(s.Getenv, s.Home))(t)
	testenv.Check(t, os.MkdirAll(filepath.Dir(users), 0o755))
	testenv.Check(t, syscall.Mkfifo(users, 0o600))
	refused(t, s)
}
