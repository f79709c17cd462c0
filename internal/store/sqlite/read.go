package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		if err := l.read(ctx, max(after, 0), yield); err != nil {
			yield(plan.Record{}, l.confirmDamage(ctx, explain(l.databasePath(), err)))
		}
	}
}

// read reads few records at once on the existing connection; for many it opens another, so that a
// slow consumer blocks no one else. All records are of one moment, whatever is appended later.
func (l *Log) read(ctx context.Context, after plan.Revision, yield func(plan.Record, error) bool) error {
	var rows *sql.Rows
	var few []plan.Record
	err := l.withDatabase(ctx, func(within context.Context, db *database) (err error) {
		v := db.latestView()
		if db.indexProblem == nil && (v.head.Seq == 0 || v.head.Seq-after > maxRecent) {
			rows, err = db.reader.pool.QueryContext(ctx, readQuery, after) // read until ctx ends
			return err
		}
		recent, err := v.conn.QueryContext(within, readQuery, after)
		if err != nil {
			return err
		}
		defer recent.Close()
		return walk(recent, &chainPosition{}, after, nil, func(r plan.Record) bool {
			few = append(few, r)
			return true
		})
	})
	for _, r := range few {
		if !yield(r, nil) {
			return nil
		}
	}
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return walk(rows, &chainPosition{}, after, nil, func(r plan.Record) bool { return yield(r, nil) })
}

// maxRecent bounds the records read with the prepared statement: preparing another costs more than
// reading the appends between two calls.
const maxRecent = 256

// recentQuery begins with the known record. It finds nothing in another chain, or if that record is
// gone.
const recentQuery = `SELECT seq, phase, hash, body FROM record WHERE seq >= ?1
	AND (SELECT hash FROM record WHERE seq = ?1) = ?2 AND (SELECT value FROM meta WHERE key = 'chain') = ?3 ORDER BY seq LIMIT ?4`

// Since implements store.Log.
func (l *Log) Since(ctx context.Context, known store.Head) (head store.Head, records []plan.Record, err error) {
	err = l.withDatabase(ctx, func(ctx context.Context, db *database) error {
		head, records, err = db.latestView().since(ctx, known)
		return err
	})
	return head, records, err
}

// since needs one query where queryHead and read would need two.
func (v *view) since(ctx context.Context, known store.Head) (head store.Head, records []plan.Record, err error) {
	if known.Seq > 0 {
		if head, records, err = v.queryRecent(ctx, known); err != nil {
			return head, nil, err
		}
	}
	if len(records) > 0 {
		// Their writer may have changed the format first.
		if err := v.checkFormat(ctx); err != nil {
			return head, nil, err
		}
	}
	if head.Seq > 0 && len(records) < maxRecent {
		v.head = head
		return head, records, nil
	}
	head, err = v.queryHead(ctx)
	if err == nil && known.Seq > 0 && len(records) == 0 && head.Chain == known.Chain && head.Seq >= known.Seq {
		err = damagedRecord(known.Seq)
	}
	return head, nil, err
}

// checkFormat returns an error if the log now has another format, with the cheapest query that tells.
func (v *view) checkFormat(ctx context.Context) error {
	marked, err := v.prepared(ctx, `PRAGMA user_version`)
	if err != nil {
		return err
	}
	version := 0
	if err := marked.QueryRowContext(ctx).Scan(&version); err == nil && version == formatVersion {
		return nil
	}
	_, err = v.format(ctx)
	return err
}

// queryRecent returns at most maxRecent records after a known head, and the last one's head; the
// zero Head if the log does not contain the known one.
func (v *view) queryRecent(ctx context.Context, known store.Head) (head store.Head, records []plan.Record, err error) {
	recent, err := v.prepared(ctx, recentQuery)
	if err != nil {
		return head, nil, err
	}
	rows, err := recent.QueryContext(ctx, known.Seq, known.Hash[:], known.Chain, maxRecent+1)
	if err != nil {
		return head, nil, err
	}
	defer rows.Close()
	var chain chainPosition
	err = walk(rows, &chain, known.Seq, nil, func(r plan.Record) bool {
		records, known.Phase = append(records, r), r.Phase
		return true
	})
	if err != nil || !chain.any {
		return head, nil, err
	}
	return store.Head{Chain: known.Chain, Seq: chain.seq, Hash: chain.hash, Phase: known.Phase}, records, nil
}

// view is one connection that reads. It remembers the last head it has seen.
type view struct {
	pool       *sql.DB
	conn       *sql.Conn            // of the pool
	statements map[string]*sql.Stmt // prepared, by their text
	head       store.Head
}

const (
	headQuery = `SELECT (SELECT value FROM meta WHERE key = 'chain'), seq, hash, phase FROM record ORDER BY seq DESC LIMIT 1`
	pinQuery  = `SELECT (SELECT value FROM meta WHERE key = 'chain'),
		(SELECT hash FROM record WHERE seq = ?1), EXISTS (SELECT 1 FROM former WHERE chain = ?2)`
	endsQuery = `SELECT coalesce((SELECT min(seq) FROM record), 1), coalesce((SELECT max(seq) FROM record), 0)`
)

// openView opens a database with one connection. Setting its pragmas reads the file.
func openView(ctx context.Context, path, query string) (*view, error) {
	pool, err := openPool(path, query)
	if err != nil {
		return nil, err
	}
	v := &view{pool: pool, statements: map[string]*sql.Stmt{}}
	if v.conn, err = pool.Conn(ctx); err != nil {
		_ = v.close()
		return nil, err
	}
	return v, nil
}

// close closes the statements, which a sql.Conn does not do, and the connections: with a statement
// open, SQLite would leave its write-ahead log on disk.
func (v *view) close() error {
	var errs []error
	for _, stmt := range v.statements {
		errs = append(errs, stmt.Close())
	}
	if v.conn != nil {
		errs = append(errs, v.conn.Close())
	}
	return errors.Join(append(errs, v.pool.Close())...)
}

// prepared returns the statement for a query, preparing it on first use.
func (v *view) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := v.statements[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := v.conn.PrepareContext(ctx, query)
	if err == nil {
		v.statements[query] = stmt
	}
	return stmt, err
}

// queryHead returns the head as it is now.
func (v *view) queryHead(ctx context.Context) (store.Head, error) {
	last, err := v.prepared(ctx, headQuery)
	if err != nil {
		return store.Head{}, err
	}
	var (
		chain sql.NullString
		head  store.Head
		hash  []byte
	)
	err = last.QueryRowContext(ctx).Scan(&chain, &head.Seq, &hash, &head.Phase)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Head{}, nil
	}
	if err != nil {
		return store.Head{}, err
	}
	if len(hash) != len(head.Hash) || !chain.Valid {
		return store.Head{}, fmt.Errorf("record %d: %w", head.Seq, errUnreadable)
	}
	head.Chain, head.Hash = chain.String, store.Hash(hash)
	v.head = head
	return head, nil
}
