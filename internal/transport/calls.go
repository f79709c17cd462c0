package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var (
	errCancelled = errors.New("cancelled by the client")
	errStopped   = errors.New("the server is stopping")
)

// call is an unanswered request.
type call struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	session  string
	id       json.RawMessage
	key      string
	isStream atomic.Bool // it is a subscriptions/listen request
}

// isCancelled reports whether the client has cancelled the call: it then gets no further messages, as the protocol asks.
func (k *call) isCancelled() bool { return errors.Is(context.Cause(k.ctx), errCancelled) }

// calls are the open requests of a connection or of the HTTP server. The library only knows a request once it runs, confuses
// the id 1 with "1", and answers even a cancelled request, so we keep our own set.
type calls struct {
	max int

	mu       sync.Mutex
	open     map[*call]struct{}
	stopping bool
	running  sync.WaitGroup
}

func newCalls(limit int) *calls { return &calls{max: limit, open: map[*call]struct{}{}} }

// add records a request. It returns nil if the server is stopping or the maximum of open requests is reached. A session is
// empty if its requests cannot be cancelled, or are the only ones.
func (cs *calls) add(ctx context.Context, session string, m Message) *call {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.stopping || len(cs.open) >= cs.max {
		return nil
	}
	k := &call{session: session, id: m.ID, key: m.Key}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if m.Method == string(mcp.MethodInitialize) {
		k.key = "" // the protocol forbids cancelling it
	}
	cs.open[k] = struct{}{}
	cs.running.Add(1)
	return k
}

// remove closes a request. It may be called again.
func (cs *calls) remove(k *call) {
	k.cancel(nil)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, isOpen := cs.open[k]; isOpen {
		delete(cs.open, k)
		cs.running.Done()
	}
}

// cancelIf ends the contexts of the calls that match.
func (cs *calls) cancelIf(cause error, match func(*call) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for k := range cs.open {
		if match(k) {
			k.cancel(cause)
		}
	}
}

// cancel ends the call that a notification of a session cancels, if it is one. The call may be closed already: its answer
// crossed the cancellation.
func (cs *calls) cancel(session string, m Message) {
	if m.Method != string(mcp.MethodNotificationCancelled) {
		return
	}
	key := m.Cancels()
	cs.cancelIf(errCancelled, func(k *call) bool { return key != "" && k.key == key && k.session == session })
}

// stop refuses all further calls.
func (cs *calls) stop() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.stopping = true
}

func (cs *calls) isStopping() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.stopping
}

// handle lets the library handle a message; a panic ends the call, not the connection.
func handle(ctx context.Context, srv *server.MCPServer, log *slog.Logger, m Message) (response mcp.JSONRPCMessage) {
	defer func() {
		if cause := recover(); cause != nil {
			log.Error("panic in a handler", "method", m.Method, "panic", cause, "stack", string(debug.Stack()))
			response = *Refusal(m.ID, mcp.INTERNAL_ERROR, "internal error: the request may have had no effect; see the server's log")
		}
	}()
	response = srv.HandleMessage(ctx, m.Raw)
	refused, _ := response.(mcp.JSONRPCError)
	text := refused.Error.Message
	if at := strings.LastIndex(text, ": '"); at > 0 && strings.HasSuffix(text, server.ErrToolNotFound.Error()) {
		refused.Error.Message = text[:at] // it has already said so, and what to do
		return refused
	}
	return response
}

// encode returns a message as JSON, or a response as an internal error if it cannot be encoded. Another message is then nil.
func encode(log *slog.Logger, id json.RawMessage, message mcp.JSONRPCMessage) []byte {
	data, err := json.Marshal(message)
	if err == nil {
		return data
	}
	log.Error("encode a message", "error", err)
	if id == nil {
		return nil
	}
	data, _ = json.Marshal(Refusal(id, mcp.INTERNAL_ERROR, "internal error: the response could not be encoded"))
	return data
}

// notInitialized returns the refusal of a request that came before the handshake, which the library would run; else nil.
// isOpen says that the handshake took place.
func notInitialized(m Message, isOpen bool) *mcp.JSONRPCError {
	if isOpen || m.Method == string(mcp.MethodInitialize) || m.Method == string(mcp.MethodPing) {
		return nil
	}
	return Refusal(m.ID, mcp.INVALID_REQUEST, fmt.Sprintf("not initialized: send initialize before %.64q", m.Method))
}
