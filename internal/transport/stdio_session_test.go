package transport_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

func TestNotificationsPrecedeTheAnswer(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	const each = 300
	for id := range 30 {
		c.send(call(id, "progress", fmt.Sprintf(`{"n":%d}`, each)))
		for i := range each {
			if r := c.next(); r.Method != "notifications/progress" || r.Params["progress"] != float64(i) {
				t.Fatalf("call %d: got %s, want progress %d", id, r, i)
			}
		}
		c.wantText(fmt.Sprint(id), "done")
	}
	c.close()
}

func TestLogMessagesFollowTheLevel(t *testing.T) {
	f := newFixture()
	f.tool("log", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := f.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "t", "hello"))
		return mcp.NewToolResultText("ok"), err
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "log", ""))
	c.want("1") // only errors and worse by default
	c.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
	c.want("2")
	c.send(call(3, "log", ""))
	if r := c.next(); r.Method != "notifications/message" || r.Params["data"] != "hello" {
		t.Fatal(r)
	}
	c.want("3")
	c.close()
}

func TestBroadcastsReachAnInitializedClientOnly(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	f.SendNotificationToAllClients("notifications/tools/list_changed", nil)
	c.handshake()
	f.SendNotificationToAllClients("notifications/tools/list_changed", nil)
	if r := c.next(); r.Method != "notifications/tools/list_changed" {
		t.Fatal(r)
	}
	c.close()
}

func TestResourcesUpdatedThroughTheSession(t *testing.T) {
	f := newFixture()
	var subscriber server.ClientSession
	f.hooks.AddAfterSubscribe(func(ctx context.Context, _ any, _ *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		subscriber = server.ClientSessionFromContext(ctx)
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"plan://current"}}`)
	c.wantText("1", "{}")
	subscriber.NotificationChannel() <- updated("plan://current")
	if r := c.next(); r.Method != "notifications/resources/updated" || r.Params["uri"] != "plan://current" {
		t.Fatal(r)
	}
	c.close()
}

func TestAskingTheClient(t *testing.T) {
	f := newFixture()
	f.tool("elicit", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := f.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: "sure?", RequestedSchema: map[string]any{"type": "object"},
		}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(r.Action)), nil
	})
	f.tool("roots", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := f.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(r.Roots[0].URI), nil
	})
	tests := []struct{ tool, method, answer, text string }{
		{"elicit", "elicitation/create", `"result":{"action":"accept","content":{}}`, "accept"},
		{"roots", "roots/list", `"result":{"roots":[{"uri":"file:///x"}]}`, "file:///x"},
		{"elicit", "elicitation/create", `"error":{"code":-32601,"message":"not here"}`, "not here (code -32601)"},
		{"roots", "roots/list", `"result":{"roots":"none"}`, "decode the client's answer"},
		{"roots", "roots/list", `"result":null`, "without a result"},
	}
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	for i, tt := range tests {
		// The client's own ids start at 1 like ours, and must not be confused.
		id := fmt.Sprint(i + 1)
		c.send(call(id, tt.tool, ""))
		asked := c.next()
		if asked.Method != tt.method {
			t.Fatalf("got %s, want %s", asked, tt.method)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, asked.ID))
		c.wantText(string(asked.ID), "{}")
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, tt.answer))
		if r := c.want(id); !strings.Contains(r.String(), tt.text) {
			t.Fatalf("got %s, want %q", r, tt.text)
		}
	}
	c.close()
}

func TestAnUndeclaredCapabilityIsNotAskedFor(t *testing.T) {
	f := newFixture()
	f.tool("ask", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, roots := f.RequestRoots(ctx, mcp.ListRootsRequest{})
		_, elicitation := f.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: "?", RequestedSchema: map[string]any{"type": "object"},
		}})
		ok := errors.Is(roots, server.ErrRootsNotSupported) && errors.Is(elicitation, server.ErrElicitationNotSupported)
		return mcp.NewToolResultText(fmt.Sprint(ok)), nil
	})
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(strings.Replace(initialize, `{"roots":{},"elicitation":{}}`, `{}`, 1))
	c.want(`"init"`)
	c.send(call(1, "ask", ""))
	c.wantText("1", "true")
	c.close()
}

// asker elicits and returns the outcome.
func asker(f *fixture) <-chan error {
	ended := make(chan error, 1)
	f.tool("elicit", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := f.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: "sure?", RequestedSchema: map[string]any{"type": "object"},
		}})
		ended <- err
		return mcp.NewToolResultText("answered without"), nil
	})
	return ended
}

func TestAPersonWhoThinksStopsNoOtherCall(t *testing.T) {
	f := newFixture()
	asker(f)
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "elicit", ""))
	asked := c.next()
	c.send(call(2, "append", `{"v":2}`))
	c.wantText("2", "ok")
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, asked.ID))
	c.want("1")
	c.close()
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	f := newFixture()
	ended := asker(f)
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "elicit", ""))
	asked := c.next()
	c.send(cancelled(1))
	if err := await(t, ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	withdrawn := c.next()
	if withdrawn.Method != "notifications/cancelled" || fmt.Sprint(withdrawn.Params["requestId"]) != string(asked.ID) {
		t.Fatalf("the client was not told: %s", withdrawn)
	}
	c.close()
}

func TestAQuestionEndsWithTheInput(t *testing.T) {
	f := newFixture()
	ended := asker(f)
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "elicit", ""))
	c.next()
	rest, err := c.end()
	if err != nil || len(rest) != 1 || !strings.Contains(rest[0].String(), "answered without") {
		t.Fatalf("%v, %v", rest, err)
	}
	if err := await(t, ended); !errors.Is(err, transport.ErrClosed) {
		t.Fatal(err)
	}
}

func updated(uri string) mcp.JSONRPCNotification {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = mcp.MethodNotificationResourceUpdated
	n.Params.AdditionalFields = map[string]any{"uri": uri}
	return n
}
