package hosts_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/hosts"
)

// TestStories: whatever a user, a host and planloop have done to a file in turn, taking
// planloop out leaves what the others have made of it, and nothing that is planloop's.
func TestStories(t *testing.T) {
	for _, file := range []struct{ host, path, text string }{
		{"gemini", ".gemini/settings.json", "{\n  // mine\n  \"a\": 1,\n}\n"},
		{"claude", ".claude/settings.json", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"beep\"}]}]}}"},
		{"cursor", ".cursor/hooks.json", "{}"},
		{"opencode", ".config/opencode/opencode.json", "{\"mcp\": {}}"},
		{"codex", ".codex/config.toml", "model = \"x\" # so\n\n[mcp_servers.y]\ncommand = \"z\"\n"},
	} {
		for seed := range uint64(12) {
			t.Run(fmt.Sprintf("%s/%d", file.host, seed), func(t *testing.T) {
				t.Parallel()
				random, m := rand.New(rand.NewPCG(seed, 1)), machine(t)
				path := filepath.Join(m.Home, file.path)
				put(t, path, file.text)
				theirs := file.text
				for step := range 6 {
					switch random.IntN(4) {
					case 0:
						m.Program = fmt.Sprintf("/opt/%d/planloop", random.IntN(3))
						write(t, m, file.host, hosts.Request{Scope: hosts.User})
					case 1:
						write(t, m, file.host, hosts.Request{Scope: hosts.User})
					case 2:
						write(t, m, file.host, hosts.Request{Scope: hosts.User, Remove: true})
					case 3: // somebody else adds something of their own
						theirs = extended(theirs, path, step)
						put(t, path, extended(read(t, path), path, step))
					}
				}
				write(t, m, file.host, hosts.Request{Scope: hosts.User, Remove: true})
				got := read(t, path)
				difference := cmp.Diff(meaning(t, path, theirs), meaning(t, path, got))
				if difference != "" || strings.Contains(got, "planloop") {
					t.Errorf("%s\n%s", difference, got)
				}
			})
		}
	}
}

// extended is a text with one more setting.
func extended(text, path string, step int) string {
	if filepath.Ext(path) == ".toml" {
		return fmt.Sprintf("their%d = %d\n%s", step, step, text)
	}
	return strings.Replace(text, "{", fmt.Sprintf("{\n  \"their%d\": %d,", step, step), 1)
}

// TestDocumentedPlaces: docs/reference/hosts.md names the files that are written.
func TestDocumentedPlaces(t *testing.T) {
	m := machine(t)
	m.Home, m.Project = "~", "."
	rows := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join("..", "..", "docs", "reference", "hosts.md"))) {
		if cells := strings.Split(line, "|"); len(cells) == 8 {
			rows[strings.Trim(cells[2], " `")] = line
		}
	}
	for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
		for _, place := range m.HostFiles(scope) {
			for _, path := range []string{place.Server, place.Hooks} {
				path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), "hooks/hooks.json")
				if path == "~/.config/Claude/claude_desktop_config.json" || path == "~/.config/Code/User/mcp.json" {
					path = filepath.Base(path) // which system has it where is told elsewhere
				}
				if path != "" && place.Name != "gemini" && !strings.Contains(rows[place.Name], "`"+path+"`") {
					t.Errorf("%s, %s: %s is not in the row %q", place.Name, scope, path, rows[place.Name])
				}
			}
		}
	}
}
