package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

// patience ends a test that hangs; no test waits for it to pass.
const patience = 2 * time.Minute

const (
	initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
)

// fixture is a server with a few tools and their effects.
type fixture struct {
	*server.MCPServer
	hooks *server.Hooks

	mu      sync.Mutex
	effects []string
	started chan string   // a name each time block, wait or stubborn begins
	release chan struct{} // lets one of them continue
}

func newFixture() *fixture {
	f := &fixture{hooks: &server.Hooks{}, started: make(chan string, 100), release: make(chan struct{}, 100)}
	f.MCPServer = server.NewMCPServer("test", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithLogging(), server.WithHooks(f.hooks))
	f.tool("append", f.appendTool)
	f.tool("block", f.blocking(func(context.Context) {}))
	f.tool("wait", f.blocking(transport.Yield))
	f.tool("stubborn", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.started <- "stubborn"
		<-f.release
		return mcp.NewToolResultText("done"), nil
	})
	f.tool("progress", f.progressTool)
	f.tool("panic", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("secret") })
	f.tool("unencodable", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(func() {}, "text"), nil
	})
	f.tool("whoami", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(server.ClientSessionFromContext(ctx).SessionID()), nil
	})
	return f
}

func (f *fixture) tool(name string, h server.ToolHandlerFunc) {
	f.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), h)
}

func (f *fixture) appendTool(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effects = append(f.effects, fmt.Sprint(r.GetArguments()["v"]))
	return mcp.NewToolResultText("ok"), nil
}

func (f *fixture) blocking(first func(context.Context)) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		first(ctx)
		f.started <- r.Params.Name
		select {
		case <-f.release:
			return mcp.NewToolResultText("released"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *fixture) progressTool(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range r.GetInt("n", 0) {
		err := f.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "t", "progress": i})
		if err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText("done"), nil
}

func (f *fixture) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.effects)
}

// reply is any message the server wrote.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  map[string]any  `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (r reply) String() string { b, _ := json.Marshal(r); return string(b) }

// client drives Serve over pipes.
type client struct {
	t       testing.TB
	in      *io.PipeWriter
	out     *io.PipeReader
	replies chan reply
	served  chan error
	cancel  context.CancelFunc
}

func dial(t testing.TB, srv *server.MCPServer, opts transport.StdioOptions) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{t: t, in: inW, out: outR, replies: make(chan reply, 5000), served: make(chan error, 1), cancel: cancel}
	go func() {
		c.served <- transport.ServeStdio(ctx, srv, inR, outW, opts)
		outW.Close()
		inR.Close()
	}()
	go c.read()
	return c
}

func (c *client) read() {
	defer close(c.replies)
	lines := bufio.NewScanner(c.out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.JSONRPC != "2.0" {
			c.t.Errorf("not a frame: %q", lines.Text())
			return
		}
		c.replies <- r
	}
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

func (c *client) next() reply {
	c.t.Helper()
	return await(c.t, c.replies)
}

// want takes the next message, which must answer the request with that id.
func (c *client) want(id string) reply {
	c.t.Helper()
	r := c.next()
	if string(r.ID) != id || r.Method != "" {
		c.t.Fatalf("got %s, want the answer to %s", r, id)
	}
	return r
}

func (c *client) wantError(id string, code int, text string) {
	c.t.Helper()
	r := c.want(id)
	if r.Error == nil || r.Error.Code != code || !strings.Contains(r.Error.Message, text) {
		c.t.Fatalf("got %s, want error %d with %q", r, code, text)
	}
}

func (c *client) wantText(id, text string) {
	c.t.Helper()
	r := c.want(id)
	if r.Error != nil || !strings.Contains(string(r.Result), text) {
		c.t.Fatalf("got %s, want %q", r, text)
	}
}

func (c *client) handshake() {
	c.t.Helper()
	c.send(initialize)
	if r := c.want(`"init"`); r.Error != nil {
		c.t.Fatalf("initialize: %s", r)
	}
	c.send(initialized)
}

// end closes the input and returns the remaining output and Serve's error.
func (c *client) end() ([]reply, error) {
	c.t.Helper()
	c.in.Close()
	err := await(c.t, c.served)
	var rest []reply
	for r := range c.replies {
		rest = append(rest, r)
	}
	return rest, err
}

// close ends the connection and expects no more output.
func (c *client) close() {
	c.t.Helper()
	rest, err := c.end()
	if err != nil || len(rest) != 0 {
		c.t.Fatalf("at the end: %v, %v", rest, err)
	}
}

func await[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the connection ended")
		}
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func call(id any, tool, args string) string {
	if args == "" {
		args = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func modernCall(id any, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{%s,"name":%q,"arguments":{}}}`, id, modernMeta, tool)
}

func cancelled(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v}}`, id)
}
