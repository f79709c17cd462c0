package mcpserver

import (
	"testing"
	"time"
)

// TestWhatWasShownLongAgoDecidesNothing: neither does a token that was sealed for another purpose.
func TestWhatWasShownLongAgoDecidesNothing(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		as    string
		left  time.Duration
		valid bool
	}{{viewAs, time.Minute, true}, {viewAs, -time.Second, false}, {serverAskPurpose, time.Minute, false}} {
		nonce, err := s.sealer.SealAs(c.as, shown{Expires: time.Now().Add(c.left)})
		if err != nil {
			t.Fatal(err)
		}
		if _, valid := s.wasShown(nonce); valid != c.valid {
			t.Errorf("sealed as %s, with %s left: valid is %t", c.as, c.left, valid)
		}
	}
}
