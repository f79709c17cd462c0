// Package broadcast tells listeners within one process that something has
// happened. It must not know what.
package broadcast

import (
	"context"
	"sync"
)

// Hub has listeners. The zero value is ready for use.
type Hub struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    bool
}

// Listen returns a channel that receives after each Notify; what happens before
// it is received arrives as one. The channel is closed when ctx ends or the hub
// is closed.
func (h *Hub) Listen(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || ctx.Err() != nil {
		close(ch)
		return ch
	}
	if h.listeners == nil {
		h.listeners = map[chan struct{}]struct{}{}
	}
	h.listeners[ch] = struct{}{}
	context.AfterFunc(ctx, func() { h.drop(ch) })
	return ch
}

// Notify tells every listener.
func (h *Hub) Notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.listeners {
		select {
		case ch <- struct{}{}:
		default: // it has not received the one before
		}
	}
}

// Close ends all listening, now and later.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.listeners {
		close(ch)
	}
	h.listeners = nil
}

func (h *Hub) drop(ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.listeners[ch]; ok {
		delete(h.listeners, ch)
		close(ch)
	}
}
