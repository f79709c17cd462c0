package transport_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/transport"
)

// heard records the calls of the official client's handlers.
type heard struct {
	tools, updated chan string
	progress       chan float64
}

func connectSDK(t *testing.T, f *fixture, version string) (*sdk.ClientSession, heard, <-chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeStdio(t.Context(), f.MCPServer, inR, outW, transport.StdioOptions{})
		outW.Close()
	}()
	h := heard{make(chan string, 10), make(chan string, 10), make(chan float64, 1000)}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { h.tools <- "changed" },
		ResourceUpdatedHandler:      func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { h.updated <- r.Params.URI },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { h.progress <- r.Params.Progress },
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
		},
	})
	stdioSession, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if got := stdioSession.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("speaks %s, want %s", got, version)
	}
	return stdioSession, h, served
}

// confirm asks through the library's input requests, which work in both eras.
func confirm(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer, ok := r.Params.InputResponses["sure"]; ok {
		if err := answer.DecodeFor(mcp.MethodElicitationCreate); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(answer.Elicitation.Action)), nil
	}
	return server.NewInputRequestBuilder("").Elicit("sure", mcp.ElicitationParams{
		Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
	}).ToolResult(), nil
}

func TestTheOfficialClientInBothEras(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { useOfficialClient(t, version) })
	}
}

func useOfficialClient(t *testing.T, version string) {
	f := newFixture()
	f.tool("confirm", confirm)
	subscribed := make(chan server.ClientSession, 2)
	f.hooks.AddAfterSubscribe(func(ctx context.Context, _ any, _ *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		subscribed <- server.ClientSessionFromContext(ctx)
	})
	f.hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest) {
		if len(r.Params.Notifications.ResourceSubscriptions) > 0 {
			subscribed <- server.ClientSessionFromContext(ctx)
		}
	})
	session, h, served := connectSDK(t, f, version)
	text := func(name string, args map[string]any) string {
		t.Helper()
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*sdk.TextContent).Text
	}

	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	if got := text("confirm", nil); got != "accept" {
		t.Fatalf("confirm: %s", got)
	}
	if got := text("progress", map[string]any{"n": 100}); got != "done" {
		t.Fatalf("progress: %s", got)
	}
	for i := range 100 {
		if got := await(t, h.progress); got != float64(i) {
			t.Fatalf("progress %v, want %d", got, i)
		}
	}

	subscribing := make(chan error, 1)
	go func() {
		subscribing <- session.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "plan://current"})
	}()
	subscriber := await(t, subscribed)
	subscriber.NotificationChannel() <- updated("plan://current")
	if got := await(t, h.updated); got != "plan://current" {
		t.Fatal(got)
	}
	f.DeleteTools("whoami") // broadcasts tools/list_changed
	await(t, h.tools)

	cancelCall(t, f, session)

	if err := session.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "plan://current"}); err != nil {
		t.Fatal(err)
	}
	if err := await(t, subscribing); err != nil && !strings.Contains(err.Error(), "cancel") {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if err := await(t, served); err != nil {
		t.Fatal(err)
	}
}

// cancelCall cancels a running call; the connection continues.
func cancelCall(t *testing.T, f *fixture, session *sdk.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "block"})
		called <- err
	}()
	await(t, f.started)
	cancel()
	if err := await(t, called); err == nil {
		t.Fatal("the cancelled call succeeded")
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "append"}); err != nil {
		t.Fatal(err)
	}
}
