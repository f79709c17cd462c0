package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestPurgeThatLeavesSomething: a purge that cannot remove everything says so, and that the history
// is gone; the next purge removes the rest.
func TestPurgeThatLeavesSomething(t *testing.T) {
	t.Parallel()
	dir := copyLog(t, victim(t))
	stuck := filepath.Join(dir, "damaged-20260101T000000Z-1")
	testenv.Check(t, os.Mkdir(stuck, 0o700))
	if err := syscall.Mount("tmpfs", stuck, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(stuck, syscall.MNT_DETACH) })
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	_, err := log.Purge(t.Context(), store.NewChain(), plan.Record{Seq: 1, Action: "purge"})
	if err == nil || !strings.Contains(err.Error(), "the history is deleted, but some files") || !strings.Contains(err.Error(), stuck) {
		t.Errorf("got %v", err)
	}
	if head, err := log.Head(t.Context()); err != nil || head.Seq != 1 {
		t.Errorf("the log ends at %d, %v", head.Seq, err)
	}
	testenv.Check(t, syscall.Unmount(stuck, 0))
	if _, err := log.Purge(t.Context(), store.NewChain(), plan.Record{Seq: 1, Action: "purge"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(stuck); err == nil {
		t.Error("what was kept is still there")
	}
}
