package e2e_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
)

// besideTracks returns a place with sessions on main and on fix-the-docs, and one like it for CI, whose commands are not below their hosts.
func besideTracks(t *testing.T) (p, ci *place, main, docs *host) {
	t.Helper()
	p = newPlace(t)
	main, docs = p.open(), p.open()
	main.do("planning_setup_plan", planOf("Add login", "Write the form"))
	docs.do("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	other := *p
	other.env = append(append([]string{}, p.env...), "CI=true")
	other.prepare = func(cmd *exec.Cmd) { lineagetest.Apart(cmd) }
	return p, &other, main, docs
}

func start(h *host) (reply, error) {
	return h.tool("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
}

// wantBlocked requires that a signal keeps the session from starting its step, or that nothing does.
func wantBlocked(t *testing.T, h *host, by string) {
	t.Helper()
	got, err := start(h)
	switch {
	case err != nil:
		t.Fatal(err)
	case by == "" && got.refused:
		t.Errorf("refused: %s", got.text)
	case by != "" && (!got.refused || !strings.Contains(got.text, `the blocker "`+by+`"`)):
		t.Errorf("not blocked by %s: %s", by, got.text)
	}
}

// TestASignalOfATrackHidesNoneOfTheWorkspace: neither an own signal that was cleared nor an open one of less weight.
func TestASignalOfATrackHidesNoneOfTheWorkspace(t *testing.T) {
	t.Parallel()
	_, ci, _, docs := besideTracks(t)
	docs.do("planloop_alert", arguments{"id": "tests", "message": "flaky"})
	docs.do("planloop_alert", arguments{"id": "tests", "clear": true})
	ci.must("alert", "--id", "tests", "-m", "CI red")
	wantBlocked(t, docs, "tests")
	docs.do("planloop_alert", arguments{"id": "tests", "level": "info", "message": "not mine"})
	wantBlocked(t, docs, "tests")
	docs.do("planloop_alert", arguments{"id": "tests", "clear": true})
	wantBlocked(t, docs, "tests")
	docs.do("planloop_alert", arguments{"id": "tests", "clear": true}) // now CI's
	wantBlocked(t, docs, "")
}

// TestSignalsOfMainsWorkAreMainsAlone: those of its agent, of its steps and of its track.
func TestSignalsOfMainsWorkAreMainsAlone(t *testing.T) {
	t.Parallel()
	_, ci, main, docs := besideTracks(t)
	main.do("planloop_alert", arguments{"id": "mine", "message": "my own problem"})
	ci.must("--track", "main", "alert", "--id", "theirs", "-m", "of this track")
	if got := ci.run("--track", "main", "check", "--task", "1", "--", "false"); got.code != 1 {
		t.Fatalf("%+v", got)
	}
	if got := docs.do("planloop_status", arguments{}); strings.Contains(got.text, "mine") || strings.Contains(got.text, "task-1") {
		t.Errorf("%s", got.text)
	}
	if got := ci.run("--track", "fix-the-docs", "check", "--task", "1", "--", "true"); got.code != 0 ||
		!strings.Contains(got.err, "recorded for S001") {
		t.Errorf("%+v", got)
	}
	wantBlocked(t, docs, "")
}

// TestACheckOfATrackLeavesTheSignalOfTheWorkspace: it records its evidence, and its exit code is the command's.
func TestACheckOfATrackLeavesTheSignalOfTheWorkspace(t *testing.T) {
	t.Parallel()
	_, ci, _, docs := besideTracks(t)
	ci.must("alert", "--id", "tests", "-m", "CI red")
	for _, task := range [][]string{{"--task", "1"}, nil} {
		args := append(append([]string{"--track", "fix-the-docs", "check", "--id", "tests"}, task...), "--", "true")
		if got := ci.run(args...); got.code != 0 || !strings.Contains(got.err, `signal "tests" of the workspace is still open`) ||
			strings.Contains(got.err, "recorded for S001") != (task != nil) {
			t.Errorf("%q: %+v", args, got)
		}
	}
	wantBlocked(t, docs, "tests")
	if got := ci.run("--track", "fix-the-docs", "check", "--id", "tests", "--", "false"); got.code != 1 {
		t.Errorf("%+v", got)
	}
	ci.must("check", "--id", "tests", "--", "true")
	wantBlocked(t, docs, "tests") // its own
	ci.must("--track", "fix-the-docs", "check", "--id", "tests", "--", "true")
	wantBlocked(t, docs, "")
}

// TestAnAgentsShellRaisesNoSignalOfTheWorkspace: with several sessions above it the shell must name its track.
func TestAnAgentsShellRaisesNoSignalOfTheWorkspace(t *testing.T) {
	t.Parallel()
	p, _, main, docs := besideTracks(t)
	if got := p.run("alert", "--id", "shell", "-m", "odd"); got.code != 2 ||
		!strings.Contains(got.err, "its session is unknown; name its track with --track: main, fix-the-docs") {
		t.Errorf("%+v", got)
	}
	p.must("--track", "main", "alert", "--id", "shell", "-m", "odd")
	wantBlocked(t, main, "shell")
	wantBlocked(t, docs, "")
}

// TestTracksHearOfTheWorkspacesSignals: a waiting status and a subscriber on another track than main do, and not of main's other changes.
func TestTracksHearOfTheWorkspacesSignals(t *testing.T) {
	t.Parallel()
	const wait = 20 // seconds
	_, ci, main, docs := besideTracks(t)
	docs.do("planloop_status", arguments{})
	if _, err := docs.request("resources/subscribe", arguments{"uri": "plan://status"}); err != nil {
		t.Fatal(err)
	}
	awaits := func(change func()) (reply, time.Duration) {
		t.Helper()
		sent, err := docs.askTool("planloop_status", arguments{"wait": wait})
		testenv.Check(t, err)
		change()
		since := time.Now()
		f, err := sent.wait()
		testenv.Check(t, err)
		got, err := f.asTool()
		testenv.Check(t, err)
		return got, time.Since(since)
	}
	got, took := awaits(func() { ci.must("alert", "--id", "tests", "-m", "CI red") })
	if took > wait*time.Second/2 || !strings.Contains(got.text, "CI red") {
		t.Errorf("%v: %s", took, got.text)
	}
	docs.next("notifications/resources/updated", "plan://status")
	ci.must("alert", "--id", "tests", "--clear") // before the wait
	if got, took = awaits(func() {}); took > wait*time.Second/2 || strings.Contains(got.text, "CI red") {
		t.Errorf("%v: %s", took, got.text)
	}
	docs.next("notifications/resources/updated", "plan://status")
	main.do("planning_add_step", arguments{"steps": []arguments{{"title": "More"}}})
	main.do("planloop_alert", arguments{"id": "mine", "message": "my own problem"})
	sent, err := docs.askTool("planloop_status", arguments{"wait": 2})
	testenv.Check(t, err)
	begun := time.Now()
	if _, err := sent.wait(); err != nil || time.Since(begun) < time.Second {
		t.Errorf("woken by a change of main after %v: %v", time.Since(begun), err)
	}
	select {
	case f := <-docs.messages:
		t.Errorf("notified of a change of main: %s %s", f.Method, f.Params)
	default:
	}
}
