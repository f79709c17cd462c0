package hosts_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
)

// A hook that asks for a host or an event which there is not lets every tool pass: it is told, and init mends it.
func TestMisspeltHooks(t *testing.T) {
	for _, host := range []struct{ name, file, right string }{
		{"claude", ".claude/settings.json", "claude pre-tool-use"},
		{"codex", ".codex/hooks.json", "codex pre-tool-use"},
		{"gemini", ".gemini/settings.json", "gemini before-tool"},
		{"cursor", ".cursor/hooks.json", "cursor before-shell-execution"},
		{"windsurf", ".codeium/windsurf/hooks.json", "windsurf pre-run-command"},
	} {
		name, event, _ := strings.Cut(host.right, " ")
		for wrong, told := range map[string]string{
			name + " " + event[:len(event)-1]: "which is not a known event; use planloop hook " + host.right,
			name[:len(name)-1] + " " + event:  "which is not this host's name; use planloop hook " + host.right,
			name + " pre-tool":                "which is not a known event; use planloop hook " + host.right,
		} {
			m := machine(t)
			want := hosts.Request{Scope: hosts.User}
			write(t, m, host.name, want)
			file := filepath.Join(m.Home, host.file)
			good := read(t, file)
			put(t, file, strings.ReplaceAll(good, "hook "+host.right, "hook "+wrong))
			h := look(t, m, host.name, want)
			var found []string
			for _, edit := range h.Edits {
				found = append(found, edit.HookProblems...)
			}
			if len(found) != 1 || !strings.HasSuffix(found[0], told) || !strings.Contains(found[0], " runs planloop hook "+wrong+", ") {
				t.Errorf("%s as %q is told as %q", host.right, wrong, found)
			}
			if h.Hooks != hosts.Old {
				t.Errorf("%s as %q: the hooks are %s", host.right, wrong, h.Hooks)
			}
			write(t, m, host.name, want)
			if got := read(t, file); got != good {
				t.Errorf("%q was mended to\n%s", wrong, got)
			}
		}
	}
}
