package transport

import (
	"context"
	"sync"
)

// maxQueued bounds the messages that wait in the lane; with more, reading pauses.
const maxQueued = 1024

// lane runs turns one at a time, in queue order. One goroutine works on it; a turn that yields keeps that goroutine,
// and the lane gets a new one.
type lane struct {
	life  context.Context // ends the workers
	queue chan *turn
}

// turn is a place in the lane.
type turn struct {
	lane *lane
	run  func(*turn)
	left sync.Once // done by Yield or the end of run, whichever lets the lane continue
}

// enter queues a turn; it waits for room and reports false if ctx ends first.
func (l *lane) enter(ctx context.Context, run func(*turn)) bool {
	select {
	case l.queue <- &turn{lane: l, run: run}:
		return true
	case <-ctx.Done():
		return false
	}
}

// work runs turns until one yields or the lane's life ends. The goroutine is reused between calls because a new one's
// stack would have to grow each time.
func (l *lane) work() {
	for {
		select {
		case <-l.life.Done():
			l.empty()
			return
		case t := <-l.queue:
			if t.take() {
				return
			}
		}
	}
}

// empty runs the remaining turns after the lane's life has ended.
func (l *lane) empty() {
	for {
		select {
		case t := <-l.queue:
			t.take()
		default:
			return
		}
	}
}

// take runs the turn and reports whether it yielded.
func (t *turn) take() bool {
	t.run(t)
	yielded := true
	t.left.Do(func() { yielded = false })
	return yielded
}

// context carries the turn to the handler, for Yield.
func (t *turn) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

type turnKey struct{}

// Yield lets later calls run while this one continues. A handler calls it before a long wait, and afterwards changes
// nothing that the order of calls should protect. On other transports, and the second time, it does nothing.
func Yield(ctx context.Context) {
	if ctx == nil {
		return
	}
	if t, ok := ctx.Value(turnKey{}).(*turn); ok {
		t.left.Do(func() { go t.lane.work() })
	}
}
