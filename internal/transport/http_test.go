package transport

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func TestListenBindsLoopbackByDefault(t *testing.T) {
	for _, addr := range []string{"", ":0", "127.0.0.1:0"} {
		l, err := Listen(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") {
			t.Errorf("%q is bound to %s", addr, l.Addr())
		}
		if _, err := Listen(t.Context(), l.Addr().String()); err == nil || !strings.Contains(err.Error(), "choose another port") {
			t.Errorf("a taken port: %v", err)
		}
		_ = l.Close()
	}
	if _, err := Listen(t.Context(), "8137"); err == nil {
		t.Error("an address without a colon was bound")
	}
}

func TestServeRefusesAnExposedListener(t *testing.T) {
	s, err := NewHTTPServer(server.NewMCPServer("test", "1"), HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), l); !errors.Is(err, ErrTokenRequired) {
		t.Errorf("served %s without a token: %v", l.Addr(), err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was left open: %v", err)
	}
}

func TestServeReportsALostListener(t *testing.T) {
	s, err := NewHTTPServer(server.NewMCPServer("test", "1"), HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := s.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
}

func TestStopAnswersRunningCallsThenEndsStreams(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	get := f.open(t, http.MethodGet, "/mcp", "", in)
	defer func() { _ = get.Body.Close() }()
	listen := f.open(t, http.MethodPost, "/mcp", listenBody, modern("subscriptions/listen", ""))
	defer func() { _ = listen.Body.Close() }()
	listenEvents, getEvents := sseEvents(listen.Body), sseEvents(get.Body)
	next(t, "the acknowledgement", listenEvents)
	sseEventsIn, post := f.openSSEClient(t)
	post(initializeBody)
	next(t, "the answer to initialize", sseEventsIn)

	answers := make(chan httpReply, 2)
	go func() { answers <- f.raw(t, http.MethodPost, "/mcp", callBody("wait", "legacy"), in) }()
	go func() {
		answers <- f.raw(t, http.MethodPost, "/mcp", modernHTTPCall(1, "wait", "modern"), modern("tools/call", "wait"))
	}()
	post(callBody("wait", "sse"))
	for range 3 {
		next(t, "a call", f.started)
	}
	f.stop()
	<-f.closing
	select {
	case err := <-f.served:
		t.Fatalf("Serve did not wait: %v", err)
	case ev, open := <-getEvents:
		t.Fatalf("the stream ended before the calls: %+v %v", ev, open)
	default:
	}
	for range 3 {
		f.release <- struct{}{}
	}
	for range 2 {
		if answer := next(t, "an answer", answers); answer.status != http.StatusOK || !strings.Contains(answer.body, "waited") {
			t.Errorf("answer: %d %s", answer.status, answer.body)
		}
	}
	if ev := next(t, "the answer over SSE", sseEventsIn); !strings.Contains(ev.data, "waited sse") {
		t.Errorf("SSE answer: %s", ev.data)
	}
	if ev := next(t, "the end of the subscription", listenEvents); !strings.Contains(ev.data,
		`"id":"sub"`) || !strings.Contains(ev.data, `"resultType":"complete"`) || !strings.Contains(ev.data, `subscriptionId":"sub"`) {
		t.Errorf("last words of the subscription: %s", ev.data)
	}
	for _, stream := range []<-chan sseEvent{listenEvents, getEvents, sseEventsIn} {
		for ev := range stream {
			t.Errorf("after the end: %+v", ev)
		}
	}
	if err := next(t, "Serve", f.served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := net.Dial("tcp", f.host); err == nil {
		t.Error("the port is still open")
	}
}

func TestStopIsBounded(t *testing.T) {
	f := serve(t, HTTPOptions{Grace: 10 * time.Millisecond})
	_, post := f.openSSEClient(t)
	session := next(t, "the session", f.registered)
	session.Initialize()
	post(callBody("wait", "stuck"))
	next(t, "the call", f.started)
	f.stop()
	if err := next(t, "Serve", f.served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := next(t, "the cancellation", f.cancelled); got != "stuck" {
		t.Errorf("cancelled %q", got)
	}
}

func TestNoNewWorkWhileStopping(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	f.calls.stop()
	for _, c := range []struct {
		method, path, body string
		edit               func(*http.Request)
	}{
		{http.MethodPost, "/mcp", callBody("wait", ""), in},
		{http.MethodPost, "/mcp", modernHTTPCall(1, "wait", ""), modern("tools/call", "wait")},
		{http.MethodPost, "/mcp", listenBody, modern("subscriptions/listen", "")},
		{http.MethodGet, "/mcp", "", in},
		{http.MethodGet, "/sse", "", nil},
	} {
		answer := f.raw(t, c.method, c.path, c.body, c.edit)
		if _, text := answer.rpcError(t); answer.status != http.StatusServiceUnavailable || !strings.Contains(text, "stopping") {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.status, answer.body)
		}
	}
	if len(f.started) != 0 {
		t.Error("a call ran")
	}
}
