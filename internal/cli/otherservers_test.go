package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
)

// withZoo starts planloop with the zoo as its other server, and returns a client of an era.
func withZoo(t *testing.T, era string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	h := newHome(t)
	config := filepath.Join(filepath.Dir(h.dir), "config", "planloop", "config.yaml")
	testenv.Check(t, os.MkdirAll(filepath.Dir(config), 0o700))
	testenv.Check(t, os.WriteFile(config, []byte("toolsets: [mode, servers]\nservers: {zoo: {command: zoo}}\n"), 0o600))
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: h.command("serve")},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	testenv.Check(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

// TestAnotherServersConversation passes through planloop in both eras: the server's questions, its progress, and the cancelling of its
// call.
func TestAnotherServersConversation(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			asked, far := make(chan string, 9), make(chan *mcp.ProgressNotificationParams, 9)
			client := withZoo(t, era, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked <- r.Params.Message
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"animal": "emu"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) { far <- n.Params }})
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "zoo__ask", Arguments: map[string]any{}})
			testenv.Check(t, err)
			if text := result.Content[0].(*mcp.TextContent).Text; text != "acceptmap[animal:emu]" {
				t.Fatal(text)
			}
			if text := <-asked; text != "Server zoo asks: Which animal?" {
				t.Error(text)
			}
			ctx, cancel := context.WithCancel(t.Context())
			params := &mcp.CallToolParams{Name: "zoo__walk", Arguments: map[string]any{}}
			params.SetProgressToken("p")
			go func() {
				if told := <-far; told.Progress != 1 || told.Total != 4 || told.Message != "at the gate" {
					t.Errorf("%+v", told)
				}
				cancel()
			}()
			if _, err := client.CallTool(ctx, params); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			result, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "zoo__leave", Arguments: map[string]any{}})
			if err != nil || result.Content[0].(*mcp.TextContent).Text != "left" {
				t.Error(result, err)
			}
		})
	}
}
