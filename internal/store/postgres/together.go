package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

const (
	mostTogether = 64  // appends in a transaction
	mostQueued   = 512 // appends of a team
)

// errAlone means that an append was not carried out and must be made in a transaction of its own.
var errAlone = errors.New("not appended together with others")

// queued is an append that waits for the statement under way.
type queued struct {
	ctx   context.Context
	track int64
	args  []any // of appendQuery
	done  chan struct{}

	// Set before done is closed.
	hash []byte
	err  error
}

// appendTogether appends in the team's next transaction. It begins at once unless one is under way in this process: then all appends that
// arrive in the meantime share the next one, and its commit.
func (db *DB) appendTogether(ctx context.Context, g grown, args []any) ([]byte, error) {
	q := &queued{ctx: ctx, track: g.track, args: args, done: make(chan struct{})}
	db.mu.Lock()
	waiting, underWay := db.queue[g.team]
	if len(waiting) >= mostQueued {
		db.mu.Unlock()
		return nil, errAlone
	}
	db.queue[g.team] = append(waiting, q)
	db.mu.Unlock()
	if !underWay {
		go db.appendQueued(g.team) // ends with the queue
	}
	select {
	case <-q.done:
		return q.hash, q.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// appendQueued carries out a team's appends until none waits.
func (db *DB) appendQueued(team int64) {
	for {
		db.mu.Lock()
		all := db.queue[team]
		if len(all) == 0 {
			delete(db.queue, team)
			db.mu.Unlock()
			return
		}
		n := min(len(all), mostTogether)
		db.queue[team] = slices.Clone(all[n:])
		db.mu.Unlock()
		all = slices.DeleteFunc(all[:n:n], func(q *queued) bool { return q.ctx.Err() != nil })
		err := db.appendBatch(team, all)
		for _, q := range all {
			q.err = err
			close(q.done)
		}
	}
}

// togetherQuery enters the team, and bounds how long one locked track delays the others.
const togetherQuery = `SELECT set_config('role', 'planloop_server', true), set_config('planloop.team', $1, true),
	set_config('lock_timeout', '50', true)`

// appendBatch makes appends in one transaction. If the database refuses one, none is made, and each is to be made alone.
func (db *DB) appendBatch(team int64, all []*queued) error {
	ctx, cancel := context.WithTimeout(context.Background(), db.opts.Wait)
	defer cancel()
	slices.SortStableFunc(all, func(a, b *queued) int { return cmp.Compare(a.track, b.track) }) // no two transactions wait for each other
	batch := &pgx.Batch{}
	batch.Queue(togetherQuery, fmt.Sprint(team))
	for _, q := range all {
		batch.Queue(appendQuery, q.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&q.hash) })
	}
	err := db.pool.SendBatch(ctx, batch).Close()
	if err != nil && !isLost(err) && ctx.Err() == nil {
		return errAlone
	}
	return err
}
