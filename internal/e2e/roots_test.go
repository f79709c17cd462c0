package e2e_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
)

// rooted returns a client of a server started outside any project, with some directories open.
func rooted(t *testing.T, p *place, kind, era string, roots ...string) *sdk {
	t.Helper()
	testenv.Check(t, os.Remove(filepath.Join(p.workspace, ".git")))
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	for _, root := range roots {
		//lint:ignore SA1019 hosts tell them, and some nothing else
		client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()})
	}
	session, err := client.Connect(t.Context(), p.transport(kind), &mcp.ClientSessionOptions{ProtocolVersion: era})
	testenv.Check(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &sdk{session, t}
}

// TestRootsDecideForTheirOwnServerAlone starts servers outside any project. The root of the host that started a server names the workspace,
// in either era; a client of a shared HTTP server cannot.
func TestRootsDecideForTheirOwnServerAlone(t *testing.T) {
	for _, c := range []struct {
		kind, era string
		moves     bool
	}{{"stdio", handshake, true}, {"stdio", stateless, true}, {"http", handshake, false}, {"http", stateless, false}} {
		t.Run(c.kind+" "+c.era, func(t *testing.T) {
			p, root := newPlace(t), t.TempDir()
			client := rooted(t, p, c.kind, c.era, root)
			if _, err := client.ListTools(t.Context(), nil); err != nil { // every host does this first
				t.Fatal(err)
			}
			if got, err := client.tool("planning_setup_plan", map[string]any{"objective": "Find my place"}); err != nil ||
				got.refused || strings.Contains(got.text, "in doubt") != (c.kind == "stdio" && !c.moves) {
				t.Fatalf("%+v, %v", got, err)
			}
			want, other := p.workspace, root
			if c.moves {
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

// TestOneOfSeveralRootsIsSaid opens three folders: the first is the workspace, and each reply with the plan's state says so.
func TestOneOfSeveralRootsIsSaid(t *testing.T) {
	for _, era := range []string{handshake, stateless} {
		p, roots := newPlace(t), []string{t.TempDir(), t.TempDir(), t.TempDir()}
		client := rooted(t, p, "stdio", era, roots...)
		listed, err := client.ListResources(t.Context(), nil)
		if err != nil || len(listed.Resources) == 0 {
			t.Fatalf("%v, %v", listed, err)
		}
		for _, call := range []struct {
			tool  string
			input map[string]any
		}{{"planloop_status", nil}, {"planning_setup_plan", map[string]any{"objective": "Say where"}}, {"planloop_status", nil},
			{"planning_read_plan", nil}} {
			got, err := client.tool(call.tool, call.input)
			if err != nil || got.refused {
				t.Fatalf("%+v, %v", got, err)
			}
			for form, said := range map[string]string{"text": got.text, "structure": string(got.structured)} {
				if !strings.Contains(said, "the host has 3 folders open; this is the first") ||
					!strings.Contains(said, "--workspace DIR") {
					t.Errorf("the %s of %s does not say that it is one of several: %s", form, call.tool, said)
				}
				if call.tool == "planloop_status" && !strings.Contains(said, filepath.Base(roots[0])) {
					t.Errorf("the %s of %s does not name the workspace: %s", form, call.tool, said)
				}
			}
		}
		if got := p.run("status", "-C", roots[0]); !strings.Contains(got.out, "Say where") || !strings.Contains(got.out, "\nWorkspace: ") {
			t.Errorf("the plan is not in the first: %s", got.out)
		}
	}
}
