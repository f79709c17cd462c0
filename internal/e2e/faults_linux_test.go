package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestFullDisk fills a small disk under a plan: impossible writes are refused and no data is lost; with space again the work continues.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	p := placeWith(t, disk)
	setUp(p, 2)
	h := p.open()
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})

	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	kept := []string{}
	full := ""
	for n := 0; full == ""; n++ { // allocated space can still be used
		note := fmt.Sprintf("on a full disk, %d", n)
		got, err := h.tool("planning_mark_step", arguments{"step_id": "S001", "status": "blocked", "note": note})
		switch {
		case err != nil:
			t.Fatal(err)
		case got.refused:
			full = got.text
		case n > 10_000:
			t.Fatal("the disk does not become full")
		default:
			kept = append(kept, note)
		}
	}
	if !strings.Contains(full, "disk is full") {
		t.Errorf("planning_mark_step says: %s\n%s", full, h.errors)
	}
	if got := p.run("step", "mark", "S002", "done"); got.code != 1 || !strings.Contains(got.err, "free some space") {
		t.Errorf("step mark: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	if got := p.must("show"); !strings.Contains(got, "S002") {
		t.Errorf("the plan that is shown:\n%s", got)
	}
	h.do("planning_read_plan", arguments{})

	testenv.Check(t, os.Remove(filler))
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "with space again"})
	p.must("step", "mark", "S002", "done")
	logged := notes(p.records(0))
	if want := append(kept, "with space again"); strings.Join(logged, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has %q, want %q", logged, want)
	}
	p.sound()
}

// TestNoSpaceToBegin starts with a full disk.
func TestNoSpaceToBegin(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	p := placeWith(t, disk)
	fill(t, filepath.Join(disk, "filler"))
	if got := p.run("start", "x", "--step", "y"); got.code != 1 || !strings.Contains(got.err, "free some space") {
		t.Errorf("setup: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	h := p.open()
	if text := h.refusal("planning_setup_plan", arguments{"objective": "x"}); !strings.Contains(text, "disk is full") {
		t.Errorf("planning_setup_plan says: %s\n%s", text, h.errors)
	}
	testenv.Check(t, os.Remove(filepath.Join(disk, "filler")))
	h.do("planning_setup_plan", arguments{"objective": "With space again"})
	p.sound()
}

// fill uses up all space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	testenv.Check(t, err)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
