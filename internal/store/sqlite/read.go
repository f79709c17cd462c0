package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
	recent, err := l.recent(ctx, after)
	if err != nil {
		return err
	}
	if len(recent) < maxRecent {
		return walkRecent(recent, after, yield)
	}
	rows, err := l.rows(ctx, after)
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return walk(rows, after, nil, func(r plan.Record, _ store.Hash) bool { return yield(r, nil) })
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

// walk calls f with the records after seq until f returns false, checking that
// each follows from the one before. A phase beside a record that is not its own, which
// whoever reads one row would believe, is told to forged, or is damage if that is nil.
func walk(rows *sql.Rows, after plan.Revision, forged func(plan.Revision), f func(plan.Record, store.Hash) bool) error {
	var chain link
	for rows.Next() {
		var (
			seq               plan.Revision
			phase, hash, body sql.RawBytes
		)
		if err := rows.Scan(&seq, &phase, &hash, &body); err != nil {
			return err
		}
		if err := chain.follow(seq, hash, body, after); err != nil {
			return err
		}
		if seq <= after {
			continue
		}
		r, err := decode(seq, body)
		if err != nil {
			return err
		}
		if string(r.Phase) != string(phase) {
			if forged == nil {
				return damagedRecord(seq)
			}
			forged(seq)
		}
		if !f(r, chain.hash) {
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
func (c *link) follow(seq plan.Revision, hash, body []byte, start plan.Revision) error {
	trusted := !c.any && start > 0 && seq == start
	if len(hash) != len(c.hash) || !trusted && (seq != c.seq+1 || c.hash.Next(body) != store.Hash(hash)) {
		return damagedRecord(seq)
	}
	c.seq, c.hash, c.any = seq, store.Hash(hash), true
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
