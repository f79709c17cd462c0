//go:build unix

package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
)

// TestSignals ends servers with signals during any activity: exit code 0.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			p := newPlace(t)
			setUp(p, 1)
			h := p.open()
			h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
			testenv.Check(t, h.cmd.Process.Signal(signal))
			if code := h.wait(); code != 0 {
				t.Errorf("stdio: exit code %d\n%s", code, h.errors)
			}

			s := p.serveHTTP()
			client := connect(t, s.transport("http"), handshake, nil)
			testenv.Check(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "plan://current"}))
			testenv.Check(t, s.cmd.Process.Signal(signal))
			s.endsWith(t, 0)
			p.sound()
		})
	}
}

// endsWith waits for the server's exit code.
func (s *httpServer) endsWith(t *testing.T, code int) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-s.ended:
		if got := s.cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit code %d, want %d\n%s", got, code, s.errors)
		}
	case <-late.C:
		t.Errorf("the server has not ended in %v", patience)
	}
}

// TestClientThatStopsReading sends and never reads: the server blocks on a full pipe, but still ends when asked to.
func TestClientThatStopsReading(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 500)
	cmd, in, out, errors := answering(p, 100)
	began := time.Now()
	testenv.Check(t, cmd.Process.Signal(syscall.SIGTERM))
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	state, err := cmd.Process.Wait()
	testenv.Check(t, err)
	if state.ExitCode() != 0 {
		t.Errorf("%v after %v\n%s", state, time.Since(began), errors)
	}
	_, _ = in.Close(), out.Close()
	p.sound()
}
