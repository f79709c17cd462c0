package session

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

const (
	// snapshotEvery is the distance between snapshots in records, and
	// snapshotOften that of a plan whose snapshot costs little: the tail is
	// folded again by every command. Whoever appends the record that completes
	// the distance writes the snapshot, so that processes do not do it twice.
	snapshotEvery = 512
	snapshotOften = 128
	smallPlan     = 1_000 // steps
	// maxTail is the tail that makes the process that read it write a snapshot:
	// the one whose turn it was has not.
	maxTail = 768
	// snapshotBound ends the writing of a snapshot that does not get on.
	snapshotBound = time.Minute
)

func (s *Session) snapshotIfDue() {
	every := plan.Revision(snapshotEvery)
	if s.now.Plan == nil || s.now.Plan.Steps.Len() <= smallPlan {
		every = snapshotOften
	}
	if s.head.Seq%every == 0 {
		s.snapshot()
	}
}

// snapshot writes the current state in the background, unless one is being
// written. Close waits for it. The turn is held. A snapshot is only a cache:
// a failure is logged.
func (s *Session) snapshot() {
	if !s.saving.CompareAndSwap(false, true) {
		return
	}
	snapshot := store.Snapshot{Head: s.head, State: s.now}
	s.background.Go(func() {
		defer s.saving.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), snapshotBound)
		defer cancel()
		if err := s.log.SaveSnapshot(ctx, snapshot); err != nil {
			s.opts.Logger.Warn("snapshot not written", "error", err)
		}
	})
}
