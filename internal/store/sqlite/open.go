package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
)

// database is an open plan.db: connections that read, and one that writes once needed. Reading
// never changes the file, not even when the last connection is closed, so a damaged file stays as
// it is.
type database struct {
	file   fs.FileInfo // identity of the opened file
	reader *view
	writer *writer // nil until needed

	// alone is the reason the log was opened without the shared index of its write-ahead log: one
	// connection keeps an index in memory. It locks the log and misses others' changes, so it is
	// closed after each use.
	indexProblem error
}

// access returns the open database, opening it first if needed, or nil if it does not exist. It is
// called with mu held and may release it in between.
func (l *Log) access(ctx context.Context) (*database, error) {
	if l.closed {
		return nil, store.ErrClosed
	}
	db, err := l.current()
	if db != nil || err != nil {
		return db, err
	}
	found, err := l.find()
	if !found || err != nil {
		return nil, err
	}
	open := func() error {
		if db, err = l.current(); db == nil && err == nil {
			db, err = l.open(ctx)
		}
		return err
	}
	err = l.underLock(ctx, open)
	if errors.Is(err, store.ErrReadOnly) && !l.closed {
		err = open() // a folder that cannot be written needs no lock
	}
	return db, err
}

// current returns the open database unless its file was replaced.
func (l *Log) current() (*database, error) {
	if l.db == nil {
		return nil, nil
	}
	info, err := os.Lstat(l.databasePath())
	if err == nil && os.SameFile(info, l.db.file) {
		return l.db, nil
	}
	return nil, l.closeDatabase()
}

// find reports whether there is a database. Remains of a lost one are an error: no new log may
// begin next to them. Another process may be creating the database at the same time, with its pins,
// so remains only count if the database itself has not changed since the look.
func (l *Log) find() (found bool, err error) {
	if exists(l.exchangePath()) {
		return true, nil // reported by open, which holds the lock
	}
	for range maxLooks {
		info, missing := os.Lstat(l.databasePath())
		if found, err = l.findOnce(info, missing); !errors.Is(err, store.ErrDamaged) {
			return found, err
		}
		later, stillMissing := os.Lstat(l.databasePath())
		if (missing == nil) == (stillMissing == nil) && (missing != nil || info.Size() == later.Size()) {
			return found, err
		}
	}
	return found, err
}

// maxLooks bounds how often find looks at a database that keeps changing.
const maxLooks = 100

// findOnce is one look of find.
func (l *Log) findOnce(info fs.FileInfo, err error) (bool, error) {
	if err == nil && info.Size() > 0 {
		return true, nil
	}
	if err == nil {
		// SQLite treats an empty file as new; so does this, unless there are remains of a log.
		return exists(l.databasePath() + "-wal"), l.checkRemains("is empty")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, explain(l.databasePath(), err)
	}
	return false, l.checkRemains("is missing")
}

// checkRemains returns an error if there was a log before.
func (l *Log) checkRemains(state string) error {
	pins, err := l.pins()
	if err != nil {
		return err
	}
	if len(pins) > 0 {
		return damaged(l.databasePath(),
			fmt.Errorf("the database %s, but the log had %d records according to %s", state, pins[0].Seq, pins[0].source))
	}
	if info, err := os.Lstat(l.databasePath() + "-wal"); err == nil && info.Size() > 0 && state == "is missing" {
		return damaged(l.databasePath(), fmt.Errorf("the database %s, but its write-ahead log exists", state))
	}
	return nil
}

// open opens and verifies the database that find has found; nil if its creation was interrupted. It
// is called with mu and the workspace's lock held.
func (l *Log) open(ctx context.Context) (*database, error) {
	if err := l.checkFolder(); err != nil {
		return nil, err
	}
	path := l.databasePath()
	if exists(l.exchangePath()) {
		return nil, damaged(path, errInterrupted)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", l.headPath()} {
		if _, err := safefile.CheckFile(name); err != nil {
			return nil, explain(name, err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, explain(path, err)
	}
	db := &database{file: info}
	if db.reader, db.indexProblem, err = openReader(ctx, path); err != nil {
		return nil, explain(path, err)
	}
	if db.indexProblem != nil && l.opts.Warn != nil && !errors.Is(db.indexProblem, store.ErrReadOnly) {
		l.opts.Warn(db.indexProblem)
	}
	if created, err := l.verify(ctx, db.reader); err != nil || !created {
		_ = db.close()
		return nil, explain(path, err)
	}
	l.db = db
	return db, nil
}

// ownIndex makes a connection keep the index of the write-ahead log in memory, and lock the log.
const ownIndex = "_pragma=locking_mode(exclusive)&"

// openReader opens the connection that reads, without the shared index if necessary.
func openReader(ctx context.Context, path string) (v *view, indexProblem, err error) {
	indexProblem, err = openWithFallback(path, "_pragma=query_only(1)&mode=", func(query string) (err error) {
		v, err = openView(ctx, path, query)
		return err
	})
	if err == nil && indexProblem != nil {
		v.pool.SetMaxOpenConns(1)
	}
	return v, indexProblem, err
}

// openWithFallback opens a database for reading, with an index in memory if the shared one cannot be
// made. If the disk is full, that locks the database while it is open; if nothing may be written,
// it cannot and need not lock.
func openWithFallback(path, query string, open func(query string) error) (indexProblem, err error) {
	if err = open(query + "ro"); err == nil {
		return nil, nil
	}
	indexProblem, query = explain(path, err), ownIndex+query
	if errors.Is(indexProblem, store.ErrFull) {
		indexProblem = fmt.Errorf("%w: %s can be read, but nothing can be written: free some space", store.ErrFull, path)
	}
	how := query + "rw"
	if code := codeOf(err) & 0xff; code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_READONLY {
		how, indexProblem = query+"ro&vfs="+lockless, explain(path, findRoom(filepath.Dir(path)))
		if !exists(path + "-wal") {
			how = query + "ro&immutable=1" // else SQLite wants to create one
		}
	}
	noIndex := []int{lib.SQLITE_IOERR_SHMOPEN, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_SHMMAP, lib.SQLITE_FULL}
	if slices.Contains(noIndex, codeOf(err)) || errors.Is(indexProblem, store.ErrReadOnly) {
		if open(how) == nil {
			return indexProblem, nil
		}
	}
	return nil, err
}

// verify checks that the file is one of our logs, of this format, and as long as its pins say. An
// empty file is not a log yet, unless it was one.
func (l *Log) verify(ctx context.Context, v *view) (created bool, err error) {
	version, err := v.format(ctx)
	if err != nil {
		return false, err
	}
	if version == 0 {
		return false, l.checkRemains("is empty")
	}
	if err := v.checkTail(ctx); err != nil {
		return false, err
	}
	pins, err := l.pins()
	for _, p := range pins {
		err = cmp.Or(err, v.checkPin(ctx, p))
	}
	return true, err
}

func (d *database) close() error {
	if d.writer == nil {
		return d.reader.close()
	}
	return errors.Join(d.reader.close(), d.writer.close())
}

// latestView returns the connection with the latest head: the writer's, if there is one.
func (d *database) latestView() *view {
	if d.writer != nil {
		return d.writer.view
	}
	return d.reader
}

// pragmas are set on every connection; writable is added for those that write. Nothing is mapped
// into memory: with a mapped database, an I/O error is a crash.
const (
	pragmas = "_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)" +
		"&_pragma=mmap_size(0)&_txlock=immediate"
	writable = "mode=rw&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)"
)

// openPool returns connections to the database at path. None is opened yet.
func openPool(path, query string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", address(path, query+"&"+pragmas))
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(2)
	return pool, nil
}

func address(path, query string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: query}
	return name.String()
}

const (
	applicationID = 0x504c4f50 // "PLOP", in the header of the file
	formatVersion = 1          // also in sameFormat
	latestFormat  = 1000       // formats stay below; a higher number is corruption

	schema = `
		CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
		CREATE TABLE former (chain TEXT PRIMARY KEY) STRICT; -- chains that were purged or repaired
		CREATE TABLE record (seq INTEGER PRIMARY KEY, phase TEXT NOT NULL, hash BLOB NOT NULL, body BLOB NOT NULL) STRICT;
	`
)

// sameFormat is true unless a newer planloop has changed the format of an open log.
const sameFormat = `(SELECT user_version = 1 FROM pragma_user_version)`

// SQLite before 3.51.3 can damage a database with a write-ahead log that two connections use: with
// such a library this constant overflows, and planloop does not compile.
const _ uint = lib.SQLITE_VERSION_NUMBER - 3_051_003

// format returns the version of the log's format, 0 if nothing was created yet. Another
// application's database and a newer format are errors.
func (v *view) format(ctx context.Context) (int, error) {
	var application, version, tables int
	for _, look := range []struct { // one by one: joining pragmas as tables takes far longer to prepare
		query string
		value *int
	}{
		{`PRAGMA application_id`, &application},
		{`PRAGMA user_version`, &version},
		{`SELECT count(*) FROM sqlite_schema`, &tables},
	} {
		if err := v.conn.QueryRowContext(ctx, look.query).Scan(look.value); err != nil {
			return 0, err
		}
	}
	switch {
	case application == 0 && version == 0 && tables == 0:
		return 0, nil
	case application != applicationID:
		return 0, errForeign
	case version > formatVersion && version <= latestFormat:
		return 0, fmt.Errorf("%w: its format is %d, this planloop knows %d: update planloop", store.ErrNewer, version, formatVersion)
	case version != formatVersion:
		return 0, fmt.Errorf("its format is %d: %w", version, errUnreadable)
	}
	return version, nil
}

var errForeign = errors.New("it is another application's database: move it away")
