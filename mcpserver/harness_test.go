package mcpserver_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// world is a server on a workspace of its own, kept in memory.
type world struct {
	server  *mcpserver.Server
	service *verbs.Service
	session *session.Session
}

func newWorld(t testing.TB) world {
	t.Helper()
	return newWorldWith(t, verbs.Options{}, mcpserver.Options{})
}

// newWorldWith is newWorld with options for the service and for the server.
func newWorldWith(t testing.TB, configured verbs.Options, wanted mcpserver.Options) world {
	t.Helper()
	s := session.New(store.NewMemory(), session.Options{})
	service := verbs.New(s, configured)
	server, err := mcpserver.New(mcpserver.Options{
		Version: "test", Strategy: prompts.React, Toolsets: wanted.Toolsets, User: terminal.CommandLine{}, Yield: transport.Yield,
		Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
		Actor: func(client, _ string) plan.Actor {
			return plan.Actor{Kind: plan.Agent, Name: client}
		},
	})
	testenv.Check(t, err)
	t.Cleanup(func() {
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return world{server, service, s}
}

// The two eras of the protocol, by a revision of each.
const (
	handshake = "2025-11-25"
	stateless = "2026-07-28"
)

// closing limits the wait for a client that closes.
const closing = 5 * time.Second

// connect returns the official SDK's client, connected over stdio pipes.
func (w world) connect(t testing.TB, era string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- transport.ServeStdio(t.Context(), w.server.MCP, serverIn, serverOut, transport.StdioOptions{})
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	testenv.Check(t, err)
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			session.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(closing): // the SDK may wait forever for a question that was withdrawn while it answered
		}
		clientOut.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		serverOut.Close()
	})
	return session
}

// call calls a tool and returns the text of the answer.
func call(t testing.TB, session *mcp.ClientSession, tool string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

func text(t testing.TB, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d contents", len(result.Content))
	}
	return result.Content[0].(*mcp.TextContent).Text
}
