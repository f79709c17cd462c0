package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

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
	return fmt.Errorf("the log does not contain record %d as %s remembers it: it was shortened, replaced or altered: %w", pin.Seq, source, errUnreadable)
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
