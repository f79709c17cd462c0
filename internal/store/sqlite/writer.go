package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/planloop/planloop/internal/store"
)

// writer is the process's one connection that writes.
type writer struct {
	pool   *sql.DB
	view   *view
	insert *sql.Stmt
	growth *growthFile
}

// insertQuery appends a record if it follows the one whose hash is given, in
// one statement that is a transaction of its own.
const insertQuery = `INSERT INTO record (seq, phase, hash, body) SELECT ?1, ?2, ?3, ?4
	WHERE (SELECT hash FROM record WHERE seq = ?1 - 1) IS ?5 ON CONFLICT (seq) DO NOTHING`

// write returns the open database with its writer, creating both if need be.
// It is called with mu held and may let go of it meanwhile.
func (l *Log) write(ctx context.Context) (*database, error) {
	db, err := l.access(ctx)
	if err != nil || db != nil && db.writer != nil {
		return db, err
	}
	if l.lock.isHeld() {
		return l.openWriter(ctx)
	}
	l.mu.Unlock()
	release, err := l.acquire(ctx)
	l.mu.Lock()
	if err != nil {
		return nil, err
	}
	defer release()
	return l.openWriter(ctx)
}

// openWriter is called with mu and the workspace's lock held.
func (l *Log) openWriter(ctx context.Context) (*database, error) {
	if l.closed {
		return nil, store.ErrClosed
	}
	path := l.databasePath()
	db, err := l.access(ctx)
	if err != nil {
		return nil, err
	}
	if db == nil {
		if err := l.create(ctx); err != nil {
			return nil, explain(path, err)
		}
		if db, err = l.open(ctx); err != nil {
			return nil, err
		}
		if db == nil {
			return nil, damaged(path, "it cannot be created")
		}
	}
	if db.writer == nil {
		w, err := l.newWriter(ctx)
		if err != nil {
			return nil, explain(path, err)
		}
		db.writer = w
	}
	return db, nil
}

// create makes the database, or finishes one whose creation was broken off.
func (l *Log) create(ctx context.Context) error {
	if err := l.closeDatabase(); err != nil {
		return err
	}
	if err := l.makeFolder(); err != nil {
		return err
	}
	if err := createDatabase(ctx, l.databasePath(), store.NewChain()); err != nil {
		return err
	}
	return syncFolder(l.dir)
}

// createDatabase makes a log without records. Its tables are in the database
// itself afterwards and not in the write-ahead log, so that a database without
// them was never a log.
func createDatabase(ctx context.Context, path, chain string) error {
	if err := createFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	pool, err := openPool(path, "mode=rw")
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, step := range []string{
		`PRAGMA journal_mode = WAL`,
		`BEGIN IMMEDIATE; ` + schema + ` INSERT INTO meta VALUES ('chain', '` + chain + `');` + formatPragmas() + ` COMMIT`,
		`PRAGMA wal_checkpoint(TRUNCATE)`,
	} {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) newWriter(ctx context.Context) (*writer, error) {
	if err := l.makeFolder(); err != nil {
		return nil, err
	}
	pool, err := openPool(l.databasePath(), "mode=rw")
	if err != nil {
		return nil, err
	}
	w := &writer{pool: pool}
	if w.view, err = newView(ctx, pool); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if w.insert, err = w.view.conn.PrepareContext(ctx, insertQuery); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if w.growth, err = openGrowthFile(l.headPath()); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) close() error {
	var errs []error
	if w.insert != nil {
		errs = append(errs, w.insert.Close())
	}
	if w.growth != nil {
		errs = append(errs, w.growth.close())
	}
	return errors.Join(append(errs, w.view.close(), w.pool.Close())...)
}

// syncFolder makes the names in a folder durable, where the system needs that.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}
