package downstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/toolbox"
)

// conn is a connection to a running server. The SDK's client speaks the protocol; conn adds what
// it leaves open: limits on time, size and floods, whether a request was sent, and results as the
// server wrote them, since the SDK rounds large numbers and refuses content it does not know.
type conn struct {
	server  string
	secrets []string
	client  *mcp.Client
	session *mcp.ClientSession // nil until connected
	changed func()             // the server's list has changed

	life context.Context         // ends with the connection; its cause is why
	end  context.CancelCauseFunc // the first cause counts
	wait func()                  // returns when nothing of the transport is left

	flood  *rate.Limiter // of unasked messages
	asking chan struct{} // holds one for each open question

	mu    sync.Mutex
	calls map[int64]*call // under way, by progress token
	last  int64           // progress token
}

// Limits of a connection.
const (
	maxFrame        = 4 << 20 // bytes of a message
	maxUnaskedBurst = 20_000  // unasked messages
	maxQuestions    = 8       // open questions of a server
	maxUnaskedRate  = 1_000   // unasked messages each second
	probeTimeout    = 3 * time.Second
	handshake       = "2025-11-25" // the newest revision that begins with a handshake
	stateless       = "2026-07-28"
)

func newConn(life context.Context, server string, t *target, version string) *conn {
	c := &conn{server: server, secrets: t.secrets, changed: func() {}, wait: func() {}, calls: map[int64]*call{},
		flood: rate.NewLimiter(maxUnaskedRate, maxUnaskedBurst), asking: make(chan struct{}, maxQuestions)}
	c.life, c.end = context.WithCancelCause(life)
	c.client = mcp.NewClient(&mcp.Implementation{Name: "planloop", Version: version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, ElicitationHandler: c.ask,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed() }})
	return c
}

// connect greets the server: in the stateless era, and if it does not answer that within patience in the older
// one; or only in the older one, if asked for. When it fails, the connection is over.
func (c *conn) connect(ctx context.Context, t mcp.Transport, version string, patience time.Duration) error {
	c.client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "server/discover" { // not every server answers a method that it does not know
				limited, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				ctx = limited
			}
			return next(ctx, method, r)
		}
	})
	session, err := c.client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		failed := c.explain(ctx, err)
		c.end(failed)
		c.wait()
		return failed
	}
	c.session = session
	return nil
}

// waitForEnd returns when the connection is over and nothing of it is left.
func (c *conn) waitForEnd() {
	defer context.AfterFunc(c.life, func() { _ = c.session.Close() })()
	err := c.session.Wait()
	c.end(c.fail("ended the connection: %s", c.excerpt(fmt.Sprint(err))))
	c.wait()
}

func (c *conn) version() string { return c.session.InitializeResult().ProtocolVersion }

// errClosed is the cause when the SDK closes a connection.
var errClosed = errors.New("closed")

// failure returns the reason why the connection has ended; nil while it lives.
func (c *conn) failure() *Error {
	var why *Error
	switch cause := context.Cause(c.life); {
	case cause == nil:
		return nil
	case errors.As(cause, &why):
		failed := *why
		return &failed
	}
	return c.fail("was ended with planloop")
}

func (c *conn) fail(problem string, words ...any) *Error {
	return &Error{Server: c.server, Problem: fmt.Sprintf(problem, words...)}
}

func (c *conn) tooLong() *Error {
	return c.fail("answered with more than %d MB, the limit", maxFrame>>20)
}

func (c *conn) notJSON() *Error { return c.fail("answered with text that is not JSON") }

// excerpt returns a server's text in a form fit for an error.
func (c *conn) excerpt(text string) string { return outbound.Excerpt(text, c.secrets...) }

// call is a request under way.
type call struct {
	toolbox.RemoteClient
	method, tool     string
	maxIdle, maxTime time.Duration // without a sign of life; in all

	ctx   context.Context
	end   context.CancelCauseFunc
	token int64
	sent  atomic.Bool // the server may have it
	id    jsonrpc.ID  // of the last request made for it; guarded by the connection

	mu       sync.Mutex
	open     int // questions to the person
	patience *time.Timer
	limit    *time.Timer
	result   json.RawMessage // as the server wrote it
}

// callKey is the context key of the call that a message belongs to.
type callKey struct{}

// request makes a request within its limits and returns the result as the server wrote it.
func (c *conn) request(ctx context.Context, one *call, send func(context.Context) error) (json.RawMessage, error) {
	if over := c.failure(); over != nil {
		return nil, over
	}
	one.ctx, one.end = context.WithCancelCause(context.WithValue(ctx, callKey{}, one))
	defer one.end(nil)
	defer context.AfterFunc(c.life, func() { one.end(c.failure()) })()
	late := func(after time.Duration, problem string) *time.Timer {
		return time.AfterFunc(after, func() {
			failed := c.fail(problem, one.method, after)
			failed.TimedOut, failed.cause = true, context.DeadlineExceeded
			one.end(failed)
		})
	}
	one.maxTime = max(one.maxIdle, one.maxTime)
	one.patience, one.limit = late(one.maxIdle, "did not answer %s within %s"), late(one.maxTime, "was still busy with %s after %s")
	defer one.patience.Stop()
	defer one.limit.Stop()
	c.mu.Lock()
	c.last++
	one.token = c.last
	c.calls[one.token] = one
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, one.token)
	}()
	err := send(one.ctx)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.result != nil { // even if the SDK reported an error
		return one.result, nil
	}
	failed := c.explain(one.ctx, cmp.Or(err, errors.New("no result")))
	if failed.Sent = one.sent.Load(); failed.Sent && !failed.Answered && one.tool != "" {
		failed.Problem += fmt.Sprintf("; it is unknown whether %s was carried out", c.excerpt(one.tool))
	}
	return nil, failed
}

// explain returns what went wrong with a request, as an error of its own.
func (c *conn) explain(ctx context.Context, err error) *Error {
	var known *Error
	var answer *jsonrpc.Error
	switch {
	case errors.As(context.Cause(ctx), &known), errors.As(context.Cause(c.life), &known), errors.As(err, &known):
		failed := *known
		return &failed
	case c.life.Err() != nil && context.Cause(c.life) != errClosed:
		return c.failure()
	case ctx.Err() != nil:
		failed := c.fail("had not answered when the call was ended: %v", context.Cause(ctx))
		failed.TimedOut, failed.cause = errors.Is(ctx.Err(), context.DeadlineExceeded), context.Cause(ctx)
		return failed
	case errors.Is(err, mcp.ErrConnectionClosed):
		c.end(c.fail("ended the connection: %s", c.excerpt(err.Error())))
		return c.failure()
	case errors.As(err, &answer):
		failed := c.fail(`answered "%s" (%d)`, c.excerpt(answer.Message), answer.Code)
		failed.Answered, failed.Code = true, int(answer.Code)
		return failed
	case errors.As(err, new(*json.UnmarshalTypeError)):
		return c.fail("answered with an invalid MCP result; check its command or url, or update the server")
	case strings.Contains(err.Error(), "request terminated without response"): // the SDK has no type for it
		return c.fail("ended its answer without a result; check the server's log")
	}
	return c.fail("failed: %s", c.excerpt(err.Error()))
}

// expect notes which call a request belongs to.
func (c *conn) expect(m jsonrpc.Message, one *call) {
	if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		one.id = request.ID
	}
}

// failAll ends all open calls, because an unreadable message may answer any of them.
func (c *conn) failAll(failed *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		one.end(failed)
	}
	if len(c.calls) == 0 {
		c.end(failed)
	}
}

// inspect takes a message of a server on its way to the SDK.
func (c *conn) inspect(m jsonrpc.Message, size int) {
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		c.countUnasked(size)
		c.handleNotification(m.(*jsonrpc.Request))
		return
	}
	of := c.callFor(answer.ID)
	var kind struct {
		Type string `json:"resultType"`
	}
	_ = strictjson.Unmarshal(answer.Result, &kind) // if it is not an object, it is a result that cannot be used
	switch {
	case of == nil:
		c.countUnasked(size)
	case answer.Error == nil && kind.Type != "input_required":
		of.mu.Lock()
		defer of.mu.Unlock()
		of.result = answer.Result
	}
}

func (c *conn) callFor(id jsonrpc.ID) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		if one.id == id {
			return one
		}
	}
	return nil
}

// handleNotification takes a notification that must come before the answer.
func (c *conn) handleNotification(r *jsonrpc.Request) {
	switch r.Method {
	case "initialize", "server/discover":
		c.end(c.fail("is not an MCP server: it echoes planloop's messages"))
	case "notifications/progress":
		var p struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64         `json:"progress"`
			Total    float64         `json:"total"`
			Message  string          `json:"message"`
		}
		_ = strictjson.Unmarshal(r.Params, &p) // without a token it belongs to no call
		token, _ := strconv.ParseInt(string(p.Token), 10, 64)
		c.mu.Lock()
		one := c.calls[token]
		c.mu.Unlock()
		if one == nil {
			return
		}
		one.mu.Lock()
		if one.open == 0 { // unless a person is being asked, a sign of life restarts the clock
			one.patience.Reset(one.maxIdle)
		}
		one.mu.Unlock()
		if one.Progress != nil {
			one.Progress(p.Progress, p.Total, c.excerpt(p.Message))
		}
	}
}

// countUnasked counts an unasked message, a long one as several, and ends a connection with too many.
func (c *conn) countUnasked(length int) {
	if !c.flood.AllowN(time.Now(), 1+length/(4<<10)) {
		c.end(c.fail("was ended because it floods planloop with messages"))
	}
}

// pauseClocks stops the clocks of a call while a person is asked. After the last question, resume restarts them.
func (one *call) pauseClocks() (resume func()) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.open++
	one.patience.Stop()
	one.limit.Stop()
	return func() {
		one.mu.Lock()
		defer one.mu.Unlock()
		if one.open--; one.open == 0 {
			one.patience.Reset(one.maxIdle)
			one.limit.Reset(one.maxTime)
		}
	}
}

// Limits of a list of tools.
const (
	maxPages     = 100
	maxTools     = 500
	maxListBytes = 16 << 20
)

// list returns all tools, page by page, as the server describes them. Tools beyond the limits are left out, which cut says.
func (c *conn) list(ctx context.Context, idle time.Duration) (tools []json.RawMessage, cut string, err error) {
	seen, size, params := map[string]bool{}, 0, &mcp.ListToolsParams{}
	for range maxPages {
		result, err := c.request(ctx, &call{method: "tools/list", maxIdle: idle}, func(ctx context.Context) error {
			_, err := c.session.ListTools(ctx, params)
			return err
		})
		var failed *Error
		if errors.As(err, &failed) && failed.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Tools []json.RawMessage `json:"tools"`
			Next  string            `json:"nextCursor"`
		}
		if err := strictjson.Unmarshal(result, &page); err != nil {
			return nil, "", c.fail("did not answer tools/list with a list of tools")
		}
		for _, tool := range page.Tools {
			if size += len(tool); len(tools) == maxTools || size > maxListBytes {
				return tools, "its list is cut: it has more than 500 tools, or 16 MB of them", nil
			}
			tools = append(tools, tool)
		}
		switch {
		case page.Next == "":
			return tools, "", nil
		case seen[page.Next]:
			return tools, "its list is cut: its pages repeat", nil
		}
		seen[page.Next], params = true, &mcp.ListToolsParams{Cursor: page.Next}
	}
	return tools, "its list is cut: it has more than 100 pages", nil
}

// Error is a failed call to a server: one printable line without the server's secrets.
type Error struct {
	Server, Problem string
	Sent            bool // the server may have got the request
	Answered        bool // with an error
	Code            int  // of the answer: negative in JSON-RPC, positive in HTTP
	TimedOut        bool

	cause error
}

// Error returns the message with the server's name.
func (e *Error) Error() string { return "the server " + e.Server + " " + e.Problem }

// Unwrap returns what ended the caller's context.
func (e *Error) Unwrap() error { return e.cause }

// Transient reports whether a retry may succeed and is safe.
func (e *Error) Transient() bool { return !e.Sent }
