package store_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// engine is an implementation under test.
type engine struct {
	name string

	// make makes a place for a log and returns a function that opens a handle on it: a new one at
	// each call, as another process would have, or the same one if a log lives in one process
	// alone.
	make func(t *testing.T) (open func() store.Log)

	// weakLock says that the lock excludes only handles of one process, and that open gives those of several.
	weakLock bool
}

// engines lists the implementations of store.Log. Each must pass every test below.
func engines() []engine {
	return []engine{
		{name: "memory", make: func(*testing.T) func() store.Log {
			log := store.NewMemory()
			return func() store.Log { return log }
		}},
		{name: "postgres", make: func(t *testing.T) func() store.Log { return servers(t, 1) }},
		{name: "postgres of two servers", weakLock: true, make: func(t *testing.T) func() store.Log { return servers(t, 2) }},
		{name: "sqlite", make: func(t *testing.T) func() store.Log {
			dir := filepath.Join(t.TempDir(), "state", "log")
			return func() store.Log { return sqlite.New(dir, sqlite.Options{}) }
		}},
	}
}

// servers opens handles on a log of a database in turn, as each of n servers does.
func servers(t *testing.T, n int) func() store.Log {
	dsn := postgrestest.Start(t)
	var all []*postgres.DB
	var team, track int64
	for range n {
		var db *postgres.DB
		db, team, track = postgrestest.OpenTeam(t, dsn)
		all = append(all, db)
	}
	opened := 0
	return func() store.Log {
		opened++
		return all[opened%n].Log(team, track)
	}
}

func TestContract(t *testing.T) {
	contract := []struct {
		name string
		test func(*testing.T, opener)
	}{
		{"Empty", testEmpty},
		{"AppendReadHead", testAppendReadHead},
		{"Conflict", testConflict},
		{"ReadFrom", testReadFrom},
		{"Since", testSince},
		{"Concurrent", testConcurrent},
		{"Linearizable", testLinearizable},
		{"Snapshots", testSnapshots},
		{"SnapshotOfAnotherChain", testSnapshotOfAnotherChain},
		{"Watch", testWatch},
		{"WatchEnds", testWatchEnds},
		{"NoLostWakeUp", testNoLostWakeUp},
		{"Purge", testPurge},
		{"PurgeIsNoticed", testPurgeIsNoticed},
		{"Values", testValues},
		{"LockExcludes", testLockExcludes},
		{"LockIsBounded", testLockIsBounded},
		{"AppendUnderLock", testAppendUnderLock},
		{"Close", testClose},
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			for _, c := range contract {
				t.Run(c.name, func(t *testing.T) {
					if e.weakLock && strings.HasPrefix(c.name, "Lock") {
						t.Skip("the lock excludes only handles of one server")
					}
					c.test(t, closing(t, e.make(t)))
				})
			}
		})
	}
}

// testValues: a value is found by its name from any handle, until the history is purged.
func testValues(t *testing.T, open opener) {
	log, other := open(), open()
	mustAppend(t, log, setUp(1))
	value := []byte(`"` + strings.Repeat("x", 100_000) + `"`)
	name, err := log.PutValue(t.Context(), value)
	again, errAgain := other.PutValue(t.Context(), value)
	if err != nil || errAgain != nil || name != again || name != store.ValueName(value) {
		t.Fatalf("put: %q, %v; again: %q, %v", name, err, again, errAgain)
	}
	if got, err := other.Value(t.Context(), name); err != nil || !bytes.Equal(got, value) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	for _, none := range []string{"", "..", "../plan.db", store.ValueName(nil), strings.ToUpper(name) + "/"} {
		if _, err := log.Value(t.Context(), none); !errors.Is(err, store.ErrNoValue) {
			t.Errorf("a value called %q: %v", none, err)
		}
	}
	testenv.Must(log.Purge(t.Context(), store.NewChain(), setUp(1)))(t)
	if _, err := other.Value(t.Context(), name); !errors.Is(err, store.ErrNoValue) {
		t.Errorf("after a purge: %v", err)
	}
}

// opener opens a handle on the log of one test.
type opener func() store.Log

// closing closes the opened logs when the test ends.
func closing(t *testing.T, open opener) opener {
	return func() store.Log {
		log := open()
		t.Cleanup(func() { _ = log.Close() })
		return log
	}
}

// patience is how long a test waits for an expected event.
const patience = 2 * time.Minute

func testEmpty(t *testing.T, open opener) {
	log := open()
	if head, glance := mustHead(t, log), mustGlance(t, log); head != (store.Head{}) || glance != head {
		t.Errorf("head of an empty log: %+v, at a glance %+v", head, glance)
	}
	if records := mustRead(t, log, 0); len(records) != 0 {
		t.Errorf("records of an empty log: %v", records)
	}
	if s, err := log.Snapshot(t.Context(), 0); s != nil || err != nil {
		t.Errorf("snapshot of an empty log: %v, %v", s, err)
	}
}

func testAppendReadHead(t *testing.T, open opener) {
	log := open()
	want := []plan.Record{setUp(3), mark(2, 1), mark(3, 2)}
	want[2].Phase = plan.PhaseExecuting
	var heads []store.Head
	for _, r := range want {
		head := mustAppend(t, log, r)
		if got := mustHead(t, log); got != head {
			t.Errorf("head %+v after an append that returned %+v", got, head)
		}
		heads = append(heads, head)
	}
	for i, h := range heads {
		if h.Seq != plan.Revision(i+1) || h.Chain == "" || h.Chain != heads[0].Chain || h.Phase != want[i].Phase {
			t.Errorf("head %d: %+v", i+1, h)
		}
	}
	if heads[0].Hash == heads[1].Hash || heads[0].Hash == (store.Hash{}) {
		t.Errorf("hashes %v, %v", heads[0].Hash, heads[1].Hash)
	}
	second := open()
	if got := mustGlance(t, second); got != heads[2] {
		t.Errorf("at a glance another handle's head is %+v, want %+v", got, heads[2])
	}
	if got := mustHead(t, second); got != heads[2] {
		t.Errorf("another handle's head %+v, want %+v", got, heads[2])
	}
	diffRecords(t, want, mustRead(t, second, 0))
}

func testConflict(t *testing.T, open opener) {
	log := open()
	refuse := func(r plan.Record) {
		t.Helper()
		if _, err := log.Append(t.Context(), r); !errors.Is(err, store.ErrConflict) {
			t.Errorf("append of %d: %v, want ErrConflict", r.Seq, err)
		}
	}
	refuse(mark(2, 1))
	refuse(mark(0, 1))
	head := mustAppend(t, log, setUp(3))
	refuse(setUp(3))
	refuse(mark(3, 1))
	refuse(mark(-1, 1))
	if got := mustHead(t, log); got != head {
		t.Errorf("head %+v after refusals, want %+v", got, head)
	}
	other := open()
	mustAppend(t, other, mark(2, 1))
	refuse(mark(2, 2))
	mustAppend(t, log, mark(3, 2))
	diffRecords(t, []plan.Record{setUp(3), mark(2, 1), mark(3, 2)}, mustRead(t, other, 0))
}

func testReadFrom(t *testing.T, open opener) {
	log := open()
	fill(t, log, 10)
	for _, after := range []plan.Revision{0, 1, 9, 10, 11} {
		records := mustRead(t, log, after)
		if want := max(0, 10-int(after)); len(records) != want {
			t.Errorf("%d records after %d, want %d", len(records), after, want)
		}
		for i, r := range records {
			if want := after + plan.Revision(i) + 1; r.Seq != want {
				t.Errorf("record %d where %d belongs", r.Seq, want)
			}
		}
	}
	for r, err := range log.Read(t.Context(), 3) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq == 5 {
			mustAppend(t, log, mark(11, 1)) // reading blocks no other caller
			break
		}
	}
	if n := len(mustRead(t, log, 0)); n != 11 {
		t.Errorf("%d records after a reading that was broken off", n)
	}
}

// Read has the records that Since leaves out: together they lead from any head to the last.
func testSince(t *testing.T, open opener) {
	log, other := open(), open()
	known := fill(t, log, 3)
	check := func(handle store.Log, appended plan.Revision) {
		t.Helper()
		head, records, err := handle.Since(t.Context(), known)
		if err != nil {
			t.Fatal(err)
		}
		if want := mustHead(t, handle); head != want || head.Seq != known.Seq+appended {
			t.Errorf("since %d: head %+v, want %+v", known.Seq, head, want)
		}
		if len(records) > 0 {
			diffRecords(t, mustRead(t, handle, known.Seq), records)
		}
	}
	mustHead(t, other)
	check(other, 0)
	for _, more := range []plan.Revision{1, 2, 50} {
		for range more {
			mustAppend(t, log, mark(mustHead(t, log).Seq+1, 1))
		}
		check(other, more)
		check(other, more)
		known = mustHead(t, other)
	}
	testenv.Must(log.Purge(t.Context(), store.NewChain(), setUp(1)))(t)
	for seq := plan.Revision(2); seq <= known.Seq+2; seq++ {
		mustAppend(t, log, mark(seq, 2))
	}
	if head, records, err := other.Since(t.Context(), known); err != nil || head != mustHead(t, log) || records != nil {
		t.Errorf("since a head that was purged: %+v, %d records, %v", head, len(records), err)
	}
}

func testClose(t *testing.T, open opener) {
	log := open()
	fill(t, log, 2)
	testenv.Check(t, log.Close())
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	_, err := log.Append(t.Context(), mark(3, 1))
	check("Append", err)
	_, err = log.Head(t.Context())
	check("Head", err)
	_, _, err = log.Since(t.Context(), store.Head{})
	check("Since", err)
	_, err = log.CachedHead(t.Context())
	check("Glance", err)
	_, err = log.Lock(t.Context())
	check("Lock", err)
	_, err = log.Watch(t.Context())
	check("Watch", err)
	_, err = log.Snapshot(t.Context(), 0)
	check("Snapshot", err)
	check("SaveSnapshot", log.SaveSnapshot(t.Context(), store.Snapshot{}))
	_, err = log.Purge(t.Context(), store.NewChain(), mark(1, 1))
	check("Purge", err)
	for _, err := range log.Read(t.Context(), 0) {
		check("Read", err)
	}
	if err := log.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// fill appends records up to seq n.
func fill(t *testing.T, log store.Log, n plan.Revision) store.Head {
	t.Helper()
	head := mustAppend(t, log, setUp(3))
	for seq := plan.Revision(2); seq <= n; seq++ {
		head = mustAppend(t, log, mark(seq, plan.StepID(seq%3+1)))
	}
	return head
}

func mustAppend(t *testing.T, log store.Log, r plan.Record) store.Head {
	t.Helper()
	head, err := log.Append(context.WithoutCancel(t.Context()), r)
	if err != nil {
		t.Fatalf("append of %d: %v", r.Seq, err)
	}
	return head
}

func mustHead(t *testing.T, log store.Log) store.Head {
	t.Helper()
	head := testenv.Must(log.Head(t.Context()))(t)
	return head
}

func mustGlance(t *testing.T, log store.Log) store.Head {
	t.Helper()
	head := testenv.Must(log.CachedHead(t.Context()))(t)
	return head
}

func mustRead(t *testing.T, log store.Log, after plan.Revision) []plan.Record {
	t.Helper()
	var records []plan.Record
	for r, err := range log.Read(t.Context(), after) {
		if err != nil {
			t.Fatalf("read after %d: %v", after, err)
		}
		records = append(records, r)
	}
	return records
}

func diffRecords(t *testing.T, want, got []plan.Record) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(plan.Steps{})); diff != "" {
		t.Errorf("records -want +got\n%s", diff)
	}
}

func testSnapshots(t *testing.T, open opener) {
	log := open()
	var state plan.State
	var saved []store.Snapshot
	for seq := plan.Revision(1); seq <= 9; seq++ {
		r := mark(seq, 1)
		if seq == 1 {
			r = setUp(300)
		}
		head := mustAppend(t, log, r)
		state = plan.Fold(state, r)
		if seq%3 == 0 {
			s := store.Snapshot{Head: head, State: state}
			testenv.Check(t, log.SaveSnapshot(t.Context(), s))
			saved = append(saved, s)
		}
	}
	for _, handle := range []store.Log{log, open()} {
		expectSnapshot(t, handle, 0, &saved[2])
		expectSnapshot(t, handle, 100, &saved[2])
		expectSnapshot(t, handle, 9, &saved[2])
		expectSnapshot(t, handle, 8, &saved[1])
		expectSnapshot(t, handle, 2, nil)
	}
}

// A state folded before a purge is not a state of the log after it.
func testSnapshotOfAnotherChain(t *testing.T, open opener) {
	log := open()
	old := fill(t, log, 1)
	testenv.Must(log.Purge(t.Context(), store.NewChain(), setUp(2)))(t)
	if err := log.SaveSnapshot(t.Context(), store.Snapshot{Head: old}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("saving it: %v, want ErrConflict", err)
	}
	expectSnapshot(t, log, 0, nil)
}

func expectSnapshot(t *testing.T, log store.Log, seq plan.Revision, want *store.Snapshot) {
	t.Helper()
	got := testenv.Must(log.Snapshot(t.Context(), seq))(t)
	if want == nil || got == nil {
		if want != nil || got != nil {
			t.Errorf("snapshot at %d: got %v, want %v", seq, got, want)
		}
		return
	}
	if got.Head != want.Head {
		t.Errorf("snapshot at %d: head %+v, want %+v", seq, got.Head, want.Head)
	}
	if diff := cmp.Diff(want.State.Body(), got.State.Body(), cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(plan.Steps{})); diff != "" {
		t.Errorf("snapshot at %d: -want +got\n%s", seq, diff)
	}
}

func testPurge(t *testing.T, open opener) {
	log, other := open(), open()
	old := fill(t, log, 20)
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: old}))
	mustHead(t, other) // it remembers the old chain
	first := mark(1, 1)
	first.Events = []plan.Event{plan.HistoryPurged{Records: 20, At: first.Time}}
	if _, err := log.Purge(t.Context(), store.NewChain(), mark(2, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a chain that begins with record 2: %v, want ErrConflict", err)
	}
	head := testenv.Must(log.Purge(t.Context(), store.NewChain(), first))(t)
	if head.Seq != 1 || head.Chain == old.Chain || head.Chain == "" {
		t.Errorf("head %+v after the purge of %+v", head, old)
	}
	for _, handle := range []store.Log{log, other, open()} {
		if got, glance := mustHead(t, handle), mustGlance(t, handle); got != head || glance != head {
			t.Errorf("head %+v, at a glance %+v, want %+v", got, glance, head)
		}
		diffRecords(t, []plan.Record{first}, mustRead(t, handle, 0))
		expectSnapshot(t, handle, 0, nil)
	}
	if _, err := other.Append(t.Context(), mark(21, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an append to the old chain: %v, want ErrConflict", err)
	}
	mustAppend(t, other, mark(2, 1))
}

func testPurgeIsNoticed(t *testing.T, open opener) {
	watcher, log := open(), open()
	fill(t, log, 1)
	grown := mustWatch(t, t.Context(), watcher)
	testenv.Must(log.Purge(t.Context(), store.NewChain(), setUp(1)))(t)
	await(t, grown)
}
