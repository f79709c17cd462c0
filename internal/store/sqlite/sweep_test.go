package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/plan"
)

// TestUnfinishedSnapshotsAreSwept removes the remains of a crash, and leaves files alone that
// another process may be writing.
func TestUnfinishedSnapshotsAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	record := setUp(1)
	head, err := log.Append(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	left, fresh := filepath.Join(dir, strings.Replace(safefile.Leftovers, "*", "1", 1)),
		filepath.Join(dir, strings.Replace(safefile.Leftovers, "*", "2", 1))
	for _, path := range []string{left, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if err := log.SaveSnapshot(t.Context(), store.Snapshot{Head: head, State: plan.Fold(plan.State{}, record)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a crash left is still there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a file being written was removed: %v", err)
	}
}
