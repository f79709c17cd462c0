package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// maxQueued bounds the messages that wait in the queue; with more, reading pauses.
const maxQueued = 1024

// callQueue runs turns one at a time, in queue order. One goroutine works on it; a turn that yields keeps that goroutine,
// and the queue gets a new one.
type callQueue struct {
	life  context.Context // ends the workers
	turns chan *turn
}

// turn is a place in the queue.
type turn struct {
	queue   *callQueue
	run     func(*turn)
	yielded sync.Once // done by Yield or the end of run, whichever lets the queue continue
}

// add queues a turn; it waits for room and reports false if ctx ends first.
func (q *callQueue) add(ctx context.Context, run func(*turn)) bool {
	select {
	case q.turns <- &turn{queue: q, run: run}:
		return true
	case <-ctx.Done():
		return false
	}
}

// work runs turns until one yields or the queue's life ends. The goroutine is reused between calls because a new one's
// stack would have to grow each time.
func (q *callQueue) work() {
	for {
		select {
		case <-q.life.Done():
			q.drain()
			return
		case t := <-q.turns:
			if t.execute() {
				return
			}
		}
	}
}

// drain runs the remaining turns after the queue's life has ended.
func (q *callQueue) drain() {
	for {
		select {
		case t := <-q.turns:
			t.execute()
		default:
			return
		}
	}
}

// execute runs the turn and reports whether it yielded.
func (t *turn) execute() bool {
	t.run(t)
	yielded := true
	t.yielded.Do(func() { yielded = false })
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
		t.yielded.Do(func() { go t.queue.work() })
	}
}

// frame is one line of input, or the error that ended it.
type frame struct {
	data    []byte
	tooLong bool // data is empty: the line was skipped
	err     error
}

// readFrames reads lines until in or ctx ends; the last frame carries the error. The goroutine owns in and outlives ctx
// while a Read blocks.
func readFrames(ctx context.Context, in io.Reader, maxFrame int) <-chan frame {
	frames := make(chan frame)
	go func() {
		lines := bufio.NewReaderSize(in, 16<<10)
		for {
			f := nextFrame(lines, maxFrame)
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
			if f.err != nil {
				return
			}
		}
	}()
	return frames
}

// nextFrame reads one line of any length, keeping at most limit bytes of it.
func nextFrame(in *bufio.Reader, limit int) frame {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit+len("\r\n") {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		atEnd := errors.Is(err, io.EOF) && (tooLong || len(line) > 0)
		if err != nil && !atEnd {
			return frame{err: err}
		}
		line = bytes.Trim(line, " \t\r\n")
		if tooLong || len(line) > limit {
			return frame{tooLong: true}
		}
		return frame{data: line}
	}
}
