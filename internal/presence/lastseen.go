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
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/plan"
)

// Options configures a Book. The zero value is usable.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
	Server func() Server    // announced by a process that serves one client; nil: it serves none
	Remote bool             // this process serves clients over HTTP
}

// Registry records the names seen in one workspace. All methods may be called from several goroutines. It starts no
// goroutine and keeps no file open except the lock of each name that has joined.
type Registry struct {
	files      folder // "" keeps everything in memory
	servers    folder // "" like files
	notices    folder // "" like files
	hooks      folder // "" like files
	workspace  string // separates the hooks' signs by workspace
	remote     folder // like files: clients seen over HTTP
	server     func() Server
	servesHTTP bool // clients over HTTP
	now        func() time.Time
	logger     *slog.Logger

	callMutex sync.Mutex // held while a call removes its hook's report

	mu    sync.Mutex
	names map[string]*nameState
	swept time.Time
}

// nameState is this process's knowledge of one name.
type nameState struct {
	joined int // joins of the name without a leave; under Book.mu

	mu      sync.Mutex // taken before Book.mu, never after it
	at      time.Time  // the last sign of life in this process
	written time.Time  // when it was last written to the file
	lock    *flock.Flock

	announced string // the file that names this process as the name's server
}

// Open returns the book of the workspace with its state in stateDir. The folder need not exist yet: the book reads and
// writes only when needed, and writes nothing before the folder exists. An empty stateDir keeps the book in memory.
func Open(stateDir string, opts Options) *Registry {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	b := &Registry{
		files: subfolder(stateDir, "seen"), servers: subfolder(stateDir, "servers"), notices: subfolder(stateDir, "said"),
		remote: subfolder(stateDir, "remote"), server: opts.Server, servesHTTP: opts.Remote,
		now: opts.Now, logger: opts.Logger, names: map[string]*nameState{},
	}
	if stateDir != "" {
		b.hooks, b.workspace = subfolder(filepath.Dir(stateDir), hooksName), filepath.Base(stateDir)
	}
	return b
}

// writeInterval is how long a sign of life on disk counts as current.
const writeInterval = time.Second

// Touch records a sign of life of name. It writes at most once a second per name.
func (b *Registry) Touch(name string) {
	b.mu.Lock()
	l := b.stateOf(name)
	b.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	b.touch(name, l)
}

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
	pending := b.takeLock(name, l)
	pending = b.announce(name, l) || pending
	if err := b.files.touch(name, now); err != nil {
		b.report("touch", name, err)
		return
	}
	if b.servesHTTP {
		b.rememberHTTP(name)
	}
	if !pending {
		l.written = now
	}
}

// Seen returns the last sign of life of name in any process. A name with a # is gone if it has been seen and no process
// holds its connection.
func (b *Registry) Seen(name string) plan.Sighting {
	known, joined := b.localSign(name)
	written := b.lastWritten(name)
	return plan.Sighting{
		At:     later(known, written, b.now()),
		IsGone: isConnection(name) && !joined && !(known.IsZero() && written.IsZero()) && b.isAbandoned(name),
	}
}

// LastActivity returns the last sign of life of any name in any process.
func (b *Registry) LastActivity() time.Time {
	now := b.now()
	last := later(time.Time{}, b.files.lastTouch(), now)
	b.mu.Lock()
	lives := slices.Collect(maps.Values(b.names))
	b.mu.Unlock()
	for _, l := range lives {
		l.mu.Lock()
		at := l.at
		l.mu.Unlock()
		last = later(last, at, now)
	}
	return last
}

// maxSkew is how far a file's time may be ahead of the clock.
const maxSkew = time.Minute

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

// lastWritten returns when a name was last touched in any process, zero if never.
func (b *Registry) lastWritten(name string) time.Time {
	if b.files == "" {
		return time.Time{}
	}
	info, err := os.Lstat(b.files.seen(name))
	if err != nil {
		b.report("read", name, err)
		return time.Time{}
	}
	return info.ModTime()
}

func (b *Registry) isAbandoned(name string) bool {
	if b.files == "" {
		return true
	}
	held, err := b.files.isLocked(name)
	if err != nil {
		b.report("probe", name, err)
		return false
	}
	return !held
}

// localSign returns this process's last sign of life of a name, and whether the name has joined here.
func (b *Registry) localSign(name string) (at time.Time, joined bool) {
	b.mu.Lock()
	l, ok := b.names[name]
	if ok {
		joined = l.joined > 0
	}
	b.mu.Unlock()
	if !ok {
		return time.Time{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, joined
}

// stateOf returns the life of a name, and creates it if needed. The caller holds b.mu.
func (b *Registry) stateOf(name string) *nameState {
	l, ok := b.names[name]
	if !ok {
		b.dropUnused()
		l = &nameState{}
		b.names[name] = l
	}
	return l
}

// maxNames bounds the names kept in memory that are also in files.
const maxNames = 1_000

// dropUnused makes room: clients may use any number of names. Names that are only in memory are kept.
func (b *Registry) dropUnused() {
	if b.files == "" || len(b.names) < maxNames {
		return
	}
	for name, l := range b.names {
		if l.joined == 0 && l.mu.TryLock() { // with a lock still to release it is in use
			if l.lock == nil {
				delete(b.names, name)
			}
			l.mu.Unlock()
		}
	}
}

func (b *Registry) report(what, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // no state yet
	}
	b.logger.Debug("presence: "+what, "name", name, "error", err)
}

// isConnection reports whether a name represents a connection.
func isConnection(name string) bool { return strings.Contains(name, "#") }
