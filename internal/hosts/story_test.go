package hosts_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/splice"
)

// TestStories: whatever a user, a host and planloop have done to a file in turn, taking
// planloop out leaves what the others have made of it, and nothing that is planloop's.
func TestStories(t *testing.T) {
	for _, file := range []struct {
		host, path string
		format     splice.Format
		text       string
	}{
		{"gemini", ".gemini/settings.json", splice.JSON, "{\n  // mine\n  \"a\": 1,\n}\n"},
		{"claude", ".claude/settings.json", splice.JSON, "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"beep\"}]}]}}"},
		{"cursor", ".cursor/hooks.json", splice.JSON, ""},
		{"antigravity", ".gemini/config/hooks.json", splice.JSON, "{}"},
		{"codex", ".codex/config.toml", splice.TOML, "model = \"x\" # so\n\n[mcp_servers.y]\ncommand = \"z\"\n"},
		{"goose", ".config/goose/config.yaml", splice.YAML, "# mine\na: 1\nextensions:\n  x:\n    enabled: true\n"},
	} {
		for seed := range uint64(12) {
			t.Run(fmt.Sprintf("%s/%d", file.host, seed), func(t *testing.T) {
				t.Parallel()
				random, m := rand.New(rand.NewPCG(seed, 1)), machine(t)
				path := filepath.Join(m.Home, file.path)
				put(t, path, file.text)
				theirs := parsed(t, file.format, file.text)
				edited := false
				for step := range 6 {
					switch random.IntN(4) {
					case 0:
						m.Program = fmt.Sprintf("/opt/%d/planloop", random.IntN(3))
						write(t, m, file.host, hosts.Want{Scope: hosts.User})
					case 1:
						write(t, m, file.host, hosts.Want{Scope: hosts.User})
					case 2:
						write(t, m, file.host, hosts.Want{Scope: hosts.User, Remove: true})
					case 3: // somebody else adds something of their own
						now := parsed(t, file.format, read(t, path))
						for _, d := range []*splice.Document{theirs, now} {
							if err := d.Set(step, fmt.Sprintf("their%d", step)); err != nil {
								t.Fatal(err)
							}
						}
						put(t, path, string(now.Bytes()))
						edited = true
					}
				}
				write(t, m, file.host, hosts.Want{Scope: hosts.User, Remove: true})
				got := read(t, path)
				if !edited && got != file.text {
					t.Errorf("it comes back as %q, was %q", got, file.text)
				}
				has, _ := parsed(t, file.format, got).Value()
				want, _ := theirs.Value()
				if difference := cmp.Diff(want, has); difference != "" || strings.Contains(got, "planloop") {
					t.Errorf("%s\n%s", difference, got)
				}
			})
		}
	}
}

func parsed(t *testing.T, format splice.Format, text string) *splice.Document {
	t.Helper()
	d, err := splice.Parse(format, []byte(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return d
}

// TestDocumentedPlaces: docs/hosts.md names the files that are written.
func TestDocumentedPlaces(t *testing.T) {
	m := machine(t)
	m.Home, m.Project = "~", "."
	rows := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join("..", "..", "docs", "hosts.md"))) {
		if cells := strings.Split(line, "|"); len(cells) == 8 {
			rows[strings.Trim(cells[2], " `")] = line
		}
	}
	for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
		for _, place := range m.Places(scope) {
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
