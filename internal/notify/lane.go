package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// queued is how many notices wait for one target at most.
const queued = 32

// target is a place that is told. deliver returns within bounds of its own, and
// soon after ctx is done.
type target interface {
	name() string // for the log
	wants(Event) bool
	deliver(ctx context.Context, e envelope) error
}

// lane is what waits for one target, and the goroutine that delivers it.
type lane struct {
	target target
	logger *slog.Logger
	ended  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	changed sync.Cond // more waits, or the lane was closed
	waiting []envelope
	dropped int  // since the goroutine last looked
	busy    bool // with one that was taken off the queue
	closed  bool
}

// startLane starts the goroutine. It ends when the lane was closed and nothing
// waits, or when ctx is done after that.
func startLane(ctx context.Context, t target, logger *slog.Logger) *lane {
	l := &lane{target: t, logger: logger, ended: make(chan struct{})}
	l.changed.L = &l.mu
	go l.run(ctx)
	return l
}

// push queues an envelope, in place of the oldest when the queue is full. It
// waits for nothing, and leaves it to the goroutine to tell the log.
func (l *lane) push(e envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if len(l.waiting) == queued {
		l.waiting = append(l.waiting[:0], l.waiting[1:]...)
		l.dropped++
	}
	l.waiting = append(l.waiting, e)
	l.changed.Signal()
}

func (l *lane) run(ctx context.Context) {
	defer close(l.ended)
	for {
		e, dropped, ok := l.next()
		if dropped > 0 {
			l.logger.LogAttrs(ctx, slog.LevelWarn, "notices were dropped, the oldest first: too many waited",
				slog.String("to", l.target.name()), slog.Int("dropped", dropped))
		}
		if !ok {
			return
		}
		began := time.Now()
		err := l.target.deliver(ctx, e)
		l.report(ctx, e, began, err)
		if err != nil && ctx.Err() != nil { // what was taken, and what waits, counts as undelivered
			return
		}
		l.done()
	}
}

// next takes the oldest off the queue, and waits for one; it returns false when
// there will be none.
func (l *lane) next() (e envelope, dropped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.changed.Wait()
	}
	dropped, l.dropped = l.dropped, 0
	if len(l.waiting) == 0 {
		return envelope{}, dropped, false
	}
	e, l.waiting, l.busy = l.waiting[0], append([]envelope(nil), l.waiting[1:]...), true
	return e, dropped, true
}

func (l *lane) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}

// close lets the goroutine end when it has delivered what waits.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Signal()
}

// left counts what is not delivered yet.
func (l *lane) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return len(l.waiting) + 1
	}
	return len(l.waiting)
}
