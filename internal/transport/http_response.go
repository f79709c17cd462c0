package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/origin"
)

var errAnswered = errors.New("the request has been answered")

// response sits between the library and net/http. It bounds each write in time, lets keep-alives and the library write
// in turns, can hold an answer back until its handler has returned, and then forgets the connection: the library keeps
// the writers of resumable streams for the life of a session.
type response struct {
	mu     sync.Mutex
	w      http.ResponseWriter // nil once the handler has returned
	header http.Header
	buffer *bytes.Buffer // not nil while the answer is held back
	status int

	call *call // nothing more is sent once it is cancelled; may be nil
}

func newResponse(w http.ResponseWriter) *response {
	return &response{w: w, header: w.Header()}
}

// Header returns the header to send.
func (r *response) Header() http.Header { return r.header }

// WriteHeader sends the status and the header.
func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeHeader(status)
}

func (r *response) writeHeader(status int) {
	if r.w == nil || r.status != 0 || r.isCancelled() {
		return
	}
	r.status = status
	if r.buffer == nil {
		r.w.WriteHeader(status)
	}
}

// Write sends a part of the body.
func (r *response) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil {
		return 0, errAnswered
	}
	if r.isCancelled() {
		return len(p), nil
	}
	r.writeHeader(http.StatusOK)
	clean := Clean(p)
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") { // the library's refusals
		clean = []byte(CleanText(string(p)))
	}
	if r.buffer != nil {
		_, _ = r.buffer.Write(clean) // cannot fail
		return len(p), nil
	}
	origin.LimitWrite(r.w)
	if _, err := r.w.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (r *response) isCancelled() bool { return r.call != nil && r.call.isCancelled() }

// Flush sends buffered data.
func (r *response) Flush() { _ = r.FlushError() }

// FlushError is Flush with an error if the client no longer reads.
func (r *response) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil || r.buffer != nil {
		return nil
	}
	origin.LimitWrite(r.w)
	return http.NewResponseController(r.w).Flush()
}

// send writes one server-sent event and flushes it.
func (r *response) send(name string, data []byte) error {
	return r.sendRaw(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data))
}

func (r *response) sendRaw(p []byte) error {
	if _, err := r.Write(p); err != nil {
		return err
	}
	return r.FlushError()
}

// isEventStream reports whether a stream of events was begun.
func (r *response) isEventStream() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w != nil && r.status == http.StatusOK && strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream")
}

// keepAlive regularly writes a comment, so that clients and proxies that end silent connections leave this one open. It
// returns when ctx ends.
func (r *response) keepAlive(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if r.isEventStream() && r.sendRaw([]byte(": keep-alive\n\n")) != nil {
				return
			}
		}
	}
}

// finish sends a held answer and releases the connection. The creator of the response calls it before its handler
// returns.
func (r *response) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil {
		return
	}
	origin.LimitWrite(r.w)
	if r.isCancelled() && r.status == 0 { // an event stream may end without an answer
		r.header.Set("Content-Type", "text/event-stream")
		r.w.WriteHeader(http.StatusOK)
	}
	if r.buffer != nil {
		if r.status != 0 {
			r.w.WriteHeader(r.status)
		}
		// A client that has gone needs no answer.
		_, _ = r.w.Write(r.buffer.Bytes())
	}
	r.w = nil
}
