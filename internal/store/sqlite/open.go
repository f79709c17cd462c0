package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/planloop/planloop/internal/store"
)

// database is an open plan.db: connections that read, and one that writes once
// something is to be written. Reading never changes the file, not even when the
// last connection is closed, so that a damaged file stays as it is.
type database struct {
	path    string
	file    fs.FileInfo // what the path named when it was opened
	readers *sql.DB
	reader  *view
	writer  *writer // nil until needed
}

// access returns the open database, opening it first if need be; nil when there
// is none. It is called with mu held and may let go of it meanwhile.
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
	if l.lock.held.Load() {
		return l.open(ctx)
	}
	return l.openLocked(ctx)
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

// find reports whether there is a database. Remains of one that is gone are an
// error: nothing is begun beside them. Another process may be creating the
// database meanwhile, so that what was not there at the first look is there with
// all its company at the next: remains count only beside a database that is as
// it was.
func (l *Log) find() (found bool, err error) {
	for range maxLooks {
		info, missing := os.Lstat(l.databasePath())
		if found, err = l.judge(info, missing); !errors.Is(err, store.ErrDamaged) {
			return found, err
		}
		again, stillMissing := os.Lstat(l.databasePath())
		if (missing == nil) == (stillMissing == nil) && (missing != nil || info.Size() == again.Size()) {
			return found, err
		}
	}
	return found, err
}

// maxLooks bounds how often a database that keeps changing is looked at.
const maxLooks = 100

// judge is one look of find.
func (l *Log) judge(info fs.FileInfo, err error) (bool, error) {
	if err == nil && info.Size() > 0 {
		return true, nil
	}
	if err == nil {
		// SQLite has taken it for new; so it is, unless something says otherwise.
		return exists(l.databasePath() + "-wal"), l.checkRemains("is empty")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, explain(l.databasePath(), err)
	}
	return false, l.checkRemains("is missing")
}

// checkRemains returns an error when there was a log.
func (l *Log) checkRemains(state string) error {
	if pin, ok := readPin(l.headPath()); ok {
		return damaged(l.databasePath(), "the database %s, but the log had %d records", state, pin.Seq)
	}
	headers, err := l.snapshotHeaders()
	if err != nil {
		return err
	}
	if len(headers) > 0 {
		return damaged(l.databasePath(), "the database %s, but there is %s", state, headers[0].path)
	}
	if info, err := os.Lstat(l.databasePath() + "-wal"); err == nil && info.Size() > 0 && state == "is missing" {
		return damaged(l.databasePath(), "the database %s, but its write-ahead log is there", state)
	}
	return nil
}

// openLocked opens the database under the workspace's lock, which nobody in
// this process has. In a folder that cannot be written to nobody else writes
// either, and there is no lock.
func (l *Log) openLocked(ctx context.Context) (*database, error) {
	l.mu.Unlock()
	release, err := l.acquire(ctx)
	l.mu.Lock()
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		return nil, err
	}
	if err == nil {
		defer release()
	}
	if l.closed {
		return nil, store.ErrClosed
	}
	if db, err := l.current(); db != nil || err != nil {
		return db, err
	}
	return l.open(ctx)
}

// open opens and verifies what find has found; nil when its creation was broken
// off. It is called with mu and the workspace's lock held.
func (l *Log) open(ctx context.Context) (*database, error) {
	if err := l.checkFolder(); err != nil {
		return nil, err
	}
	path := l.databasePath()
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := checkFile(name); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, explain(path, err)
	}
	db := &database{path: path, file: info}
	if err := db.openReaders(ctx); err != nil {
		_ = db.close()
		return nil, explain(path, err)
	}
	if created, err := l.verify(ctx, db.reader); err != nil || !created {
		_ = db.close()
		return nil, explain(path, err)
	}
	l.db = db
	return db, nil
}

// openReaders opens the connection that reads. Where the folder is read-only
// and no write-ahead log is there, nothing can change and SQLite is told so:
// otherwise it wants to create one.
func (d *database) openReaders(ctx context.Context) error {
	err := d.tryReaders(ctx, "mode=ro")
	if err != nil && isCannotOpen(err) && !exists(d.path+"-wal") {
		return d.tryReaders(ctx, "mode=ro&immutable=1")
	}
	return err
}

func (d *database) tryReaders(ctx context.Context, mode string) error {
	pool, err := openPool(d.path, mode+"&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	reader, err := newView(ctx, pool)
	if err != nil {
		_ = pool.Close()
		return err
	}
	d.readers, d.reader = pool, reader
	return nil
}

// verify checks that the file is a log of ours, of this format, and as long as
// what pins it says. A file without content is no log yet, unless it was one.
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
	return true, l.checkPins(ctx, v)
}

// checkPins returns an error when the log does not contain a head that it had.
func (l *Log) checkPins(ctx context.Context, v *view) error {
	if pin, ok := readPin(l.headPath()); ok {
		if err := v.checkPin(ctx, pin, l.headPath()); err != nil {
			return err
		}
	}
	headers, err := l.snapshotHeaders()
	if err != nil || len(headers) == 0 {
		return err
	}
	return v.checkPin(ctx, headers[0].Head(), headers[0].path)
}

func (d *database) close() error {
	var errs []error
	if d.reader != nil {
		errs = append(errs, d.reader.close(), d.readers.Close())
	}
	if d.writer != nil {
		errs = append(errs, d.writer.close())
	}
	return errors.Join(errs...)
}

// look returns the connection that knows the head best: the writer's, which
// does not take its own commits for somebody else's.
func (d *database) look() *view {
	if d.writer != nil {
		return d.writer.view
	}
	return d.reader
}

// pragmas are set on every connection. Nothing is mapped into memory: with a
// mapped database an I/O error is a crash.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)" +
	"&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)&_txlock=immediate"

// openPool returns connections to the database at path. None is opened yet.
func openPool(path, query string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: query + "&" + pragmas}
	pool, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(2)
	return pool, nil
}

func isCannotOpen(err error) bool {
	var sqliteErr *driver.Error
	if !errors.As(err, &sqliteErr) {
		return false
	}
	code := sqliteErr.Code() & 0xff
	return code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_READONLY
}

const (
	applicationID = 0x504c4f50 // "PLOP", in the header of the file
	formatVersion = 1
	latestFormat  = 1000 // no format is ever above; a number that is has changed by chance

	schema = `
		CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
		CREATE TABLE former (chain TEXT PRIMARY KEY) STRICT; -- chains that were purged or repaired
		CREATE TABLE record (seq INTEGER PRIMARY KEY, phase TEXT NOT NULL, hash BLOB NOT NULL, body BLOB NOT NULL) STRICT;
	`
)

// formatPragmas mark the file as a log.
func formatPragmas() string {
	return fmt.Sprintf(` PRAGMA application_id = %d; PRAGMA user_version = %d;`, applicationID, formatVersion)
}

// oldestSQLite has the correction without which two connections can damage a
// database with a write-ahead log.
func oldestSQLite() []int { return []int{3, 51, 3} }

// format returns the version of the log's format, 0 when nothing was created
// yet. Another application's database and a newer format are errors.
func (v *view) format(ctx context.Context) (int, error) {
	var (
		library     string
		application int64
		version     int
		tables      int
	)
	err := v.conn.QueryRowContext(ctx, `SELECT sqlite_version(), (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&library, &application, &version, &tables)
	if err != nil {
		return 0, err
	}
	if err := checkLibrary(library); err != nil {
		return 0, err
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

func checkLibrary(version string) error {
	var numbers []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("SQLite calls its version %q", version)
		}
		numbers = append(numbers, n)
	}
	if slices.Compare(numbers, oldestSQLite()) < 0 {
		return fmt.Errorf("SQLite %s can damage a log: build planloop with 3.51.3 or newer", version)
	}
	return nil
}
