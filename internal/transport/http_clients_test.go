package transport

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const clientToken = "the-token-of-the-clients"

// bearer adds the token to a client's requests.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+clientToken)
	return b.next.RoundTrip(r)
}

func httpClient(t *testing.T) *http.Client {
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return &http.Client{Transport: bearer{own}}
}

// connectMCPGo connects mcp-go's client and returns the negotiated revision.
func connectMCPGo(t *testing.T, c *client.Client, version string) string {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c.ProtocolVersion()
}

func newMCPGo(t *testing.T, f *httpFixture, path string, opts ...transport.StreamableHTTPCOption) *client.Client {
	t.Helper()
	var (
		c   *client.Client
		err error
	)
	if path == "/sse" {
		c, err = client.NewSSEMCPClient(f.base+path, client.WithHTTPClient(httpClient(t)))
	} else {
		c, err = client.NewStreamableHttpClient(f.base+path, append(opts, transport.WithHTTPBasicClient(httpClient(t)),
			transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMCPGoClient(t *testing.T) {
	for name, c := range map[string]struct{ path, ask, want string }{
		"stateless":   {"/mcp", "", "2026-07-28"},
		"handshake":   {"/mcp", "2025-11-25", "2025-11-25"},
		"old":         {"/mcp", "2025-03-26", "2025-03-26"},
		"SSE":         {"/sse", "", "2025-11-25"},
		"SSE and old": {"/sse", "2024-11-05", "2024-11-05"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, HTTPOptions{Token: clientToken})
			conn := newMCPGo(t, f, c.path)
			if got := connectMCPGo(t, conn, c.ask); got != c.want {
				t.Errorf("revision %s, want %s", got, c.want)
			}
			tools, err := conn.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(tools.Tools) != 4 {
				t.Fatalf("tools: %+v, %v", tools, err)
			}
			request := mcp.CallToolRequest{}
			request.Params.Name = "echo"
			request.Params.Arguments = map[string]any{"text": name}
			result, err := conn.CallTool(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := result.Content[0].(mcp.TextContent); text.Text != "echo "+name {
				t.Errorf("echo: %+v", result.Content)
			}
		})
	}
}

// connectSDKOverHTTP connects the official Go SDK's client.
func connectSDKOverHTTP(t *testing.T, to sdk.Transport, version string, opts *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	httpSession, err := c.Connect(t.Context(), to, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = httpSession.Close() })
	return httpSession
}

func TestGoSDKClient(t *testing.T) {
	for name, c := range map[string]struct{ path, ask, want string }{
		"stateless": {"/mcp", "", "2026-07-28"},
		"handshake": {"/mcp", "2025-11-25", "2025-11-25"},
		"old":       {"/mcp", "2025-03-26", "2025-03-26"},
		"SSE":       {"/sse", "", "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, HTTPOptions{Token: clientToken})
			var to sdk.Transport = &sdk.StreamableClientTransport{Endpoint: f.base + c.path, HTTPClient: httpClient(t)}
			if c.path == "/sse" {
				to = &sdk.SSEClientTransport{Endpoint: f.base + c.path, HTTPClient: httpClient(t)}
			}
			session := connectSDKOverHTTP(t, to, c.ask, nil)
			if got := session.InitializeResult().ProtocolVersion; got != c.want {
				t.Errorf("revision %s, want %s", got, c.want)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 4 {
				t.Fatalf("tools: %+v, %v", tools, err)
			}
			if got := sdkEcho(t, session, name); got != "echo "+name {
				t.Errorf("echo: %q", got)
			}
		})
	}
}

func sdkEcho(t *testing.T, session *sdk.ClientSession, text string) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
	if err != nil {
		t.Fatal(err)
	}
	content, _ := result.Content[0].(*sdk.TextContent)
	return content.Text
}

// The official client sends a cancellation without _meta on the stateless protocol, and ends its session if that is
// refused.
func TestGoSDKClientSurvivesItsOwnCancel(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			f := serve(t, HTTPOptions{Token: clientToken})
			over := &sdk.StreamableClientTransport{Endpoint: f.base + "/mcp", HTTPClient: httpClient(t)}
			session := connectSDKOverHTTP(t, over, version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"text": "mine"}})
				failed <- err
			}()
			next(t, "the call", f.started)
			cancel()
			if err := next(t, "the end of the call", failed); err == nil {
				t.Error("the cancelled call was answered")
			}
			next(t, "the cancellation of the tool", f.cancelled)
			if got := sdkEcho(t, session, "still here"); got != "echo still here" {
				t.Errorf("after the cancel: %q", got)
			}
		})
	}
}
