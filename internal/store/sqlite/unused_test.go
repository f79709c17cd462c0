package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
)

// TestRemoveUnused removes what a process leaves that is killed at any moment before the first record, and nothing that is new, locked,
// watched, or has a record.
func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	locked := func(t *testing.T, log *sqlite.Log) { testenv.Must(log.Lock(t.Context()))(t)() }
	for name, c := range map[string]struct {
		leave     func(t *testing.T, log *sqlite.Log, dir string)
		isRemoved bool
	}{
		"empty":  {func(*testing.T, *sqlite.Log, string) {}, true},
		"a lock": {func(t *testing.T, log *sqlite.Log, _ string) { locked(t, log) }, true},
		"an empty database": {func(t *testing.T, log *sqlite.Log, dir string) {
			locked(t, log)
			testenv.Check(t, os.WriteFile(filepath.Join(dir, "plan.db"), nil, 0o600))
		}, true},
		"no record": {func(t *testing.T, log *sqlite.Log, dir string) {
			locked(t, log)
			grow(t, log, 1)
			testenv.Check(t, log.CloseFiles())
			execute(t, dir, `DELETE FROM record`)
			testenv.Check(t, os.Truncate(filepath.Join(dir, "growth", "head"), 0))
		}, true},
		"a record": {func(t *testing.T, log *sqlite.Log, _ string) { locked(t, log); grow(t, log, 1) }, false},
		"a record and no head": {func(t *testing.T, log *sqlite.Log, dir string) {
			locked(t, log)
			grow(t, log, 1)
			testenv.Check(t, os.Remove(filepath.Join(dir, "growth", "head")))
		}, false},
		"locked now": {func(t *testing.T, log *sqlite.Log, _ string) { t.Cleanup(testenv.Must(log.Lock(t.Context()))(t)) }, false},
		"watched":    {func(t *testing.T, log *sqlite.Log, _ string) { testenv.Must(log.Watch(t.Context()))(t) }, false},
		"another's file": {func(t *testing.T, log *sqlite.Log, dir string) {
			locked(t, log)
			testenv.Check(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "log")
			testenv.Check(t, os.Mkdir(dir, 0o700))
			log := sqlite.New(dir, sqlite.Options{})
			t.Cleanup(func() { testenv.Check(t, log.Close()) })
			c.leave(t, log, dir)
			if sqlite.RemoveUnused(dir) {
				t.Error("a new folder was removed")
			}
			testenv.Check(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-time.Hour)))
			if isRemoved := sqlite.RemoveUnused(dir); isRemoved != c.isRemoved {
				t.Errorf("removed: %t", isRemoved)
			}
			if left := testenv.Must(os.ReadDir(filepath.Dir(dir)))(t); (len(left) == 0) != c.isRemoved {
				t.Errorf("left: %v", left)
			}
			if c.isRemoved {
				grow(t, log, 1) // a process that comes late makes the folder again
			}
		})
	}
}
