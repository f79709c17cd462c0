//go:build unix

package hosts_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
)

// A project's files come from anywhere: a pipe in the place of one, which nobody writes to, holds nobody up.
func TestPipesAreNotRead(t *testing.T) {
	for host, name := range map[string]string{
		"claude": ".claude/settings.local.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json",
	} {
		m := machine(t)
		path := filepath.Join(m.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := look(t, m, host, hosts.Request{Scope: hosts.User}); len(got.Obstacles) > 0 {
			t.Errorf("%s: %q", host, got.Obstacles)
		}
	}
}
