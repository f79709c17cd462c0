package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestKill: while PostgreSQL is killed again and again, nothing that three servers' appends acknowledged is lost or written twice.
func TestKill(t *testing.T) {
	server := postgrestest.Private(t)
	dsn := server.DSN("postgres")
	testenv.Check(t, postgres.Migrate(t.Context(), dsn))
	var group errgroup.Group
	var acknowledged atomic.Int64
	var keys sync.Map // the revision of each acknowledged key
	acknowledgements := make(chan struct{})
	stop := make(chan struct{})
	var db *postgres.DB
	var first *postgres.Log
	for i := range 3 {
		db = testenv.Must(postgres.Open(t.Context(), dsn, postgres.Options{Wait: time.Minute}))(t)
		defer db.Close()
		_, team, track := postgrestest.OpenTeam(t, dsn)
		log := db.Log(team, track)
		first = log
		group.Go(func() error {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return nil
				default:
				}
				key := fmt.Sprint(i, ".", n)
				seq, err := appendNext(store.WithKey(context.Background(), key), log)
				if err != nil {
					return fmt.Errorf("append %s: %w", key, err)
				}
				keys.Store(key, seq)
				acknowledged.Add(1)
				select {
				case acknowledgements <- struct{}{}:
				default: // nothing waits for one
				}
			}
		})
	}
	for range testenv.Count(2, 4, 25) {
		for range 20 {
			select {
			case <-acknowledgements:
			case <-t.Context().Done():
				t.Fatal("no progress")
			}
		}
		testenv.Check(t, server.Stop("immediate"))
		testenv.Check(t, server.Start())
	}
	close(stop)
	testenv.Check(t, group.Wait())
	records := 0
	for r, err := range first.Read(t.Context(), 0) {
		testenv.Check(t, err)
		records = int(r.Seq)
	}
	if n := int(acknowledged.Load()); n != records {
		t.Errorf("%d appends were acknowledged and %d records exist", n, records)
	}
	t.Logf("%d appends", records)
	keys.Range(func(key, seq any) bool {
		if got := seqOf(t, db, key.(string)); got != seq.(plan.Revision) {
			t.Errorf("%s was acknowledged as %d, and is %d", key, seq, got)
		}
		return true
	})
}

// appendNext appends at the head until that succeeds.
func appendNext(ctx context.Context, log store.Log) (plan.Revision, error) {
	unlock, err := log.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for {
		head, err := log.Head(ctx)
		if err != nil {
			return 0, err
		}
		head, err = log.Append(ctx, mark(head.Seq+1, 1))
		if !errors.Is(err, store.ErrConflict) {
			return head.Seq, err
		}
	}
}

// proxy forwards connections to PostgreSQL, and cuts those that carry a word.
type proxy struct {
	socket string

	cut     atomic.Pointer[cut]
	commits atomic.Int64 // answers that were cut off
}

// cut is for the next message that contains a word.
type cut struct {
	word     string
	answered bool // PostgreSQL does it, and the answer is dropped; otherwise the message itself is
}

// startProxy returns an address that leads through the proxy.
func startProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	dir, _, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
	own := t.TempDir()
	const name = ".s.PGSQL.5432"
	p := &proxy{socket: filepath.Join(dir, name)}
	listener := testenv.Must(net.Listen("unix", filepath.Join(own, name)))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	return p, strings.Replace(dsn, "host="+dir, "host="+own, 1)
}

func (p *proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.socket)
	if err != nil {
		return
	}
	defer server.Close()
	var drop atomic.Bool
	go func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || drop.Load() {
				if drop.Load() {
					p.commits.Add(1)
				}
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if c := p.cut.Load(); c != nil && bytes.Contains(buffer[:n], []byte(c.word)) && p.cut.CompareAndSwap(c, nil) {
			if !c.answered {
				return
			}
			drop.Store(true)
			_, _ = server.Write(buffer[:n])
			_, _ = io.Copy(io.Discard, client) // until the answer was dropped
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestLostAnswer: an append with a lost request or answer is written once, and its caller gets the result.
func TestLostAnswer(t *testing.T) {
	dsn := postgrestest.Start(t)
	p, through := startProxy(t, dsn)
	db, team, track := postgrestest.OpenTeam(t, through)
	log := db.Log(team, track)
	direct, _, _ := postgrestest.OpenTeam(t, dsn)
	fill(t, log, 2)
	for seq := plan.Revision(3); seq < 9; seq++ {
		word := fmt.Sprintf("note %d", seq)
		p.cut.Store(&cut{word: word, answered: seq%2 == 0})
		head, err := log.Append(t.Context(), mark(seq, 1))
		if err != nil || head.Seq != seq {
			t.Fatalf("append %d: %+v, %v", seq, head, err)
		}
		if p.cut.Load() != nil {
			t.Fatalf("the append of %d was not cut", seq)
		}
		if now := testenv.Must(direct.Log(team, track).Head(t.Context()))(t); now != head {
			t.Errorf("the append returned %+v, the head is %+v", head, now)
		}
	}
	if n := p.commits.Load(); n != 3 {
		t.Errorf("%d answers were lost, want 3", n)
	}
	// Another server's record in the place of a request that did not arrive is a conflict.
	p.cut.Store(&cut{word: "note 9"})
	testenv.Must(direct.Log(team, track).Append(t.Context(), mark(9, 2)))(t)
	if _, err := log.Append(t.Context(), mark(9, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an append behind another server's: %v", err)
	}
	// A purge is not repeated either.
	_, _, err := log.Since(t.Context(), log.Known())
	testenv.Check(t, err)
	p.cut.Store(&cut{word: "note 1\"", answered: true})
	head := testenv.Must(log.Purge(t.Context(), store.NewChain(), mark(1, 1)))(t)
	if now := testenv.Must(log.Head(t.Context()))(t); now != head || p.commits.Load() != 4 {
		t.Errorf("the purge returned %+v, the head is %+v after %d lost answers", head, now, p.commits.Load())
	}
}

// TestUnreachable: without a database a call ends with an error that says so, within its time.
func TestUnreachable(t *testing.T) {
	server := postgrestest.Private(t)
	testenv.Check(t, postgres.Migrate(t.Context(), server.DSN("postgres")))
	_, team, track := postgrestest.OpenTeam(t, server.DSN("postgres"))
	db := testenv.Must(postgres.Open(t.Context(), server.DSN("postgres"), postgres.Options{Wait: time.Second}))(t)
	defer db.Close()
	log := db.Log(team, track)
	fill(t, log, 1)
	testenv.Check(t, server.Stop("immediate"))
	for what, act := range map[string]func() error{
		"Head":   func() error { return second(log.Head(t.Context())) },
		"Append": func() error { return second(log.Append(t.Context(), mark(2, 1))) },
	} {
		began := time.Now()
		if err := act(); !errors.Is(err, store.ErrUnreachable) {
			t.Errorf("%s: %v", what, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", what, took)
		}
	}
	testenv.Check(t, server.Start())
	if head := testenv.Must(log.Append(t.Context(), mark(2, 1)))(t); head.Seq != 2 {
		t.Errorf("after the restart: %+v", head)
	}
}

// TestRowIsLocked: a server that has lost twice under the lock wins the third time, since the row's lock keeps the other one waiting.
func TestRowIsLocked(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	loser, winner := db.Log(team, track), other.Log(team, track)
	fill(t, winner, 1)
	unlock := testenv.Must(loser.Lock(t.Context()))(t)
	defer unlock()
	for range 2 {
		head := testenv.Must(loser.Head(t.Context()))(t)
		testenv.Must(winner.Append(t.Context(), mark(head.Seq+1, 1)))(t)
		if _, err := loser.Append(t.Context(), mark(head.Seq+1, 2)); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("got %v, want a conflict", err)
		}
	}
	refused := make(chan error, 1)
	go func() {
		_, err := winner.Append(context.Background(), mark(4, 1))
		refused <- err
	}()
	select {
	case err := <-refused:
		t.Fatalf("the row was not locked: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if head := testenv.Must(loser.Append(t.Context(), mark(4, 2)))(t); head.Seq != 4 {
		t.Errorf("the head is %+v", head)
	}
	if err := <-refused; !errors.Is(err, store.ErrConflict) {
		t.Errorf("the other server: %v, want a conflict", err)
	}
	unlock()
	testenv.Must(winner.Append(t.Context(), mark(5, 1)))(t) // nothing is locked any more
}

// TestRowLockIsReleased: a lock that is given back without an append releases the row.
func TestRowLockIsReleased(t *testing.T) {
	_, log := open(t)
	fill(t, log, 1)
	unlock := testenv.Must(log.Lock(t.Context()))(t)
	for range 2 {
		if _, err := log.Append(t.Context(), mark(9, 1)); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("got %v, want a conflict", err)
		}
	}
	unlock()
	testenv.Must(log.Append(t.Context(), mark(2, 1)))(t)
}

// TestRowIsAwaitedAlone: while an append waits for the lock of the row, other callers use the handle.
func TestRowIsAwaitedAlone(t *testing.T) {
	db, log := open(t)
	fill(t, log, 1)
	defer testenv.Must(log.Lock(t.Context()))(t)()
	other := testenv.Must(db.Pool().Begin(t.Context()))(t)
	testenv.Must(other.Exec(t.Context(), `SELECT FROM track FOR UPDATE`))(t)
	ended := make(chan error, 1)
	go func() {
		var err error
		for range 2 {
			_, err = log.Append(context.Background(), mark(9, 1))
		}
		ended <- err
	}()
	waiting := func() (is bool) {
		testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&is))
		return is
	}
	for !waiting() {
	}
	testenv.Must(log.Lines(t.Context(), 0, 1000))(t)
	if !waiting() {
		t.Error("a read waited for the lock of the row")
	}
	testenv.Check(t, other.Rollback(t.Context()))
	if err := <-ended; !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestNotices: another server's append is noticed by LISTEN, long before the next poll; by a watcher of the log and one of the team.
func TestNotices(t *testing.T) {
	dsn := postgrestest.Start(t)
	db, team, track := postgrestest.OpenTeam(t, dsn)
	other, _, _ := postgrestest.OpenTeam(t, dsn)
	log, grown := watch(t, db, team, track)
	all := testenv.Must(db.WatchTeam(t.Context(), team))(t)
	fast := 0
	const rounds = 10
	for seq := plan.Revision(1); seq <= rounds; seq++ {
		began := time.Now()
		testenv.Must(other.Log(team, track).Append(t.Context(), mark(seq, 1)))(t)
		await(t, grown)
		if tracks, ok := <-all; !ok || len(tracks) != 1 || tracks[0] != track {
			t.Errorf("a watcher of the team received %v, %v", tracks, ok)
		}
		if time.Since(began) < 500*time.Millisecond {
			fast++
		}
	}
	if fast < rounds/2 {
		t.Errorf("only %d of %d were noticed within half a second", fast, rounds)
	}
	testenv.Check(t, log.Close())
	db.Close()
	for range all { // it ends
	}
}

// TestSilentListen: an append without a notice is found by polling, before 3 seconds are over; so is one after LISTEN's connection was
// lost.
func TestSilentListen(t *testing.T) {
	db, log := open(t)
	fill(t, log, 1)
	var team, track int64
	testenv.Check(t, db.Pool().QueryRow(t.Context(), `SELECT team, id FROM track`).Scan(&team, &track))
	_, grown := watch(t, db, team, track)
	await(t, grown) // the first poll reports everything
	silently := func(seq plan.Revision) {
		t.Helper()
		line := testenv.Must(store.EncodeRecord(mark(seq, 1)))(t)
		execute(t, db, `SELECT append_record($1, $2, (SELECT chain FROM track), $3, '', false, $4, $5, NULL, NULL, NULL, NULL, NULL)`,
			team, track, seq, line, fmt.Sprint("silent", seq))
		began := time.Now()
		await(t, grown)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("record %d was noticed after %v", seq, took)
		}
	}
	silently(2)
	execute(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'
		AND datname = current_database()`)
	silently(3)
}

// TestEmptyTracksAreNotNoticed: a poll reports the tracks with records alone. A receiver would not find the others.
func TestEmptyTracksAreNotNoticed(t *testing.T) {
	db, team, empty := postgrestest.OpenTeam(t, postgrestest.Start(t)) // the first row
	track := testenv.Must(db.EnsureTrack(t.Context(), team, "shop", "second"))(t)
	fill(t, db.Log(team, track), 1)
	var noticed []int64
	for grown := testenv.Must(db.WatchTeam(t.Context(), team))(t); !slices.Contains(noticed, track); {
		noticed = append(noticed, <-grown...)
	}
	if slices.Contains(noticed, empty) {
		t.Error("an empty track was noticed")
	}
}

func watch(t *testing.T, db *postgres.DB, team, track int64) (*postgres.Log, <-chan struct{}) {
	t.Helper()
	log := db.Log(team, track)
	return log, testenv.Must(log.Watch(t.Context()))(t)
}

func await(t *testing.T, grown <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-grown:
		if !ok {
			t.Fatal("the watching ended")
		}
	case <-time.After(time.Minute):
		t.Fatal("the growth was not noticed")
	}
}

// TestRestoredBackup: a log restored from a backup ends at the record of that time, reads as before, and takes changes.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	server := postgrestest.Private(t)
	testenv.Check(t, postgres.Migrate(t.Context(), server.DSN("postgres")))
	db, team, track := postgrestest.OpenTeam(t, server.DSN("postgres"))
	log := db.Log(team, track)
	saved := fill(t, log, 40)
	value := testenv.Must(log.PutValue(t.Context(), []byte("a long output")))(t)
	dsn := server.Restore(t, "postgres")
	lost := testenv.Must(log.Append(t.Context(), mark(41, 1)))(t)

	restored, _, _ := postgrestest.OpenTeam(t, dsn)
	log = restored.Log(team, track)
	head, records, err := log.Since(t.Context(), store.Head{Chain: saved.Chain})
	if err != nil || head != saved || len(records) != 0 && len(records) != 40 {
		t.Fatalf("the restored log has %d records and ends at %v, not at %v: %v", len(records), head, saved, err)
	}
	if got := testenv.Must(log.Value(t.Context(), value))(t); string(got) != "a long output" {
		t.Errorf("the value is %q", got)
	}
	if head = testenv.Must(log.Append(t.Context(), mark(41, 2)))(t); head.Seq != 41 || head.Hash == lost.Hash {
		t.Errorf("the next record is %v", head)
	}
	testenv.Must(log.Append(t.Context(), mark(42, 2)))(t)
	if _, _, err := log.Since(t.Context(), lost); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a copy with the lost record was continued: %v", err)
	}
}
