package e2e_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRootsDecideForTheirOwnServerAlone starts servers where no project is. The
// root of the host that started one names the workspace; a client of a server
// over HTTP, which has others, does not.
func TestRootsDecideForTheirOwnServerAlone(t *testing.T) {
	for kind, moves := range map[string]bool{"stdio": true, "http": false} {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t)
			if err := os.Remove(filepath.Join(p.workspace, ".git")); err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
			//lint:ignore SA1019 the handshake revisions have roots, and hosts tell them
			client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()})
			session, err := client.Connect(t.Context(), p.transport(kind), &mcp.ClientSessionOptions{ProtocolVersion: handshake})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = session.Close() })
			if got, err := (&sdk{session, t}).tool("planning_setup_plan", map[string]any{"objective": "Find my place"}); err != nil ||
				got.refused {
				t.Fatalf("%+v, %v", got, err)
			}
			want, other := p.workspace, root
			if moves {
				want, other = root, p.workspace
			}
			if got := p.run("show", "-C", want).out; !strings.Contains(got, "Find my place") {
				t.Errorf("the plan is not in %s: %s", want, got)
			}
			if got := p.run("show", "-C", other).out; strings.Contains(got, "Find my place") {
				t.Errorf("the plan is in %s", other)
			}
		})
	}
}
