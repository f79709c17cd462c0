package cli

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// A client's roots cost a round trip; planloop asks for them only if the workspace would otherwise be an unnamed directory outside any work
// tree. A home directory under version control is not a work tree.
func TestRootsAreAskedForLast(t *testing.T) {
	root, dir, tree, home := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{tree, home} {
		testenv.Check(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, c := range []struct {
		name, cwd, flag string
		environment     map[string]string
		asked           bool
		want            string
	}{
		{"nothing is known", dir, "", nil, true, root},
		{"a home directory", home, "", nil, true, root},
		{"a work tree", tree, "", nil, false, tree},
		{"the flag", dir, tree, nil, false, tree},
		{"the environment", dir, "", map[string]string{"PLANLOOP_WORKSPACE": tree}, false, tree},
		{"the host's variable", dir, "", map[string]string{"CLAUDE_PROJECT_DIR": tree}, false, tree},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.cwd)
			w, _, _ := emptyWorld()
			w.getenv = func(name string) string { return c.environment[name] }
			a := &app{environment: w}
			a.flags.workspace = c.flag
			asked := false
			place, err := a.find(t.Context(), func(context.Context) ([]string, error) {
				asked = true
				return []string{(&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()}, nil
			})
			testenv.Check(t, err)
			want, err := filepath.EvalSymlinks(c.want)
			testenv.Check(t, err)
			if asked != c.asked || place.Path != want {
				t.Errorf("asked %t, found %s; want %t, %s", asked, place.Path, c.asked, want)
			}
		})
	}
}

func TestServerJSON(t *testing.T) {
	if got, want := serverJSON(`C:\tools\planloop.exe`), `{"command":"C:\\tools\\planloop.exe","args":["serve"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A client over MCP is always an agent, with any name or none.
func TestClientsAreAgents(t *testing.T) {
	for _, environment := range []map[string]string{nil, {"USER": "ann"}, {"CI": "true"}, {"PLANLOOP_AGENT": "builder"},
		{"PLANLOOP_AGENT": "#"}} {
		for _, name := range []string{"", " ", "#", "\xff", "codex", "ann"} {
			for _, connection := range []string{"", "mcp-session-1"} {
				w, _, _ := emptyWorld()
				w.inIsTerminal = true // the server's, over HTTP
				w.getenv = func(name string) string { return environment[name] }
				actor := (&app{environment: w}).client(name, connection)
				if actor.Kind != plan.Agent || actor.Channel != plan.ChannelMCP || actor.Name == "user" {
					t.Errorf("client %q, connection %q, environment %v: %+v", name, connection, environment, actor)
				}
			}
		}
	}
}
