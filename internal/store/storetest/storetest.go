// Package storetest is the contract of store.Log as tests. An engine's own test
// says how to open one and calls Run. The package must not know any engine.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Engine says how to open logs.
type Engine struct {
	// New makes a place for a log and returns a function that opens a handle on
	// it. The suite closes what it opens.
	New func(t *testing.T) (open func() store.Log)

	// Shared says that every call of open gives a handle of its own on the same
	// log, as another process would have. Otherwise all calls give the same one.
	Shared bool
}

// Run checks an engine against the contract.
func Run(t *testing.T, e Engine) {
	for _, c := range []struct {
		name string
		test func(*testing.T, place)
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
		{"LockExcludes", testLockExcludes},
		{"LockIsBounded", testLockIsBounded},
		{"AppendUnderLock", testAppendUnderLock},
		{"Close", testClose},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, place{open: closing(t, e.New(t)), shared: e.Shared})
		})
	}
}

// place is where one test keeps its log.
type place struct {
	open   func() store.Log
	shared bool
}

func closing(t *testing.T, open func() store.Log) func() store.Log {
	return func() store.Log {
		log := open()
		t.Cleanup(func() { _ = log.Close() })
		return log
	}
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

func testEmpty(t *testing.T, p place) {
	log := p.open()
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

func testAppendReadHead(t *testing.T, p place) {
	log := p.open()
	want := []plan.Record{SetUp(3), Mark(2, 1), Mark(3, 2)}
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
	second := p.open()
	if got := mustGlance(t, second); got != heads[2] {
		t.Errorf("at a glance another handle's head is %+v, want %+v", got, heads[2])
	}
	if got := mustHead(t, second); got != heads[2] {
		t.Errorf("another handle's head %+v, want %+v", got, heads[2])
	}
	diffRecords(t, want, mustRead(t, second, 0))
}

func testConflict(t *testing.T, p place) {
	log := p.open()
	refuse := func(r plan.Record) {
		t.Helper()
		if _, err := log.Append(t.Context(), r); !errors.Is(err, store.ErrConflict) {
			t.Errorf("append of %d: %v, want ErrConflict", r.Seq, err)
		}
	}
	refuse(Mark(2, 1))
	refuse(Mark(0, 1))
	head := mustAppend(t, log, SetUp(3))
	refuse(SetUp(3))
	refuse(Mark(3, 1))
	refuse(Mark(-1, 1))
	if got := mustHead(t, log); got != head {
		t.Errorf("head %+v after refusals, want %+v", got, head)
	}
	other := p.open()
	mustAppend(t, other, Mark(2, 1))
	refuse(Mark(2, 2))
	mustAppend(t, log, Mark(3, 2))
	diffRecords(t, []plan.Record{SetUp(3), Mark(2, 1), Mark(3, 2)}, mustRead(t, other, 0))
}

func testReadFrom(t *testing.T, p place) {
	log := p.open()
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
			mustAppend(t, log, Mark(11, 1)) // reading holds nobody up
			break
		}
	}
	if n := len(mustRead(t, log, 0)); n != 11 {
		t.Errorf("%d records after a reading that was broken off", n)
	}
}

// What Since leaves out Read has: together they lead from any head to the last.
func testSince(t *testing.T, p place) {
	log, other := p.open(), p.open()
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
			mustAppend(t, log, Mark(mustHead(t, log).Seq+1, 1))
		}
		check(other, more)
		check(other, more)
		known = mustHead(t, other)
	}
	if _, err := log.Purge(t.Context(), SetUp(1)); err != nil {
		t.Fatal(err)
	}
	for seq := plan.Revision(2); seq <= known.Seq+2; seq++ {
		mustAppend(t, log, Mark(seq, 2))
	}
	if head, records, err := other.Since(t.Context(), known); err != nil || head != mustHead(t, log) || records != nil {
		t.Errorf("since a head that was purged: %+v, %d records, %v", head, len(records), err)
	}
}

func testClose(t *testing.T, p place) {
	log := p.open()
	fill(t, log, 2)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	_, err := log.Append(t.Context(), Mark(3, 1))
	check("Append", err)
	_, err = log.Head(t.Context())
	check("Head", err)
	_, _, err = log.Since(t.Context(), store.Head{})
	check("Since", err)
	_, err = log.Glance(t.Context())
	check("Glance", err)
	_, err = log.Lock(t.Context())
	check("Lock", err)
	_, err = log.Watch(t.Context())
	check("Watch", err)
	_, err = log.Snapshot(t.Context(), 0)
	check("Snapshot", err)
	check("SaveSnapshot", log.SaveSnapshot(t.Context(), store.Snapshot{}))
	_, err = log.Purge(t.Context(), Mark(1, 1))
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
	head := mustAppend(t, log, SetUp(3))
	for seq := plan.Revision(2); seq <= n; seq++ {
		head = mustAppend(t, log, Mark(seq, plan.StepID(seq%3+1)))
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
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func mustGlance(t *testing.T, log store.Log) store.Head {
	t.Helper()
	head, err := log.Glance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
