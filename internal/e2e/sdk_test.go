package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
)

// Revisions of the protocol: three with a handshake, and the stateless one.
const (
	oldest    = "2024-11-05"
	older     = "2025-06-18"
	handshake = "2025-11-25"
	stateless = "2026-07-28"
)

// sdk is a connection of the official Go SDK's client.
type sdk struct {
	*mcp.ClientSession
	t testing.TB
}

// transport returns a way to reach a server, started for it.
func (p *place) transport(kind string, args ...string) mcp.Transport {
	p.t.Helper()
	if kind == "stdio" {
		return &mcp.CommandTransport{Command: p.command(append([]string{"serve"}, args...)...)}
	}
	return p.serveHTTP(args...).transport(kind)
}

func (s *httpServer) transport(kind string) mcp.Transport {
	own := &http.Transport{}
	s.t.Cleanup(own.CloseIdleConnections)
	if kind == "sse" {
		return &mcp.SSEClientTransport{Endpoint: s.base + "/sse", HTTPClient: &http.Client{Transport: own}}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.base + "/mcp", HTTPClient: &http.Client{Transport: own}}
}

// connect connects the SDK's client by a transport, in a protocol revision.
func connect(t testing.TB, to mcp.Transport, version string, opts *mcp.ClientOptions) *sdk {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), to, &mcp.ClientSessionOptions{ProtocolVersion: version})
	testenv.Check(t, err)
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("revision %s was agreed on, want %s", got, version)
	}
	return &sdk{session, t}
}

// tool calls a tool.
func (c *sdk) tool(tool string, args any) (reply, error) {
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return reply{}, err
	}
	if len(result.Content) != 1 {
		return reply{}, fmt.Errorf("%d contents", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return reply{}, fmt.Errorf("content is a %T", result.Content[0])
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return reply{}, err
	}
	return reply{text.Text, structured, result.IsError}, nil
}
