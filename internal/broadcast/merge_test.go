package broadcast_test

import (
	"testing"

	"github.com/planloop/planloop/internal/broadcast"
)

// TestMerge: a merged channel receives after any of the channels, keeps one notification for later, and closes after the last of them.
func TestMerge(t *testing.T) {
	a, b := make(chan struct{}), make(chan struct{})
	merged := broadcast.Merge(a, b)
	for _, from := range []chan struct{}{a, b} {
		from <- struct{}{}
		<-merged
	}
	a <- struct{}{}
	a <- struct{}{} // does not block, although nothing was received
	close(a)
	b <- struct{}{}
	close(b)
	received := 0
	for range merged {
		received++
	}
	if received < 1 || received > 2 {
		t.Errorf("received %d notifications", received)
	}
}
