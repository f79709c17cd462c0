package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

type serve func(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer) error

// BenchmarkCall measures a trivial tool call over pipes, sequential and pipelined, in comparison with the library's own
// loop.
func BenchmarkCall(b *testing.B) {
	ours := func(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer) error {
		return transport.ServeStdio(ctx, srv, in, out, transport.StdioOptions{})
	}
	library := func(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer) error {
		s := server.NewStdioServer(srv)
		s.SetErrorLogger(log.New(io.Discard, "", 0))
		return s.Listen(ctx, in, out)
	}
	b.Run("ours", func(b *testing.B) { benchmarkCall(b, ours) })
	b.Run("library", func(b *testing.B) { benchmarkCall(b, library) })
	b.Run("pipelined/ours", func(b *testing.B) { benchmarkPipelined(b, ours) })
	b.Run("pipelined/library", func(b *testing.B) { benchmarkPipelined(b, library) })
}

func benchmarkCall(b *testing.B, loop serve) {
	in, out := connect(b, loop)
	b.ReportAllocs()
	for b.Loop() {
		io.WriteString(in, call(1, "echo", `{"v":1}`)+"\n")
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkPipelined(b *testing.B, loop serve) {
	in, out := connect(b, loop)
	b.ReportAllocs()
	go func() {
		w := bufio.NewWriter(in)
		defer w.Flush()
		for range b.N {
			fmt.Fprintln(w, call(1, "echo", `{"v":1}`))
		}
	}()
	for range b.N {
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

func connect(b *testing.B, loop serve) (io.Writer, *bufio.Reader) {
	srv := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	srv.AddTool(mcp.NewTool("echo"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = loop(b.Context(), srv, inR, outW)
	}()
	b.Cleanup(func() {
		inW.Close()
		<-served
	})
	out := bufio.NewReader(outR)
	io.WriteString(inW, initialize+"\n")
	if _, err := out.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	return inW, out
}
