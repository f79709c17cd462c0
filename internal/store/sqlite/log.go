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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/store"
)

// Options of a Log. The zero value of a field means its default.
type Options struct {
	// LockWait bounds how long Lock and opening wait; default 10 seconds.
	LockWait time.Duration

	// AllowNetwork permits a folder on a network file system, where neither
	// locks nor shared memory can be relied on.
	AllowNetwork bool

	// Created is called after a log was made in the folder; may be nil.
	Created func()
}

const defaultLockWait = 10 * time.Second

// Log is a store.Log in a folder.
type Log struct {
	dir   string
	opts  Options
	lock  *workspaceLock
	grown broadcast.Hub // growth, whoever made it

	following sync.WaitGroup // the goroutine that hears of other processes

	mu     sync.Mutex        // guards what follows, and every use of db's connections
	db     *database         // nil until needed, and again when the file was replaced
	heads  *fsnotify.Watcher // nil until somebody listens
	closed bool
}

var _ store.Log = (*Log)(nil)

// New returns the log in dir. Nothing is opened or created yet.
func New(dir string, opts Options) *Log {
	opts.LockWait = cmp.Or(opts.LockWait, defaultLockWait)
	return &Log{dir: dir, opts: opts, lock: newWorkspaceLock(filepath.Join(dir, lockName))}
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
	l.closed = true
	err := l.closeDatabase()
	if l.heads != nil {
		_ = l.heads.Close()
	}
	l.mu.Unlock()
	l.lock.close()
	l.following.Wait()
	return err
}

// consult calls f with the open database, if there is one.
func (l *Log) consult(ctx context.Context, f func(context.Context, *database) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return err
	}
	return explain(l.databasePath(), f(context.WithoutCancel(ctx), db))
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

// makeFolder makes the folder and the one in it for the head, or checks those
// that are there.
func (l *Log) makeFolder() error {
	for _, dir := range []string{l.dir, filepath.Join(l.dir, growthName)} {
		if err := private.Make(dir); err != nil {
			return explain(dir, err)
		}
	}
	return l.checkFolder()
}

// checkFolder refuses a folder that is not the user's own, or that cannot hold a
// database safely.
func (l *Log) checkFolder() error {
	if err := private.Folder(l.dir); err != nil {
		return explain(l.dir, err)
	}
	if err := private.Folder(filepath.Join(l.dir, growthName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain(l.dir, err)
	}
	if l.opts.AllowNetwork {
		return nil
	}
	return checkFileSystem(l.dir)
}

// createFile makes an empty file with the right mode. A file that exists is an
// error and is not opened: to close it would drop the locks that SQLite holds
// on it in this process.
func createFile(path string) error {
	f, err := private.Open(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// explain wraps an error of SQLite or the system about path in what it means
// for the log and what to do.
func explain(path string, err error) error {
	known := []error{store.ErrConflict, store.ErrBusy, store.ErrDamaged, store.ErrNewer, store.ErrReadOnly, store.ErrFull, store.ErrClosed}
	if err == nil || slices.ContainsFunc(known, func(kind error) bool { return errors.Is(err, kind) }) {
		return err // it says already what it means
	}
	if errors.Is(err, errUnreadable) || errors.Is(err, errForeign) {
		return damaged(path, err)
	}
	var sqliteErr *driver.Error
	if errors.As(err, &sqliteErr) {
		return explainCode(path, sqliteErr.Code(), err)
	}
	switch {
	case isFull(err):
		return full(path, err)
	case isReadOnly(err), errors.Is(err, fs.ErrPermission):
		return readOnly(path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func explainCode(path string, code int, err error) error {
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process uses %s: try again: %w", store.ErrBusy, path, err)
	case lib.SQLITE_FULL:
		return full(path, err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return readOnly(path, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_MISMATCH:
		return damaged(path, err)
	case lib.SQLITE_IOERR:
		if code == lib.SQLITE_IOERR_SHORT_READ || code == lib.SQLITE_IOERR_CORRUPTFS || code == lib.SQLITE_IOERR_DATA {
			return damaged(path, err)
		}
	case lib.SQLITE_ERROR:
		// A schema that lacks our tables, or cannot be read.
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") ||
			strings.Contains(text, "unsupported file format") || strings.Contains(text, "malformed") {
			return damaged(path, err)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

func full(path string, err error) error {
	return fmt.Errorf("%w: nothing was written to %s: free some space and try again: %w", store.ErrFull, path, err)
}

func readOnly(path string, err error) error {
	return fmt.Errorf("%w: %s or its folder is read-only: make both writable by you: %w", store.ErrReadOnly, path, err)
}

// damaged says what is wrong with the file and the way out.
func damaged(path string, problem error) error {
	return fmt.Errorf("%w: %s: %w: it was left as it is; run `planloop doctor` to see what can be saved", store.ErrDamaged, path, problem)
}
