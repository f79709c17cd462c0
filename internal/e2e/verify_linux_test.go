package e2e_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
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
	testenv.Check(t, err)
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
	testenv.Check(t, os.WriteFile(p.path("ready"), nil, 0o600))
	next := p.open()
	next.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	next.do("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	if shown := p.must("show", "S001"); !strings.Contains(shown, "status      done") {
		t.Error(shown)
	}
	p.sound()
}

// TestUnverifiedIsNeverDone: a step whose command fails or hangs stays in progress, and the agent and people see why.
func TestUnverifiedIsNeverDone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.withModule()
	h := p.open()
	plan := submission("Count the attempts", "Run the load test")
	steps := plan["steps"].([]arguments)
	steps[0]["verify"] = "echo '--- FAIL: TestLimit'; exit 3"
	steps[1]["verify"], steps[1]["timeout"] = "echo 'waiting for load'; exec sleep 1000", 1
	h.do("planning_submit_plan", plan)
	p.approve()
	for id, why := range map[string][2]string{
		"S001": {`exited with 3`, "--- FAIL: TestLimit"},
		"S002": {`exited with 124`, "waiting for load"},
	} {
		h.do("planning_mark_step", arguments{"step_id": id, "status": "in_progress"})
		for _, call := range []struct {
			tool string
			args arguments
		}{
			{"planning_mark_step", arguments{"step_id": id, "status": "done"}},
			{"planloop_update", arguments{"update_tasks": []arguments{{"id": id, "status": "DONE"}}, "final_summary": "It is limited."}},
		} {
			got := h.refusal(call.tool, call.args)
			if !containsAll(got, []string{id + " is not verified: ", why[0], why[1]}) {
				t.Errorf("%s of %s:\n%s", call.tool, id, got)
			}
		}
		if shown := p.must("show", id); !containsAll(shown, []string{"status      in progress", why[0]}) {
			t.Errorf("a person does not see it:\n%s", shown)
		}
	}
	if status := h.do("planloop_status", arguments{}).text; !strings.Contains(status, "0/2 done") {
		t.Error(status)
	}
	if shown := p.must("show"); !strings.Contains(shown, "0 of 2 done") {
		t.Error(shown)
	}
	p.sound()
}
