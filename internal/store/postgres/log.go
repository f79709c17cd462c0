package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/store"
)

// Log is a handle on the log of a track. Its lock keeps out this process alone. Append compares and sets the head, and so judges between
// servers; after two conflicts under the lock, the track's row is locked in the database until the lock is released.
type Log struct {
	db          *DB
	team, track int64
	hub         broadcast.Hub
	watcher     *watcher // notifies the hub

	mu      sync.Mutex
	closed  bool
	known   store.Head // as last returned by Since or Append
	wasRead bool       // known is set
	reads   time.Time  // until then Since reads: another server is appending
	held    *held      // while this handle holds the lock
}

var _ store.Log = (*Log)(nil)

// Log returns a handle on the log of a team's track, which EnsureTrack has made. Nothing is read yet; another team's track is not found.
func (db *DB) Log(team, track int64) *Log {
	l := &Log{db: db, team: team, track: track}
	l.watcher = &watcher{grown{team, track}, func(int64) { l.hub.Notify() }, l.hub.Close}
	return l
}

type held struct {
	conflicts int
	row       pgx.Tx // holds the track's row; nil without
}

// conflictsBeforeRowLock is how often an append may lose to other servers before it locks the row.
const conflictsBeforeRowLock = 2

// Lock implements store.Log.
func (l *Log) Lock(ctx context.Context) (func(), error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	turn := l.db.turn(l.track)
	ctx, cancel := context.WithTimeout(ctx, l.db.opts.Wait)
	defer cancel()
	select {
	case <-turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: try again: %w", store.ErrBusy, ctx.Err())
	}
	l.mu.Lock()
	l.held = &held{}
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		l.releaseRow()
		l.mu.Lock()
		l.held = nil
		l.mu.Unlock()
		turn <- struct{}{}
	}), nil
}

// turn returns the lock of a track in this process, which is free while it is full. It takes little memory, so it is kept.
func (db *DB) turn(track int64) chan struct{} {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.turns[track] == nil {
		db.turns[track] = make(chan struct{}, 1)
		db.turns[track] <- struct{}{}
	}
	return db.turns[track]
}

// noteConflict counts a conflict under the lock, and locks the row in the database after the second. Others can use the handle until then.
func (l *Log) noteConflict(ctx context.Context) {
	l.mu.Lock()
	held, wasRead := l.held, time.Now().Before(l.reads) || !Relies(ctx)
	l.reads = time.Now().Add(time.Second)
	if held != nil && wasRead {
		held.conflicts++
	}
	mustLock := held != nil && wasRead && held.conflicts >= conflictsBeforeRowLock && held.row == nil
	l.mu.Unlock()
	if !mustLock {
		return
	}
	select {
	case l.db.rowLocks <- struct{}{}:
	case <-ctx.Done():
		return
	}
	tx, err := l.db.lockRow(ctx, l.team, l.track)
	if err != nil {
		<-l.db.rowLocks
		l.db.opts.Logger.Warn("a track cannot be locked in the database", "track", l.track, "error", err)
		return
	}
	l.mu.Lock()
	isWanted := l.held == held && held.row == nil
	if isWanted {
		held.row = tx
	}
	l.mu.Unlock()
	if !isWanted { // the lock was released
		l.endRow(tx)
	}
}

// lockRow begins a transaction that holds a track's row. The database ends it if this process does not.
func (db *DB) lockRow(ctx context.Context, team, track int64) (pgx.Tx, error) {
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	bound := fmt.Sprint(db.opts.Wait.Milliseconds())
	batch := &pgx.Batch{}
	batch.Queue(`SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true)`, bound)
	batch.Queue(enterQuery, fmt.Sprint(team))
	batch.Queue(`SELECT FROM track WHERE id = $1 FOR NO KEY UPDATE`, track)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, err
	}
	return tx, nil
}

// takeRow returns the transaction that holds the row, or nil; the caller ends it with endRow.
func (l *Log) takeRow() (tx pgx.Tx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		tx, l.held.row = l.held.row, nil
	}
	return tx
}

func (l *Log) releaseRow() {
	if tx := l.takeRow(); tx != nil {
		l.endRow(tx)
	}
}

func (l *Log) endRow(tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = tx.Rollback(ctx) // does nothing after a commit
	<-l.db.rowLocks
}

// checkOpen returns ErrClosed after Close of the log or the database.
func (l *Log) checkOpen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.db.feed.ctx.Err() != nil {
		return store.ErrClosed
	}
	return nil
}

// Close implements store.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.db.feed.forget(l.watcher)
	l.hub.Close()
	return nil
}

// Collect returns all rows of a team's query. It asks again while the database restarts.
func Collect[T any](ctx context.Context, db *DB, team int64, row pgx.RowToFunc[T], query string, args ...any) (found []T, err error) {
	err = db.retry(ctx, func(ctx context.Context, _ int) error {
		found, err = runBatch(ctx, db, team, row, query, args...)
		return err
	})
	return found, err
}

// Exec runs a statement of a team, which may run twice: it is sent again while the database restarts.
func (db *DB) Exec(ctx context.Context, team int64, statement string, args ...any) error {
	_, err := Collect(ctx, db, team, func(pgx.CollectableRow) (none struct{}, err error) { return none, nil }, statement, args...)
	return err
}

// runBatch runs one query as a transaction of a team, in one round trip.
func runBatch[T any](ctx context.Context, db *DB, team int64, row pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	batch := &pgx.Batch{}
	batch.Queue(enterQuery, fmt.Sprint(team))
	batch.Queue(query, args...)
	results := db.pool.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close()
		return nil, err
	}
	rows, _ := results.Query() // CollectRows returns its error
	found, err := pgx.CollectRows(rows, row)
	if closed := results.Close(); err == nil {
		err = closed // of the commit
	}
	return found, err
}

// retry calls f until it succeeds, fails for another reason than a lost connection, or the time is over.
func (db *DB) retry(ctx context.Context, f func(ctx context.Context, attempt int) error) error {
	bound, cancel := context.WithTimeout(ctx, db.opts.Wait)
	defer cancel()
	delay := 10 * time.Millisecond
	for attempt := 0; ; attempt++ {
		err := f(bound, attempt)
		switch {
		case err != nil && bound.Err() != nil && ctx.Err() == nil:
			return fmt.Errorf("%w: it did not answer within %v: %w", store.ErrUnreachable, db.opts.Wait, err)
		case !isLost(err):
			return explain(err)
		}
		db.pool.Reset() // the other connections are probably lost too
		select {
		case <-bound.Done():
			return explain(err)
		case <-time.After(delay):
		}
		delay = min(2*delay, time.Second/2)
	}
}
