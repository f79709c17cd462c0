package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// FuzzBody posts any body to every path, in and out of a session: the answer is timely and never a 5xx, and a refusal
// is always a JSON-RPC error.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		ping, initializeBody, listenBody, callBody("echo", "x"), modernHTTPCall(1, "echo", "x"),
		"", "{", "[]", "[" + ping + "]", "null", `"`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"error":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"plan://current"}}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"id":1,"method":"ping","params":[1,2]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"_meta":[]}}`,
		strings.Repeat("[", 10000), strings.Repeat(`{"a":`, 100),
	} {
		f.Add(seed, true, false)
		f.Add(seed, false, true)
		f.Add(seed, true, true)
	}
	srv := server.NewMCPServer("fuzz", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true))
	srv.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
	s, err := NewHTTPServer(srv, HTTPOptions{Addr: "127.0.0.1:8137", SessionIdle: time.Hour})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	session := s.sessions.Generate()
	f.Fuzz(func(t *testing.T, body string, inSession, modernHeader bool) {
		for _, path := range []string{"/mcp", "/message?sessionId=none"} {
			status, header, answer := fuzzPost(t, s, path, body, func(r *http.Request) {
				if inSession {
					r.Header.Set("Mcp-Session-Id", session)
				}
				if modernHeader {
					r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
				}
			})
			if status >= 500 {
				t.Fatalf("%s: %d %s", path, status, answer)
			}
			if status >= 400 && header.Get("Content-Type") == "application/json" && !json.Valid([]byte(answer)) {
				t.Fatalf("%s: %d %q is no JSON", path, status, answer)
			}
		}
	})
}

// fuzzPost posts one body; a stream it opens is ended at once.
func fuzzPost(t *testing.T, s *HTTPServer, path, body string, edit func(*http.Request)) (int, http.Header, string) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8137"
	r.Header.Set("Content-Type", "application/json")
	edit(r)
	w := httptest.NewRecorder()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.handler.ServeHTTP(w, r)
	}()
	select {
	case <-answered:
	case <-time.After(patience):
		t.Fatalf("%s hangs on %q", path, body)
	}
	return w.Code, w.Header(), w.Body.String()
}
