package session

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/store"
)

const (
	// snapshotEvery is the distance between snapshots in records. Whoever
	// appends the record that completes it writes the snapshot, so that
	// processes do not do it twice.
	snapshotEvery = 512
	// maxTail is the tail that makes the process that read it write a snapshot:
	// the one whose turn it was has not.
	maxTail = 768
	// snapshotBound ends the writing of a snapshot that does not get on.
	snapshotBound = time.Minute
)

func (s *Session) snapshotIfDue() {
	if s.head.Seq%snapshotEvery == 0 {
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
