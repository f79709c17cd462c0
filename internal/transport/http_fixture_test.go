package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// patience bounds every wait for an event; no test waits this long.

// httpFixture is a served MCP server with tools by which a test can observe and control calls.
type httpFixture struct {
	*HTTPServer
	mcp        *server.MCPServer
	base       string // http://127.0.0.1:port
	host       string
	stop       context.CancelFunc // ends Serve
	served     chan error         // result of Serve
	closing    chan struct{}      // closed when Serve has begun to stop
	started    chan string        // the tool "wait" has begun
	release    chan struct{}      // lets one "wait" continue
	cancelled  chan string        // a "wait" was cancelled
	registered chan server.ClientSession
	gone       chan server.ClientSession
	listening  chan server.ClientSession
}

func serve(t *testing.T, opts HTTPOptions) *httpFixture {
	t.Helper()
	f := &httpFixture{
		started:    make(chan string, 100),
		release:    make(chan struct{}, 100),
		cancelled:  make(chan string, 100),
		registered: make(chan server.ClientSession, 1000),
		gone:       make(chan server.ClientSession, 1000),
		listening:  make(chan server.ClientSession, 1000),
		served:     make(chan error, 1),
		closing:    make(chan struct{}),
	}
	f.mcp = f.newMCP()
	var err error
	if f.HTTPServer, err = NewHTTPServer(f.mcp, opts); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), opts.Addr)
	if err != nil {
		t.Fatal(err)
	}
	f.host = l.Addr().String()
	f.base = "http://" + f.host
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f.served <- f.Serve(ctx, &watchedListener{Listener: l, closed: f.closing})
	}()
	t.Cleanup(func() {
		close(f.release) // lets every waiting tool continue
		stop()
		<-finished
	})
	return f
}

// watchedListener reports when it is closed.
type watchedListener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func (l *watchedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (f *httpFixture) newMCP() *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(_ context.Context, s server.ClientSession) { f.registered <- s })
	hooks.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) { f.gone <- s })
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) {
		f.listening <- server.ClientSessionFromContext(ctx)
	})
	srv := server.NewMCPServer("fixture", "1", server.WithHooks(hooks),
		server.WithInstructions(strings.Repeat("Read this. ", 1000)),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true))
	srv.AddTool(mcp.NewTool("echo", mcp.WithDescription("Echoes."), mcp.WithString("text")), echo)
	srv.AddTool(mcp.NewTool("wait", mcp.WithDescription("Waits."), mcp.WithString("text")), f.wait)
	srv.AddTool(mcp.NewTool("burst", mcp.WithDescription("Tells three things.")), burst(srv))
	srv.AddTool(mcp.NewTool("panic", mcp.WithDescription("Panics.")), func(context.Context,
		mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("secret of the inside")
	})
	srv.AddResource(mcp.NewResource("plan://current", "plan"), func(context.Context,
		mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "plan://current", Text: "{}"}}, nil
	})
	return srv
}

func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("echo " + r.GetString("text", "")), nil
}

func (f *httpFixture) wait(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text := r.GetString("text", "")
	f.started <- text
	select {
	case <-f.release:
		return mcp.NewToolResultText("waited " + text), nil
	case <-ctx.Done():
		f.cancelled <- text
		return nil, ctx.Err()
	}
}

func burst(srv *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for n := range 3 {
			if err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p",
				"progress": n}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("told"), nil
	}
}

// next waits for the next value of a channel.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value, open := <-from:
		if !open {
			t.Fatalf("the channel of %s was closed", what)
		}
		return value
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// httpReply is a raw answer, read to its end.
type httpReply struct {
	status int
	header http.Header
	body   string
}

// rpcError reads the JSON-RPC error of an answer.
func (r httpReply) rpcError(t *testing.T) (code int, text string) {
	t.Helper()
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		Error   *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || answer.Error == nil || answer.JSONRPC != "2.0" {
		t.Fatalf("answer %d %q is no JSON-RPC error (%v)", r.status, r.body, err)
	}
	return answer.Error.Code, answer.Error.Message
}

// raw makes a request with a JSON body; edit changes it before it is sent.
func (f *httpFixture) raw(t *testing.T, method, path, body string, edit func(*http.Request)) httpReply {
	t.Helper()
	resp := f.open(t, method, path, body, edit)
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return httpReply{resp.StatusCode, resp.Header, string(all)}
}

// open makes a request and leaves the body unread.
func (f *httpFixture) open(t *testing.T, method, path, body string, edit func(*http.Request)) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if edit != nil {
		edit(req)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// httpSession begins a handshake session and returns an edit that names it.
func (f *httpFixture) session(t *testing.T) (id string, in func(*http.Request)) {
	t.Helper()
	answer := f.raw(t, http.MethodPost, "/mcp", initializeBody, nil)
	id = answer.header.Get("Mcp-Session-Id")
	if answer.status != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d, session %q, %s", answer.status, id, answer.body)
	}
	return id, func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern sets the headers that the stateless protocol requires.
func modern(method, name string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
}

// sseEvents reads a stream until it ends, which closes the channel.
func sseEvents(body io.Reader) <-chan sseEvent {
	out := make(chan sseEvent, 100)
	go func() {
		defer close(out)
		var ev sseEvent
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimSpace(value)
			switch {
			case lines.Text() == "" && ev != (sseEvent{}):
				out <- ev
				ev = sseEvent{}
			case field == "event":
				ev.name = value
			case field == "data":
				ev.data = value
			case field == "id":
				ev.id = value
			case field == "" && value != "":
				out <- sseEvent{name: ":", data: value}
			}
		}
	}()
	return out
}

type sseEvent struct{ name, id, data string }

// openSSEClient opens a stream of the older transport and a way to post to it.
func (f *httpFixture) openSSEClient(t *testing.T) (events <-chan sseEvent, post func(body string) httpReply) {
	t.Helper()
	resp := f.open(t, http.MethodGet, "/sse", "", nil)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /sse: %d", resp.StatusCode)
	}
	events = sseEvents(resp.Body)
	endpoint := next(t, "the endpoint", events)
	if endpoint.name != "endpoint" || !strings.HasPrefix(endpoint.data, "/message?sessionId=") {
		t.Fatalf("first event: %+v", endpoint)
	}
	return events, func(body string) httpReply { return f.raw(t, http.MethodPost, endpoint.data, body, nil) }
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const patience = 2 * time.Minute

// updated is the notification that subscriptions push.
func updated(uri string) mcp.JSONRPCNotification {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = mcp.MethodNotificationResourceUpdated
	n.Params.AdditionalFields = map[string]any{"uri": uri}
	return n
}
