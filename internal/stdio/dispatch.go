package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
)

// take handles one frame; it returns as soon as the message is on its way.
func (c *conn) take(f frame) {
	if f.tooLong {
		c.say(refusal(nil, mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than %d bytes and was skipped: send less at a time", c.maxFrame)))
		return
	}
	if len(f.data) == 0 {
		return
	}
	m, refused := parse(f.data)
	if refused != nil {
		c.say(refused)
		return
	}
	switch m.kind {
	case response:
		c.session.answered(m)
	case notification:
		c.notified(m)
	case request:
		c.requested(m)
	}
}

// say writes an answer that belongs to no call.
func (c *conn) say(e *mcp.JSONRPCError) {
	data, err := json.Marshal(e)
	if err != nil {
		c.log.Error("encode a refusal", "error", err)
		return
	}
	c.out.send(c.ctx, outgoing{data: data})
}

func (c *conn) notified(m message) {
	if m.method == string(mcp.MethodNotificationCancelled) {
		c.drop(c.calls.cancelled(m.params))
		return
	}
	c.inLane(c.ctx, func(t *turn) {
		if c.ctx.Err() == nil {
			c.handle(t.context(c.ctx), m)
		}
	})
}

func (c *conn) requested(m message) {
	k := c.calls.add(c.ctx, m)
	switch {
	case m.method == string(mcp.MethodSubscriptionsListen) && m.modern():
		k.stream.Store(true)
		k.claim()
		c.running.Go(func() { c.listen(k, m) })
	case m.method == string(mcp.MethodPing), m.method == string(mcp.MethodTasksResult):
		k.claim()
		c.running.Go(func() { c.answer(k, c.handle(k.ctx, m)) })
	case !c.inLane(k.ctx, func(t *turn) { c.atTurn(t, k, m) }):
		c.calls.remove(k)
	}
}

// inLane has run called when its turn comes.
func (c *conn) inLane(ctx context.Context, run func(*turn)) bool {
	c.running.Add(1)
	entered := c.lane.enter(ctx, func(t *turn) {
		defer c.running.Done()
		run(t)
	})
	if !entered {
		c.running.Done()
	}
	return entered
}

// atTurn runs a call, unless it was dropped while it waited.
func (c *conn) atTurn(t *turn, k *call, m message) {
	if !k.claim() {
		return
	}
	if k.ctx.Err() != nil {
		c.answer(k, k.unstarted())
		return
	}
	if m.method == string(mcp.MethodInitialize) {
		c.initialize(k, m)
		return
	}
	c.answer(k, c.handle(t.context(k.ctx), m))
}

// drop answers cancelled calls at once if their turn has not come.
func (c *conn) drop(ks []*call) {
	for _, k := range ks {
		if k.claim() {
			c.running.Go(func() { c.answer(k, k.unstarted()) })
		}
	}
}

// initialize holds broadcasts and the calls behind it back until its result is
// being written: whatever they send comes after it.
func (c *conn) initialize(k *call, m message) {
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
func (c *conn) handle(ctx context.Context, m message) (resp mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("panic in a handler", "method", m.method, "panic", r, "stack", string(debug.Stack()))
			resp = *refusal(m.id, mcp.INTERNAL_ERROR, "internal error: the request may have taken no effect, the server's log says more")
		}
	}()
	if m.kind == request && c.uninitialized(m) {
		return *refusal(m.id, mcp.INVALID_REQUEST, fmt.Sprintf("not initialized: send initialize before %.64q", m.method))
	}
	resp = c.srv.HandleMessage(ctx, m.raw)
	if resp == nil && m.kind == request {
		return *refusal(m.id, mcp.INTERNAL_ERROR, "internal error: the request has no answer")
	}
	return resp
}

// uninitialized reports whether a request of the handshake era came before the
// handshake; the library would run it. server/discover is left to the library,
// whose answer tells a probing client which eras there are.
func (c *conn) uninitialized(m message) bool {
	switch m.method {
	case string(mcp.MethodInitialize), string(mcp.MethodPing), string(mcp.MethodServerDiscover):
		return false
	}
	return !c.session.legacy() && !m.modern()
}

// answer writes the response of a call and closes it.
func (c *conn) answer(k *call, resp mcp.JSONRPCMessage) {
	c.out.send(c.life, outgoing{data: c.encode(k, resp)})
}

// encode closes a call and encodes its response.
func (c *conn) encode(k *call, resp mcp.JSONRPCMessage) []byte {
	data, err := json.Marshal(k.outcome(resp))
	c.calls.remove(k)
	if err != nil {
		c.log.Error("encode a response", "error", err)
		data, _ = json.Marshal(refusal(k.id, mcp.INTERNAL_ERROR, "internal error: the response could not be encoded"))
	}
	return data
}
