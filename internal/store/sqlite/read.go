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

// readQuery begins with the record before the first wanted one, for its hash.
const readQuery = `SELECT seq, phase, hash, body FROM record WHERE seq >= ? ORDER BY seq`

// row is a record as it is stored.
type row struct {
	seq               plan.Revision
	phase, hash, body []byte
}

// walk calls f with the records after seq until f returns false, checking that each follows from
// the previous one, and advances chain. A row's phase that differs from its record's, and that
// readers of single rows would believe, is reported to forged; if forged is nil, it is damage.
func walk(rows *sql.Rows, chain *chainPosition, after plan.Revision, forged func(plan.Revision), f func(plan.Record) bool) error {
	for rows.Next() {
		r, err := chain.next(rows, after)
		if err != nil {
			return err
		}
		if r.seq <= after {
			continue
		}
		record, err := decode(r.seq, r.body)
		if err != nil {
			return err
		}
		if string(record.Phase) != string(r.phase) {
			if forged == nil {
				return damagedRecord(r.seq)
			}
			forged(r.seq)
		}
		if !f(record) {
			return nil
		}
	}
	return rows.Err()
}

// chainPosition is a place in the chain.
type chainPosition struct {
	seq  plan.Revision
	hash store.Hash
	any  bool
}

// next advances to the next record, which must follow from the last. The first may be the one at
// start, with a hash that is trusted.
func (c *chainPosition) next(rows *sql.Rows, start plan.Revision) (r row, err error) {
	if err := rows.Scan(&r.seq, (*sql.RawBytes)(&r.phase), (*sql.RawBytes)(&r.hash), (*sql.RawBytes)(&r.body)); err != nil {
		return r, errors.Join(errUnreadable, err) // a column has another type
	}
	trusted := !c.any && start > 0 && r.seq == start
	if len(r.hash) != len(c.hash) || !trusted && (r.seq != c.seq+1 || c.hash.Next(r.body) != store.Hash(r.hash)) {
		return r, damagedRecord(r.seq)
	}
	*c = chainPosition{r.seq, store.Hash(r.hash), true}
	return r, nil
}

// decode decodes a record with a verified hash. If that fails, another program has written it.
func decode(seq plan.Revision, body []byte) (plan.Record, error) {
	r, err := store.DecodeRecord(body)
	switch {
	case err == nil && r.Seq == seq:
		return r, nil
	case err == nil:
		return plan.Record{}, damagedRecord(seq)
	case errors.Is(err, store.ErrNewer):
		return plan.Record{}, errors.Join(err, errUpdate)
	}
	return plan.Record{}, errors.Join(damagedRecord(seq), err)
}

var errUpdate = errors.New("update planloop")

// tail is the number of records checked on opening. Check checks the whole chain.
const tail = 100

// checkTail checks the hashes of the last records, and that the log begins with record 1.
func (v *view) checkTail(ctx context.Context) error {
	var first, last plan.Revision
	if err := v.conn.QueryRowContext(ctx, endsQuery).Scan(&first, &last); err != nil {
		return err
	}
	if first != 1 {
		return fmt.Errorf("the log begins with record %d: %w", first, errUnreadable)
	}
	start := max(last-tail, 0)
	rows, err := v.conn.QueryContext(ctx, readQuery, start)
	if err != nil {
		return err
	}
	defer rows.Close()
	for chain := (chainPosition{}); rows.Next(); {
		if _, err := chain.next(rows, start); err != nil {
			return err
		}
	}
	return rows.Err()
}

// errUnreadable marks errors that explain turns into damage.
var errUnreadable = errors.New("the records do not form a valid chain")

func damagedRecord(seq plan.Revision) error {
	return fmt.Errorf("record %d does not match its hash: %w", seq, errUnreadable)
}
