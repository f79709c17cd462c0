package transport

import (
	"bytes"
	"context"
	"fmt"

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
		if reply, ok := c.session.pending.LoadAndDelete(m.Key); ok { // others are dropped
			reply.(chan Message) <- m
		}
	case Notification:
		c.handleNotification(m)
	case Request:
		c.handleRequest(m)
	}
}

// sendMessage writes messages that do not answer a call: a notification, or the refusal of an invalid message.
func (c *conn) sendMessage(ctx context.Context, message mcp.JSONRPCMessage) {
	if data := encode(c.log, nil, message); data != nil {
		c.out.send(ctx, outgoing{data: data})
	}
}

func (c *conn) handleNotification(m Message) {
	if m.Method == string(mcp.MethodNotificationCancelled) {
		c.calls.cancel("", m)
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
	k := c.calls.add(c.ctx, "", m)
	switch {
	case k == nil:
		c.sendMessage(c.ctx, Refusal(m.ID, mcp.INVALID_REQUEST,
			fmt.Sprintf("more than %d requests are not answered yet: wait for some; this one was not run", maxOpen)))
	case m.Method == string(mcp.MethodSubscriptionsListen) && m.isModern():
		k.isStream.Store(true)
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
		c.answer(k, Refusal(k.id, mcp.REQUEST_INTERRUPTED, "the server stopped before it started: nothing was changed, send it again"))
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

// handle lets the library handle a message, if it may be handled yet.
func (c *conn) handle(ctx context.Context, m Message) mcp.JSONRPCMessage {
	// The library answers server/discover, to tell a probing client the available eras.
	isOpen := c.session.hasHandshake() || m.isModern() || m.Method == string(mcp.MethodServerDiscover)
	if refused := notInitialized(m, isOpen); m.Kind == Request && refused != nil {
		return *refused
	}
	response := handle(ctx, c.srv, c.log, m)
	if response == nil && m.Kind == Request {
		return *Refusal(m.ID, mcp.INTERNAL_ERROR, "internal error: the request has no answer")
	}
	return response
}

// answer writes the response of a call and closes it. A call that the client has cancelled gets no response.
func (c *conn) answer(k *call, resp mcp.JSONRPCMessage) {
	if k.isCancelled() {
		c.calls.remove(k)
		return
	}
	c.out.send(c.life, outgoing{data: c.encode(k, resp)})
}

// encode closes a call and encodes its response.
func (c *conn) encode(k *call, resp mcp.JSONRPCMessage) []byte {
	data := encode(c.log, k.id, k.withID(resp))
	c.calls.remove(k)
	if asksForInput(resp) { // the library writes a roots request without params, which the Go SDK's client cannot read
		data = bytes.ReplaceAll(data, []byte(`{"method":"roots/list"}`), []byte(`{"method":"roots/list","params":{}}`))
	}
	return data
}

func asksForInput(resp mcp.JSONRPCMessage) bool {
	answer, _ := resp.(mcp.JSONRPCResponse)
	result, ok := answer.Result.(*mcp.CallToolResult)
	return ok && result.NeedsInput()
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
	}
	return resp
}
