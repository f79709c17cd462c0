package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
)

// workspaceLock keeps other processes and goroutines from changing a log: a queue of this process's
// goroutines before a file lock, so that at most one of them waits for the file. The file stays
// open from one turn to the next.
type workspaceLock struct {
	path   string
	turn   chan struct{} // holds a token while no goroutine has the turn
	isHeld atomic.Bool   // by a goroutine of this process
	file   *os.File      // used by the goroutine with the turn; nil before the first
}

// acquire takes the lock and returns the function that releases it.
func (l *workspaceLock) acquire(ctx context.Context) (release func(), err error) {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return nil, l.busy(ctx)
	}
	if err := l.take(ctx); err != nil {
		l.turn <- struct{}{}
		return nil, err
	}
	l.isHeld.Store(true)
	return sync.OnceFunc(func() {
		l.isHeld.Store(false)
		_ = unlockFile(l.file)
		l.turn <- struct{}{}
	}), nil
}

// take locks the file for the goroutine with the turn. It polls: a blocking system call cannot be
// cancelled, and costs more than polling. It also pauses in a system call: on Linux, a Go timer in
// an otherwise idle process takes at least a millisecond, enough for three changes by others.
func (l *workspaceLock) take(ctx context.Context) error {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		if locked, err := l.tryLock(); locked || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return l.busy(ctx)
		}
		sleepBriefly(pause)
	}
}

// A change holds the lock for less than a millisecond.
const (
	shortestPause = 100 * time.Microsecond
	longestPause  = 500 * time.Microsecond
)

func (l *workspaceLock) tryLock() (bool, error) {
	if l.file == nil {
		if err := safefile.CheckFolder(filepath.Dir(l.path)); err != nil {
			return false, l.refused(err)
		}
		file, err := safefile.Open(l.path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return false, l.refused(err)
		}
		l.file = file
	}
	locked, err := tryLockFile(l.file)
	if err != nil {
		return false, l.refused(err)
	}
	if locked && !l.isCurrent() {
		l.closeFile()
		return false, nil
	}
	return locked, nil
}

// isCurrent reports whether the locked file is the one that others would lock: the folder may have
// been deleted in between.
func (l *workspaceLock) isCurrent() bool {
	ours, err := l.file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(l.path)
	return err == nil && os.SameFile(ours, current)
}

// close closes the file, unless the lock is held: then the end of the process does.
func (l *workspaceLock) close() {
	select {
	case <-l.turn:
	default:
		return
	}
	if l.file != nil {
		l.closeFile()
	}
	l.turn <- struct{}{}
}

func (l *workspaceLock) closeFile() {
	_ = l.file.Close() // also releases the lock
	l.file = nil
}

func (l *workspaceLock) busy(ctx context.Context) error {
	return fmt.Errorf("%w: another planloop is writing, or hangs: try again, or end the process that holds %s: %w",
		store.ErrBusy, l.path, context.Cause(ctx))
}

func (l *workspaceLock) refused(err error) error {
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return fmt.Errorf("%w: %s cannot be opened for locking: make its folder writable by you: %w", store.ErrReadOnly, l.path, err)
	}
	return fmt.Errorf("lock: %w", explain(l.path, err))
}

// Lock implements store.Log.
func (l *Log) Lock(ctx context.Context) (func(), error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	release, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		l.mu.Lock() // another goroutine may be opening the database under this lock
		defer l.mu.Unlock()
		release()
	}, nil
}

// acquire takes the lock within LockWait, making the folder if it is missing.
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

// underLock calls f with the workspace's lock, which it takes unless this process has it. It is
// called with mu held and releases it while it waits.
func (l *Log) underLock(ctx context.Context, f func() error) error {
	if l.lock.isHeld.Load() {
		return f()
	}
	l.mu.Unlock()
	release, err := l.acquire(ctx)
	l.mu.Lock()
	if err != nil {
		return err
	}
	defer release()
	if l.closed {
		return store.ErrClosed
	}
	return f()
}

func (l *Log) checkOpen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	return nil
}
