package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

// mark returns record seq, which sets the status of a step and adds a note.
func mark(seq plan.Revision, step plan.StepID) plan.Record {
	at := time.Date(2026, time.May, 4, 9, 0, int(seq), 0, time.UTC)
	return plan.Record{Seq: seq, Action: "mark_step", Actor: plan.Actor{Kind: plan.Agent, Name: "agent"}, Time: at,
		Phase: plan.PhaseInactive, Events: []plan.Event{plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq),
			By: "agent", At: at}}}
}

// open returns a handle on the log of a new database's track.
func open(t *testing.T) (*postgres.DB, *postgres.Log) {
	t.Helper()
	db, team, track := postgrestest.OpenTeam(t, postgrestest.Start(t))
	return db, db.Log(team, track)
}

// fill appends records up to seq n.
func fill(t *testing.T, log store.Log, n plan.Revision) (head store.Head) {
	t.Helper()
	for seq := plan.Revision(1); seq <= n; seq++ {
		head = testenv.Must(log.Append(t.Context(), mark(seq, 1)))(t)
	}
	return head
}

// execute changes a database with the rights of its owner.
func execute(t *testing.T, db *postgres.DB, statement string, args ...any) {
	t.Helper()
	testenv.Must(db.Pool().Exec(t.Context(), statement, args...))(t)
}

func TestOpenRefuses(t *testing.T) {
	refused := func(dsn, want string) {
		t.Helper()
		db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
		if err == nil {
			db.Close()
			t.Errorf("opened, want an error with %q", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	refused("port=x", "not valid")
	refused(postgrestest.Empty(t), "planloop-server migrate")
	refused(postgrestest.Start(t)+" options='-c synchronous_commit=off'", "synchronous_commit=off")
	dsn := postgrestest.Start(t)
	db, _, _ := postgrestest.OpenTeam(t, dsn)
	execute(t, db, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	refused(dsn, "update planloop-server")
}

// TestReplica: a replica is refused, also as a later connection would find it.
func TestReplica(t *testing.T) {
	primary := postgrestest.Private(t)
	testenv.Check(t, postgres.Migrate(t.Context(), primary.DSN("postgres")))
	replica := primary.Replica(t)
	if _, err := postgres.Open(t.Context(), replica.DSN("postgres"), postgres.Options{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("opened a replica: %v", err)
	}
	if err := postgres.Migrate(t.Context(), replica.DSN("postgres")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("migrated a replica: %v", err)
	}
}

// TestMigrate: several migrations at once make one schema, and a further one changes nothing.
func TestMigrate(t *testing.T) {
	dsn := postgrestest.Empty(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return postgres.Migrate(t.Context(), dsn) })
	}
	testenv.Check(t, group.Wait())
	testenv.Check(t, postgres.Migrate(t.Context(), dsn))
	db, team, track := postgrestest.OpenTeam(t, dsn)
	fill(t, db.Log(team, track), 2)
}

// TestTeamsAreApart: a track's number is worthless with another team, and a team's transaction sees nothing else and changes no record.
func TestTeamsAreApart(t *testing.T) {
	db, log := open(t)
	fill(t, log, 2)
	name := testenv.Must(log.PutValue(t.Context(), []byte("value")))(t)
	var team, own, foreign int64
	testenv.Check(t, db.Pool().QueryRow(t.Context(), `INSERT INTO team (name) VALUES ('other') RETURNING id`).Scan(&team))
	testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT id, team FROM track`).Scan(&foreign, &own))
	other := db.Log(team, foreign)
	for what, err := range map[string]error{
		"Append": second(other.Append(t.Context(), mark(3, 1))), "Head": second(other.Head(t.Context())),
		"Value": second(other.Value(t.Context(), name)), "PutValue": second(other.PutValue(t.Context(), []byte("theirs"))),
		"Purge": second(other.Purge(t.Context(), store.NewChain(), mark(1, 1))),
	} {
		if err == nil {
			t.Errorf("%s reached another team's track", what)
		}
	}
	for _, statement := range []string{`SELECT 1 FROM record`, `SELECT 1 FROM track`, `SELECT 1 FROM value`, `SELECT 1 FROM workspace`} {
		testenv.Check(t, db.InTeam(t.Context(), team, func(tx pgx.Tx) error {
			if tag, err := tx.Exec(t.Context(), statement); err != nil || tag.RowsAffected() != 0 {
				t.Errorf("%s: %v, %v", statement, tag, err)
			}
			return nil
		}))
	}
	for _, statement := range []string{`UPDATE record SET line = ''`, `DELETE FROM record`, `UPDATE track SET seq = 0`, `DELETE FROM track`,
		`INSERT INTO record SELECT team, track, 9, phase, hash, line, 'k' FROM record`, `DELETE FROM value`, `TRUNCATE record`,
		fmt.Sprintf(`SELECT delete_log(%d, %d)`, own, foreign), fmt.Sprintf(`INSERT INTO workspace (team, name) VALUES (%d, 'x')`, team)} {
		err := db.InTeam(t.Context(), own, func(tx pgx.Tx) error { return second(tx.Exec(t.Context(), statement)) })
		if failed, ok := errors.AsType[*pgconn.PgError](err); !ok || failed.Code != "42501" {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if head := testenv.Must(log.Head(t.Context()))(t); head.Seq != 2 {
		t.Errorf("the head is %+v", head)
	}
}

func second[T any](_ T, err error) error { return err }

func TestDeleteTeam(t *testing.T) {
	db, log := open(t)
	fill(t, log, 2)
	testenv.Must(log.PutValue(t.Context(), []byte("value")))(t)
	var team int64
	testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT id FROM team`).Scan(&team))
	testenv.Check(t, db.InTeam(t.Context(), team, func(tx pgx.Tx) error {
		return second(tx.Exec(t.Context(), `SELECT delete_team()`))
	}))
	for _, table := range []string{"team", "workspace", "track", "record", "value", "snapshot"} {
		n := 0
		testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n))
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

func TestLimits(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	log := db.Log(team, track)
	if _, err := log.PutValue(t.Context(), make([]byte, postgres.MaxValue+1)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large value: %v", err)
	}
	testenv.Must(log.PutValue(t.Context(), make([]byte, postgres.MaxValue)))(t)
	large := mark(1, 1)
	large.Action = strings.Repeat("x", postgres.MaxRecord)
	if _, err := log.Append(t.Context(), large); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large record: %v", err)
	}
	fill(t, log, 1)
	small := testenv.Must(postgres.Open(t.Context(), dsn, postgres.Options{TeamBytes: postgres.MaxValue}))(t)
	defer small.Close()
	full := small.Log(team, track)
	if _, err := full.Append(t.Context(), mark(2, 1)); !errors.Is(err, store.ErrFull) {
		t.Errorf("an append over the team's limit: %v", err)
	}
	if _, err := full.PutValue(t.Context(), []byte("v")); !errors.Is(err, store.ErrFull) {
		t.Errorf("a value over the team's limit: %v", err)
	}
}

// TestPurgeDeletes: of the purged chain, no row is left.
func TestPurgeDeletes(t *testing.T) {
	db, log := open(t)
	head := fill(t, log, 5)
	testenv.Must(log.PutValue(t.Context(), []byte("secret")))(t)
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head}))
	testenv.Must(log.Purge(t.Context(), store.NewChain(), mark(1, 2)))(t)
	var records, values, snapshots int
	testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT (SELECT count(*) FROM record), (SELECT count(*) FROM value),
		(SELECT count(*) FROM snapshot)`).Scan(&records, &values, &snapshots))
	if records != 1 || values != 0 || snapshots != 0 {
		t.Errorf("%d records, %d values and %d snapshots are left", records, values, snapshots)
	}
}

// TestPurgeLosesNoChange: a purge by one server does not delete a record that it has not read.
func TestPurgeLosesNoChange(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	log := db.Log(team, track)
	head := fill(t, log, 2)
	testenv.Must(other.Log(team, track).Append(t.Context(), mark(3, 1)))(t)
	if _, err := log.Purge(t.Context(), store.NewChain(), mark(1, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a purge without the last record: %v", err)
	}
	if _, _, err := log.Since(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	if head := testenv.Must(log.Purge(t.Context(), store.NewChain(), mark(1, 1)))(t); head.Seq != 1 {
		t.Errorf("the purged log ends at %d", head.Seq)
	}
}

// seqOf returns the number of the record with a key, 0 without one.
func seqOf(t *testing.T, db *postgres.DB, key string) (seq plan.Revision) {
	t.Helper()
	testenv.Check(t, db.Pool().QueryRow(t.Context(), "SELECT coalesce((SELECT seq FROM record WHERE key = $1), 0)", key).Scan(&seq))
	return seq
}

// TestKeys: a key is kept with its record, and accepted once by any server, until a purge.
func TestKeys(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	log := db.Log(team, track)
	fill(t, log, 1)
	keyed := store.WithKey(t.Context(), "k1")
	testenv.Must(log.Append(keyed, mark(2, 1)))(t)
	if seq, none := seqOf(t, db, "k1"), seqOf(t, db, "k2"); seq != 2 || none != 0 {
		t.Errorf("the keys are those of %d and %d", seq, none)
	}
	for _, handle := range []*postgres.Log{log, other.Log(team, track)} {
		if _, err := handle.Append(keyed, mark(3, 1)); !errors.Is(err, store.ErrRepeated) {
			t.Errorf("a second append with the key: %v", err)
		}
	}
	testenv.Must(log.Purge(store.WithKey(t.Context(), "k3"), store.NewChain(), mark(1, 1)))(t)
	if seq, first := seqOf(t, db, "k1"), seqOf(t, db, "k3"); seq != 0 || first != 1 {
		t.Errorf("after a purge the keys are those of %d and %d", seq, first)
	}
}

// TestDamage: a changed row is found by each way to read it.
func TestDamage(t *testing.T) {
	db, log := open(t)
	known := fill(t, log, 2)
	head := testenv.Must(log.Append(t.Context(), mark(3, 1)))(t)
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head}))
	execute(t, db, `UPDATE record SET line = convert_to(replace(convert_from(line, 'UTF8'), 'note 3', 'note 4'), 'UTF8')`)
	if _, _, err := log.Since(t.Context(), known); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("since: %v", err)
	}
	for _, after := range []plan.Revision{0, 2} {
		var last error
		for _, err := range log.Read(t.Context(), after) {
			last = err
		}
		if !errors.Is(last, store.ErrDamaged) {
			t.Errorf("read after %d: %v", after, last)
		}
	}
	execute(t, db, `UPDATE record SET hash = decode(repeat('11', 32), 'hex') WHERE seq = 3`)
	if _, err := log.Snapshot(t.Context(), 0); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("snapshot: %v", err)
	}
}

// TestLines: pages of raw lines lead from any record to the head.
func TestLines(t *testing.T) {
	_, log := open(t)
	if is, err := log.Lines(t.Context(), 0, 1000); is.Head != (store.Head{}) || is.Lines != nil || is.More || err != nil {
		t.Errorf("of an empty log: %+v, %v", is, err)
	}
	head := fill(t, log, 600)
	hash, pages := store.Hash{}, 0
	for after, more := plan.Revision(0), true; more; pages++ {
		is, err := log.Lines(t.Context(), after, 20_000)
		if err != nil || is.Head != head || len(is.Lines) == 0 {
			t.Fatalf("after %d: head %+v, %d lines, %v", after, is.Head, len(is.Lines), err)
		}
		for _, line := range is.Lines {
			hash = hash.Next([]byte(line))
		}
		after, more = after+plan.Revision(len(is.Lines)), is.More
	}
	if hash != head.Hash || pages < 5 {
		t.Errorf("%d pages end with %v, want %v", pages, hash, head.Hash)
	}
}

// TestRely: an append or a purge with conditions is refused once one of them has ended, and Since does not read a log that it has read,
// until an append conflicts.
func TestRely(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	log, elsewhere := db.Log(team, track), other.Log(team, track)
	main := db.Log(team, testenv.Must(db.EnsureTrack(t.Context(), team, "shop", "second"))(t))
	fill(t, log, 1)
	testenv.Check(t, since(main, store.Head{})) // which is empty
	is := testenv.Must(log.Lines(t.Context(), 0, 1000))(t)
	rely := func(rules int64, until time.Duration) context.Context {
		return postgres.Rely(t.Context(), &postgres.Relied{Rules: rules, Until: time.Now().Add(until), Main: main})
	}
	for name, ctx := range map[string]context.Context{"other rules": rely(is.Rules+1, time.Hour), "an end": rely(is.Rules, -time.Second)} {
		if _, err := log.Append(ctx, mark(2, 1)); !errors.Is(err, postgres.ErrOld) {
			t.Errorf("with %s: %v", name, err)
		}
		if _, err := log.Purge(ctx, store.NewChain(), mark(1, 1)); !errors.Is(err, postgres.ErrOld) {
			t.Errorf("a purge with %s: %v", name, err)
		}
	}
	head := testenv.Must(log.Append(rely(is.Rules, time.Hour), mark(2, 1)))(t)
	before := rely(is.Rules, time.Hour)
	fill(t, main, 1)
	if _, err := log.Append(before, mark(3, 1)); !errors.Is(err, postgres.ErrOld) {
		t.Errorf("after the other log has grown: %v", err)
	}
	execute(t, db, `UPDATE team SET format = format + 1`)
	if _, err := log.Append(rely(is.Rules, time.Hour), mark(3, 1)); !errors.Is(err, postgres.ErrOld) {
		t.Errorf("after the rules have changed: %v", err)
	}
	testenv.Must(elsewhere.Append(t.Context(), mark(3, 1)))(t)
	now := rely(is.Rules+1, time.Hour)
	if same, _, err := log.Since(now, head); same != head || err != nil {
		t.Errorf("the log was read again: %+v, %v", same, err)
	}
	if _, err := log.Append(now, mark(3, 2)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("at another end: %v", err)
	}
	if grown, records, err := log.Since(now, head); grown.Seq != 3 || len(records) != 1 || err != nil {
		t.Errorf("after the conflict: %+v, %d records, %v", grown, len(records), err)
	}
	testenv.Must(log.Append(now, mark(4, 1)))(t)
	testenv.Must(log.Purge(now, store.NewChain(), mark(1, 1)))(t)
}

// TestBoundFunctions: a transaction that has set one team reaches no other team through the functions with their owner's rights.
func TestBoundFunctions(t *testing.T) {
	db, team, track := postgrestest.OpenTeam(t, postgrestest.Start(t))
	head := fill(t, db.Log(team, track), 1)
	execute(t, db, `INSERT INTO notice (team, track, seq) SELECT team, id, 1 FROM track`)
	for _, c := range []struct {
		as   int64
		want string
	}{{team + 1, "0 f 0"}, {team, "1 t 1"}} {
		var got string
		testenv.Check(t, db.InTeam(t.Context(), c.as, func(tx pgx.Tx) error {
			return tx.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT count(*) FROM heads(ARRAY[$1::bigint])),
				append_record($1, $2, $3, 2, '', false, 'line', 'key', NULL, NULL, NULL, NULL, NULL) IS NOT NULL,
				(SELECT count(*) FROM claim_notice()))`, team, track, head.Chain).Scan(&got)
		}))
		if got != c.want {
			t.Errorf("team %d: heads, append and notices are %q, want %q", c.as, got, c.want)
		}
	}
}

func since(log store.Log, head store.Head) error {
	_, _, err := log.Since(context.Background(), head)
	return err
}

// TestServingRole: a role that is only a member of planloop_server can serve; without the membership it is told what it lacks.
func TestServingRole(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	t.Cleanup(func() { _, _ = db.Pool().Exec(context.Background(), `DROP ROLE serving`) })
	execute(t, db, `CREATE ROLE serving LOGIN`)
	as := strings.Replace(dsn, "user=planloop", "user=serving", 1)
	if _, err := postgres.Open(t.Context(), as, postgres.Options{}); !errors.Is(err, store.ErrReadOnly) ||
		!strings.Contains(err.Error(), "grant it planloop_server") {
		t.Errorf("opened without the membership: %v", err)
	}
	execute(t, db, `GRANT planloop_server TO serving`)
	serving := testenv.Must(postgres.Open(t.Context(), as, postgres.Options{}))(t)
	defer serving.Close()
	log := serving.Log(team, track)
	testenv.Must(log.Watch(t.Context()))(t)
	head := fill(t, log, 3)
	testenv.Must(log.PutValue(t.Context(), []byte("value")))(t)
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head}))
	testenv.Must(log.Purge(t.Context(), store.NewChain(), mark(1, 1)))(t)
	testenv.Must(serving.EnsureTrack(t.Context(), team, "shop", "second"))(t)
	for _, statement := range []string{`DELETE FROM record`, `UPDATE record SET phase = ''`,
		`ALTER TABLE record DISABLE ROW LEVEL SECURITY`} {
		if _, err := serving.Pool().Exec(t.Context(), statement); err == nil {
			t.Errorf("the serving role may %s", statement)
		}
	}
}

// TestAppendFollowsWhatWasDecidedOn: an append does not follow a chain that its user has not read, although others have read it with the
// same handle.
func TestAppendFollowsWhatWasDecidedOn(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	for name, read := range map[string]func(*postgres.Log) error{
		"lines": func(log *postgres.Log) error { return second(log.Lines(t.Context(), 0, 1000)) },
		"head":  func(log *postgres.Log) error { return second(log.Head(t.Context())) },
		"records": func(log *postgres.Log) (err error) {
			for _, failed := range log.Read(t.Context(), 0) {
				err = errors.Join(err, failed)
			}
			return err
		},
	} {
		log, elsewhere := db.Log(team, track), other.Log(team, track)
		head := testenv.Must(elsewhere.Purge(t.Context(), store.NewChain(), mark(1, 1)))(t)
		testenv.Check(t, since(log, store.Head{}))
		testenv.Must(elsewhere.Purge(t.Context(), store.NewChain(), mark(1, 2)))(t)
		testenv.Check(t, read(log))
		if _, err := log.Append(t.Context(), mark(2, 1)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("after the %s: an append that was decided on another chain: %v", name, err)
		}
		testenv.Check(t, since(log, head))
		testenv.Must(log.Append(t.Context(), mark(2, 1)))(t)
	}
}
