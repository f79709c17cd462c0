package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// pageQuery returns the head with each of the records after $2, or once alone if there are none. A page has at most $3 records and ends
// with the one that exceeds $4 bytes. Both are of one moment.
const pageQuery = `SELECT g.rules, t.chain, t.seq, t.hash, t.phase, coalesce(r.seq, 0), r.hash, coalesce(r.phase, ''), r.line
	FROM track t JOIN team g ON g.id = t.team LEFT JOIN LATERAL (
		SELECT seq, hash, phase, line, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before
		FROM record WHERE team = t.team AND track = t.id AND seq > $2 ORDER BY seq LIMIT $3) r ON r.before < $4
	WHERE t.id = $1 ORDER BY r.seq`

// Limits of a page.
const (
	pageRecords = 256
	pageBytes   = 4 << 20
)

// row is a row of pageQuery.
type row struct {
	Rules int64 // number of the team's
	store.Head
	RecordSeq   plan.Revision // 0 without a record
	RecordHash  []byte
	RecordPhase plan.Phase
	Line        []byte
}

// head returns the end of the log; of an empty log it has the chain alone.
func (l *Log) head(ctx context.Context) (store.Head, error) {
	if err := l.checkOpen(); err != nil {
		return store.Head{}, err
	}
	heads, err := Collect(ctx, l.db, l.team, pgx.RowToStructByPos[store.Head],
		`SELECT chain, seq, hash, phase FROM track WHERE id = $1`, l.track)
	if err != nil {
		return store.Head{}, err
	}
	if len(heads) == 0 {
		return store.Head{}, ErrNoTrack
	}
	return heads[0], nil
}

// know remembers the end up to which the log's user knows it.
func (l *Log) know(head store.Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.wasRead = head, true
}

// Known returns the end up to which the log's user knows it, as by Since and Append; the zero Head at first.
func (l *Log) Known() store.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// end returns where the log's user knows it to end; of a log that was not read, where it ends now. An append elsewhere is a conflict, also
// after others have read the handle.
func (l *Log) end(ctx context.Context) (store.Head, error) {
	if end := l.Known(); end.Seq > 0 {
		return end, nil
	}
	return l.head(ctx)
}

// isKnown reports whether the log probably still ends at a head.
func (l *Log) isKnown(head store.Head) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wasRead && head == l.known && !l.closed && time.Now().After(l.reads)
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context) (store.Head, error) {
	head, err := l.head(ctx)
	return published(head), err
}

// published returns the zero Head for an empty log.
func published(head store.Head) store.Head {
	if head.Seq == 0 {
		return store.Head{}
	}
	return head
}

// CachedHead implements store.Log.
func (l *Log) CachedHead(ctx context.Context) (store.Head, error) { return l.Head(ctx) }

// Since implements store.Log.
func (l *Log) Since(ctx context.Context, known store.Head) (store.Head, []plan.Record, error) {
	if Relies(ctx) && l.isKnown(known) {
		return known, nil, nil
	}
	head, records, err := l.since(ctx, known)
	if err == nil {
		l.know(head)
	}
	return head, records, err
}

func (l *Log) since(ctx context.Context, known store.Head) (store.Head, []plan.Record, error) {
	if known.Seq == 0 {
		head, err := l.Head(ctx)
		return head, nil, err
	}
	rows, err := l.page(ctx, known.Seq, pageBytes)
	if err != nil {
		return store.Head{}, nil, err
	}
	head := rows[0].Head
	if head.Chain != known.Chain || head.Seq <= known.Seq || rows[len(rows)-1].RecordSeq != head.Seq {
		return published(head), nil, nil
	}
	var records []plan.Record
	for _, r := range rows {
		record, err := r.decode(known.Seq, known.Hash)
		if err != nil {
			return store.Head{}, nil, err
		}
		known.Seq, known.Hash = r.RecordSeq, store.Hash(r.RecordHash)
		records = append(records, record)
	}
	return head, records, nil
}

// Lines is a part of a log as it is stored. The receiver checks it against the chain.
type Lines struct {
	Rules int64 // number of the team's rules at this moment
	Head  store.Head
	Lines []string
	More  bool // others follow
}

// Lines returns the records after a number until they exceed limit bytes.
func (l *Log) Lines(ctx context.Context, after plan.Revision, limit int) (is Lines, err error) {
	rows, err := l.page(ctx, after, limit)
	if err != nil {
		return is, err
	}
	is.Rules, is.Head = rows[0].Rules, published(rows[0].Head)
	for _, r := range rows {
		if r.RecordSeq > 0 {
			is.Lines = append(is.Lines, string(r.Line))
		}
	}
	is.More = is.Head.Seq > max(after, 0)+plan.Revision(len(is.Lines))
	return is, nil
}

// page returns the records after a number until they exceed limit bytes, and at least one row.
func (l *Log) page(ctx context.Context, after plan.Revision, limit int) ([]row, error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	rows, err := Collect(ctx, l.db, l.team, pgx.RowToStructByPos[row], pageQuery, l.track, after, pageRecords, limit)
	if err == nil && len(rows) == 0 {
		err = ErrNoTrack
	}
	return rows, err
}

// decode checks that the record follows the one with a number and a hash, and decodes it.
func (r row) decode(after plan.Revision, hash store.Hash) (plan.Record, error) {
	if r.RecordSeq != after+1 || len(r.RecordHash) != len(hash) || hash.Next(r.Line) != store.Hash(r.RecordHash) {
		return plan.Record{}, damaged(after + 1)
	}
	record, err := store.DecodeRecord(r.Line)
	switch {
	case errors.Is(err, store.ErrNewer):
		return plan.Record{}, fmt.Errorf("%w: update planloop-server", err)
	case err != nil:
		return plan.Record{}, errors.Join(damaged(r.RecordSeq), err)
	case record.Seq != r.RecordSeq || record.Phase != r.RecordPhase:
		return plan.Record{}, damaged(r.RecordSeq)
	}
	return record, nil
}

func damaged(seq plan.Revision) error {
	return fmt.Errorf("%w: record %d does not match its hash; restore the database from a backup", store.ErrDamaged, seq)
}

// Read implements store.Log. It reads page by page, up to the head at the beginning, and holds no connection while the caller works.
func (l *Log) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		if err := l.read(ctx, max(after, 0), func(r plan.Record) bool { return yield(r, nil) }); err != nil {
			yield(plan.Record{}, err)
		}
	}
}

func (l *Log) read(ctx context.Context, after plan.Revision, yield func(plan.Record) bool) error {
	hash, err := l.hashOf(ctx, after)
	if err != nil {
		return err
	}
	var until store.Head
	for until.Seq == 0 || after < until.Seq {
		rows, err := l.page(ctx, after, pageBytes)
		if err != nil {
			return err
		}
		if until.Chain == "" {
			until = rows[0].Head
		}
		if rows[0].Head.Chain != until.Chain {
			return fmt.Errorf("the history was purged while it was read: %w", store.ErrConflict)
		}
		if until.Seq <= after {
			return nil
		}
		for _, r := range rows {
			record, err := r.decode(after, hash)
			if err != nil {
				return err
			}
			after, hash = r.RecordSeq, store.Hash(r.RecordHash)
			if !yield(record) || after == until.Seq {
				return nil
			}
		}
	}
	return nil
}

// hashOf returns the hash of a record, or the zero Hash if there is none.
func (l *Log) hashOf(ctx context.Context, seq plan.Revision) (hash store.Hash, err error) {
	if err := l.checkOpen(); err != nil || seq == 0 {
		return hash, err
	}
	found, err := Collect(ctx, l.db, l.team, pgx.RowTo[store.Hash], `SELECT hash FROM record WHERE track = $1 AND seq = $2`, l.track, seq)
	if len(found) > 0 {
		hash = found[0]
	}
	return hash, err
}
