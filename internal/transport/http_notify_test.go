package transport

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A subscription's messages in a session's channel must reach every kind of client.

func TestUpdateReachesHandshakeClientOfMCPGo(t *testing.T) {
	for _, path := range []string{"/mcp", "/sse"} {
		t.Run(path, func(t *testing.T) {
			f := serve(t, HTTPOptions{Token: clientToken})
			//lint:ignore SA1019 the handshake revisions have a standalone stream
			c := newMCPGo(t, f, path, transport.WithContinuousListening())
			got := make(chan mcp.JSONRPCNotification, 10)
			c.OnNotification(func(n mcp.JSONRPCNotification) { got <- n })
			connectMCPGo(t, c, "2025-11-25")
			session := next(t, "the session", f.registered)
			n := push(t, session, got)
			if n.Method != mcp.MethodNotificationResourceUpdated || n.Params.AdditionalFields["uri"] != "plan://current" {
				t.Errorf("notification %+v", n)
			}
		})
	}
}

// push sends an update until one arrives. mcp-go takes the first as part of its answer to the initialization if that has not quite ended,
// and the client, which has the answer already, misses it.
func push[T any](t *testing.T, session server.ClientSession, got <-chan T) T {
	t.Helper()
	again, limit := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer again.Stop()
	for {
		select {
		case session.NotificationChannel() <- updated("plan://current"):
		default: // the channel is full
		}
		select {
		case value := <-got:
			return value
		case <-again.C:
		case <-limit:
			t.Fatal("waited in vain for the update")
		}
	}
}

func TestUpdateReachesHandshakeClientOfGoSDK(t *testing.T) {
	for _, path := range []string{"/mcp", "/sse"} {
		t.Run(path, func(t *testing.T) {
			f := serve(t, HTTPOptions{Token: clientToken})
			got := make(chan string, 10)
			opts := &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
				got <- r.Params.URI
			}}
			var to sdk.Transport = &sdk.StreamableClientTransport{Endpoint: f.base + path, HTTPClient: httpClient(t)}
			if path == "/sse" {
				to = &sdk.SSEClientTransport{Endpoint: f.base + path, HTTPClient: httpClient(t)}
			}
			client := connectSDKOverHTTP(t, to, "2025-11-25", opts)
			if err := client.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "plan://current"}); err != nil {
				t.Fatal(err)
			}
			session := next(t, "the session", f.registered)
			if uri := push(t, session, got); uri != "plan://current" {
				t.Errorf("updated %s", uri)
			}
		})
	}
}

func TestUpdateReachesListenStream(t *testing.T) {
	f := serve(t, HTTPOptions{Token: clientToken})
	c := newMCPGo(t, f, "/mcp")
	got := make(chan mcp.JSONRPCNotification, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) { got <- n })
	connectMCPGo(t, c, "")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"plan://current"}})
	}()
	session := next(t, "the listening session", f.listening)
	session.NotificationChannel() <- updated("plan://current")
	for n := next(t, "the update", got); n.Method != mcp.MethodNotificationResourceUpdated; n = next(t, "the update", got) {
		if !strings.Contains(n.Method, "acknowledged") {
			t.Errorf("unasked %s", n.Method)
		}
	}
	cancel()
	next(t, "the end of listening", ended)
}

func TestListenStreamIsStampedWithItsID(t *testing.T) {
	f := serve(t, HTTPOptions{})
	resp := f.open(t, http.MethodPost, "/mcp", listenBody, modern("subscriptions/listen", ""))
	defer func() { _ = resp.Body.Close() }()
	events := sseEvents(resp.Body)
	if ack := next(t, "the acknowledgement", events); !strings.Contains(ack.data,
		"notifications/subscriptions/acknowledged") || !strings.Contains(ack.data, "plan://current") {
		t.Errorf("first event %s", ack.data)
	}
	next(t, "the listening session", f.listening).NotificationChannel() <- updated("plan://current")
	if ev := next(t, "the update", events); !strings.Contains(ev.data,
		`"io.modelcontextprotocol/subscriptionId":"sub"`) || !strings.Contains(ev.data, "resources/updated") {
		t.Errorf("update %s", ev.data)
	}
}

// Messages pushed while the client was away arrive when it comes back.
func TestStreamIsResumed(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	session := next(t, "the session", f.registered)
	ctx, drop := context.WithCancel(t.Context())
	first := f.open(t, http.MethodGet, "/mcp", "", func(r *http.Request) { in(r); *r = *r.WithContext(ctx) })
	events := sseEvents(first.Body)
	session.NotificationChannel() <- updated("plan://one")
	one := next(t, "the first update", events)
	if one.id == "" || !strings.Contains(one.data, "plan://one") {
		t.Fatalf("first event %+v", one)
	}
	drop()
	_ = first.Body.Close()
	session.NotificationChannel() <- updated("plan://two")
	resume := func(id string) *http.Response {
		return f.open(t, http.MethodGet, "/mcp", "", func(r *http.Request) { in(r); r.Header.Set("Last-Event-ID", id) })
	}
	again := resume(one.id)
	defer func() { _ = again.Body.Close() }()
	if two := next(t, "the missed update", sseEvents(again.Body)); !strings.Contains(two.data, "plan://two") {
		t.Errorf("resumed with %+v", two)
	}
	unknown := resume("999999")
	_ = unknown.Body.Close()
	if unknown.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown event: %d", unknown.StatusCode)
	}
}

// In a handshake session every notification of a call precedes its answer on the same stream.
func TestNotificationsComeBeforeTheAnswer(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	for range 20 {
		answer := f.raw(t, http.MethodPost, "/mcp", callBody("burst", ""), in)
		if got := strings.Count(answer.body, "notifications/progress"); got != 3 || strings.LastIndex(answer.body,
			"notifications/progress") > strings.Index(answer.body, "told") {
			t.Fatalf("%d notifications: %s", got, answer.body)
		}
	}
}

func TestListenStreamIsKeptAlive(t *testing.T) {
	f := serve(t, HTTPOptions{KeepAlive: time.Millisecond})
	resp := f.open(t, http.MethodPost, "/mcp", listenBody, modern("subscriptions/listen", ""))
	defer func() { _ = resp.Body.Close() }()
	events := sseEvents(resp.Body)
	for next(t, "a sign of life", events).name != ":" {
	}
}
