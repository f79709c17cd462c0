package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Over stdio one client sends one JSON-RPC message a line, in either protocol era: the initialize handshake or the stateless
// 2026-07-28. This replaces the library's own stdio loop, which runs pipelined calls out of order, lets a few waiting calls stop all
// others, loses notifications sent just before a handler returns, drops unprocessed input at its end and ignores the
// filter of subscriptions/listen. Its rules:
//
//   - Requests take effect in the order sent: they run one at a time, in a queue.
//     A handler that is about to wait calls [Yield], and the queue continues. Only
//     ping, tasks/result and subscriptions/listen run outside the queue.
//   - Cancellations and the client's answers to our own requests are handled as
//     they are read, at any time. Reading pauses only when 1024 messages wait in
//     the queue.
//   - One goroutine writes. A handler's messages are written before its answer,
//     but possibly before the answer to an earlier call.
//   - Every request is answered except a cancelled one, which gets no further
//     messages, as the protocol asks; the library would answer it.

// grace is how long cancelled calls have to end and be answered before Serve abandons them.
const grace = time.Second

// StdioOptions configure a connection. The zero value is ready to use.
type StdioOptions struct {
	// Logger receives errors; nil discards them. It must not write to the stream that carries the messages.
	Logger *slog.Logger
	// MaxFrame is the longest message accepted, in bytes without the line end; 4 MiB if zero.
	MaxFrame int
	// Drain is how long calls already read may continue after the end of input; 30 s if zero.
	Drain time.Duration
}

// conn is one connection. Its goroutines are the reader, the writer, one per open request and one more per listen
// stream; cancelling ctx ends all of them.
type conn struct {
	srv      *server.MCPServer
	log      *slog.Logger
	maxFrame int
	session  *stdioSession
	out      *writer
	queue    *callQueue
	calls    *calls
	streams  atomic.Int64
	running  sync.WaitGroup

	ctx    context.Context // of every call
	cancel context.CancelCauseFunc
	life   context.Context // outlives ctx by the grace, so that cancelled calls are still answered
}

// ServeStdio answers the messages read from in on out until the input or ctx ends, and then returns nil; an error means that
// in or out failed. At the end of input every message read is still answered: streams end at once, calls after at most
// opts.Drain. A client that closes out has left, which is not an error; on standard output this requires the caller to
// ignore SIGPIPE.
//
// A blocked Read or Write cannot be interrupted: when ctx ends, ServeStdio still returns, and leaves that goroutine running
// until in or out is closed. It may have consumed input, but no longer acts on it. A handler that ignores its cancelled
// context for longer than a second is abandoned too.
func ServeStdio(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer, opts StdioOptions) error {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.MaxFrame = cmp.Or(opts.MaxFrame, MaxMessage)
	opts.Drain = cmp.Or(opts.Drain, 30*time.Second)
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(errStopped)

	w := newWriter(out, opts.Logger)
	s := newSession(w.send)
	c := &conn{
		srv: srv, log: opts.Logger, maxFrame: opts.MaxFrame, session: s, out: w,
		queue: &callQueue{life: life, turns: make(chan *turn, maxQueued)}, calls: newCalls(maxOpen),
		ctx: srv.WithContext(callCtx, s), cancel: cancel, life: life,
	}
	if err := srv.RegisterSession(c.ctx, s); err != nil {
		return fmt.Errorf("register the stdio session: %w", err)
	}
	defer srv.UnregisterSession(context.WithoutCancel(c.ctx), s.SessionID())

	go func() { // without the writer nothing can be answered, so its failure ends the connection
		w.run(life, s)
		if err := w.failure(); err != nil {
			cancel(err)
		}
	}()
	go c.queue.work()
	readErr := c.dispatch(readFrames(c.ctx, in, opts.MaxFrame))
	c.drain(opts.Drain)
	return c.result(ctx, readErr)
}

// result returns the result of Serve. A client that hangs up closes both streams, in either order, and often before it
// has read the last answers: that is not an error.
func (c *conn) result(ctx context.Context, readErr error) error {
	writeErr := c.out.failure()
	hungUp := errors.Is(readErr, io.EOF) || errors.Is(writeErr, syscall.EPIPE) || errors.Is(writeErr, io.ErrClosedPipe)
	if writeErr != nil && hungUp {
		c.log.Info("the client hung up before it had read every answer", "error", writeErr)
	}
	switch {
	case ctx.Err() != nil, errors.Is(readErr, io.EOF):
		return nil
	case hungUp:
		return readErr
	}
	return errors.Join(readErr, writeErr)
}

// dispatch takes the frames as they arrive; it owns the queue's order. Its error is io.EOF, wrapped, at the end of
// input, and nil when the connection's context ended.
func (c *conn) dispatch(frames <-chan frame) error {
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case f := <-frames:
			if f.err != nil {
				return fmt.Errorf("read from the client: %w", f.err)
			}
			c.receive(f)
		}
	}
}

// drain waits until every message read is answered and written.
func (c *conn) drain(drain time.Duration) {
	close(c.session.closed) // no answer can come any more
	c.calls.cancelIf(errStopped, func(k *call) bool { return k.isStream.Load() })
	settled := make(chan struct{})
	go func() { // ends with the last handler
		c.running.Wait()
		close(c.out.ending)
		<-c.out.done
		close(settled)
	}()

	select {
	case <-settled:
		return
	case <-c.ctx.Done():
	case <-time.After(drain):
		c.log.Warn("calls still running after the end of input are cancelled", "after", drain)
	}
	c.cancel(errStopped)
	// A handler may still hold the queue; the turns after it no longer run and only need an answer.
	go c.queue.work()
	select {
	case <-settled:
	case <-time.After(grace):
		c.log.Warn("left before every call had ended", "waited", grace)
	}
}

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
