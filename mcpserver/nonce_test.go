package mcpserver

import (
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// TestWhatWasShownLongAgoDecidesNothing: neither does a token that was sealed for another purpose.
func TestWhatWasShownLongAgoDecidesNothing(t *testing.T) {
	s, err := New(Options{})
	testenv.Check(t, err)
	defer s.Close()
	for _, c := range []struct {
		as    string
		left  time.Duration
		valid bool
	}{{viewPurpose, time.Minute, true}, {viewPurpose, -time.Second, false}, {serverAskPurpose, time.Minute, false}} {
		nonce, err := s.sealer.SealAs(c.as, viewClaims{Expires: time.Now().Add(c.left)})
		testenv.Check(t, err)
		if _, valid := s.unsealView(nonce); valid != c.valid {
			t.Errorf("sealed as %s, with %s left: valid is %t", c.as, c.left, valid)
		}
	}
}
