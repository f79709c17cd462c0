package downstream_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/toolbox"
)

// BenchmarkCall compares a call through planloop with a plain client's call to the same server.
func BenchmarkCall(b *testing.B) {
	server := own(behaviour{})
	b.Run("direct", func(b *testing.B) {
		//lint:ignore SA1019 it is the era that most servers speak
		c := client.NewClient(transport.NewStdioWithOptions(server.Command, nil, server.Args), client.WithLegacyProtocolOnly())
		if err := c.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Initialize(b.Context(), mcp.InitializeRequest{}); err != nil {
			b.Fatal(err)
		}
		call := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}}}
		for b.Loop() {
			if _, err := c.CallTool(b.Context(), call); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := downstream.New(downstream.Config{"ours": server}, downstream.Options{Dir: b.TempDir()})
	defer s.Close()
	if err := s.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	tool, args := byName(s.Tools())["ours__echo"], json.RawMessage(`{"a":1}`)
	b.Run("of a client", func(b *testing.B) {
		for b.Loop() {
			if _, err := tool.Invoke(b.Context(), args, toolbox.RemoteClient{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("of a step", func(b *testing.B) {
		for b.Loop() {
			if out, err := tool.Call(b.Context(), args, toolbox.Watch{}); err != nil || !out.OK {
				b.Fatal(out, err)
			}
		}
	})
}

// BenchmarkConnect starts a server, lists its tools and ends it.
func BenchmarkConnect(b *testing.B) {
	for b.Loop() {
		s := downstream.New(downstream.Config{"ours": own(behaviour{})}, downstream.Options{Dir: b.TempDir(), Getenv: os.Getenv})
		if err := s.Refresh(b.Context()); err != nil || len(s.Tools()) == 0 {
			b.Fatal(err, s.Status())
		}
		s.Close()
	}
}
