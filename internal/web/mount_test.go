package web

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

// TestNeitherOpensTheOther serves MCP and the page at one address: credentials of one do not work at the other.
func TestNeitherOpensTheOther(t *testing.T) {
	t.Parallel()
	const token = "correct-horse-battery"
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	f := prepare(t, func(o *Options) { o.ViewAccess.Token = token })
	both, err := transport.NewHTTPServer(server.NewMCPServer("test", "1"), transport.HTTPOptions{Token: token, Page: f.Server})
	if err != nil {
		t.Fatal(err)
	}
	l, err := transport.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.host = l.Addr().String()
	f.base = "http://" + f.host
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- both.Serve(ctx, WithPolicy(l)) }()
	defer func() {
		stop()
		if err := next(t, served); err != nil {
			t.Error(err)
		}
		f.Close()
	}()
	f.submit("w1")
	b := f.launch()
	b.typeCode()
	mcp := func(edit ...func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.base+"/mcp", strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for _, change := range edit {
			change(r)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	bearer := func(value string) func(*http.Request) { return header("Authorization", "Bearer "+value) }
	if got := mcp(bearer(token)); got != http.StatusOK {
		t.Errorf("MCP with its token: %d", got)
	}
	for what, edit := range map[string]func(*http.Request){
		"a session of the page": b.in, "its key": bearer(b.key), "its cookie": bearer(b.cookie.Value), "a code": bearer(f.code()),
		"its proof": bearer(b.unlock),
	} {
		if got := mcp(edit); got != http.StatusUnauthorized {
			t.Errorf("MCP with %s: %d", what, got)
		}
	}
	approve := `{"workspace":"w1","act":"approve","input":{}}`
	for what, edit := range map[string]func(*http.Request){
		"the token": bearer(token), "the token as the key": header("Planloop-Key", token),
		"the token as the cookie": header("Cookie", b.cookie.Name+"="+token),
	} {
		for _, path := range []string{"/api/inbox", "/api/view?workspace=w1", "/api/events"} {
			if answer := f.raw(http.MethodGet, path, "", edit); answer.status != http.StatusUnauthorized {
				t.Errorf("%s with %s: %d", path, what, answer.status)
			}
		}
		if answer := f.raw(http.MethodPost, "/api/act", approve, edit); answer.status != http.StatusUnauthorized {
			t.Errorf("approving with %s: %d", what, answer.status)
		}
	}
	looks := f.enter(enterBody("token", token)) // typed into the page
	mayNothing(t, f, looks, looks.view("w1"))
	if answer := f.raw(http.MethodPost, "/api/act", approve, looks.in, bearer(token)); answer.status != http.StatusForbidden {
		t.Errorf("approving with the token twice: %d", answer.status)
	}
	lines, _ := b.stream()
	if answer := b.act("w1", "approve", decision(b.view("w1"))); answer.status != http.StatusOK {
		t.Errorf("approving: %d %s", answer.status, answer.body)
	}
	next(t, lines)
	if _, err := net.Dial("tcp", f.host); err != nil {
		t.Error(err)
	}
}
