package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
)

// TestOthersHearOfChanges has clients of every kind wait for changes by another process, and then the command line.
func TestOthersHearOfChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 3)
	ears := map[string]func(t *testing.T){
		"stdio, handshake": p.subscribedHost(),
		"stdio, stateless": p.listeningHost(),
		"HTTP, stateless":  listenOverHTTP(p.serveHTTP()),
	}
	for name, to := range map[string]mcp.Transport{"stdio, SDK": p.transport("stdio"), "HTTP, SDK": p.transport("http"),
		"SSE, SDK": p.transport("sse")} {
		ears[name] = subscribe(t, to)
	}
	other := p.open()
	for n, change := range []func(){
		func() { other.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"}) },
		func() { p.must("step", "mark", "S002", "done") },
		func() { other.do("planning_add_step", arguments{"steps": []arguments{{"title": "One more"}}}) },
		func() { p.must("step", "add", "And another") },
	} {
		change()
		for name, hear := range ears {
			if hear(t); t.Failed() {
				t.Fatalf("%s did not hear of change %d", name, n+1)
			}
		}
	}
}

// subscribedHost subscribes as the handshake revisions do.
func (p *place) subscribedHost() func(*testing.T) {
	p.t.Helper()
	h := p.open()
	f, err := h.request("resources/subscribe", map[string]string{"uri": "plan://current"})
	if err != nil || f.Error != nil {
		p.t.Fatalf("subscribe: %v, %+v", err, f.Error)
	}
	return func(t *testing.T) { h.next("notifications/resources/updated", `"plan://current"`) }
}

const listening = `{"jsonrpc":"2.0","id":"ear","method":"subscriptions/listen","params":{` + meta +
	`,"notifications":{"resourceSubscriptions":["plan://current"]}}}`

// listeningHost opens a stream as the stateless revision does.
func (p *place) listeningHost() func(*testing.T) {
	p.t.Helper()
	h := p.serve()
	if err := h.write(listening); err != nil {
		p.t.Fatal(err)
	}
	h.next("notifications/subscriptions/acknowledged", "plan://current")
	return func(t *testing.T) {
		h.next("notifications/resources/updated", `"plan://current"`, `"io.modelcontextprotocol/subscriptionId":"ear"`)
	}
}

// listenOverHTTP opens a stream as the stateless revision does.
func listenOverHTTP(s *httpServer) func(*testing.T) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/mcp", strings.NewReader(listening))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": stateless, "Mcp-Method": "subscriptions/listen"} {
		request.Header.Set(name, value)
	}
	own := &http.Transport{}
	s.t.Cleanup(own.CloseIdleConnections)
	response, err := (&http.Client{Transport: own}).Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	events := make(chan string, 100)
	go func() { // ends with the body
		defer close(events)
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- data
			}
		}
	}()
	next := func(t *testing.T, words ...string) {
		late := time.NewTimer(patience)
		defer late.Stop()
		for {
			select {
			case data, ok := <-events:
				if !ok {
					t.Errorf("the stream has ended: %s", s.errors)
					return
				}
				if json.Valid([]byte(data)) && containsAll(data, words) {
					return
				}
			case <-late.C:
				t.Errorf("no event with %q in %v", words, patience)
				return
			}
		}
	}
	if t, ok := s.t.(*testing.T); ok {
		next(t, "notifications/subscriptions/acknowledged", "plan://current")
	}
	return func(t *testing.T) {
		next(t, "notifications/resources/updated", `"plan://current"`, `"io.modelcontextprotocol/subscriptionId":"ear"`)
	}
}

// subscribe has the official client subscribe.
func subscribe(t *testing.T, to mcp.Transport) func(*testing.T) {
	t.Helper()
	updated := make(chan string, 100)
	client := connect(t, to, handshake, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			updated <- r.Params.URI
		}})
	testenv.Check(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "plan://current"}))
	return func(t *testing.T) {
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case uri := <-updated:
			if uri != "plan://current" {
				t.Errorf("told of %s", uri)
			}
		case <-late.C:
			t.Errorf("not told in %v", patience)
		}
	}
}
