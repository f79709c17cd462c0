package session

import (
	"context"
	"sync"
)

// Watch returns a channel that receives after the state has changed, whichever
// process changed it; several changes may arrive as one. It is closed when ctx
// ends or the session is closed. Whoever receives calls State.
func (s *Session) Watch(ctx context.Context) (<-chan struct{}, error) {
	return s.watch.add(ctx)
}

// watchers passes the growth of the log on to any number of listeners. One
// goroutine reads the log's own channel; it starts with the first listener and
// ends with stop.
type watchers struct {
	start func(context.Context) (<-chan struct{}, error)

	mu     sync.Mutex
	heard  map[chan struct{}]func() bool // listener → stops waiting for its context
	cancel context.CancelFunc
	closed bool
	done   sync.WaitGroup
}

func (w *watchers) add(ctx context.Context) (<-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	listener := make(chan struct{}, 1)
	if w.closed {
		close(listener)
		return listener, nil
	}
	if w.cancel == nil {
		if err := w.begin(); err != nil {
			return nil, err
		}
	}
	w.heard[listener] = context.AfterFunc(ctx, func() { w.remove(listener) })
	return listener, nil
}

// begin starts the goroutine that listens to the log. The mutex is held.
func (w *watchers) begin() error {
	ctx, cancel := context.WithCancel(context.Background())
	growth, err := w.start(ctx)
	if err != nil {
		cancel()
		return err
	}
	w.cancel = cancel
	w.heard = map[chan struct{}]func() bool{}
	w.done.Go(func() {
		for range growth {
			w.tell()
		}
	})
	return nil
}

// tell wakes all listeners; one that has not listened since is not waited for.
func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for listener := range w.heard {
		select {
		case listener <- struct{}{}:
		default:
		}
	}
}

func (w *watchers) remove(listener chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.heard[listener]; ok {
		delete(w.heard, listener)
		close(listener)
	}
}

func (w *watchers) stop() {
	w.mu.Lock()
	w.closed = true
	if w.cancel != nil {
		w.cancel()
	}
	for listener, forget := range w.heard {
		forget()
		delete(w.heard, listener)
		close(listener)
	}
	w.mu.Unlock()
	w.done.Wait()
}
