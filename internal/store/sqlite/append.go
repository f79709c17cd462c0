package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Append implements store.Log.
func (l *Log) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, err
	}
	return l.change(ctx, r, l.append)
}

// change writes a record with write. It is never cancelled half-way: the caller would not know
// whether the record was written.
func (l *Log) change(ctx context.Context, r plan.Record,
	write func(context.Context, plan.Record, []byte) (store.Head, error)) (store.Head, error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return store.Head{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	opened := l.db
	head, err := write(context.WithoutCancel(ctx), r, body)
	err = explain(l.databasePath(), err)
	if errors.Is(err, store.ErrReadOnly) && opened != nil && opened == l.db {
		// The database was opened while read-only; that may be over.
		if err := l.closeDatabase(); err != nil {
			return store.Head{}, err
		}
		head, err = write(context.WithoutCancel(ctx), r, body)
		err = explain(l.databasePath(), err)
	}
	if l.db != nil && l.db.indexProblem != nil {
		err = errors.Join(err, l.closeDatabase())
	}
	return head, l.confirmDamage(ctx, err)
}

// append adds a record at the end.
func (l *Log) append(ctx context.Context, r plan.Record, body []byte) (store.Head, error) {
	if err := l.refuseEarly(ctx, r); err != nil {
		return store.Head{}, err
	}
	db, err := l.write(ctx)
	if err != nil {
		return store.Head{}, err
	}
	w := db.writer
	if r.Opens {
		w.doubtPin(l.headPath())
	}
	if r.Seq > 1 && r.Seq == w.view.head.Seq+1 {
		// The last head seen is enough: the statement checks it.
		if head, err := w.append(ctx, w.view.head, r, body); !errors.Is(err, store.ErrConflict) {
			return head, err
		}
	}
	before, err := w.view.queryHead(ctx)
	if err != nil {
		return store.Head{}, err
	}
	if r.Seq != before.Seq+1 {
		return store.Head{}, conflict(r.Seq, before.Seq)
	}
	return w.append(ctx, before, r, body)
}

// refuseEarly keeps a refused append from creating a log.
func (l *Log) refuseEarly(ctx context.Context, r plan.Record) error {
	if r.Seq == 1 || l.db != nil {
		return nil
	}
	db, err := l.access(ctx)
	if err == nil && db == nil {
		return conflict(r.Seq, 0)
	}
	return err
}

func (w *writer) append(ctx context.Context, before store.Head, r plan.Record, body []byte) (store.Head, error) {
	head := store.Head{Chain: before.Chain, Seq: r.Seq, Hash: before.Hash.Next(body), Phase: r.Phase}
	var previous any
	if before.Seq > 0 {
		previous = before.Hash[:]
	}
	insert, err := w.view.prepared(ctx, insertQuery)
	if err != nil {
		return store.Head{}, err
	}
	result, err := insert.ExecContext(ctx, r.Seq, string(r.Phase), head.Hash[:], body, previous)
	if err != nil {
		return store.Head{}, err
	}
	if n, err := result.RowsAffected(); err != nil {
		return store.Head{}, err
	} else if n == 0 {
		_, err := w.view.format(ctx)
		return store.Head{}, cmp.Or(err, conflict(r.Seq, before.Seq))
	}
	if before.Seq == 0 {
		// The name of the chain is not known before the first record.
		if head, err = w.view.queryHead(ctx); err != nil {
			return store.Head{}, err
		}
	}
	w.view.head = head
	_ = writePin(w.growth, head, openWord(r.IsOpen)) // the record is on disk already; the next append notifies too
	return head, nil
}

func conflict(seq, head plan.Revision) error {
	return fmt.Errorf("record %d does not follow the last record, %d: %w: read the new records and decide again", seq, head,
		store.ErrConflict)
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context) (head store.Head, err error) {
	err = l.withDatabase(ctx, func(ctx context.Context, db *database) error {
		head, err = db.latestView().queryHead(ctx)
		return err
	})
	return head, err
}

// CachedHead implements store.Log. If the database is open, it reads that.
func (l *Log) CachedHead(ctx context.Context) (store.Head, error) {
	l.mu.Lock()
	opened := l.db != nil || l.closed
	l.mu.Unlock()
	if !opened {
		if pin, ok := readPin(l.headPath()); ok {
			return pin, nil
		}
	}
	return l.Head(ctx)
}

// writer is the process's only connection that writes.
type writer struct {
	view   *view
	growth *os.File
}

// insertQuery appends a record if it follows the one with the given hash and the log still has this
// format, in one statement that is its own transaction.
const insertQuery = `INSERT INTO record (seq, phase, hash, body) SELECT ?1, ?2, ?3, ?4
	WHERE (SELECT hash FROM record WHERE seq = ?1 - 1) IS ?5 AND ` + sameFormat + ` ON CONFLICT (seq) DO NOTHING`

// write returns the open database with its writer, creating both if needed. It is called with mu
// held and may release it in between.
func (l *Log) write(ctx context.Context) (*database, error) {
	db, err := l.access(ctx)
	if err != nil || db != nil && db.writer != nil {
		return db, err
	}
	err = l.underLock(ctx, func() error {
		db, err = l.openWriter(ctx)
		return err
	})
	return db, err
}

// openWriter is called with mu and the workspace's lock held.
func (l *Log) openWriter(ctx context.Context) (*database, error) {
	path := l.databasePath()
	db, err := l.access(ctx)
	if err != nil {
		return nil, err
	}
	if db != nil && db.indexProblem != nil {
		return l.openBoth(ctx)
	}
	if db == nil {
		if err := l.create(ctx); err != nil {
			return nil, explain(path, err)
		}
		if db, err = l.open(ctx); err != nil {
			return nil, err
		}
		if db == nil {
			return nil, damaged(path, errors.New("it cannot be created"))
		}
	}
	if db.writer == nil {
		if db.writer, err = l.newWriter(ctx); err != nil {
			return nil, explain(path, err)
		}
	}
	return db, nil
}

// openBoth reopens a log that was opened without the shared index, which a writer can create.
func (l *Log) openBoth(ctx context.Context) (*database, error) {
	if err := l.closeDatabase(); err != nil {
		return nil, err
	}
	w, err := l.newWriter(ctx)
	if err != nil {
		return nil, explain(l.databasePath(), err)
	}
	db, err := l.open(ctx)
	if err != nil || db == nil {
		return nil, errors.Join(err, w.close())
	}
	db.writer = w
	return db, nil
}

// create makes the database, or finishes an interrupted creation.
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
	if l.opts.Created != nil {
		l.opts.Created()
	}
	return safefile.SyncFolder(l.dir)
}

// createDatabase makes a log without records. Its tables end up in the database itself and not in
// the write-ahead log, so a database without tables was never a log.
func createDatabase(ctx context.Context, path, chain string) error {
	if err := createFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	pool, err := openPool(path, writable)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	format := fmt.Sprintf(` PRAGMA application_id = %d; PRAGMA user_version = %d;`, applicationID, formatVersion)
	for _, step := range []string{
		`PRAGMA journal_mode = WAL`,
		`BEGIN IMMEDIATE; ` + schema + ` INSERT INTO meta VALUES ('chain', '` + chain + `');` + format + ` COMMIT`,
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
	v, err := openView(ctx, l.databasePath(), writable)
	if err != nil {
		return nil, err
	}
	w := &writer{view: v}
	if w.growth, err = openGrowthFile(l.headPath()); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return w, nil
}

func (w *writer) close() error {
	return errors.Join(w.growth.Close(), w.view.close())
}

// Purge implements store.Log.
func (l *Log) Purge(ctx context.Context, chain string, first plan.Record) (store.Head, error) {
	if first.Seq != 1 {
		return store.Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, store.ErrConflict)
	}
	return l.change(ctx, first, func(ctx context.Context, first plan.Record, body []byte) (store.Head, error) {
		return l.purge(ctx, chain, first, body)
	})
}

func (l *Log) purge(ctx context.Context, chain string, first plan.Record, body []byte) (store.Head, error) {
	db, err := l.write(ctx)
	if err != nil {
		return store.Head{}, err
	}
	head := store.Head{Chain: chain, Seq: 1, Hash: store.Hash{}.Next(body), Phase: first.Phase}
	if err := db.writer.purge(ctx, head, body, openWord(first.IsOpen)); err != nil {
		return store.Head{}, err
	}
	if err := errors.Join(l.removeSnapshots(nil), os.RemoveAll(l.valuesPath()), l.removeRemains()); err != nil {
		return head, fmt.Errorf("the history is deleted, but some files next to it remain: run `planloop purge` again: %w",
			explain(l.dir, err))
	}
	return head, nil
}

// removeRemains deletes the folders that repairs have put aside: they hold plans too.
func (l *Log) removeRemains() error {
	folders, err := l.keptFolders()
	for _, folder := range folders {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return errors.Join(err, l.sweepPrepared())
}

// purge replaces all records. Deleted data is overwritten, also in the write-ahead log once the
// last reader is done with it.
func (w *writer) purge(ctx context.Context, head store.Head, body []byte, open string) error {
	conn := w.view.conn
	if _, err := conn.ExecContext(ctx, `PRAGMA secure_delete = 1`); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, step := range []struct {
		text string
		args []any
	}{
		{`INSERT OR IGNORE INTO former SELECT value FROM meta WHERE key = 'chain'`, nil},
		{`UPDATE meta SET value = ? WHERE key = 'chain'`, []any{head.Chain}},
		{`DELETE FROM record`, nil},
		{`INSERT INTO record (seq, phase, hash, body) VALUES (1, ?, ?, ?)`, []any{string(head.Phase), head.Hash[:], body}},
	} {
		if _, err := tx.ExecContext(ctx, step.text, step.args...); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	w.view.head = head
	_ = writePin(w.growth, head, open)
	// The purge is complete; shrinking may wait until readers allow it.
	_, _ = conn.ExecContext(ctx, `VACUUM`)
	_, _ = conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return nil
}
