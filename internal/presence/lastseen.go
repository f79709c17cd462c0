// Package presence keeps signs of life: when a name was last seen, whether a name's connection has ended, and which
// running server serves it. They are files next to the log, touched without a record and without a sync, so that every
// process on the workspace sees them.
//
// It must not know claims, leases, actions, or the origin of a name, except that a name with a # represents a
// connection. It never makes a call fail: file system errors are logged at debug level, and a name that cannot be
// checked counts as alive.
package presence

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// Options configures a Registry. The zero value is usable.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
	Server func() Server    // announced by a process that serves one client; nil: it serves none
	Remote bool             // this process serves clients over HTTP
	Shared string           // folder of what the workspace's tracks share; "": stateDir
	First  *Registry        // of this process, on another track of the workspace: it keeps the connections; nil: this is the first
}

// Registry records the names seen in one workspace. All methods may be called from several goroutines. It starts no
// goroutine and keeps no file open except the lock of each name that has joined.
type Registry struct {
	files, servers, notices, hooks folder
	live                           folder    // of locks, which all tracks share
	remote                         folder    // clients seen over HTTP
	sessions                       folder    // bindings of sessions to tracks
	first                          *Registry // keeps the connections of all tracks; nil: itself
	workspace                      string    // separates the hooks' signs by workspace
	server                         func() Server
	servesHTTP                     bool
	now                            func() time.Time
	logger                         *slog.Logger

	mu     sync.Mutex // guards the rest, and the writing of files
	names  map[string]*nameState
	swept  time.Time
	serves []string             // the sessions that this server has served
	noted  map[string]time.Time // the last call of each tool that no hook reported, while no hook has ever responded
}

// nameState is this process's knowledge of one name.
type nameState struct {
	joined    int       // joins of the name without a leave
	at        time.Time // the last sign of life in this process
	written   time.Time // when it was last written to the file
	lock      *flock.Flock
	announced string // the file that names this process as the name's server
}

// Open returns the registry of the track with its state in stateDir. The folder need not exist yet: the registry reads
// and writes only when needed, and writes nothing before the folder exists. With an empty stateDir all is kept in memory.
func Open(stateDir string, opts Options) *Registry {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	shared := cmp.Or(opts.Shared, stateDir)
	b := &Registry{
		files: subfolder(stateDir, seenName), servers: subfolder(shared, serversName), notices: subfolder(stateDir, "said"),
		live: subfolder(shared, seenName), remote: subfolder(shared, "remote"), sessions: subfolder(shared, sessionsName),
		server: opts.Server, servesHTTP: opts.Remote, first: opts.First,
		now: opts.Now, logger: opts.Logger, names: map[string]*nameState{},
	}
	if stateDir != "" {
		b.hooks, b.workspace = subfolder(filepath.Dir(shared), hooksName), filepath.Base(shared)
	}
	return b
}

// Folders next to a log: signs of life, and announcements of servers.
const (
	seenName    = "seen"
	serversName = "servers"
)

const writeInterval = time.Second // for which a sign of life on disk counts as current

// Touch records a sign of life of name. It writes at most once a second per name.
func (b *Registry) Touch(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.touch(name, b.stateOf(name))
}

// touch is Touch for a caller that holds b.mu.
func (b *Registry) touch(name string, l *nameState) {
	now := b.now()
	l.at = now.Round(0)
	if b.files == "" {
		return
	}
	if passed := now.Sub(l.written); passed >= 0 && passed < writeInterval {
		return
	}
	// The lock comes first: a connection that has been seen but holds no lock is gone.
	pending := b.connect(name, l)
	if err := errors.Join(b.files.touch(name, now), touchFile(b.files.last(), now)); err != nil {
		b.report("touch", name, err)
		return
	}
	if b.servesHTTP { // its name, since its signs of life have only the hash
		err := b.remote.touch(name, now)
		if err == nil {
			err = os.WriteFile(b.remote.seen(name), []byte(name), safefile.FileMode)
		}
		if err != nil {
			b.report("remember", name, err)
		}
	}
	if !pending {
		l.written = now
	}
}

// Seen returns the last sign of life of name in any process. A name with a # is gone if it has been seen and no process
// holds its connection. An engine has always been seen: its record may have been swept.
func (b *Registry) Seen(name string) plan.Sighting {
	var known nameState
	b.mu.Lock()
	if l := b.names[name]; l != nil {
		known = *l
	}
	b.mu.Unlock()
	var written time.Time
	if b.files != "" {
		if info, err := os.Lstat(b.files.seen(name)); err == nil {
			written = info.ModTime()
		} else {
			b.report("read", name, err)
		}
	}
	return plan.Sighting{
		At: later(known.at, written, b.now()),
		IsGone: isConnection(name) && known.joined == 0 &&
			(!known.at.IsZero() || !written.IsZero() || strings.HasPrefix(name, plan.EnginePrefix)) && b.isAbandoned(name),
	}
}

// LastActivity returns the last sign of life of any name in any process.
func (b *Registry) LastActivity() time.Time {
	now := b.now()
	last := later(time.Time{}, b.files.lastTouch(), now)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.names {
		last = later(last, l.at, now)
	}
	return last
}

// LastLife returns the last sign of life of any name on the track with its state in stateDir, by the time of one file.
func LastLife(stateDir string) time.Time {
	return later(time.Time{}, subfolder(stateDir, seenName).lastTouch(), time.Now())
}

const maxSkew = time.Minute // of a file's time, ahead of the clock

// later returns the later of two times. A time in the future comes from a wrong clock and is ignored.
func later(a, b, now time.Time) time.Time {
	if b.After(now.Add(maxSkew)) {
		b = time.Time{}
	}
	if a.After(now.Add(maxSkew)) || b.After(a) {
		return b
	}
	return a
}

// isAbandoned reports whether no process holds the connection of a name.
func (b *Registry) isAbandoned(name string) bool {
	if b.files == "" {
		return true
	}
	locked, err := b.live.isLocked(name)
	if err != nil {
		b.report("probe", name, err)
	}
	return err == nil && !locked
}

// stateOf returns the life of a name, and creates it if needed. The caller holds b.mu.
func (b *Registry) stateOf(name string) *nameState {
	l, ok := b.names[name]
	if !ok {
		if b.files != "" && len(b.names) >= maxNames { // clients may use any number of names
			maps.DeleteFunc(b.names, func(_ string, l *nameState) bool { return l.joined == 0 })
		}
		l = &nameState{}
		b.names[name] = l
	}
	return l
}

const maxNames = 1_000 // kept in memory that are also in files

func (b *Registry) report(what, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // no state yet
	}
	b.logger.Debug("presence: "+what, "name", name, "error", err)
}

func isConnection(name string) bool { return strings.Contains(name, "#") }

// Join is a sign of life and, for a name with a #, begins a connection: it holds a lock that ends with the process,
// however the process ends. The connection lasts until leave is called as often as Join. A server of one client is
// announced for that time. Leave may be called more than once, for any name.
func (b *Registry) Join(name string) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.stateOf(name)
	l.joined++
	if b.first != nil {
		b.first.addJoins(name, 1)
	}
	l.written = time.Time{} // makes touch take the lock now
	b.touch(name, l)
	b.sweep()
	return sync.OnceFunc(func() { b.leave(name, l) })
}

func (b *Registry) leave(name string, l *nameState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.joined--
	if b.first != nil {
		b.first.addJoins(name, -1)
		return
	}
	b.disconnect(name, l)
}

// addJoins counts the joins of a name on another track, and disconnects it after the last leave.
func (b *Registry) addJoins(name string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.stateOf(name)
	l.joined += n
	b.disconnect(name, l)
}

// connect takes the lock of a name that has joined and announces this process as its server; pending: it should be tried again soon.
// The caller holds b.mu.
func (b *Registry) connect(name string, l *nameState) (pending bool) {
	if b.first != nil {
		b.first.mu.Lock()
		defer b.first.mu.Unlock()
		return b.first.connect(name, b.first.stateOf(name))
	}
	pending = b.takeLock(name, l)
	return b.announce(name, l) || pending
}

// disconnect undoes connect once no join is left.
func (b *Registry) disconnect(name string, l *nameState) {
	if l.joined > 0 {
		return
	}
	if l.announced != "" {
		b.remove(l.announced)
		l.announced = ""
	}
	if l.lock == nil {
		return
	}
	if err := removeLocked(b.live.live(name), l.lock); err != nil {
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
	if !isConnection(name) || l.joined == 0 || l.lock != nil && isSameFile(b.live.live(name), l.lock) {
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
	if err := b.live.make(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	for {
		lock := flock.New(b.live.live(name), flock.SetFlag(os.O_CREATE|probeFlag()))
		if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
			return nil, err
		}
		// It may have been removed between opening and locking.
		if isSameFile(b.live.live(name), lock) {
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
	kept := map[folder]time.Duration{
		b.files: seenAfter, b.live: seenAfter, b.notices: seenAfter, b.sessions: seenAfter, b.remote: deadAfter,
	}
	for f, age := range kept {
		if err := f.sweep(now.Add(-deadAfter), now.Add(-age)); err != nil {
			b.report("sweep", "", err)
		}
	}
}
