package sqlite_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
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
	head := testenv.Must(log.Append(t.Context(), record))(t)
	left, fresh := filepath.Join(dir, strings.Replace(safefile.Leftovers, "*", "1", 1)),
		filepath.Join(dir, strings.Replace(safefile.Leftovers, "*", "2", 1))
	for _, path := range []string{left, fresh} {
		testenv.Check(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	old := time.Now().Add(-2 * time.Hour)
	testenv.Check(t, os.Chtimes(left, old, old))
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head, State: plan.Fold(plan.State{}, record)}))
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a crash left is still there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a file being written was removed: %v", err)
	}
}

// TestSweepValues removes exactly the values that no record names and that were not put for a day;
// a missing value is reported, and is not damage.
func TestSweepValues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	put := func(text string, age time.Duration) string {
		value, _ := json.Marshal(text)
		name, err := log.PutValue(t.Context(), value)
		then := time.Now().Add(-age)
		testenv.Check(t, errors.Join(err, os.Chtimes(filepath.Join(dir, "values", name), then, then)))
		return name
	}
	const old = 25 * time.Hour
	named, again, orphan, fresh := put("named", old), put("put again", old), put("orphan", old), put("fresh", time.Hour)
	testenv.Must(log.PutValue(t.Context(), []byte(`"put again"`)))(t)
	record := setUp(1)
	done := plan.StepFinished{Step: 1, Attempt: 1, Result: plan.Result{OK: true, StoredName: named}}
	record.Events = append(record.Events, done)
	testenv.Must(log.Append(t.Context(), record))(t)
	if n, err := sqlite.SweepValues(t.Context(), dir, time.Now()); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	for _, name := range []string{named, again, fresh} {
		if _, err := log.Value(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if _, err := log.Value(t.Context(), orphan); !errors.Is(err, store.ErrNoValue) {
		t.Errorf("the orphan is still there: %v", err)
	}
	testenv.Check(t, os.Remove(filepath.Join(dir, "values", named)))
	report, err := sqlite.Check(t.Context(), dir)
	if err != nil || report.Damaged() || len(report.Problems) != 1 ||
		!strings.Contains(report.Problems[0].Text, "the value of S001 is missing") {
		t.Errorf("%+v, %v", report, err)
	}
}
