package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

var (
	errCancelled = errors.New("cancelled by the client")
	errStopped   = errors.New("the server is stopping")
)

// call is a request that is not answered yet.
type call struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	id      json.RawMessage
	key     string
	claimed atomic.Bool // it runs, or was dropped before it did
	stream  atomic.Bool // it is a listen stream
}

// claim reports whether the caller is the one to answer the call.
func (k *call) claim() bool { return k.claimed.CompareAndSwap(false, true) }

// calls are the open requests of a connection. The library knows a request only
// once it runs, and takes the id 1 for "1": hence a set of our own.
type calls struct {
	mu   sync.Mutex
	open map[*call]struct{}
}

func newCalls() *calls {
	return &calls{open: make(map[*call]struct{})}
}

func (cs *calls) add(ctx context.Context, m message) *call {
	k := &call{id: m.id, key: m.key}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if m.method == string(mcp.MethodInitialize) {
		k.key = "" // the protocol forbids to cancel it
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.open[k] = struct{}{}
	return k
}

func (cs *calls) remove(k *call) {
	k.cancel(nil)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, k)
}

// cancelled handles notifications/cancelled; an id that is not open is ignored,
// since its answer may have crossed the cancellation.
func (cs *calls) cancelled(params json.RawMessage) []*call {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	key := idKey(p.RequestID)
	if key == "" {
		return nil
	}
	return cs.cancelIf(errCancelled, func(k *call) bool { return k.key == key })
}

func (cs *calls) cancelStreams() {
	cs.cancelIf(errStopped, func(k *call) bool { return k.stream.Load() })
}

// cancelIf ends the contexts of the calls that match and returns them.
func (cs *calls) cancelIf(cause error, match func(*call) bool) []*call {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var matched []*call
	for k := range cs.open {
		if match(k) {
			k.cancel(cause)
			matched = append(matched, k)
		}
	}
	return matched
}

// unstarted answers a call that was given up before its turn came.
func (k *call) unstarted() *mcp.JSONRPCError {
	if errors.Is(context.Cause(k.ctx), errCancelled) {
		return refusal(k.id, mcp.REQUEST_INTERRUPTED, "cancelled before it started: nothing was changed")
	}
	return refusal(k.id, mcp.REQUEST_INTERRUPTED, "the server stopped before it started: nothing was changed, send it again")
}

// outcome is the library's response under the id as it was sent. An internal
// error of a cancelled call is only the echo of its ended context.
func (k *call) outcome(resp mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	switch r := resp.(type) {
	case mcp.JSONRPCResponse:
		r.ID = mcp.NewRequestId(k.id)
		return r
	case mcp.JSONRPCError:
		if r.Error.Code == mcp.INTERNAL_ERROR && errors.Is(context.Cause(k.ctx), errCancelled) {
			return refusal(k.id, mcp.REQUEST_INTERRUPTED, errCancelled.Error())
		}
		r.ID = mcp.NewRequestId(k.id)
		return r
	default:
		return resp
	}
}
