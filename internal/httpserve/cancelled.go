package httpserve

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/transport"
)

// requests are those of the handshake revisions that run, by session and id. The library
// answers a request that its client has cancelled; the protocol asks for silence.
type requests struct{ running sync.Map }

// begin notes a request; what it returns is true once the client has cancelled it.
func (r *requests) begin(session string, m transport.Message) (cancelled *atomic.Bool, end func()) {
	id := [2]string{session, m.Key}
	cancelled = &atomic.Bool{}
	r.running.Store(id, cancelled)
	return cancelled, func() { r.running.CompareAndDelete(id, cancelled) } // the id may be another's by now
}

// heard notes what a notification cancels.
func (r *requests) heard(session string, m transport.Message) {
	if m.Method != string(mcp.MethodNotificationCancelled) {
		return
	}
	if cancelled, ok := r.running.Load([2]string{session, m.Cancels()}); ok {
		cancelled.(*atomic.Bool).Store(true)
	}
}
