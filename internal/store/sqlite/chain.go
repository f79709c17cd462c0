package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

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
