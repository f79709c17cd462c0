package sqlite

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// maxRecent bounds what is read with the statement that is kept for it: what
// others have appended since the last look is mostly a record or two, and
// preparing a statement costs more than reading them.
const maxRecent = 16

const recentQuery = readQuery + ` LIMIT ?`

// row is a record as it is kept.
type row struct {
	seq               plan.Revision
	phase, hash, body []byte
}

// recent returns the records from one before the first wanted on, at most
// maxRecent.
func (l *Log) recent(ctx context.Context, after plan.Revision) ([]row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return nil, err
	}
	return db.look().queryRecent(context.WithoutCancel(ctx), after)
}

func (v *view) queryRecent(ctx context.Context, after plan.Revision) ([]row, error) {
	if v.recent == nil {
		stmt, err := v.conn.PrepareContext(ctx, recentQuery)
		if err != nil {
			return nil, err
		}
		v.recent = stmt
	}
	rows, err := v.recent.QueryContext(ctx, after, maxRecent)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.seq, &r.phase, &r.hash, &r.body); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// walkRecent is walk for rows that are in memory.
func walkRecent(rows []row, after plan.Revision, yield func(plan.Record, error) bool) error {
	var chain link
	for _, kept := range rows {
		if err := chain.follow(kept.seq, kept.hash, kept.body, after); err != nil {
			return err
		}
		if kept.seq <= after {
			continue
		}
		r, err := decode(kept.seq, kept.body)
		if err != nil {
			return err
		}
		if string(r.Phase) != string(kept.phase) {
			return damagedRecord(kept.seq)
		}
		if !yield(r, nil) {
			return nil
		}
	}
	return nil
}
