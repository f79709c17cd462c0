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

// readQuery begins with the record before the first wanted, for its hash.
const readQuery = `SELECT seq, phase, hash, body FROM record WHERE seq >= ? ORDER BY seq`

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		if err := l.read(ctx, max(after, 0), yield); err != nil {
			yield(plan.Record{}, explain(l.databasePath(), err))
		}
	}
}

func (l *Log) read(ctx context.Context, after plan.Revision, yield func(plan.Record, error) bool) error {
	rows, err := l.rows(ctx, after)
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return walk(rows, link{}, after, nil, func(r plan.Record, _ store.Hash) bool { return yield(r, nil) })
}

// rows returns the records from one before the first wanted on, nil when there
// is no log. They are of one moment, whatever is appended meanwhile.
func (l *Log) rows(ctx context.Context, after plan.Revision) (*sql.Rows, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return nil, err
	}
	return db.readers.QueryContext(ctx, readQuery, after)
}

// row is a record as it is kept.
type row struct {
	seq               plan.Revision
	phase, hash, body []byte
}

// walk calls f with the records after seq until f returns false, checking that
// each follows from the one before, the first from chain. A phase beside a record that is not its own, which
// whoever reads one row would believe, is told to forged, or is damage if that is nil.
func walk(rows *sql.Rows, chain link, after plan.Revision, forged func(plan.Revision), f func(plan.Record, store.Hash) bool) error {
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.seq, (*sql.RawBytes)(&r.phase), (*sql.RawBytes)(&r.hash), (*sql.RawBytes)(&r.body)); err != nil {
			return err
		}
		if err := chain.follow(r, after); err != nil {
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
		if !f(record, chain.hash) {
			return nil
		}
	}
	return rows.Err()
}

// link is a place in the chain.
type link struct {
	seq  plan.Revision
	hash store.Hash
	any  bool
}

// follow moves on to the next record, which must follow from the last. The
// first may be the one at start, whose own hash is taken on trust.
func (c *link) follow(r row, start plan.Revision) error {
	trusted := !c.any && start > 0 && r.seq == start
	if len(r.hash) != len(c.hash) || !trusted && (r.seq != c.seq+1 || c.hash.Next(r.body) != store.Hash(r.hash)) {
		return damagedRecord(r.seq)
	}
	c.seq, c.hash, c.any = r.seq, store.Hash(r.hash), true
	return nil
}

// decode reads a record whose hash was right. If it is no record all the same,
// something else than planloop has written it.
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

// maxRecent bounds what is read with the statement that is kept for it: what
// others have appended since the last look is mostly a record or two, and
// preparing a statement costs more than reading them.
const maxRecent = 16

const recentQuery = readQuery + ` LIMIT ?`

// Since implements store.Log.
func (l *Log) Since(ctx context.Context, known store.Head) (store.Head, []plan.Record, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return store.Head{}, nil, err
	}
	head, records, err := db.look().since(context.WithoutCancel(ctx), known)
	if err != nil {
		return store.Head{}, nil, explain(l.databasePath(), err)
	}
	return head, records, nil
}

// since asks once where readHead and reading would ask twice.
func (v *view) since(ctx context.Context, known store.Head) (store.Head, []plan.Record, error) {
	var broken error
	if v.current && known.Seq > 0 && known.Chain == v.head.Chain {
		// A commit between the two questions makes the next answer be asked for
		// again, never an old one be kept.
		version, err := v.dataVersion(ctx)
		if err != nil || version == v.seen && known == v.head {
			return known, nil, err
		}
		head, records, err := v.queryRecent(ctx, known)
		if err == nil && len(records) > 0 && len(records) < maxRecent {
			v.head, v.seen = head, version
			return head, records, nil
		}
		broken = err
	}
	head, err := v.readHead(ctx)
	if broken != nil && head.Chain == known.Chain {
		err = broken // and no purge, after which nothing follows from what was known
	}
	return head, nil, err
}

// queryRecent returns at most maxRecent records that follow from a known head, and the
// last one's head.
func (v *view) queryRecent(ctx context.Context, known store.Head) (head store.Head, records []plan.Record, err error) {
	if v.recent == nil {
		if v.recent, err = v.conn.PrepareContext(ctx, recentQuery); err != nil {
			return head, nil, err
		}
	}
	rows, err := v.recent.QueryContext(ctx, known.Seq+1, maxRecent)
	if err != nil {
		return head, nil, err
	}
	defer rows.Close()
	err = walk(rows, link{known.Seq, known.Hash, true}, known.Seq, nil, func(r plan.Record, hash store.Hash) bool {
		records = append(records, r)
		head = store.Head{Chain: known.Chain, Seq: r.Seq, Hash: hash, Phase: r.Phase}
		return true
	})
	return head, records, err
}

// tail is how many records are checked on opening. The whole chain is Check's.
const tail = 100

// view is one connection that reads. It remembers the head as long as nobody
// else has changed the database.
type view struct {
	conn    *sql.Conn
	version *sql.Stmt // a number that changes with every commit of another connection
	last    *sql.Stmt
	recent  *sql.Stmt // what was appended since

	seen    int64 // the version that head was read at, 0 before
	head    store.Head
	current bool
}

const (
	versionQuery = `PRAGMA data_version`
	headQuery    = `SELECT (SELECT value FROM meta WHERE key = 'chain'), seq, hash, phase FROM record ORDER BY seq DESC LIMIT 1`
	pinQuery     = `SELECT (SELECT value FROM meta WHERE key = 'chain'),
		(SELECT hash FROM record WHERE seq = ?1), EXISTS (SELECT 1 FROM former WHERE chain = ?2)`
	tailQuery = `SELECT seq, hash, body FROM record ORDER BY seq DESC LIMIT ?`
)

func newView(ctx context.Context, pool *sql.DB) (*view, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{conn: conn}
	if v.version, err = conn.PrepareContext(ctx, versionQuery); err == nil {
		_, err = v.dataVersion(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return v, nil
}

func (v *view) close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{v.version, v.last, v.recent} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, v.conn.Close())...)
}

func (v *view) dataVersion(ctx context.Context) (version int64, err error) {
	err = v.version.QueryRowContext(ctx).Scan(&version)
	return version, err
}

// readHead returns the head as it is now.
func (v *view) readHead(ctx context.Context) (store.Head, error) {
	// A commit between the two questions makes the next answer be asked for
	// again, never an old one be kept.
	version, err := v.dataVersion(ctx)
	if err != nil {
		return store.Head{}, err
	}
	if v.current && version == v.seen {
		return v.head, nil
	}
	head, err := v.queryHead(ctx)
	if err != nil {
		return store.Head{}, err
	}
	v.head, v.seen, v.current = head, version, true
	return head, nil
}

func (v *view) queryHead(ctx context.Context) (store.Head, error) {
	if v.last == nil {
		stmt, err := v.conn.PrepareContext(ctx, headQuery)
		if err != nil {
			return store.Head{}, err
		}
		v.last = stmt
	}
	var (
		chain sql.NullString
		head  store.Head
		hash  sql.RawBytes
	)
	rows, err := v.last.QueryContext(ctx)
	if err != nil {
		return store.Head{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		return store.Head{}, rows.Err()
	}
	if err := rows.Scan(&chain, &head.Seq, &hash, &head.Phase); err != nil {
		return store.Head{}, err
	}
	if len(hash) != len(head.Hash) || !chain.Valid {
		return store.Head{}, fmt.Errorf("record %d: %w", head.Seq, errUnreadable)
	}
	head.Chain = chain.String
	copy(head.Hash[:], hash)
	return head, rows.Err()
}

// knows makes the view remember a head that its own connection has written.
func (v *view) knows(h store.Head) { v.head = h }

// checkTail checks the hashes of the last records.
func (v *view) checkTail(ctx context.Context) error {
	rows, err := v.conn.QueryContext(ctx, tailQuery, tail+1)
	if err != nil {
		return err
	}
	defer rows.Close()
	var later struct {
		seq  plan.Revision
		hash store.Hash
		body []byte
	}
	for n := 0; rows.Next(); n++ {
		var (
			seq  plan.Revision
			hash store.Hash
			raw  sql.RawBytes
			body sql.RawBytes
		)
		if err := rows.Scan(&seq, &raw, &body); err != nil {
			return err
		}
		if len(raw) != len(hash) {
			return damagedRecord(seq)
		}
		copy(hash[:], raw)
		if n > 0 && (seq != later.seq-1 || hash.Next(later.body) != later.hash) {
			return damagedRecord(later.seq)
		}
		if seq == 1 && (store.Hash{}).Next(body) != hash {
			return damagedRecord(seq)
		}
		later.seq, later.hash, later.body = seq, hash, append(later.body[:0], body...)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return v.checkFirst(ctx)
}

// checkFirst checks that the log begins at its beginning.
func (v *view) checkFirst(ctx context.Context) error {
	var first sql.NullInt64
	if err := v.conn.QueryRowContext(ctx, `SELECT min(seq) FROM record`).Scan(&first); err != nil {
		return err
	}
	if first.Valid && first.Int64 != 1 {
		return fmt.Errorf("the log begins with record %d: %w", first.Int64, errUnreadable)
	}
	return nil
}

// checkPin returns an error when the log should contain a head and does not.
// The head of a chain that was purged is nobody's business any more.
func (v *view) checkPin(ctx context.Context, pin store.Head, source string) error {
	contained, former, err := v.contains(ctx, pin)
	if err != nil || contained || former {
		return err
	}
	return fmt.Errorf("the log does not contain record %d as %s remembers it: it was shortened, replaced or altered: %w",
		pin.Seq, source, errUnreadable)
}

// contains reports whether the log contains a head, and otherwise whether the
// head belongs to a chain that was purged.
func (v *view) contains(ctx context.Context, pin store.Head) (contained, former bool, err error) {
	var chain sql.NullString
	var hash []byte
	if err := v.conn.QueryRowContext(ctx, pinQuery, pin.Seq, pin.Chain).Scan(&chain, &hash, &former); err != nil {
		return false, false, err
	}
	return chain.String == pin.Chain && string(hash) == string(pin.Hash[:]), former, nil
}

// errUnreadable marks what damaged explains.
var errUnreadable = errors.New("the records do not fit together")

func damagedRecord(seq plan.Revision) error {
	return fmt.Errorf("record %d is not what its hash says: %w", seq, errUnreadable)
}
