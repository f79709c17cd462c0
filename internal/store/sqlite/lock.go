package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/store"
)

// fileLock is the workspace's lock: a queue of this process's goroutines before
// a lock on a file, so that at most one of them waits for the file.
type fileLock struct {
	path  string
	queue chan struct{} // holds a token while no goroutine has its turn

	mu      sync.Mutex
	waiting *waiting // the goroutine that waits for the file, if one does
	held    bool
}

// waiting is a goroutine that waits for the file. Waiting cannot be broken off,
// so whoever gives up leaves it behind for the next to adopt; when it gets a
// file that nobody wants any more it gives it back and ends.
type waiting struct {
	abandoned bool // guarded by fileLock.mu
	done      chan struct{}
	file      *flock.Flock // nil after done when it was given back
	err       error
}

func newFileLock(path string) *fileLock {
	l := &fileLock{path: path, queue: make(chan struct{}, 1)}
	l.queue <- struct{}{}
	return l
}

// acquire takes the lock and returns what gives it back.
func (l *fileLock) acquire(ctx context.Context) (release func(), err error) {
	select {
	case <-l.queue:
	case <-ctx.Done():
		return nil, l.busy(ctx)
	}
	file, err := l.take(ctx)
	if err != nil {
		l.queue <- struct{}{}
		return nil, err
	}
	l.setHeld(true)
	return sync.OnceFunc(func() {
		l.setHeld(false)
		_ = file.Unlock()
		l.queue <- struct{}{}
	}), nil
}

// isHeld reports whether a goroutine of this process has the lock.
func (l *fileLock) isHeld() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *fileLock) setHeld(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = held
}

// take gets the file for the one goroutine whose turn it is.
func (l *fileLock) take(ctx context.Context) (*flock.Flock, error) {
	for {
		w := l.adopt()
		if w == nil {
			file := flock.New(l.path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
			ok, err := file.TryLock()
			if err != nil {
				return nil, l.refused(err)
			}
			if ok {
				if l.isCurrent(file) {
					return file, nil
				}
				_ = file.Unlock()
				continue
			}
			w = l.wait(file)
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			if l.abandon(w) {
				return nil, l.busy(ctx)
			}
		}
		switch {
		case w.err != nil:
			return nil, l.refused(w.err)
		case w.file != nil && l.isCurrent(w.file):
			return w.file, nil
		case w.file != nil:
			_ = w.file.Unlock()
		}
	}
}

// isCurrent reports whether the file that is locked is the one that others
// would lock: somebody may have deleted the folder meanwhile.
func (l *fileLock) isCurrent(file *flock.Flock) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(l.path)
	return err == nil && os.SameFile(ours, current)
}

// adopt returns the waiting goroutine that somebody left behind.
func (l *fileLock) adopt() *waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != nil {
		l.waiting.abandoned = false
	}
	return l.waiting
}

// abandon leaves w behind. It returns false when w has just come to an end.
func (l *fileLock) abandon(w *waiting) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != w {
		return false
	}
	w.abandoned = true
	return true
}

// wait starts a goroutine that ends once it gets the file.
func (l *fileLock) wait(file *flock.Flock) *waiting {
	w := &waiting{done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = w
	l.mu.Unlock()
	go func() {
		err := file.Lock()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting = nil
		switch {
		case err != nil:
			w.err = err
		case w.abandoned:
			_ = file.Unlock()
		default:
			w.file = file
		}
		close(w.done)
	}()
	return w
}

func (l *fileLock) busy(ctx context.Context) error {
	return fmt.Errorf("%w: another planloop is writing, or hangs: try again, or end the process that holds %s: %w",
		store.ErrBusy, l.path, context.Cause(ctx))
}

func (l *fileLock) refused(err error) error {
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return fmt.Errorf("%w: %s cannot be opened for locking: make its folder writable for you: %w", store.ErrReadOnly, l.path, err)
	}
	return fmt.Errorf("lock %s: %w", l.path, err)
}

// Lock implements store.Log.
func (l *Log) Lock(ctx context.Context) (func(), error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	release, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		l.mu.Lock() // somebody may be opening the database under this lock
		defer l.mu.Unlock()
		release()
	}, nil
}

// acquire takes the lock within the bound, making the folder if there is none.
func (l *Log) acquire(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.LockWait)
	defer cancel()
	if release, err = l.lock.acquire(ctx); !errors.Is(err, fs.ErrNotExist) {
		return release, err
	}
	if err := l.makeFolder(); err != nil {
		return nil, err
	}
	return l.lock.acquire(ctx)
}

func (l *Log) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	return nil
}
