//go:build unix

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// newerProgram builds planloop as its next version may be: another release, with a kind of event that this version does not know. It is
// built once, and only if needed.
func newerProgram(t *testing.T) string {
	t.Helper()
	if os.Getenv("PLANLOOP_E2E_UPDATE") == "" {
		t.Skip("it builds planloop a second time: set PLANLOOP_E2E_UPDATE=1")
	}
	path, err := builtNewer()
	testenv.Check(t, err)
	return path
}

var builtNewer = sync.OnceValues(func() (string, error) {
	table, err := filepath.Abs("../../plan/event.go")
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(table)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(os.Getenv(binaryVariable))
	changed, overlay, path := filepath.Join(dir, "event.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planloop-newer")
	text := strings.Replace(string(source), `{"signal_raised", SignalRaised{}}`, `{"signal_raised_newer", SignalRaised{}}`, 1)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{table: changed}})
	if err != nil || text == string(source) {
		return "", errors.Join(errors.New("the table of events is not where it was"), err)
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", path,
		"-ldflags", "-X github.com/planloop/planloop/internal/cli.released=99.0.0",
		"github.com/planloop/planloop/cmd/planloop")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// with returns the place as seen by another program.
func (p *place) with(program string) *place {
	other := *p
	other.prepare = func(cmd *exec.Cmd) { cmd.Path = program }
	return &other
}

// TestTwoVersionsOnOneWorkspace: a server keeps running while a newer planloop works on its plan, and the other way round. The older one
// refuses data that it cannot read, says so, and leaves it unchanged.
func TestTwoVersionsOnOneWorkspace(t *testing.T) {
	old := newPlace(t)
	newer := old.with(newerProgram(t))
	if got := newer.must("version"); !strings.HasPrefix(got, "planloop 99.0.0 ") {
		t.Fatalf("the newer version is %s", got)
	}
	before := old.open("--agent", "before")
	before.do("planning_setup_plan", arguments{"objective": "Live through an update", "initial_steps": []arguments{{"title": "One"}}})

	newer.must("step", "add", "Two", "--agent", "after")
	if got := before.do("planning_read_plan", arguments{}); !strings.Contains(got.text, "Two") {
		t.Errorf("the older server does not see what the newer command did: %s", got.text)
	}
	after := newer.open("--agent", "after")
	after.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress", "note": "by the newer"})
	before.do("planning_mark_step", arguments{"step_id": "S002", "status": "in_progress", "note": "by the older"})
	after.do("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "by the newer again"})
	old.must("step", "add", "Three", "--agent", "before")
	if got := after.do("planning_read_plan", arguments{}); !strings.Contains(got.text, "Three") {
		t.Errorf("the newer server does not see what the older command did: %s", got.text)
	}

	newer.must("alert", "--id", "tests", "--level", "warning", "--message", "an event of tomorrow")
	revision := newer.revision()
	for _, call := range []struct {
		tool string
		args arguments
	}{{"planning_read_plan", nil}, {"planning_mark_step", arguments{"step_id": "S002", "status": "done"}}, {"planloop_status", nil}} {
		got, err := before.tool(call.tool, call.args)
		if err != nil || !got.refused || !strings.Contains(got.text, "newer planloop") ||
			!strings.Contains(got.text, "nothing was changed") {
			t.Errorf("%s of the older server: %v, %+v", call.tool, err, got)
		}
	}
	for _, args := range [][]string{{"status"}, {"step", "mark", "S002", "done"}, {"doctor"}} {
		if got := old.run(args...); got.code == 0 || !strings.Contains(got.out+got.err, "newer planloop") {
			t.Errorf("planloop %v of the older version: %+v", args, got)
		}
	}
	if got := newer.revision(); got != revision {
		t.Errorf("the older version wrote: the log ends with %d, not with %d", got, revision)
	}
	before.leave()

	after.do("planning_mark_step", arguments{"step_id": "S003", "status": "done", "note": "still there"})
	shown := newer.must("show", "--json") + newer.must("log")
	for _, kept := range []string{"One", "Two", "Three", "by the newer again", "by the older", "an event of tomorrow"} {
		if !strings.Contains(shown, kept) {
			t.Errorf("%q is lost: %s", kept, shown)
		}
	}
	newer.sound()
}

// TestProgramReplacedUnderAServer: an update replaces the program's file, or removes it. The running server continues, and so do the
// helpers that it starts from its own program.
func TestProgramReplacedUnderAServer(t *testing.T) {
	p := newPlace(t)
	newer := newerProgram(t)
	dir := t.TempDir()
	installed := filepath.Join(dir, "planloop")
	put := func(from string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(installed+".new", data, 0o755)
		}
		if err == nil {
			err = os.Rename(installed+".new", installed)
		}
		testenv.Check(t, err)
	}
	put(os.Getenv(binaryVariable))
	testenv.Check(t, os.WriteFile(filepath.Join(p.workspace, "note.txt"), []byte("a note\n"), 0o644))
	h := p.with(installed).open("--toolsets", "planning,mode,workspace", "--agent", "steady")
	h.do("planning_setup_plan", arguments{"objective": "Stay", "initial_steps": []arguments{{"title": "One"}}})
	works := func(when string) {
		t.Helper()
		got := h.do("bash_execute", arguments{"command": "cat note.txt; git --version"})
		if !strings.Contains(got.text, "a note") || !strings.Contains(got.text, "git version") {
			t.Errorf("%s: %s", when, got.text)
		}
	}
	works("before")
	put(newer)
	works("replaced")
	h.do("planning_enter_plan_mode", arguments{"reason": "to be confined"})
	works("replaced, and confined")
	put(os.Getenv(binaryVariable))
	works("put back")
	testenv.Check(t, os.Remove(installed))
	if got := h.refusal("bash_execute", arguments{"command": "git --version"}); !strings.Contains(got, "updated or removed") {
		t.Errorf("removed: %s", got)
	}
	if got := h.do("planning_read_plan", arguments{}); !strings.Contains(got.text, "Stay") {
		t.Errorf("without its file the server does not read the plan: %s", got.text)
	}
}
