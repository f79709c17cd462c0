//go:build unix

package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/testenv"
)

// A project's files come from anywhere: a pipe in the place of one, which nobody writes to, holds nobody up.
func TestPipesAreNotRead(t *testing.T) {
	for host, name := range map[string]string{
		"claude": ".claude/settings.local.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json",
	} {
		m := machine(t)
		path := filepath.Join(m.Project, name)
		testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.Check(t, syscall.Mkfifo(path, 0o644))
		if got := look(t, m, host, hosts.Request{Scope: hosts.User}); len(got.Obstacles) > 0 {
			t.Errorf("%s: %q", host, got.Obstacles)
		}
	}
}

// What an init that was killed has left beside a file goes with the next one; another program's stays, and what may still be
// written. A file's second name is told.
func TestLeftBehind(t *testing.T) {
	m, want := machine(t), hosts.Request{Scope: hosts.User}
	at := func(name string) string { return filepath.Join(m.Home, ".gemini", name) }
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".planloop-OLD.tmp", ".other-OLD.tmp", ".planloop-NEW.tmp"} {
		put(t, at(name), "half")
		if strings.Contains(name, "OLD") {
			testenv.Check(t, os.Chtimes(at(name), old, old))
		}
	}
	put(t, at("settings.json"), "{}")
	testenv.Check(t, os.Link(at("settings.json"), at("second.json")))
	h := write(t, m, "gemini", want)
	if told := strings.Join(h.Edits[0].Notes, "\n"); !strings.Contains(told, "second name") {
		t.Errorf("told is %q", told)
	}
	left, err := filepath.Glob(at(".*.tmp"))
	if err != nil || len(left) != 2 || read(t, at("second.json")) != "{}" {
		t.Errorf("%v: %q", err, left)
	}
	if notes := look(t, m, "gemini", want).Edits[0].Notes; len(notes) > 0 {
		t.Errorf("nothing changes, and told is %q", notes)
	}
}

// A file keeps its owner, where whoever may do anything writes it.
func TestOwnersStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	m := machine(t)
	path := filepath.Join(m.Home, ".claude.json")
	put(t, path, "{}")
	testenv.Check(t, os.Chown(path, 65534, 65534))
	write(t, m, "claude", hosts.Request{Scope: hosts.User})
	info, err := os.Stat(path)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("%v, %v", info, err)
	}
}
