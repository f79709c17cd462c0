// Package postgres keeps the logs of teams' tracks in a PostgreSQL database that several servers share. It must not know the meaning of a
// record beyond its sequence number and phase.
//
// The row of a track is the head of its log. An append compares and sets that row and adds a record, in one statement. Every transaction
// acts as the role planloop_server and sets its team; row-level security hides all others.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/planloop/planloop/internal/store"
)

// Limits of a team, in bytes.
const (
	MaxValue     = 4 << 20
	MaxRecord    = 1 << 20
	MaxTeamBytes = 10 << 30 // records and values; checked against a sum that is up to usageAge old
)

// Options of a DB. The zero value of a field means its default.
type Options struct {
	// Wait bounds how long a call waits for a lock or for a database that restarts; default 10 seconds.
	Wait time.Duration

	// TeamBytes bounds a team's records and values; default MaxTeamBytes.
	TeamBytes int64

	// Logger receives the failures that no caller sees; default none.
	Logger *slog.Logger
}

// DB is a database of teams. All methods may be called from several goroutines.
type DB struct {
	pool *pgxpool.Pool
	opts Options

	rowLocks chan struct{} // a token for each connection that may hold a row's lock while it waits for another one
	feed     *feed

	mu    sync.Mutex
	turns map[int64]chan struct{} // the locks of tracks
	usage map[int64]usage         // by team
}

const (
	leastConns   = 8
	oldestServer = 140000 // of PostgreSQL: functions with a body in standard SQL
)

const defaultWait = 10 * time.Second

// Open connects to the database. It refuses a replica, a server that acknowledges commits before they are on disk, and a schema of another
// version; it never migrates.
func Open(ctx context.Context, dsn string, opts Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the address of the database is not valid: %w", err)
	}
	opts.Wait = cmp.Or(opts.Wait, defaultWait)
	opts.TeamBytes = cmp.Or(opts.TeamBytes, MaxTeamBytes)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	config.MaxConns = max(config.MaxConns, leastConns)
	config.AfterConnect = checkServer
	config.PingTimeout = pollEvery // of a connection that was idle; a dead one may be silent
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, pollEvery)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain(err)
	}
	db := &DB{pool: pool, opts: opts, turns: map[int64]chan struct{}{}, usage: map[int64]usage{},
		rowLocks: make(chan struct{}, config.MaxConns/2)}
	if err := checkSchema(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	db.feed = startFeed(db)
	return db, nil
}

// checkServer refuses a server that would lose acknowledged records. Every new connection asks, since a name may lead to another server
// later.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var replica bool
	var commit string
	var version int
	err := conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), current_setting('synchronous_commit'),
		current_setting('server_version_num')::int`).Scan(&replica, &commit, &version)
	if err != nil {
		return err
	}
	switch {
	case version < oldestServer:
		return errors.New("the database server is older than PostgreSQL 14; update it")
	case replica:
		return fmt.Errorf("%w: the database is a replica; use the address of the primary", store.ErrReadOnly)
	case commit == "off":
		return errors.New("the database has synchronous_commit=off and may lose acknowledged changes; set it to on")
	}
	return nil
}

// Pool returns the pool of connections. Its transactions have no team and the rights of the role that connects; InTeam is for a team's
// rows.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close ends all watching and closes the connections.
func (db *DB) Close() {
	db.feed.close()
	db.pool.Close()
}

// enterQuery makes the current transaction act as the serving role for one team.
const enterQuery = `SELECT set_config('role', 'planloop_server', true), set_config('planloop.team', $1, true)`

// InTeam calls f within a transaction that acts as the serving role for one team, for which other teams' rows do not exist, and commits it
// if f returns nil.
func (db *DB) InTeam(ctx context.Context, team int64, f func(pgx.Tx) error) error {
	begin := "BEGIN; " + strings.Replace(enterQuery, "$1", fmt.Sprintf("'%d'", team), 1)
	return explain(pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: begin}, f))
}

// EnsureTrack returns the id of a track of a team's workspace and creates both if needed.
func (db *DB) EnsureTrack(ctx context.Context, team int64, workspace, name string) (id int64, err error) {
	if err = db.Exec(ctx, team, `INSERT INTO workspace (team, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`, team, workspace); err != nil {
		return 0, err
	}
	if err = db.Exec(ctx, team, `INSERT INTO track (team, workspace, name, chain) SELECT team, id, $3, $4 FROM workspace
		WHERE team = $1 AND name = $2 ON CONFLICT DO NOTHING`, team, workspace, name, store.NewChain()); err != nil {
		return 0, err
	}
	return db.FindTrack(ctx, team, workspace, name)
}

// FindTrack returns the id of a track of a team's workspace, or ErrNoTrack.
func (db *DB) FindTrack(ctx context.Context, team int64, workspace, name string) (id int64, err error) {
	found, err := Collect(ctx, db, team, pgx.RowTo[int64], `SELECT t.id FROM track t JOIN workspace w ON w.id = t.workspace
		WHERE w.team = $1 AND w.name = $2 AND t.name = $3`, team, workspace, name)
	if err != nil || len(found) == 0 {
		return 0, cmp.Or(err, ErrNoTrack)
	}
	return found[0], nil
}

// ErrNoTrack means that a track does not exist, or is another team's.
var ErrNoTrack = errors.New("the team has no such track")
