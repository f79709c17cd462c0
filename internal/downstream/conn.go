package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/outbound"
)

// wire carries messages to a server. What comes back it gives to its conn.
type wire interface {
	send(*call)        // what goes wrong is told to the call
	post(frame []byte) // a message that has no answer; nobody hears of what goes wrong
	close()            // returns when nothing of it is left
}

// conn is a connection to a server that is running.
type conn struct {
	server  string
	secrets []string
	wire    wire
	changed func() // the server says that its list has changed
	noise   func(line []byte)

	client implementation

	flood  *rate.Limiter // of what nobody asked for
	asking chan struct{} // a place for each question that is open

	mu      sync.Mutex
	version string // of the protocol that is spoken
	calls   map[int64]*call
	next    int64
	err     *Error // why it is over
	done    chan struct{}
}

// implementation names a client.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Floods: how many messages that nobody asked for a server may send at once, and a second.
const (
	mostAtOnce  = 20_000
	mostASecond = 1_000
	mostAsked   = 8 // questions of a server that are open at once
)

func newConn(server string, secrets []string, client implementation) *conn {
	return &conn{server: server, secrets: secrets, client: client, calls: map[int64]*call{}, done: make(chan struct{}),
		flood: rate.NewLimiter(mostASecond, mostAtOnce), asking: make(chan struct{}, mostAsked)}
}

// call is a request that waits for its answer.
type call struct {
	id       int64
	method   string
	version  string          // of the protocol that it is sent in
	schema   json.RawMessage // of the tool that is called
	params   json.RawMessage
	frame    []byte
	handlers Handlers
	ctx      context.Context // ends with the call
	way      atomic.Int32    // begun or withdrawn; the first to say so decides
	asking   atomic.Int32    // questions to the person that are open
	waited   atomic.Int64    // how long they took, in nanoseconds
	signs    chan struct{}   // of life
	answer   chan answer
}

type answer struct {
	result json.RawMessage
	err    *Error
}

// What becomes of a call: 0 while nobody has sent it.
const (
	begun     = 1
	withdrawn = 2
)

// take is asked by the one who sends: from then on the server may have the call. It is
// refused when nobody waits for the answer any more.
func (c *call) take() bool { return c.way.CompareAndSwap(0, begun) }

// withdraw makes sure that the call is not sent any more, and reports whether it was not.
func (c *call) withdraw() bool {
	return c.way.CompareAndSwap(0, withdrawn) || c.way.Load() == withdrawn
}

func (c *call) end(a answer) {
	select {
	case c.answer <- a:
	default: // it has one
	}
}

func (c *call) alive() {
	select {
	case c.signs <- struct{}{}:
	default:
	}
}

// lived reports whether there was a sign of life that nobody has heeded.
func (c *call) lived() bool {
	select {
	case <-c.signs:
		return true
	default:
		return false
	}
}

// request is what is asked of a server.
type request struct {
	method string
	schema json.RawMessage // of the tool that is called
	params map[string]any
	Handlers
	idle time.Duration // without a sign of life
	long time.Duration // in all
}

// fail is an error about the server.
func (c *conn) fail(problem string, words ...any) *Error {
	return &Error{Server: c.server, Problem: fmt.Sprintf(problem, words...)}
}

// excerpt returns what a server says, fit for an error.
func (c *conn) excerpt(text string) string { return outbound.Excerpt(text, c.secrets...) }

// roundTrip sends a request and waits for its answer, in bounds.
func (c *conn) roundTrip(ctx context.Context, r request) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer c.forget(one)
	go c.wire.send(one)
	since, most := time.Now(), max(r.idle, r.long)
	idle, long := time.NewTimer(r.idle), time.NewTimer(most)
	defer idle.Stop()
	defer long.Stop()
	for {
		var failed *Error
		select {
		case a := <-one.answer:
			return told(a)
		case <-one.signs:
			idle.Reset(r.idle)
			continue
		case <-idle.C:
			if one.asking.Load() > 0 || one.lived() {
				idle.Reset(r.idle)
				continue
			}
			failed = c.fail("did not answer %s within %s", r.method, r.idle)
			failed.TimedOut, failed.cause = true, context.DeadlineExceeded
		case <-long.C:
			if left := most + time.Duration(one.waited.Load()) - time.Since(since); left > 0 || one.asking.Load() > 0 {
				long.Reset(max(left, time.Second))
				continue
			}
			failed = c.fail("was still busy with %s after %s", r.method, most)
			failed.TimedOut, failed.cause = true, context.DeadlineExceeded
		case <-ctx.Done():
			failed = c.fail("had not answered when the call was ended: %v", context.Cause(ctx))
			failed.TimedOut, failed.cause = errors.Is(ctx.Err(), context.DeadlineExceeded), context.Cause(ctx)
		case <-c.done:
			failed = c.over()
		}
		select {
		case a := <-one.answer: // it came at the same time
			return told(a)
		default:
		}
		if failed.Sent = !one.withdraw(); failed.Sent && r.method == "tools/call" {
			failed.Problem += fmt.Sprintf("; whether %s was carried out is not known", c.excerpt(fmt.Sprint(r.params["name"])))
		}
		if failed.Sent && failed.cause != nil {
			go c.cancelled(one)
		}
		return nil, failed
	}
}

// told is an answer as Go has it: no error is nil.
func told(a answer) (json.RawMessage, error) {
	if a.err != nil {
		return nil, a.err
	}
	return a.result, nil
}

// begin writes a call down and makes its frame.
func (c *conn) begin(ctx context.Context, r request) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	c.next++
	one := &call{id: c.next, method: r.method, version: c.version, schema: r.schema, handlers: r.Handlers, ctx: ctx,
		signs: make(chan struct{}, 1), answer: make(chan answer, 1)}
	params := map[string]any{}
	for key, value := range r.params {
		params[key] = value
	}
	if meta := c.meta(one); len(meta) > 0 {
		params["_meta"] = meta
	}
	var err error
	if len(params) > 0 || r.method != "tools/list" {
		if one.params, err = strictjson.Marshal(params, strictjson.Deterministic(true)); err != nil {
			return nil, c.fail("cannot be sent the arguments: %v", err)
		}
	}
	one.frame = encode(message{ID: json.RawMessage(fmt.Sprint(one.id)), Method: r.method, Params: one.params})
	c.calls[one.id] = one
	return one, nil
}

// meta is what stands beside the parameters of a request: who asks, in an era in which each
// request stands for itself, and that the one who asks would hear how it goes.
func (c *conn) meta(one *call) map[string]any {
	meta := map[string]any{}
	if mcp.IsModernProtocol(c.version) {
		can := map[string]any{}
		if one.handlers.Elicit != nil {
			can["elicitation"] = map[string]any{"form": map[string]any{}}
		}
		const prefix = "io.modelcontextprotocol/"
		meta[prefix+"protocolVersion"], meta[prefix+"clientInfo"], meta[prefix+"clientCapabilities"] = c.version, c.client, can
	}
	if one.method == "tools/call" {
		meta["progressToken"] = one.id
	}
	return meta
}

func (c *conn) forget(one *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, one.id)
}

// cancelled tells the server that nobody waits any more. A handshake is not cancelled.
func (c *conn) cancelled(one *call) {
	_, web := c.wire.(*web)
	if one.method == "initialize" || one.method == "server/discover" || web && mcp.IsModernProtocol(one.version) {
		return // there, the end of the request says it
	}
	params, _ := strictjson.Marshal(map[string]any{"requestId": one.id, "reason": "the call was ended"}) // a number and a text
	c.wire.post(encode(message{Method: "notifications/cancelled", Params: params}))
}

// speak settles what is spoken.
func (c *conn) speak(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}

// speaks is the revision that is spoken, "" before it is agreed.
func (c *conn) speaks() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// end says that the connection is over, and why.
func (c *conn) end(why *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = why
		close(c.done)
	}
}

// lives reports whether the connection is not over.
func (c *conn) lives() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil
}

// over is why the connection is over.
func (c *conn) over() *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := *c.err
	return &why
}

// call returns a request that waits.
func (c *conn) call(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// receive takes a message from the server: for a call, if the wire knows which it belongs to.
func (c *conn) receive(frame []byte, of *call) {
	m, err := decode(frame)
	switch id, ours := number(m.ID); {
	case err != nil:
		c.unreadable(frame, frame, of, "answered with what is not JSON")
	case m.Method != "" && ours && c.call(id) != nil && c.call(id).method == m.Method:
		c.end(c.fail("is no MCP server: it sends back what planloop sends it"))
	case m.Method != "" && m.ID != nil:
		c.asked(m, of)
	case m.Method != "":
		c.heard(m, len(frame))
	case of != nil && m.ID == nil && m.Error != nil: // it could not even read the id
		of.end(c.judged(m))
	case !ours || of != nil && of.id != id || !c.answered(id, m):
		c.unasked(len(frame))
	}
}

// answered ends the call that an answer is for, if there is one.
func (c *conn) answered(id int64, m message) bool {
	one := c.call(id)
	if one != nil {
		one.end(c.judged(m))
	}
	return one != nil
}

// judged is an answer as it counts.
func (c *conn) judged(m message) answer {
	if m.Error == nil {
		return answer{result: m.Result}
	}
	failed := c.fail(`answered "%s" (%d)`, c.excerpt(m.Error.Message), m.Error.Code)
	failed.Sent, failed.Answered, failed.Code = true, true, m.Error.Code
	return answer{err: failed}
}

// unreadable ends the call that an answer belongs to which cannot be read: of a line that
// is an answer to none, nobody knows what it is.
func (c *conn) unreadable(head, end []byte, of *call, problem string) {
	if id, ok := idOf(head, end); ok && of == nil {
		of = c.call(id)
	}
	if of == nil {
		c.noise(head[:min(len(head), 200)])
		c.unasked(len(head))
		return
	}
	failed := c.fail("%s", problem)
	failed.Sent = true
	of.end(answer{err: failed})
}

// tooLong ends the call that an answer of too many bytes belongs to: each, where it cannot be told.
func (c *conn) tooLong(head, end []byte, of *call) {
	failed := c.fail("answered with more than %d MB, which is not read", maxFrame>>20)
	failed.Sent = true
	if id, ok := idOf(head, end); ok && of == nil {
		of = c.call(id)
	}
	if of != nil {
		of.end(answer{err: failed})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		one.end(answer{err: failed})
	}
}

// unasked counts a message that nobody asked for, a long one as several, and gives up a
// server that sends too many.
func (c *conn) unasked(length int) {
	if !c.flood.AllowN(time.Now(), 1+length/(4<<10)) {
		c.end(c.fail("was ended because it floods planloop with messages nobody asked for"))
	}
}

// heard takes a notification.
func (c *conn) heard(m message, length int) {
	c.unasked(length)
	switch m.Method {
	case "notifications/tools/list_changed":
		c.changed()
	case "notifications/progress":
		var p struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64         `json:"progress"`
			Total    float64         `json:"total"`
			Message  string          `json:"message"`
		}
		if strictjson.Unmarshal(m.Params, &p) != nil {
			return
		}
		id, _ := number(p.Token)
		if one := c.call(id); one != nil {
			one.alive()
			if one.handlers.Progress != nil {
				one.handlers.Progress(p.Progress, p.Total, c.excerpt(p.Message))
			}
		}
	}
}
