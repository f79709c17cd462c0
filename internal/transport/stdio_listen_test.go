package transport_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

func listen(id any, filter string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"subscriptions/listen","params":{%s,"notifications":%s}}`, id, modernMeta, filter)
}

func listenLegacy(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, id)
}

func (c *client) wantNote(method string, subscription any) reply {
	c.t.Helper()
	r := c.next()
	meta, _ := r.Params["_meta"].(map[string]any)
	if r.Method != method || meta[mcp.MetaKeySubscriptionID] != subscription {
		c.t.Fatalf("got %s, want %s for %v", r, method, subscription)
	}
	return r
}

const acknowledged = "notifications/subscriptions/acknowledged"

func TestAStreamGetsWhatItAskedFor(t *testing.T) {
	f := newFixture()
	ended := make(chan string, 3)
	f.hooks.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) { ended <- s.SessionID() })
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(1, `{"toolsListChanged":true}`))
	c.wantNote(acknowledged, float64(1))
	c.send(listen(`"two"`, `{"promptsListChanged":true}`))
	c.wantNote(acknowledged, "two")
	for _, method := range []string{"resources/list_changed", "custom", "prompts/list_changed", "tools/list_changed"} {
		f.SendNotificationToAllClients("notifications/"+method, nil)
	}
	got := []string{c.next().String(), c.next().String()}
	slices.Sort(got) // two streams have no order between them
	if !strings.Contains(got[0], `:"two"`) || !strings.Contains(got[0], "prompts/list_changed") ||
		!strings.Contains(got[1], `:1`) || !strings.Contains(got[1], "tools/list_changed") {
		t.Fatal(got)
	}
	c.send(cancelled(1)) // ends silently
	await(t, ended)
	f.SendNotificationToAllClients("notifications/tools/list_changed", nil)
	f.SendNotificationToAllClients("notifications/prompts/list_changed", nil)
	c.wantNote("notifications/prompts/list_changed", "two")
	rest, err := c.end() // the server ends it
	if err != nil || len(rest) != 1 || string(rest[0].ID) != `"two"` || rest[0].Error != nil ||
		!strings.Contains(string(rest[0].Result), `"io.modelcontextprotocol/subscriptionId":"two"`) {
		t.Fatal(rest, err)
	}
}

func TestAnEmptyFilterEndsAtOnce(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(1, `{}`))
	c.wantNote(acknowledged, float64(1))
	c.want("1")
	c.close()
}

func TestAStreamBlocksNoCall(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(1, `{"toolsListChanged":true}`))
	c.wantNote(acknowledged, float64(1))
	c.send(modernCall(2, "append"))
	c.wantText("2", "ok")
	c.send(cancelled(1))
	c.close()
}

func TestStreamsAreBounded(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	for i := range 100 {
		c.send(listen(i, `{"toolsListChanged":true}`))
		c.wantNote(acknowledged, float64(i))
	}
	c.send(listen(100, `{"toolsListChanged":true}`))
	c.wantError("100", -32600, "cancel one")
	rest, err := c.end()
	if err != nil || len(rest) != 100 {
		t.Fatalf("%d answers, %v", len(rest), err)
	}
}

func TestTheGreatestStreamIdIsKept(t *testing.T) {
	const id = "9007199254740991"
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(id, `{}`))
	c.next()
	if r := c.want(id); !strings.Contains(string(r.Result), `:`+id) {
		t.Fatal(r)
	}
	c.close()
}

func TestTheAcknowledgementComesFirst(t *testing.T) {
	f := newFixture()
	f.hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) {
		server.ClientSessionFromContext(ctx).NotificationChannel() <- updated("plan://current")
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(1, `{"resourceSubscriptions":["plan://current"]}`))
	c.wantNote(acknowledged, float64(1))
	c.wantNote("notifications/resources/updated", float64(1))
	c.send(cancelled(1))
	c.close()
}

func TestResourcesUpdatedOnAStream(t *testing.T) {
	f := newFixture()
	var mu sync.Mutex
	var seen []string // hook calls in order
	saw := func(what, id string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what+" "+id)
	}
	listening := make(chan server.ClientSession, 1)
	f.hooks.AddOnRegisterSession(func(ctx context.Context, s server.ClientSession) { saw("register", s.SessionID()) })
	f.hooks.AddOnUnregisterSession(func(ctx context.Context, s server.ClientSession) { saw("unregister", s.SessionID()) })
	f.hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest) {
		s := server.ClientSessionFromContext(ctx)
		saw("before", s.SessionID())
		listening <- s
	})
	f.hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest,
		_ *mcp.SubscriptionsListenResult) {
		saw("after", server.ClientSessionFromContext(ctx).SessionID())
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(listen(1, `{"resourceSubscriptions":["plan://current","plan://steps/"]}`))
	s := await(t, listening)
	c.wantNote(acknowledged, float64(1))
	for _, uri := range []string{"plan://log", "plan://current.md", "plan://current", "plan://steps/S001"} {
		s.NotificationChannel() <- updated(uri)
	}
	for _, uri := range []string{"plan://current", "plan://steps/S001"} {
		if r := c.wantNote("notifications/resources/updated", float64(1)); r.Params["uri"] != uri {
			t.Fatal(r)
		}
	}
	c.send(cancelled(1))
	c.close()
	id := s.SessionID()
	want := []string{"register " + id, "before " + id, "after " + id, "unregister " + id}
	if len(seen) != 6 || !slices.Equal(seen[1:5], want) {
		t.Fatalf("hooks saw %v, want %v", seen, want)
	}
}

func TestAStatelessConnectionGetsNothingUnasked(t *testing.T) {
	f := newFixture()
	sessions := make(chan server.ClientSession, 1)
	f.tool("session", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		sessions <- server.ClientSessionFromContext(ctx)
		return mcp.NewToolResultText("ok"), nil
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(modernCall(1, "session"))
	c.want("1")
	f.SendNotificationToAllClients("notifications/tools/list_changed", nil)
	(await(t, sessions)).NotificationChannel() <- updated("plan://current")
	// Progress belongs to a request and needs no stream.
	c.send(strings.Replace(modernCall(2, "progress"), `"arguments":{}`, `"arguments":{"n":2}`, 1))
	for range 2 {
		if r := c.next(); r.Method != "notifications/progress" {
			t.Fatal(r)
		}
	}
	c.want("2")
	// The handshake makes it a connection of the earlier era.
	c.handshake()
	f.SendNotificationToAllClients("notifications/tools/list_changed", nil)
	if r := c.next(); r.Method != "notifications/tools/list_changed" {
		t.Fatal(r)
	}
	c.close()
}
