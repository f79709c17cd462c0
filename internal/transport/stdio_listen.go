package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxStreams bounds the listen streams open on one connection.
const maxStreams = 100

// stream is the session of one subscriptions/listen request: registered with the server, it gets only the broadcasts
// its filter asks for.
type stream struct {
	baseSession
	request json.RawMessage // the id of the listen request, stamped on every message
	ended   chan struct{}
	filter  atomic.Pointer[mcp.SubscriptionFilter]
}

var (
	_ server.SessionWithSubscriptionFilter = (*stream)(nil)
	_ server.SessionWithClientInfo         = (*stream)(nil)
)

// SetSubscriptionFilter records the granted filter. The library clears it when the stream ends; earlier messages are
// still judged by the grant.
func (s *stream) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	if s.filter.Load() == nil || !filter.IsEmpty() {
		s.filter.Store(&filter)
	}
}

// SubscriptionFilter is always active: without a grant nothing is delivered.
func (s *stream) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	return load(&s.filter), true
}

// listen serves one subscriptions/listen request until it is cancelled.
func (c *conn) listen(k *call, m Message) {
	defer c.streams.Add(-1)
	if c.streams.Add(1) > maxStreams {
		c.answer(k, Refusal(k.id, mcp.INVALID_REQUEST,
			fmt.Sprintf("more than %d streams are open: cancel one first", maxStreams)))
		return
	}
	s := &stream{
		baseSession: baseSession{
			ID: fmt.Sprintf("%s-listen-%d", c.session.ID, c.session.listens.Add(1)), Notes: make(chan mcp.JSONRPCNotification, maxNotes),
		},
		request: k.id,
		ended:   make(chan struct{}),
	}
	ctx := c.srv.WithContext(k.ctx, s)
	if err := c.srv.RegisterSession(ctx, s); err != nil {
		c.log.Error("register a listen stream", "error", err)
		c.answer(k, Refusal(k.id, mcp.INTERNAL_ERROR, "internal error: the stream could not be opened"))
		return
	}
	var pumping sync.WaitGroup
	pumping.Go(func() { c.pump(s) })
	resp := c.handle(ctx, m)
	c.srv.UnregisterSession(context.WithoutCancel(ctx), s.ID)
	close(s.ended)
	pumping.Wait()
	c.answer(k, s.closing(resp))
}

// closing stamps the id as it was sent on the result that ends the stream.
func (s *stream) closing(resp mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	r, ok := resp.(mcp.JSONRPCResponse)
	if !ok {
		return resp
	}
	if result, ok := r.Result.(mcp.SubscriptionsListenResult); ok {
		result.EnsureResultMeta().SetSubscriptionID(s.request)
		r.Result = result
	}
	return r
}

// pump delivers a stream's notifications until it ends. The acknowledgement goes first: earlier notifications are held
// back.
func (c *conn) pump(s *stream) {
	var held []mcp.JSONRPCNotification
	acknowledged := false
	take := func(n mcp.JSONRPCNotification) {
		if n.Method == mcp.MethodNotificationSubscriptionsAcknowledged {
			acknowledged, held = true, slices.Insert(held, 0, n)
		} else if acknowledged || len(held) < maxNotes {
			held = append(held, n)
		}
		for ; acknowledged && len(held) > 0; held = held[1:] {
			c.deliver(s, held[0])
		}
	}
	for {
		select {
		case n := <-s.Notes:
			take(n)
		case <-s.ended:
			for n := len(s.Notes); n > 0; n-- {
				take(<-s.Notes)
			}
			return
		}
	}
}

// deliver writes a notification the stream asked for, stamped with its id.
func (c *conn) deliver(s *stream, n mcp.JSONRPCNotification) {
	// The library filters all but the notifications of resources.
	uri, _ := n.Params.AdditionalFields["uri"].(string)
	covers := func(s string) bool { return uri == s || strings.HasPrefix(uri, strings.TrimSuffix(s, "/")+"/") }
	if n.Method == mcp.MethodNotificationResourceUpdated && !slices.ContainsFunc(load(&s.filter).ResourceSubscriptions, covers) {
		return
	}
	// A broadcast shares its map with every other session.
	meta := map[string]any{}
	maps.Copy(meta, n.Params.Meta)
	meta[mcp.MetaKeySubscriptionID] = s.request
	n.Params.Meta = meta
	c.sendMessage(c.life, n)
}
