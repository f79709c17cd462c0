package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// putQuery keeps a value, counts its bytes once, and finds the track. Like saveQuery, it waits for a purge and lets a purge wait.
const putQuery = `WITH of_track AS (SELECT team, id FROM track WHERE id = $1 FOR KEY SHARE),
	put AS (INSERT INTO value SELECT team, id, $2, $3 FROM of_track ON CONFLICT DO NOTHING RETURNING octet_length(bytes) AS n),
	counted AS (UPDATE track SET bytes = track.bytes + n FROM put WHERE track.id = $1)
	SELECT true FROM of_track`

// PutValue implements store.Log.
func (l *Log) PutValue(ctx context.Context, value []byte) (string, error) {
	if err := errors.Join(ctx.Err(), l.checkOpen()); err != nil {
		return "", err
	}
	if len(value) > MaxValue {
		return "", fmt.Errorf("%w: the value has %d bytes and may have %d", store.ErrTooLarge, len(value), MaxValue)
	}
	if err := l.db.checkUsage(ctx, l.team, len(value)); err != nil {
		return "", err
	}
	name := store.ValueName(value)
	if value == nil {
		value = []byte{} // not null
	}
	found, err := Collect(ctx, l.db, l.team, pgx.RowTo[bool], putQuery, l.track, name, value)
	if err == nil && len(found) == 0 {
		err = ErrNoTrack
	}
	return name, err
}

// Value implements store.Log.
func (l *Log) Value(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), l.checkOpen()); err != nil {
		return nil, err
	}
	if sum, err := hex.DecodeString(name); err != nil || len(sum) != len(store.Hash{}) {
		return nil, fmt.Errorf("%w: %q is not the name of a value", store.ErrNoValue, name)
	}
	found, err := Collect(ctx, l.db, l.team, pgx.RowTo[[]byte], `SELECT bytes FROM value WHERE track = $1 AND name = $2`, l.track, name)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%w: the track has no value %s", store.ErrNoValue, name)
	case store.ValueName(found[0]) != name:
		return nil, fmt.Errorf("%w: %s was changed", store.ErrNoValue, name)
	}
	return found[0], nil
}

// keptSnapshots is how many are kept: if the newest is unreadable, the one before is used.
const keptSnapshots = 2

const (
	saveQuery = `WITH of_track AS (SELECT team, id FROM track WHERE id = $1 AND chain = $2 FOR KEY SHARE)
		INSERT INTO snapshot (team, track, seq, chain, hash, phase, fold, state)
		SELECT t.team, t.id, $3, $2, $4, $5, $6, $7 FROM of_track t JOIN record r ON r.team = t.team AND r.track = t.id AND r.seq = $3
			AND r.hash = $4
		ON CONFLICT (team, track, seq) DO UPDATE SET fold = excluded.fold, state = excluded.state RETURNING true`

	dropQuery = `DELETE FROM snapshot WHERE track = $1 AND seq <
		(SELECT seq FROM snapshot WHERE track = $1 ORDER BY seq DESC OFFSET $2 - 1 LIMIT 1)`

	// snapshotQuery also returns the hash of the record that a snapshot pins, null if it is gone.
	snapshotQuery = `SELECT s.chain, s.seq, s.hash, s.phase, s.state, r.hash FROM snapshot s
		JOIN track t ON t.id = s.track AND t.chain = s.chain
		LEFT JOIN record r ON r.team = s.team AND r.track = s.track AND r.seq = s.seq
		WHERE s.track = $1 AND ($2 = 0 OR s.seq <= $2) AND s.fold = $3 ORDER BY s.seq DESC`
)

// SaveSnapshot implements store.Log.
func (l *Log) SaveSnapshot(ctx context.Context, s store.Snapshot) error {
	if err := l.checkOpen(); err != nil {
		return err
	}
	state, err := store.EncodeState(s.State)
	if err != nil {
		return err
	}
	saved, err := Collect(ctx, l.db, l.team, pgx.RowTo[bool], saveQuery, l.track, s.Head.Chain, s.Head.Seq, s.Head.Hash[:], s.Head.Phase,
		plan.FoldVersion, state)
	if err == nil && len(saved) == 0 {
		err = fmt.Errorf("a snapshot at record %d of another chain: %w", s.Head.Seq, store.ErrConflict)
	}
	if err != nil {
		return err
	}
	return l.db.Exec(ctx, l.team, dropQuery, l.track, keptSnapshots)
}

// kept is a row of snapshotQuery.
type kept struct {
	store.Head
	State  []byte
	Pinned []byte
}

// Snapshot implements store.Log.
func (l *Log) Snapshot(ctx context.Context, seq plan.Revision) (*store.Snapshot, error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	found, err := Collect(ctx, l.db, l.team, pgx.RowToStructByPos[kept], snapshotQuery, l.track, seq, plan.FoldVersion)
	if err != nil {
		return nil, err
	}
	for _, k := range found {
		if string(k.Pinned) != string(k.Hash[:]) {
			return nil, damaged(k.Seq)
		}
		if state, err := store.DecodeState(k.State); err == nil {
			return &store.Snapshot{Head: k.Head, State: state}, nil
		}
	}
	return nil, nil
}
