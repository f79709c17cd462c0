package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
)

// outgoing is one encoded message.
type outgoing struct {
	data    []byte
	writing func() // called just before data is written; may be nil
}

// writer owns the output: only run writes to it.
type writer struct {
	out    *bufio.Writer
	log    *slog.Logger
	queue  chan outgoing
	ending chan struct{} // closing it makes run write the queue and end; nothing may be sent after that
	done   chan struct{} // closed by run; err is final then
	err    error
}

func newWriter(out io.Writer, log *slog.Logger) *writer {
	return &writer{
		out: bufio.NewWriterSize(out, 16<<10), log: log,
		queue: make(chan outgoing, 64), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// send queues a message and reports whether it was taken; it waits for a slow client until ctx ends.
func (w *writer) send(ctx context.Context, o outgoing) bool {
	select {
	case w.queue <- o:
		return true
	case <-ctx.Done():
	case <-w.done:
	}
	return false
}

// failure returns the error that ended run, nil while it runs.
func (w *writer) failure() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// run writes until ending is closed, a write fails, or ctx ends. Notifications that wait when a message is taken from
// the queue were sent before it, and go first.
func (w *writer) run(ctx context.Context, s *stdioSession) {
	defer close(w.done)
	for w.err == nil {
		select {
		case n := <-s.Notes:
			w.writeNotification(s, n)
		case o := <-w.queue:
			w.writeNotifications(s)
			w.write(o)
		case <-w.ending:
			w.drain(s)
			return
		case <-ctx.Done():
			return
		}
		if len(w.queue) == 0 && len(s.Notes) == 0 {
			w.flush()
		}
	}
}

func (w *writer) drain(s *stdioSession) {
	for n := len(w.queue); n > 0; n-- {
		o := <-w.queue
		w.writeNotifications(s)
		w.write(o)
	}
	w.writeNotifications(s)
	w.flush()
}

// writeNotifications writes the notifications waiting now, not later ones, so that it ends.
func (w *writer) writeNotifications(s *stdioSession) {
	for n := len(s.Notes); n > 0; n-- {
		w.writeNotification(s, <-s.Notes)
	}
}

func (w *writer) writeNotification(s *stdioSession, n mcp.JSONRPCNotification) {
	if s.isUnsubscribed(n.Method) {
		return
	}
	if data := encode(w.log, nil, n); data != nil {
		w.write(outgoing{data: data})
	}
}

func (w *writer) write(o outgoing) {
	if o.writing != nil {
		o.writing()
	}
	_, _ = w.out.Write(Clean(o.data))
	w.record(w.out.WriteByte('\n')) // after a failure out ignores writes
}

func (w *writer) flush() { w.record(w.out.Flush()) }

func (w *writer) record(err error) {
	if err != nil {
		w.err = fmt.Errorf("write to the client: %w", err)
	}
}
