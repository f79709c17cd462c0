package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// receive handles one frame; it returns as soon as the message is queued or answered.
func (c *conn) receive(f frame) {
	if f.tooLong {
		c.sendMessage(c.ctx, Refusal(nil, mcp.INVALID_REQUEST,
			fmt.Sprintf("the message is longer than %d bytes and was skipped: send less at a time", c.maxFrame)))
		return
	}
	if len(f.data) == 0 {
		return
	}
	m, refused := Parse(f.data)
	if refused != nil {
		c.sendMessage(c.ctx, refused)
		return
	}
	switch m.Kind {
	case Response:
		c.session.receiveResponse(m)
	case Notification:
		c.handleNotification(m)
	case Request:
		c.handleRequest(m)
	}
}

// sendMessage writes messages that do not answer a call: a notification, or the refusal of an invalid message.
func (c *conn) sendMessage(ctx context.Context, message mcp.JSONRPCMessage) {
	data, err := json.Marshal(message)
	if err != nil {
		c.log.Error("encode a message", "error", err)
		return
	}
	c.out.send(ctx, outgoing{data: data})
}

func (c *conn) handleNotification(m Message) {
	if m.Method == string(mcp.MethodNotificationCancelled) {
		key := m.Cancels() // perhaps of a closed call: its answer crossed the cancellation
		c.calls.cancelIf(errCancelled, func(k *call) bool { return key != "" && k.key == key })
		return
	}
	c.enqueue(c.ctx, func(t *turn) {
		if c.ctx.Err() == nil {
			c.handle(t.context(c.ctx), m)
		}
	})
}

// maxOpen bounds the unanswered requests, including those that wait outside the queue.
const maxOpen = 2 * maxQueued

func (c *conn) handleRequest(m Message) {
	k := c.calls.add(c.ctx, m)
	switch {
	case c.calls.count() > maxOpen:
		c.calls.remove(k)
		c.sendMessage(c.ctx, Refusal(m.ID, mcp.INVALID_REQUEST,
			fmt.Sprintf("more than %d requests are not answered yet: wait for some; this one was not run", maxOpen)))
	case m.Method == string(mcp.MethodSubscriptionsListen) && isModernMessage(m):
		k.stream.Store(true)
		c.running.Go(func() { c.listen(k, m) })
	case m.Method == string(mcp.MethodPing), m.Method == string(mcp.MethodTasksResult):
		c.running.Go(func() { c.answer(k, c.handle(k.ctx, m)) })
	case !c.enqueue(k.ctx, func(t *turn) { c.runCall(t, k, m) }):
		c.calls.remove(k)
	}
}

// enqueue calls run when its turn comes.
func (c *conn) enqueue(ctx context.Context, run func(*turn)) bool {
	c.running.Add(1)
	added := c.queue.add(ctx, func(t *turn) {
		defer c.running.Done()
		run(t)
	})
	if !added {
		c.running.Done()
	}
	return added
}

// runCall runs a call, unless it was cancelled while it waited.
func (c *conn) runCall(t *turn, k *call, m Message) {
	if k.ctx.Err() != nil {
		c.answer(k, k.notStarted())
		return
	}
	if m.Method == string(mcp.MethodInitialize) {
		c.initialize(k, m)
		return
	}
	c.answer(k, c.handle(t.context(k.ctx), m))
}

// initialize blocks broadcasts and later calls until its result is being written, so that their messages come after it.
func (c *conn) initialize(k *call, m Message) {
	c.session.opening.Store(true)
	opened := make(chan struct{})
	data := c.encode(k, c.handle(k.ctx, m))
	sent := c.out.send(c.life, outgoing{data: data, writing: func() {
		c.session.opening.Store(false)
		close(opened)
	}})
	if !sent {
		return
	}
	select {
	case <-opened:
	case <-c.life.Done():
	case <-c.out.done:
	}
}

// handle lets the library handle a message; a panic ends the call, not the connection.
func (c *conn) handle(ctx context.Context, m Message) (resp mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("panic in a handler", "method", m.Method, "panic", r, "stack", string(debug.Stack()))
			resp = *Refusal(m.ID, mcp.INTERNAL_ERROR,
				"internal error: the request may have had no effect; see the server's log")
		}
	}()
	if m.Kind == Request && c.uninitialized(m) {
		return *Refusal(m.ID, mcp.INVALID_REQUEST, fmt.Sprintf("not initialized: send initialize before %.64q", m.Method))
	}
	resp = c.srv.HandleMessage(ctx, m.Raw)
	if resp == nil && m.Kind == Request {
		return *Refusal(m.ID, mcp.INTERNAL_ERROR, "internal error: the request has no answer")
	}
	return resp
}

// uninitialized reports whether a request of the handshake era came before the handshake; the library would run it. The
// library answers server/discover, to tell a probing client the available eras.
func (c *conn) uninitialized(m Message) bool {
	switch m.Method {
	case string(mcp.MethodInitialize), string(mcp.MethodPing), string(mcp.MethodServerDiscover):
		return false
	}
	return !c.session.hasHandshake() && !isModernMessage(m)
}

// answer writes the response of a call and closes it. A call that the client has cancelled gets no response.
func (c *conn) answer(k *call, resp mcp.JSONRPCMessage) {
	if errors.Is(context.Cause(k.ctx), errCancelled) {
		c.calls.remove(k)
		return
	}
	c.out.send(c.life, outgoing{data: c.encode(k, resp)})
}

// encode closes a call and encodes its response.
func (c *conn) encode(k *call, resp mcp.JSONRPCMessage) []byte {
	data, err := json.Marshal(k.withID(resp))
	c.calls.remove(k)
	if err != nil {
		c.log.Error("encode a response", "error", err)
		data, _ = json.Marshal(Refusal(k.id, mcp.INTERNAL_ERROR, "internal error: the response could not be encoded"))
	}
	if asksForInput(resp) { // the library writes a roots request without params, which the Go SDK's client cannot read
		data = bytes.ReplaceAll(data, []byte(`{"method":"roots/list"}`), []byte(`{"method":"roots/list","params":{}}`))
	}
	return data
}

func asksForInput(resp mcp.JSONRPCMessage) bool {
	answer, _ := resp.(mcp.JSONRPCResponse)
	switch result := answer.Result.(type) {
	case *mcp.CallToolResult:
		return result.NeedsInput()
	case mcp.CallToolResult:
		return result.NeedsInput()
	}
	return false
}

// modern reports whether a request declares the stateless protocol.
func isModernMessage(m Message) bool { return mcp.IsModernProtocol(m.ProtocolVersion()) }

var (
	errCancelled = errors.New("cancelled by the client")
	errStopped   = errors.New("the server is stopping")
)

// call is an unanswered request.
type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	id     json.RawMessage
	key    string
	stream atomic.Bool // it is a listen stream
}

// stdioCalls are the open requests of a connection. The library only knows a request once it runs, and confuses the id 1
// with "1", so we keep our own set.
type stdioCalls struct {
	mu   sync.Mutex
	open map[*call]struct{}
}

func (cs *stdioCalls) add(ctx context.Context, m Message) *call {
	k := &call{id: m.ID, key: m.Key}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if m.Method == string(mcp.MethodInitialize) {
		k.key = "" // the protocol forbids cancelling it
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.open[k] = struct{}{}
	return k
}

func (cs *stdioCalls) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}

func (cs *stdioCalls) remove(k *call) {
	k.cancel(nil)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, k)
}

// cancelIf ends the contexts of the calls that match.
func (cs *stdioCalls) cancelIf(cause error, match func(*call) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for k := range cs.open {
		if match(k) {
			k.cancel(cause)
		}
	}
}

// notStarted answers a call that was cancelled before its turn came.
func (k *call) notStarted() *mcp.JSONRPCError {
	return Refusal(k.id, mcp.REQUEST_INTERRUPTED, "the server stopped before it started: nothing was changed, send it again")
}

// withID returns the library's response with the id as it was sent.
func (k *call) withID(resp mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	switch r := resp.(type) {
	case mcp.JSONRPCResponse:
		r.ID = mcp.NewRequestId(k.id)
		return r
	case mcp.JSONRPCError:
		r.ID = mcp.NewRequestId(k.id)
		return r
	default:
		return resp
	}
}
