package presence

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Join is a sign of life and, for a name with a #, begins a connection: it holds a lock that ends with the process,
// however the process ends. The connection lasts until leave is called as often as Join. A server of one client is
// announced for that time. Leave may be called more than once, for any name.
func (b *Registry) Join(name string) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.stateOf(name)
	l.joined++
	l.written = time.Time{} // makes touch take the lock now
	b.touch(name, l)
	b.sweep()
	return sync.OnceFunc(func() { b.leave(name, l) })
}

func (b *Registry) leave(name string, l *nameState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.joined--; l.joined > 0 {
		return
	}
	if l.announced != "" {
		b.remove(l.announced)
		l.announced = ""
	}
	if l.lock == nil {
		return
	}
	if err := removeLocked(b.files.live(name), l.lock); err != nil {
		b.report("leave", name, err)
	}
	l.lock = nil
}

// lockWait is how long Join waits for a lock that another process holds briefly to check the name.
const (
	lockWait  = 50 * time.Millisecond
	lockRetry = time.Millisecond
)

// takeLock takes the lock of a name that has joined, and retakes it if its file was removed. pending means that it should
// be tried again soon because the state folder is missing; a lock held by another process can wait.
func (b *Registry) takeLock(name string, l *nameState) (pending bool) {
	if !isConnection(name) || l.joined == 0 || l.lock != nil && isSameFile(b.files.live(name), l.lock) {
		return false
	}
	if l.lock != nil {
		_ = l.lock.Unlock()
		l.lock = nil
	}
	lock, err := b.acquireLock(name)
	if err != nil {
		b.report("join", name, err)
		return !errors.Is(err, context.DeadlineExceeded)
	}
	l.lock = lock
	return false
}

func (b *Registry) acquireLock(name string) (*flock.Flock, error) {
	if err := b.files.make(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	for {
		lock := flock.New(b.files.live(name), flock.SetFlag(os.O_CREATE|probeFlag()))
		if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
			return nil, err
		}
		// It may have been removed between opening and locking.
		if isSameFile(b.files.live(name), lock) {
			return lock, nil
		}
		_ = lock.Unlock()
	}
}

// Intervals of sweeping. Recent signs are kept longer than any lease lasts.
const (
	sweepEvery = time.Hour
	deadAfter  = 24 * time.Hour
	seenAfter  = 30 * 24 * time.Hour
)

// sweep removes files left by dead processes, at most once an hour.
func (b *Registry) sweep() {
	now := b.now()
	if passed := now.Sub(b.swept); b.files == "" || passed >= 0 && passed < sweepEvery {
		return
	}
	b.swept = now
	_, killed := b.listServers()
	b.remove(killed...)
	for f, kept := range map[folder]time.Duration{b.files: seenAfter, b.notices: seenAfter, b.remote: deadAfter} {
		if err := f.sweep(now.Add(-deadAfter), now.Add(-kept)); err != nil {
			b.report("sweep", "", err)
		}
	}
}
