package engine

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// stepLock is a lock of steps that this engine holds for one of them, or that another engine holds. The log keeps steps
// of one track apart; the file does so for all tracks of the workspace, and is free once its process has died.
type stepLock struct {
	holder plan.StepID // 0: another engine holds it
	file   *flock.Flock
	tryAt  time.Time // if another engine holds it
}

// lockStep reports whether this engine holds the lock of a step, which it takes if it is free.
func (r *run) lockStep(step *plan.Step) (bool, error) {
	if step.Lock == "" || r.opts.StateDir == "" {
		return true, nil
	}
	if held := r.locks[step.Lock]; held.holder != 0 {
		return held.holder == step.ID, nil
	}
	folder := cmp.Or(r.opts.Shared, r.opts.StateDir)
	file := flock.New(filepath.Join(folder, "step-"+step.Lock+".lock"), flock.SetPermissions(safefile.FileMode))
	free, err := file.TryLock()
	switch {
	case err != nil:
		return false, fmt.Errorf("the lock %s cannot be taken: %w", step.Lock, err)
	case free:
		r.locks[step.Lock] = stepLock{holder: step.ID, file: file}
	default:
		r.locks[step.Lock] = stepLock{tryAt: time.Now().Add(pollEvery)}
	}
	return free, nil
}

// awaitsLock reports whether another engine held the lock of a step when this one last tried.
func (r *run) awaitsLock(step *plan.Step, now time.Time) bool {
	return now.Before(r.locks[step.Lock].tryAt)
}

// unlockSteps frees the locks of steps that this engine is not carrying out.
func (r *run) unlockSteps() {
	for name, lock := range r.locks {
		if _, runs := r.running[lock.holder]; lock.holder != 0 && !runs {
			if err := lock.file.Unlock(); err != nil {
				r.opts.Logger.Warn("could not free the lock of a step", "lock", name, "error", err)
			}
			delete(r.locks, name)
		}
	}
}
