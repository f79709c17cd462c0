//go:build unix

package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestWaitEndsWithTheClient leaves no server waiting without a client: an ending host closes the input and then sends a signal. The agent's
// claims are free at once.
func TestWaitEndsWithTheClient(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	h := p.open()
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	if _, err := h.askTool("planloop_status", arguments{"wait": 600}); err != nil {
		t.Fatal(err)
	}
	h.do("planning_read_plan", arguments{}) // by now the other waits
	testenv.Check(t, h.in.Close())
	testenv.Check(t, h.cmd.Process.Signal(syscall.SIGTERM))
	if code := h.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, h.errors)
	}
	other := p.open()
	if got := other.do("planloop_status", arguments{}); !strings.Contains(got.text, "Take over S001") {
		t.Errorf("another agent is told: %s", got.text)
	}
}
