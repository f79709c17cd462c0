package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/testenv"
)

// TestProbeLeavesNothing starts servers only to list their features, as hosts that probe do: no file is written.
func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open()
	for _, method := range []string{"tools/list", "prompts/list", "resources/templates/list", "resources/list", "ping"} {
		if f, err := h.request(method, nil); err != nil || f.Error != nil {
			t.Errorf("%s: %v, %+v", method, err, f.Error)
		}
	}
	if code := h.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s := p.serveHTTP()
	client := connect(t, s.transport("http"), handshake, nil)
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	s.kill()
	if found := files(t, p.home); found != "" {
		t.Errorf("left on disk:\n%s", found)
	}
}

// TestReadingCreatesNothing runs every reading command in an empty place.
func TestReadingCreatesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{}, {"show"}, {"show", "--json"}, {"log"}, {"log", "--json"}, {"plan", "list"},
		{"plan", "list", "--json"}, {"doctor"},
		{"doctor", "--json"}, {"doctor", "--repair"}, {"version"}} {
		if got := p.run(args...); got.code != 0 || got.err != "" {
			t.Errorf("%q: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	h := p.open()
	h.refusal("planning_read_plan", arguments{})
	for _, uri := range []string{"plan://current", "plan://current.md", "plan://current.mmd", "plan://status", "plan://log",
		"plan://plans"} {
		if f, err := h.request("resources/read", arguments{"uri": uri}); err != nil || f.Error != nil {
			t.Errorf("%s: %v, %+v", uri, err, f.Error)
		}
	}
	h.leave()
	if got := p.run("export"); got.code != 2 || got.err == "" {
		t.Errorf("export: %+v", got)
	}
	if found := files(t, p.home); found != "" {
		t.Errorf("left on disk:\n%s", found)
	}
	if found := files(t, p.workspace); found != filepath.Join(p.workspace, ".git") {
		t.Errorf("left in the workspace:\n%s", found)
	}
}

// TestFirstChangeAnnouncesServers: the server that makes the first change is announced to hooks at once, another one soon.
func TestFirstChangeAnnouncesServers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h, other := p.open(), p.open()
	h.do("planning_setup_plan", arguments{"objective": "Fix the login"})
	announced := func() int {
		return strings.Count(files(t, p.home), filepath.Join("planloop", "programs")+string(filepath.Separator))
	}
	if announced() == 0 {
		t.Errorf("not announced:\n%s", files(t, p.home))
	}
	for end := time.Now().Add(20 * time.Second); announced() < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the other server is not announced:\n%s", files(t, p.home))
		}
	}
	h.leave()
	other.leave()
}

// TestRefusedWritingBeginsNoLog runs every command that has nothing to change yet.
func TestRefusedWritingBeginsNoLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{"plan", "restore", "x"}, {"clear"}, {"purge"}, {"step", "mark", "S001", "done"}, {"step", "add", "x"},
		{"step", "claim", "S001"}, {"step", "edit", "S001", "--title", "x"}, {"start", "--step", "x"}, {"start", " ", "--step", "x"}} {
		if got := p.run(args...); got.code != 2 || got.out != "" || !strings.HasPrefix(got.err, "planloop: ") {
			t.Errorf("%q: exit code %d, want a refusal\n%s%s", args, got.code, got.out, got.err)
		}
	}
	h := p.open()
	for _, tool := range []string{"planning_clear_plan", "planning_setup_plan"} {
		h.refusal(tool, arguments{})
	}
	if _, err := os.Lstat(p.database()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log was begun: %v\n%s", err, files(t, p.home))
	}
}

// TestSecondCopyDoesNotDisturb starts a second server next to a working one, while the workspace is locked: it starts, answers and ends.
func TestSecondCopyDoesNotDisturb(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 2)
	first := p.open()
	first.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})

	lock := flock.New(filepath.Join(p.stateDir(), "lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	second := p.open()
	if f, err := second.request("tools/list", nil); err != nil || f.Error != nil {
		t.Errorf("tools/list: %v, %+v", err, f.Error)
	}
	if code := second.leave(); code != 0 {
		t.Errorf("exit code %d\n%s", code, second.errors)
	}
	testenv.Check(t, lock.Unlock())
	third := p.open() // and one that gets killed
	if _, err := third.request("tools/list", nil); err != nil {
		t.Error(err)
	}
	third.kill()

	first.do("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	unchanged(t, p, 3)
	p.sound()
}
