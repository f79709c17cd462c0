package transport

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

const listenBody = `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen",` +
	`"params":{"notifications":{"resourceSubscriptions":["plan://current"]},` + modernMeta + `}}`

// A client of the stateless protocol must not end another's call, with any headers.
func TestNoClientCancelsAnothersCall(t *testing.T) {
	f := serve(t, HTTPOptions{})
	answers := make(chan httpReply, 1)
	go func() {
		answers <- f.raw(t, http.MethodPost, "/mcp", modernHTTPCall(42, "wait", "victim"), modern("tools/call", "wait"))
	}()
	next(t, "the call", f.started)
	bare := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":42}}`
	full := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":42,` + modernMeta + `}}`
	for name, c := range map[string]struct {
		body string
		edit func(*http.Request)
	}{
		"without _meta":   {bare, modern("notifications/cancelled", "")},
		"with _meta":      {full, modern("notifications/cancelled", "")},
		"other header":    {full, modern("notifications/progress", "")},
		"call's header":   {full, modern("tools/call", "echo")},
		"no header":       {full, nil},
		"escaped method":  {strings.Replace(full, "cancelled", `\u0063ancelled`, 1), modern("notifications/progress", "")},
		"old header":      {full, func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2025-11-25") }},
		"foreign session": {full, func(r *http.Request) { modern("notifications/cancelled", "")(r); r.Header.Set("Mcp-Session-Id", "x") }},
	} {
		if answer := f.raw(t, http.MethodPost, "/mcp", c.body, c.edit); answer.status != http.StatusAccepted || answer.body != "" {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	null := strings.Replace(full, `"method"`, `"id":null,"method"`, 1) // neither a request nor a notification
	if answer := f.raw(t, http.MethodPost, "/mcp", null, modern("notifications/cancelled", "")); answer.status != http.StatusBadRequest {
		t.Errorf("id null: %d %s", answer.status, answer.body)
	}
	// In an older revision it needs a session, and reaches only that one.
	_, in := f.session(t)
	if answer := f.raw(t, http.MethodPost, "/mcp", bare, in); answer.status != http.StatusAccepted {
		t.Errorf("in a session: %d %s", answer.status, answer.body)
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", bare, nil); answer.status != http.StatusBadRequest {
		t.Errorf("without a session: %d %s", answer.status, answer.body)
	}
	f.release <- struct{}{}
	if answer := next(t, "the answer", answers); !strings.Contains(answer.body, "waited victim") {
		t.Errorf("the victim's answer: %d %s", answer.status, answer.body)
	}
	if len(f.cancelled) != 0 {
		t.Error("the call was cancelled")
	}
}

func TestDroppedConnectionCancels(t *testing.T) {
	f := serve(t, HTTPOptions{})
	own := &http.Transport{}
	ctx, drop := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/mcp", strings.NewReader(modernHTTPCall(1, "wait", "dropped")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	modern("tools/call", "wait")(req)
	go func() {
		if resp, err := own.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	next(t, "the call", f.started)
	drop()
	if got := next(t, "the cancellation", f.cancelled); got != "dropped" {
		t.Errorf("cancelled %q", got)
	}
}

func TestOwnSessionCanCancel(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	answers := make(chan httpReply, 1)
	go func() { answers <- f.raw(t, http.MethodPost, "/mcp", callBody("wait", "own"), in) }()
	next(t, "the call", f.started)
	f.raw(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, in)
	if got := next(t, "the cancellation", f.cancelled); got != "own" {
		t.Errorf("cancelled %q", got)
	}
	if got := next(t, "the end", answers); got.status != http.StatusOK || got.body != "" ||
		got.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("a cancelled request is answered: %+v", got)
	}
	if got := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "alive"), in); !strings.Contains(got.body, "echo alive") {
		t.Errorf("the same id afterwards: %s", got.body)
	}
}

func TestStatelessNotificationWithoutMeta(t *testing.T) {
	f := serve(t, HTTPOptions{})
	for _, method := range []string{"notifications/initialized", "notifications/roots/list_changed", "notifications/progress"} {
		answer := f.raw(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"`+method+`"}`, modern(method, ""))
		if answer.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", method, answer.status, answer.body)
		}
	}
}

func TestHeadersMustAgreeWithTheBody(t *testing.T) {
	f := serve(t, HTTPOptions{})
	for name, c := range map[string]struct {
		edit func(*http.Request)
		code int
	}{
		"other method": {modern("tools/list", "wait"), -32020},
		"other name":   {modern("tools/call", "echo"), -32020},
		"no name":      {modern("tools/call", ""), -32020},
		"no version":   {nil, -32020},
		"other version": {func(r *http.Request) {
			modern("tools/call", "wait")(r)
			r.Header.Set("Mcp-Protocol-Version", "2027-01-01")
		}, -32020},
	} {
		answer := f.raw(t, http.MethodPost, "/mcp", modernHTTPCall(1, "wait", name), c.edit)
		if code, _ := answer.rpcError(t); answer.status != http.StatusBadRequest || code != c.code {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	future := strings.Replace(modernHTTPCall(1, "wait", ""), "2026-07-28", "2031-01-01", 1)
	answer := f.raw(t, http.MethodPost, "/mcp", future, func(r *http.Request) {
		modern("tools/call", "wait")(r)
		r.Header.Set("Mcp-Protocol-Version", "2031-01-01")
	})
	if code, _ := answer.rpcError(t); answer.status != http.StatusBadRequest || code != -32022 {
		t.Errorf("a revision of the future: %d %s", answer.status, answer.body)
	}
	if len(f.started) != 0 {
		t.Error("a call ran")
	}
}

func TestStatelessRequestsGetNoSession(t *testing.T) {
	f := serve(t, HTTPOptions{})
	answer := f.raw(t, http.MethodPost, "/mcp", modernHTTPCall(1, "echo", "hi"), func(r *http.Request) {
		modern("tools/call", "echo")(r)
		r.Header.Set("Mcp-Session-Id", "anything")
	})
	if answer.status != http.StatusOK || !strings.Contains(answer.body, "echo hi") || answer.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v %s", answer.status, answer.header, answer.body)
	}
	if len(f.registered) != 0 {
		t.Error("a session was registered")
	}
}
