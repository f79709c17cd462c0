package e2e_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// linger is a command that leaves a long-lived process outside its session, family and environment, which could later decide on a terminal
// of its own. While alive it holds a pipe open.
const linger = `echo begun; env -i setsid -f /bin/sh -c "(trap '' TERM HUP; exec >pipe </dev/null 2>&1; echo up; sleep 1000) &"; `

const waits = `until [ -e go ]; do sleep 0.01; if [ -e stop ]; then kill -STOP $PPID; echo >stopped; rm stop; fi; done`

// TestNothingStaysToDecideLater: processes left by a command of bash_execute are gone when the call is answered, when another process
// enters planning mode, and when the server is killed.
func TestNothingStaysToDecideLater(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *place, *host, pending){
		"answered": func(t *testing.T, p *place, _ *host, sent pending) {
			p.write("go", "")
			answered(t, sent, "begun", "Exit code 0")
		},
		"entered": func(t *testing.T, p *place, _ *host, sent pending) {
			p.must("plan", "start", "look first", "--agent", "other")
			answered(t, sent, "begun", "with everything it had started: planning mode was entered")
		},
		"killed": func(_ *testing.T, _ *place, h *host, _ pending) { h.kill() },
		"killed, its keeper stopped": func(_ *testing.T, p *place, h *host, _ pending) {
			p.write("stop", "")
			for _, err := os.Stat(filepath.Join(p.workspace, "stopped")); err != nil; {
				_, err = os.Stat(filepath.Join(p.workspace, "stopped"))
			}
			h.kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			pipe := filepath.Join(p.workspace, "pipe")
			testenv.Check(t, syscall.Mkfifo(pipe, 0o600))
			h := p.open("--toolsets", "planning,mode,workspace")
			sent, err := h.askTool("bash_execute", arguments{"command": linger + waits, "timeout": 500})
			testenv.Check(t, err)
			witness, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends: it opens at once
			testenv.Check(t, err)
			defer witness.Close()
			if line, err := bufio.NewReader(witness).ReadString('\n'); err != nil || line != "up\n" {
				t.Fatalf("%q, %v", line, err)
			}
			end(t, p, h, sent)
			reading, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			testenv.Check(t, err)
			defer reading.Close()
			_ = witness.Close()
			testenv.Check(t, reading.SetReadDeadline(time.Now().Add(patience)))
			if _, err := io.ReadAll(reading); err != nil {
				t.Errorf("it lives on: %v", err)
			}
		})
	}
}
