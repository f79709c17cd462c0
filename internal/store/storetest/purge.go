package storetest

import (
	"errors"
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

func testPurge(t *testing.T, p place) {
	log, other := p.open(), p.open()
	old := fill(t, log, 20)
	if err := log.SaveSnapshot(t.Context(), store.Snapshot{Head: old}); err != nil {
		t.Fatal(err)
	}
	mustHead(t, other) // it remembers the old chain
	first := Mark(1, 1)
	first.Events = []plan.Event{plan.HistoryPurged{Records: 20, At: first.Time}}
	if _, err := log.Purge(t.Context(), Mark(2, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a chain that begins with record 2: %v, want ErrConflict", err)
	}
	head, err := log.Purge(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if head.Seq != 1 || head.Chain == old.Chain || head.Chain == "" {
		t.Errorf("head %+v after the purge of %+v", head, old)
	}
	for _, handle := range []store.Log{log, other, p.open()} {
		if got, glance := mustHead(t, handle), mustGlance(t, handle); got != head || glance != head {
			t.Errorf("head %+v, at a glance %+v, want %+v", got, glance, head)
		}
		diffRecords(t, []plan.Record{first}, mustRead(t, handle, 0))
		expectSnapshot(t, handle, 0, nil)
	}
	if _, err := other.Append(t.Context(), Mark(21, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an append to the old chain: %v, want ErrConflict", err)
	}
	mustAppend(t, other, Mark(2, 1))
}

func testPurgeIsNoticed(t *testing.T, p place) {
	watcher, log := p.open(), p.open()
	fill(t, log, 1)
	grown := mustWatch(t, t.Context(), watcher)
	if _, err := log.Purge(t.Context(), SetUp(1)); err != nil {
		t.Fatal(err)
	}
	await(t, grown)
}
