package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

func testSnapshots(t *testing.T, p place) {
	log := p.open()
	var state plan.State
	var saved []store.Snapshot
	for seq := plan.Revision(1); seq <= 9; seq++ {
		r := Mark(seq, 1)
		if seq == 1 {
			r = SetUp(300)
		}
		head := mustAppend(t, log, r)
		state = plan.Fold(state, r)
		if seq%3 == 0 {
			s := store.Snapshot{Head: head, State: state}
			if err := log.SaveSnapshot(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			saved = append(saved, s)
		}
	}
	for _, handle := range []store.Log{log, p.open()} {
		expectSnapshot(t, handle, 0, &saved[2])
		expectSnapshot(t, handle, 100, &saved[2])
		expectSnapshot(t, handle, 9, &saved[2])
		expectSnapshot(t, handle, 8, &saved[1])
		expectSnapshot(t, handle, 2, nil)
	}
}

// A state folded before a purge is no state of the log after it.
func testSnapshotOfAnotherChain(t *testing.T, p place) {
	log := p.open()
	old := fill(t, log, 1)
	if _, err := log.Purge(t.Context(), SetUp(2)); err != nil {
		t.Fatal(err)
	}
	if err := log.SaveSnapshot(t.Context(), store.Snapshot{Head: old}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("saving it: %v, want ErrConflict", err)
	}
	expectSnapshot(t, log, 0, nil)
}

func expectSnapshot(t *testing.T, log store.Log, seq plan.Revision, want *store.Snapshot) {
	t.Helper()
	got, err := log.Snapshot(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
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
