// Package broadcast notifies listeners within one process of an event. It must not know the event.
package broadcast

import (
	"context"
	"sync"
)

// Hub notifies its listeners. The zero value is ready for use.
type Hub struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    bool
}

// Listen returns a channel that receives after each Notify; notifications before a receive are merged. The channel is
// closed when ctx ends or the hub is closed.
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
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.listeners[ch]; ok {
			delete(h.listeners, ch)
			close(ch)
		}
	})
	return ch
}

// Notify notifies every listener without blocking.
func (h *Hub) Notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.listeners {
		select {
		case ch <- struct{}{}:
		default: // the previous notification is still pending
		}
	}
}

// Close closes all channels, also of later Listen calls.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.listeners {
		close(ch)
	}
	h.listeners = nil
}

// Merge returns a channel that receives after any of the channels does; receives in between are merged. It is closed once all of them
// are.
func Merge(all ...<-chan struct{}) <-chan struct{} {
	merged := make(chan struct{}, 1)
	var open sync.WaitGroup
	for _, from := range all {
		open.Go(func() {
			for range from {
				select {
				case merged <- struct{}{}:
				default: // the previous one is still pending
				}
			}
		})
	}
	go func() { open.Wait(); close(merged) }()
	return merged
}
