package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/memory"
	"github.com/planloop/planloop/plan"
)

// stuckSnapshots is a log that writes no snapshot before its time is over.
type stuckSnapshots struct {
	store.Log
	asked chan plan.Revision
}

func (l stuckSnapshots) SaveSnapshot(ctx context.Context, s store.Snapshot) error {
	l.asked <- s.Head.Seq
	<-ctx.Done()
	return ctx.Err()
}

// TestSnapshotsGoOnAfterOneIsGivenUp writes none in time, again and again: the
// next one is tried all the same.
func TestSnapshotsGoOnAfterOneIsGivenUp(t *testing.T) {
	const every, tries = 128, 8
	synctest.Test(t, func(t *testing.T) {
		log := stuckSnapshots{memory.New(), make(chan plan.Revision, tries)}
		s := session.New(log, session.Options{})
		do(t, s, setUp("One"))
		status := []plan.StepStatus{plan.Pending, plan.InProgress}
		for revision := 2; revision <= every*tries; revision++ {
			do(t, s, plan.MarkStep{Step: 1, Status: status[(revision+1)%2]})
			if revision%every == 0 {
				time.Sleep(time.Hour) // the clock of the bubble: until the snapshot is given up
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := len(log.asked); got != tries {
			t.Errorf("%d snapshots were tried, want %d", got, tries)
		}
	})
}
