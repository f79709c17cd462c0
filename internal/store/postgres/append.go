package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// appendQuery compares and sets the head and adds the record, in one round trip. The database computes the hash, so the head before is not
// read first. The function runs with its owner's rights and takes the team as an argument, so the transaction need not enter it.
const appendQuery = `SELECT append_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// ownQuery finds the record that an append with a lost answer has written.
const ownQuery = `SELECT hash FROM record WHERE track = $1 AND key = $2 AND seq = $3 AND line = $4`

// change is a record on its way into the log.
type change struct {
	record plan.Record
	line   []byte
	key    string
	relied *Relied
}

// Relied lists the conditions of an append beside the end of its own log. It fails with ErrOld if one no longer holds.
type Relied struct {
	Rules int64     // number of the team's rules
	Until time.Time // the end of the caller's rights
	Main  *Log      // another log, as it was read before Rely; nil: none
	args  []any     // of appendQuery

	// Set by a successful append.
	Head store.Head
	Line []byte
}

// ErrOld means that a condition of an append no longer holds.
var ErrOld = errors.New("the team's rules were changed at the same time")

type reliedInContext struct{}

// Rely returns a context for an append with conditions. With it, Since does not read a log again that probably has not grown:
// an append to another end is a conflict, after which it reads.
func Rely(ctx context.Context, on *Relied) context.Context {
	on.args = []any{on.Rules, on.Until, nil, nil, nil}
	if on.Main != nil {
		head := on.Main.Known()
		on.args = []any{on.Rules, on.Until, on.Main.track, head.Chain, head.Seq}
	}
	return context.WithValue(ctx, reliedInContext{}, on)
}

// Relies reports whether an append with the context has conditions.
func Relies(ctx context.Context) bool { return reliedOn(ctx) != nil }

func reliedOn(ctx context.Context) *Relied {
	on, _ := ctx.Value(reliedInContext{}).(*Relied)
	return on
}

// prepare encodes a record and checks the limits.
func (l *Log) prepare(ctx context.Context, r plan.Record) (c change, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	if err := l.checkOpen(); err != nil {
		return c, err
	}
	c = change{record: r, key: store.KeyOf(ctx), relied: reliedOn(ctx)}
	if c.key == "" {
		c.key = rand.Text() // to find the record if the answer is lost
	}
	if c.line, err = store.EncodeRecord(r); err != nil {
		return c, err
	}
	if len(c.line) > MaxRecord {
		return c, fmt.Errorf("%w: the change has %d bytes, more than %d; make it in several parts", store.ErrTooLarge, len(c.line),
			MaxRecord)
	}
	return c, l.db.checkUsage(ctx, l.team, len(c.line))
}

// Append implements store.Log.
func (l *Log) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	return l.add(ctx, r, "", l.tryAppend)
}

// add writes a record at most once, whatever happens to the connection: a lost answer is settled by the record's key. The record follows
// what this handle has read, or begins a chain; after an append by another server it is a conflict.
func (l *Log) add(ctx context.Context, r plan.Record, chain string, try func(context.Context, store.Head, change) (store.Hash, error)) (
	store.Head, error) {
	c, err := l.prepare(ctx, r)
	if err != nil {
		return store.Head{}, err
	}
	ctx = context.WithoutCancel(ctx) // the caller would not know whether the record was written
	before, err := l.end(ctx)
	if err != nil {
		return store.Head{}, err
	}
	head := store.Head{Chain: cmp.Or(chain, before.Chain), Seq: r.Seq, Phase: r.Phase}
	err = l.db.retry(ctx, func(ctx context.Context, attempt int) error {
		head.Hash, err = try(ctx, before, c)
		if attempt > 0 && (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrRepeated) || errors.Is(err, ErrOld)) {
			if own, found, lost := l.findOwn(ctx, c); lost != nil {
				return lost
			} else if found {
				head.Hash, err = own, nil
			}
		}
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		bound, cancel := context.WithTimeout(ctx, l.db.opts.Wait)
		defer cancel()
		l.noteConflict(bound)
		return store.Head{}, fmt.Errorf("record %d does not follow the last one: %w: read the new records and decide again", r.Seq, err)
	}
	if errors.Is(err, store.ErrUnreachable) {
		return store.Head{}, fmt.Errorf("the change may have been recorded; look before you repeat it: %w", err)
	}
	if err != nil {
		return store.Head{}, err
	}
	l.know(head)
	if c.relied != nil {
		c.relied.Head, c.relied.Line = head, c.line
	}
	l.db.feed.announce(l.watcher.grown)
	return head, nil
}

// tryAppend appends once, in the transaction that holds the row if there is one.
func (l *Log) tryAppend(ctx context.Context, before store.Head, c change) (hash store.Hash, err error) {
	args := []any{l.team, l.track, before.Chain, c.record.Seq, c.record.Phase, c.record.IsOpen, c.line, c.key, nil, nil, nil, nil, nil}
	if c.relied != nil {
		copy(args[8:], c.relied.args)
	}
	var found []byte
	if tx := l.takeRow(); tx != nil {
		defer l.endRow(tx)
		if err = tx.QueryRow(ctx, appendQuery, args...).Scan(&found); err == nil {
			err = tx.Commit(ctx)
		}
	} else {
		err = l.db.pool.QueryRow(ctx, appendQuery, args...).Scan(&found)
	}
	switch failed, isCode := errors.AsType[*pgconn.PgError](err); {
	case isCode && failed.Code == uniqueViolation && failed.ConstraintName == "record_key":
		return hash, fmt.Errorf("%w: read it instead", store.ErrRepeated)
	case err != nil:
		return hash, err
	case found == nil:
		return hash, store.ErrConflict
	case len(found) == 0:
		return hash, ErrOld
	}
	err = hash.ScanBytes(found)
	return hash, err
}

func (l *Log) findOwn(ctx context.Context, c change) (hash store.Hash, found bool, err error) {
	own, err := runBatch(ctx, l.db, l.team, pgx.RowTo[store.Hash], ownQuery, l.track, c.key, c.record.Seq, c.line)
	if err != nil || len(own) == 0 {
		return hash, false, err
	}
	return own[0], true, nil
}

// purgeQuery returns null if a condition of the context no longer holds, and nothing if the log has another end.
const purgeQuery = `SELECT CASE WHEN $9::bigint IS NULL
		OR EXISTS (SELECT FROM team WHERE id = t.team AND rules = $9 AND $10::timestamptz > clock_timestamp())
	THEN purge_track($1, $2, $3, $4, $5, $6, $7) END
	FROM (SELECT team FROM track WHERE id = $1 AND seq = $8 FOR NO KEY UPDATE) t`

// Purge implements store.Log. Of the conditions in the context, the rules and the end of the caller's rights count.
func (l *Log) Purge(ctx context.Context, chain string, first plan.Record) (store.Head, error) {
	if first.Seq != 1 {
		return store.Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, store.ErrConflict)
	}
	return l.add(ctx, first, chain, func(ctx context.Context, before store.Head, c change) (store.Hash, error) {
		l.releaseRow()
		args := []any{l.track, before.Chain, chain, first.Phase, first.IsOpen, c.line, c.key, before.Seq, nil, nil}
		if c.relied != nil {
			copy(args[8:], c.relied.args[:2])
		}
		done, err := runBatch(ctx, l.db, l.team, pgx.RowTo[*bool], purgeQuery, args...)
		switch {
		case err != nil:
			return store.Hash{}, err
		case len(done) > 0 && done[0] == nil:
			return store.Hash{}, ErrOld
		case len(done) == 0 || !*done[0]:
			return store.Hash{}, store.ErrConflict
		}
		return store.Hash{}.Next(c.line), nil
	})
}

// usageAge is how old the sum of a team's bytes may be.
const usageAge = 10 * time.Second

type usage struct {
	bytes int64
	at    time.Time
}

// checkUsage refuses n more bytes for a team that is at its limit.
func (db *DB) checkUsage(ctx context.Context, team int64, n int) error {
	db.mu.Lock()
	is := db.usage[team]
	db.mu.Unlock()
	if time.Since(is.at) > usageAge {
		sum, err := Collect(ctx, db, team, pgx.RowTo[int64], `SELECT coalesce(sum(bytes), 0)::bigint FROM track`)
		if err != nil {
			return err
		}
		is = usage{bytes: sum[0], at: time.Now()}
		db.mu.Lock()
		db.usage[team] = is
		db.mu.Unlock()
	}
	if is.bytes+int64(n) > db.opts.TeamBytes {
		return fmt.Errorf("%w: the team stores %d MiB, and its limit is %d MiB; purge the history of a track", store.ErrFull, is.bytes>>20,
			db.opts.TeamBytes>>20)
	}
	return nil
}
