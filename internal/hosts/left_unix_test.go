//go:build unix

package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/hosts"
)

// What an init that was killed has left beside a file goes with the next one; another program's stays, and what may still be
// written. A file's second name is told.
func TestLeftBehind(t *testing.T) {
	m, want := machine(t), hosts.Request{Scope: hosts.User}
	at := func(name string) string { return filepath.Join(m.Home, ".gemini", name) }
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".planloop-OLD.tmp", ".other-OLD.tmp", ".planloop-NEW.tmp"} {
		put(t, at(name), "half")
		if strings.Contains(name, "OLD") {
			if err := os.Chtimes(at(name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, at("settings.json"), "{}")
	if err := os.Link(at("settings.json"), at("second.json")); err != nil {
		t.Fatal(err)
	}
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
