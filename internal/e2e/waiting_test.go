package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// TestWaitingBlocksNobody has calls wait for news on a stdio connection: other calls on it are answered at once, in order, and the news
// reach the waiting ones.
func TestWaitingBlocksNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 3)
	h := p.open()
	h.do("planloop_status", arguments{})
	var waiting []pending
	for range 8 {
		sent, err := h.askTool("planloop_status", arguments{"wait": 600})
		testenv.Check(t, err)
		waiting = append(waiting, sent)
	}
	for range 3 {
		if got := h.do("planning_read_plan", arguments{}); !strings.Contains(got.text, "S003") {
			t.Errorf("while others wait: %s", got.text)
		}
	}
	p.must("alert", "--id", "ci", "--message", "the build is red")
	for i, sent := range waiting {
		f, err := sent.wait()
		if err != nil {
			t.Fatalf("wait %d: %v", i, err)
		}
		if got, err := f.asTool(); err != nil || !strings.Contains(got.text, "the build is red") {
			t.Errorf("wait %d: %v %s", i, err, got.text)
		}
	}
}

// TestNewsBeforeTheWait answers at once if something has changed since the caller's last status: changes between two calls are not missed.
func TestNewsBeforeTheWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 3)
	h := p.open()
	h.do("planloop_status", arguments{})
	p.must("alert", "--id", "ci", "--message", "the build is red")
	if got := h.do("planloop_status", arguments{"wait": 600}); !strings.Contains(got.text,
		"the build is red") { // h waits no longer than patience
		t.Error(got.text)
	}
	if got := h.do("planloop_status", arguments{"wait": 1}); !strings.Contains(got.text, "the build is red") {
		t.Errorf("without news: %s", got.text)
	}
}

// TestCancelledWait ends at once without an answer, and the connection keeps working.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 3)
	h := p.open()
	h.do("planloop_status", arguments{})
	cancelled, err := h.askTool("planloop_status", arguments{"wait": 600})
	testenv.Check(t, err)
	h.do("planning_read_plan", arguments{}) // by now the other waits
	notice, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": map[string]any{"requestId": h.ids.Load() - 1}})
	testenv.Check(t, h.write(string(notice)))
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"}) // otherwise the wait would return this change
	h.leave()                                                                         // waits for running calls
	if f, answered := <-cancelled.answer; answered {
		t.Errorf("the cancelled call was answered: %v", f)
	}
}

// TestWaitEndsWithTheConnection gives up a wait over HTTP when its client hangs up; the server keeps running.
func TestWaitEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	for _, version := range []string{handshake, stateless} {
		t.Run(version, func(t *testing.T) {
			p := newPlace(t)
			setUp(p, 3)
			server := p.serveHTTP()
			client := connect(t, server.transport("http"), version, nil)
			if _, err := client.tool("planloop_status", arguments{}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				_, err := (&sdk{client.ClientSession, within{t, ctx}}).tool("planloop_status", arguments{"wait": 600})
				gone <- err
			}()
			if _, err := client.tool("planning_read_plan", arguments{}); err != nil {
				t.Fatal(err)
			}
			cancel()
			late := time.NewTimer(patience)
			defer late.Stop()
			select {
			case err := <-gone:
				if err == nil {
					t.Error("the call that was given up succeeded")
				}
			case <-late.C:
				t.Fatal("the call goes on")
			}
			other := connect(t, server.transport("http"), version, nil)
			if got, err := other.tool("planning_read_plan", arguments{}); err != nil || !strings.Contains(got.text, "S003") {
				t.Errorf("afterwards: %v %s", err, got.text)
			}
		})
	}
}

// within is a test with its own context for calls.
type within struct {
	testing.TB
	ctx context.Context
}

func (w within) Context() context.Context { return w.ctx }
