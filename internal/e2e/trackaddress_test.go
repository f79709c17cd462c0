package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// onAddress connects a client to a path of the server.
func (s *httpServer) onAddress(path string) *sdk {
	s.t.Helper()
	own := &http.Transport{}
	s.t.Cleanup(own.CloseIdleConnections)
	return connect(s.t, &mcp.StreamableClientTransport{Endpoint: s.base + path, HTTPClient: &http.Client{Transport: own}}, handshake, nil)
}

// withTwoTracks returns a server of a workspace with a plan on main and one on fix-the-docs.
func withTwoTracks(t *testing.T) (*place, *httpServer) {
	t.Helper()
	p := newPlace(t)
	p.must("start", "Add login", "--step", "Write the form")
	p.must("--track", "fix-the-docs", "start", "Fix the docs", "--step", "Correct the README")
	return p, p.serveHTTP()
}

// TestAddressOfATrack: a client at /t/NAME/mcp reads and changes that track only, and an address begins none.
func TestAddressOfATrack(t *testing.T) {
	t.Parallel()
	p, s := withTwoTracks(t)
	before := p.must("--track", "main", "log")
	docs, login := s.onAddress("/t/fix-the-docs/mcp"), s.onAddress("/t/main/mcp")
	for _, c := range []struct {
		client *sdk
		own    string
	}{{docs, "Correct the README"}, {login, "Write the form"}, {docs, "Correct the README"}} {
		if got, err := c.client.tool("planloop_status", arguments{}); err != nil || !strings.Contains(got.text, c.own) {
			t.Errorf("not %s: %v %s", c.own, err, got.text)
		}
		read, err := c.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "plan://current"})
		if err != nil || !strings.Contains(read.Contents[0].Text, c.own) {
			t.Errorf("plan://current is not that of %s: %v %+v", c.own, err, read)
		}
	}
	if got, err := docs.tool("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); err != nil || got.refused {
		t.Errorf("%v %s", err, got.text)
	}
	if after := p.must("--track", "main", "log"); after != before {
		t.Errorf("main was changed:\n%s", after)
	}
	if shown := p.must("--track", "fix-the-docs", "log"); !strings.Contains(shown, "S001") {
		t.Errorf("no change of fix-the-docs:\n%s", shown)
	}
	for _, path := range []string{"/t/nowhere/mcp", "/t/Fix-the-docs/mcp", "/t//mcp", "/t/fix-the-docs/x/mcp",
		"/t/fix-the-docs%2F..%2Fx/mcp"} {
		got := s.send(http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if got.status != http.StatusNotFound || !got.contains("this track does not exist; an address begins none") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if all := p.tracks(); len(all) != 1 {
		t.Errorf("tracks: %q", all)
	}
}

// TestHeldSessionEscapesByNoAddress: planning mode on main holds its session also at the address of another track, whether the session is
// known by its connection, by its client's name or because its host names it. Another session works there.
func TestHeldSessionEscapesByNoAddress(t *testing.T) {
	t.Parallel()
	const (
		docs    = "/t/fix-the-docs/mcp"
		enter   = `{"reason":"it is large"}`
		mark    = `{"step_id":"S001","status":"done"}`
		session = `"ai.opencode/sessionID":"s-1",`
	)
	calling := func(s *httpServer, path, more, tool, args string) answer {
		named := strings.Replace(meta, `"_meta":{`, `"_meta":{`+more, 1)
		return s.send(http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+named+`,"name":"`+tool+
			`","arguments":`+args+`}}`, statelessHeaders(tool)...)
	}
	for name, c := range map[string]struct{ enter, escape func(*httpServer) answer }{
		"by its client's name": {func(s *httpServer) answer { return calling(s, "/t/main/mcp", "", "planning_enter_plan_mode", enter) },
			func(s *httpServer) answer { return calling(s, docs, "", "planning_mark_step", mark) }},
		"named by its host": {func(s *httpServer) answer {
			return calling(s, "/t/main/mcp", session, "planning_enter_plan_mode", enter)
		}, func(s *httpServer) answer {
			call := strings.Replace(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,"name":"planning_mark_step","arguments":`+
				mark+`}}`, "META", strings.NewReplacer(`"_meta":{`, `"_meta":{`+session, `"raw"`, `"other"`).Replace(meta), 1)
			return s.send(http.MethodPost, docs, call, statelessHeaders("planning_mark_step")...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := withTwoTracks(t)
			other := s.onAddress(docs)
			if got := c.enter(s); !got.contains("gathering") {
				t.Fatal(got)
			}
			before := p.must("--track", "fix-the-docs", "log")
			if got := c.escape(s); !got.contains("lanning mode", `"isError":true`) {
				t.Errorf("not refused: %s", got.body)
			}
			if after := p.must("--track", "fix-the-docs", "log"); after != before {
				t.Errorf("fix-the-docs was changed:\n%s", after)
			}
			if got, err := other.tool("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); err != nil || got.refused {
				t.Errorf("another session is held: %v %s", err, got.text)
			}
		})
	}
	t.Run("by its connection", func(t *testing.T) {
		t.Parallel()
		p, s := withTwoTracks(t)
		held := s.onAddress("/t/main/mcp")
		if got, err := held.tool("planning_enter_plan_mode", arguments{"reason": "it is large"}); err != nil || got.refused {
			t.Fatal(err, got.text)
		}
		before := p.must("--track", "fix-the-docs", "log")
		call := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"planning_mark_step","arguments":` + mark + `}}`
		got := s.send(http.MethodPost, docs, call, "Mcp-Session-Id", held.ID(), "MCP-Protocol-Version", handshake)
		if !got.contains("lanning mode", `"isError":true`) {
			t.Errorf("not refused: %s", got.body)
		}
		if after := p.must("--track", "fix-the-docs", "log"); after != before {
			t.Errorf("fix-the-docs was changed:\n%s", after)
		}
	})
}
