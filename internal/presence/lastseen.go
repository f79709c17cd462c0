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
}

// Registry records the names seen in one workspace. All methods may be called from several goroutines. It starts no
// goroutine and keeps no file open except the lock of each name that has joined.
type Registry struct {
	files, servers, notices, hooks folder
	remote                         folder // clients seen over HTTP
	workspace                      string // separates the hooks' signs by workspace
	server                         func() Server
	servesHTTP                     bool
	now                            func() time.Time
	logger                         *slog.Logger

	mu    sync.Mutex // guards the rest, and the writing of files
	names map[string]*nameState
	swept time.Time
}

// nameState is this process's knowledge of one name.
type nameState struct {
	joined    int       // joins of the name without a leave
	at        time.Time // the last sign of life in this process
	written   time.Time // when it was last written to the file
	lock      *flock.Flock
	announced string // the file that names this process as the name's server
}

// Open returns the registry of the workspace with its state in stateDir. The folder need not exist yet: the registry reads
// and writes only when needed, and writes nothing before the folder exists. With an empty stateDir all is kept in memory.
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
	pending := b.takeLock(name, l)
	pending = b.announce(name, l) || pending
	if err := b.files.touch(name, now); err != nil {
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
// holds its connection.
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
		IsGone: isConnection(name) && known.joined == 0 && !(known.at.IsZero() && written.IsZero()) &&
			b.isAbandoned(name),
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

// isAbandoned reports whether no process holds the connection of a name.
func (b *Registry) isAbandoned(name string) bool {
	if b.files == "" {
		return true
	}
	locked, err := b.files.isLocked(name)
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

// maxNames bounds the names kept in memory that are also in files.
const maxNames = 1_000

func (b *Registry) report(what, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // no state yet
	}
	b.logger.Debug("presence: "+what, "name", name, "error", err)
}

// isConnection reports whether a name represents a connection.
func isConnection(name string) bool { return strings.Contains(name, "#") }
