// Package sqlite keeps the log of a workspace in one SQLite database, plan.db, in a folder of its
// own. It must not know the meaning of a record beyond its sequence number and phase.
//
// Next to the database are:
//
//	lock                 taken around opening, migrating and every Lock section
//	growth/head          the head after the last append: it pins the log, and
//	                     writing it notifies other processes of growth
//	snapshot-<seq>.json  folded states, at most two
//	values/              values of steps that are too large for the log
//	damaged-<time>/      files put aside by Repair
//	replaced-<time>/     files put aside by Restore
//	exchange/            files about to replace the log's; see replace.go
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
)

// Options of a Log. The zero value of a field means its default.
type Options struct {
	// LockWait bounds how long Lock and opening wait; default 10 seconds.
	LockWait time.Duration

	// AllowNetwork permits a folder on a network file system, where neither locks nor shared memory
	// are reliable.
	AllowNetwork bool

	// Created is called after a log was created in the folder; may be nil.
	Created func()

	// Warn receives the reason a readable log cannot be written; may be nil.
	Warn func(error)
}

const defaultLockWait = 10 * time.Second

// Log is a store.Log in a folder.
type Log struct {
	dir   string
	opts  Options
	lock  *workspaceLock
	grown broadcast.Hub // by any process

	watching sync.WaitGroup // the goroutine that watches other processes

	mu      sync.Mutex        // guards the following, and every use of db's connections
	db      *database         // nil until needed, and after the file was replaced
	watcher *fsnotify.Watcher // nil until Watch is called
	closed  bool
}

var _ store.Log = (*Log)(nil)

// New returns the log in dir. Nothing is opened or created yet.
func New(dir string, opts Options) *Log {
	opts.LockWait = cmp.Or(opts.LockWait, defaultLockWait)
	lock := &workspaceLock{path: filepath.Join(dir, lockName), turn: make(chan struct{}, 1)}
	lock.turn <- struct{}{}
	return &Log{dir: dir, opts: opts, lock: lock}
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
	if l.watcher != nil {
		_ = l.watcher.Close()
	}
	l.mu.Unlock()
	l.lock.close()
	l.watching.Wait()
	return err
}

// withDatabase calls f with the open database, if there is one.
func (l *Log) withDatabase(ctx context.Context, f func(context.Context, *database) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return l.confirmDamage(ctx, err)
	}
	err = explain(l.databasePath(), f(context.WithoutCancel(ctx), db))
	if db.indexProblem != nil {
		err = errors.Join(err, l.closeDatabase())
	}
	return l.confirmDamage(ctx, err)
}

// CloseFiles closes the log's files until its next use, for callers that hold many logs.
func (l *Log) CloseFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lock.close()
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

// makeFolder makes the folder and its subfolder for the head, or checks the existing ones.
func (l *Log) makeFolder() error {
	for _, dir := range []string{l.dir, filepath.Join(l.dir, growthName)} {
		if err := safefile.MakeFolder(dir); err != nil {
			return explain(dir, err)
		}
	}
	return l.checkFolder()
}

// checkFolder refuses a folder that does not belong to the user or cannot hold a database safely.
func (l *Log) checkFolder() error {
	if err := safefile.CheckFolder(l.dir); err != nil {
		return explain(l.dir, err)
	}
	if err := safefile.CheckFolder(filepath.Join(l.dir, growthName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain(l.dir, err)
	}
	if l.opts.AllowNetwork {
		return nil
	}
	return checkFileSystem(l.dir)
}

// createFile makes an empty file with the right mode. An existing file is an error and is not
// opened: closing it would drop the locks that SQLite holds on it in this process.
func createFile(path string) error {
	f, err := safefile.Open(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
