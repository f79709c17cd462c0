// Package sqlite keeps the log of a workspace in one SQLite database, plan.db,
// in a folder of its own. It must not know what a record means beyond its
// sequence number and phase.
//
// Beside the database stand:
//
//	lock                 taken around opening, migrating and every Lock section
//	growth/head          the head after the last append: it pins the log, and
//	                     writing it is what tells other processes of growth
//	snapshot-<seq>.json  states folded so far, at most two
//	damaged-<time>/      what Repair has put aside
package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/broadcast"
)

// Options of a Log. The zero value of a field means its default.
type Options struct {
	// LockWait bounds how long Lock and opening wait; default 10 seconds.
	LockWait time.Duration

	// AllowNetwork permits a folder on a network file system, where neither
	// locks nor shared memory can be relied on.
	AllowNetwork bool
}

const defaultLockWait = 10 * time.Second

// Log is a store.Log in a folder.
type Log struct {
	dir   string
	opts  Options
	lock  *fileLock
	grown broadcast.Hub // growth by this Log's own appends

	mu     sync.Mutex // guards what follows, and every use of db's connections
	db     *database  // nil until needed, and again when the file was replaced
	closed bool
}

var _ store.Log = (*Log)(nil)

// New returns the log in dir. Nothing is opened or created yet.
func New(dir string, opts Options) *Log {
	if opts.LockWait <= 0 {
		opts.LockWait = defaultLockWait
	}
	return &Log{dir: dir, opts: opts, lock: newFileLock(filepath.Join(dir, lockName))}
}

// Names of the files in the folder.
const (
	databaseName = "plan.db"
	lockName     = "lock"
	growthName   = "growth"
	headName     = "head"
)

func (l *Log) databasePath() string { return filepath.Join(l.dir, databaseName) }
func (l *Log) headPath() string     { return filepath.Join(l.dir, growthName, headName) }

// Close implements store.Log.
func (l *Log) Close() error {
	l.grown.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.closeDatabase()
}

// closeDatabase is called with mu held. The last writer to close copies the
// write-ahead log into the database.
func (l *Log) closeDatabase() error {
	if l.db == nil {
		return nil
	}
	err := l.db.close()
	l.db = nil
	if err != nil {
		return fmt.Errorf("close %s: %w", l.databasePath(), err)
	}
	return nil
}
