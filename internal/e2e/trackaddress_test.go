package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
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

// TestAddressDecidesEachCall: two clients of one name that call at two addresses at the same time change their own tracks only.
func TestAddressDecidesEachCall(t *testing.T) {
	t.Parallel()
	p, s := withTwoTracks(t)
	const calls = 100
	var group sync.WaitGroup
	for path, title := range map[string]string{"/t/main/mcp": "part of the form", "/t/fix-the-docs/mcp": "part of the docs"} {
		group.Go(func() {
			for n := range calls {
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s,"name":"planning_add_step",`+
					`"arguments":{"title":"Add %s %d"}}}`, n+1, meta, title, n)
				if got := s.send(http.MethodPost, path, call, statelessHeaders("planning_add_step")...); got.contains(`"isError":true`) {
					t.Errorf("%s: %s", path, got.body)
				}
			}
		})
	}
	group.Wait()
	for track, titles := range map[string][2]string{"main": {"part of the form", "part of the docs"},
		"fix-the-docs": {"part of the docs", "part of the form"}} {
		log := p.must("--track", track, "export")
		if own, foreign := strings.Count(log, titles[0]), strings.Count(log, titles[1]); own < calls || foreign > 0 {
			t.Errorf("%s has %d of its own changes and %d of the other track", track, own, foreign)
		}
	}
}

// TestRefusedStartMovesNoSession: a planloop_start that is refused leaves the session on its track, and no new track behind.
func TestRefusedStartMovesNoSession(t *testing.T) {
	t.Parallel()
	p, _ := withTwoTracks(t)
	h := p.open()
	call := func(session, tool string, args arguments) string {
		t.Helper()
		return h.as(arguments{"ai.opencode/sessionID": session}, tool, args).text
	}
	call("s-1", "planloop_status", arguments{"track": "fix-the-docs"})
	for _, track := range []string{"main", "mine"} {
		call("s-1", "planloop_start", arguments{"goal": "", "track": track})
		if got := call("s-1", "planloop_status", arguments{}); !strings.Contains(got, "Correct the README") {
			t.Errorf("after a refused start on %s: %s", track, got)
		}
		call("s-2", "planloop_start", arguments{"goal": "", "track": track})
		if got := call("s-2", "planning_add_step", arguments{"title": "Add a button"}); !strings.Contains(got, "none of the open tracks") {
			t.Errorf("a session on no track, after a refused start on %s: %s", track, got)
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
