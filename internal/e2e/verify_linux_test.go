package e2e_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestServerKilledWhileVerifying: a server that dies while it verifies a step leaves it in progress, and its command ends with it. The next
// server verifies it again.
func TestServerKilledWhileVerifying(t *testing.T) {
	t.Parallel()
	p := runPlace{newPlace(t)}
	p.withModule()
	h := p.open()
	plan := submission("Add the Redis client")
	plan["steps"].([]arguments)[0]["verify"] = "test -f ready || { exec > held; echo begun; exec sleep 1000; }"
	h.do("planning_submit_plan", plan)
	p.approve()
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})

	pipe := p.pipe("held") // open as long as the command runs
	if _, err := h.askTool("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	out := bufio.NewReader(held)
	if line, err := out.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatal(line, err)
	}
	h.kill()
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, out); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the command outlives the server")
	}
	if shown := p.must("show", "S001"); !strings.Contains(shown, "status      in progress") {
		t.Error(shown)
	}
	if err := os.WriteFile(p.path("ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next := p.open()
	next.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	next.do("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	if shown := p.must("show", "S001"); !strings.Contains(shown, "status      done") {
		t.Error(shown)
	}
	p.sound()
}
