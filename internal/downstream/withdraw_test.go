package downstream

import (
	"context"
	"errors"
	"testing"
	"time"
)

// slow is a wire that sends when it is told to.
type slow struct {
	nowhere
	now, took chan bool
}

func (s slow) send(one *call) {
	<-s.now
	s.took <- one.take()
}

// TestWhatIsSaidNotToBeSentIsNot, however late: somebody may make the call again.
func TestWhatIsSaidNotToBeSentIsNot(t *testing.T) {
	for _, early := range []bool{true, false} {
		c := newConn("s", nil, implementation{"planloop", "1"})
		wire := slow{now: make(chan bool, 1), took: make(chan bool, 1)}
		c.wire = wire
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.roundTrip(ctx, request{method: "tools/call", idle: time.Hour, long: time.Hour})
			ended <- err
		}()
		if early {
			wire.now <- true
			if !<-wire.took {
				t.Error("it was not sent")
			}
		}
		cancel()
		var failed *Error
		if err := <-ended; !errors.As(err, &failed) || failed.Sent != early || failed.Transient() == early {
			t.Errorf("early=%v: %v", early, err)
		}
		if !early {
			wire.now <- true
			if <-wire.took {
				t.Error("it was sent all the same")
			}
		}
	}
}
