package agentsmd

import (
	"context"
	"time"
)

// patience is how many quiet times are waited at most: a file that is written
// without end is told of all the same.
const patience = 10

// settle passes events on, many in quick succession as one. It closes told when
// the events or the context end.
func settle(ctx context.Context, events <-chan struct{}, told chan<- struct{}, quiet time.Duration) {
	defer close(told)
	timer := time.NewTimer(quiet)
	timer.Stop()
	defer timer.Stop()
	var first time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			timer.Reset(min(quiet, first.Add(patience*quiet).Sub(now)))
		case <-timer.C:
			first = time.Time{}
			tell(told)
		}
	}
}
