package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// obstacle keeps a place from being written until it is removed.
type obstacle struct {
	what  string // as shown to users
	place func(t *testing.T) *place
	raise func(t *testing.T, p *place)
	clear func(t *testing.T, p *place)
}

func smallDisk(t *testing.T) *place {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	return placeWith(t, disk)
}

func remount(t *testing.T, p *place, flags uintptr) {
	t.Helper()
	testenv.Check(t, syscall.Mount("", p.home, "", syscall.MS_REMOUNT|flags, "size=1m"))
}

func obstacles() map[string]obstacle {
	modes := func(folder, file os.FileMode) func(t *testing.T, p *place) {
		return func(t *testing.T, p *place) {
			t.Helper()
			_ = os.Chmod(p.stateDir(), 0o700)
			for path := range strings.FieldsSeq(files(t, p.stateDir())) {
				mode := file
				if info, err := os.Lstat(path); err != nil || info.IsDir() {
					mode = folder
				}
				testenv.Check(t, os.Chmod(path, mode))
			}
			p.chmod(p.stateDir(), folder)
		}
	}
	unprivileged := func(t *testing.T) *place {
		p := newPlace(t)
		p.unprivileged()
		return p
	}
	return map[string]obstacle{
		"full disk": {"disk is full", smallDisk,
			func(t *testing.T, p *place) { fill(t, filepath.Join(p.home, "filler")) },
			func(t *testing.T, p *place) { remove(t, filepath.Join(p.home, "filler")) }},
		"read-only disk": {"cannot be written", smallDisk,
			func(t *testing.T, p *place) { remount(t, p, syscall.MS_RDONLY) },
			func(t *testing.T, p *place) { remount(t, p, 0) }},
		"read-only folder":           {"cannot be written", unprivileged, modes(0o500, 0o600), modes(0o700, 0o600)},
		"read-only folder and files": {"cannot be written", unprivileged, modes(0o500, 0o400), modes(0o700, 0o600)},
	}
}

// TestWhereNothingCanBeWritten reads an unwritable state, as left by a server and a command in every possible way, and expects a reason for
// failed writes; without the obstacle the server started under it writes at once.
func TestWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	leave := map[string]func(t *testing.T, h *host, p *place){
		"a server that ended":                func(_ *testing.T, h *host, _ *place) { h.leave() },
		"a killed server":                    func(_ *testing.T, h *host, _ *place) { h.kill() },
		"a killed server, without its index": func(t *testing.T, h *host, p *place) { h.kill(); remove(t, p.database()+"-shm") },
	}
	for kind, o := range obstacles() {
		for left, end := range leave {
			t.Run(kind+" after "+left, func(t *testing.T) {
				t.Parallel()
				p := o.place(t)
				setUp(p, 2)
				h := p.open()
				h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress", "note": "kept"})
				end(t, h, p)
				o.raise(t, p)
				// Allocated space can still be written to.
				allocated := left == "a killed server" && (kind == "full disk" || kind == "read-only folder")
				p.readsAndTells(t, o.what, allocated)
				h = p.open()
				h.do("planning_read_plan", arguments{})
				got, err := h.tool("planning_mark_step", arguments{"step_id": "S001", "status": "blocked"})
				if err != nil || !got.refused && !allocated || got.refused && !strings.Contains(got.text, o.what) {
					t.Errorf("planning_mark_step says: %v, %+v\n%s", err, got, h.errors)
				}
				h.do("planning_read_plan", arguments{})

				o.clear(t, p)
				h.do("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "at once"})
				p.must("step", "mark", "S002", "done", "--note", "by another")
				if text := h.do("planning_read_plan", arguments{}).text; !strings.Contains(text, "S002 done") {
					t.Errorf("the server does not see what others write:\n%s", text)
				}
				h.leave()
				if logged := p.must("log", "-n", "0"); !containsAll(logged, []string{"kept", "at once", "by another"}) {
					t.Errorf("the log has:\n%s", logged)
				}
				p.sound()
			})
		}
	}
}

// readsAndTells reads in several processes at once, each of which may lock the others out for a moment.
func (p *place) readsAndTells(t *testing.T, what string, allocated bool) {
	t.Helper()
	var readers sync.WaitGroup
	for _, args := range [][]string{{"show"}, {"show"}, {"status"}, {"log"}, {"doctor"}} {
		readers.Go(func() {
			got, err := p.try("", args...)
			if err != nil || got.code != 0 || strings.Contains(got.out+got.err, "damaged") {
				t.Errorf("%v: exit code %d, %v\n%s%s", args, got.code, err, got.out, got.err)
			}
			if args[0] == "show" && !strings.Contains(got.out, "Step number 1") {
				t.Errorf("the plan that is shown:\n%s", got.out)
			}
			if what == "disk is full" && args[0] != "doctor" && strings.Contains(got.err, "warning") && !strings.Contains(got.err, what) {
				t.Errorf("%v warns: %s", args, got.err)
			}
		})
	}
	readers.Wait()
	got := p.run("step", "mark", "S002", "done")
	want := map[bool]string{true: "free some space", false: "writable"}[what == "disk is full"]
	if got.code == 0 && !allocated || got.code != 0 && !strings.Contains(got.err, want) {
		t.Errorf("step mark: exit code %d\n%s%s", got.code, got.out, fmt.Sprint(got.err))
	}
}
