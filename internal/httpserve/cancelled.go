package httpserve

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/transport"
)

// requests are the running requests of the handshake revisions, by session and id. The library answers even a cancelled
// request; the protocol asks for silence.
type requests struct{ running sync.Map }

// begin records a request; cancelled becomes true once the client has cancelled it.
func (r *requests) begin(session string, m transport.Message) (cancelled *atomic.Bool, end func()) {
	id := [2]string{session, m.Key}
	cancelled = &atomic.Bool{}
	r.running.Store(id, cancelled)
	return cancelled, func() { r.running.CompareAndDelete(id, cancelled) } // by now the id may belong to another
}

// heard records a cancellation, if the notification is one.
func (r *requests) heard(session string, m transport.Message) {
	if m.Method != string(mcp.MethodNotificationCancelled) {
		return
	}
	if cancelled, ok := r.running.Load([2]string{session, m.Cancels()}); ok {
		cancelled.(*atomic.Bool).Store(true)
	}
}
