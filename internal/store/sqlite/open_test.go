package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
)

func TestReadingCreatesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	if _, err := log.Head(t.Context()); err != nil {
		t.Error(err)
	}
	for _, err := range log.Read(t.Context(), 0) {
		t.Errorf("a record, %v", err)
	}
	if s, err := log.Snapshot(t.Context(), 0); s != nil || err != nil {
		t.Errorf("a snapshot, %v", err)
	}
	if _, err := log.Append(t.Context(), mark(2, 1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("append of 2: %v", err)
	}
	if report, err := sqlite.Check(t.Context(), dir); err != nil || report.Exists || len(report.Problems) > 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are no access control here")
	}
	dir := filepath.Join(t.TempDir(), "a", "log")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	grow(t, log, 300)
	seen := 0
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if perm := info.Mode().Perm(); perm != want {
			t.Errorf("%s has mode %04o, want %04o", path, perm, want)
		}
		seen++
		return err
	})
	if err != nil || seen < 8 {
		t.Errorf("%d files, %v", seen, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		spoil  func(t *testing.T, dir string) error
		says   string
		reason error
		unix   bool
	}{
		{"a folder others can write to", func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o770) }, "chmod", nil, true},
		{"a file others can write to", func(_ *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, "plan.db"), 0o606) },
			"chmod", nil, true},
		{"a linked database", func(_ *testing.T, dir string) error {
			path := filepath.Join(dir, "plan.db")
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, "link", nil, true},
		{"another application's database", func(t *testing.T, dir string) error {
			execute(t, dir, `PRAGMA application_id = 77`)
			return nil
		}, "another application", store.ErrDamaged, false},
		{"a newer format", func(t *testing.T, dir string) error {
			execute(t, dir, `PRAGMA user_version = 2`)
			return nil
		}, "update planloop", store.ErrNewer, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.unix && runtime.GOOS == "windows" {
				t.Skip("no such thing here")
			}
			dir := victim(t)
			testenv.Check(t, test.spoil(t, dir))
			_, err := readAll(dir)
			if err == nil || !strings.Contains(err.Error(), test.says) || test.reason != nil && !errors.Is(err, test.reason) {
				t.Errorf("got %v", err)
			}
			if _, err := sqlite.New(dir, sqlite.Options{}).Append(t.Context(), mark(301, 1)); err == nil {
				t.Error("it was written to")
			}
			if report, err := sqlite.Check(t.Context(), dir); err == nil && len(report.Problems) == 0 {
				t.Error("check found nothing")
			}
		})
	}
}

// A newer planloop may change the format of a log while this one has it open. From then on this one
// writes nothing, and trusts no record that it has not read yet.
func TestFormatGrowsUnderAnOpenLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	log, newer := sqlite.New(dir, sqlite.Options{}), sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	defer newer.Close()
	grow(t, log, 2)
	known := testenv.Must(log.Head(t.Context()))(t)
	execute(t, dir, `PRAGMA user_version = 2`)
	if _, err := log.Append(t.Context(), mark(3, 1)); !errors.Is(err, store.ErrNewer) {
		t.Errorf("append: %v, want that a newer planloop wrote it", err)
	}
	execute(t, dir, `PRAGMA user_version = 1`)
	testenv.Must(newer.Append(t.Context(), mark(3, 1)))(t)
	execute(t, dir, `PRAGMA user_version = 2`)
	if _, records, err := log.Since(t.Context(), known); !errors.Is(err, store.ErrNewer) {
		t.Errorf("since: %d records, %v, want that a newer planloop wrote them", len(records), err)
	}
	execute(t, dir, `PRAGMA user_version = 1`)
	if records, err := readAll(dir); err != nil || len(records) != 3 {
		t.Errorf("%d records are left, %v", len(records), err)
	}
}

// A record of a later version is refused, not skipped.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	grow(t, log, 1)
	body := `{"seq":2,"action":"a","actor":{"kind":"ci","name":"n"},"time":"2026-05-04T10:00:00Z","phase":"",` +
		`"events":[{"kind":"moon_landed"}]}`
	head := testenv.Must(log.Head(t.Context()))(t)
	execute(t, dir, fmt.Sprintf(`INSERT INTO record VALUES (2, '', x'%s', CAST('%s' AS BLOB))`, head.Hash.Next([]byte(body)), body))
	if records, err := readAll(dir); !errors.Is(err, store.ErrNewer) || len(records) != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if _, err := sqlite.Repair(t.Context(), dir); !errors.Is(err, store.ErrNewer) {
		t.Errorf("repair: %v", err)
	}
}

// A purge interrupted after its commit leaves snapshots of the old chain; they mean nothing.
func TestRemainsOfAPurge(t *testing.T) {
	t.Parallel()
	dir := victim(t)
	old := copyLog(t, dir)
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	first := setUp(1)
	head := testenv.Must(log.Purge(t.Context(), store.NewChain(), first))(t)
	for _, name := range []string{"snapshot-300.json", filepath.Join("growth", "head")} {
		write(t, filepath.Join(dir, name), content(t, filepath.Join(old, name)))
	}
	other := sqlite.New(dir, sqlite.Options{})
	defer other.Close()
	if got, err := other.Head(t.Context()); err != nil || got != head {
		t.Errorf("head %+v, %v", got, err)
	}
	if s, err := other.Snapshot(t.Context(), 0); s != nil || err != nil {
		t.Errorf("snapshot %+v, %v", s, err)
	}
	if strings.Contains(content(t, filepath.Join(dir, "plan.db")), "note 250") {
		t.Error("the purged text is still in the file")
	}
}

// An open log continues with the file that a repair has put in its place.
func TestOpenLogFollowsARepair(t *testing.T) {
	t.Parallel()
	dir := victim(t)
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	before := testenv.Must(log.Head(t.Context()))(t)
	grown := testenv.Must(log.Watch(t.Context()))(t)
	execute(t, dir, `UPDATE record SET phase = 'x', body = x'00' WHERE seq = 250`)
	if repaired, err := sqlite.Repair(t.Context(), dir); err != nil || !repaired.Repaired || repaired.Records != 249 ||
		repaired.Restored != 300 || repaired.Lost != 300 {
		t.Fatalf("repair: %+v, %v", repaired, err)
	}
	<-grown
	after, err := log.Head(t.Context())
	if err != nil || after.Seq != 250 || after.Chain == before.Chain {
		t.Errorf("head %+v, %v", after, err)
	}
	if _, err := log.Append(t.Context(), mark(251, 1)); err != nil {
		t.Error(err)
	}
	if records, err := readAll(dir); err != nil || len(records) != 251 || records[249].Action != "repair_log" {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// In a read-only folder the log can still be read.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() <= 0 {
		t.Skip("nothing is read-only for root, or modes mean nothing")
	}
	dir := victim(t)
	for _, path := range []string{filepath.Join(dir, "growth", "head"), filepath.Join(dir, "plan.db"), filepath.Join(dir, "lock")} {
		if err := os.Chmod(path, 0o400); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	testenv.Check(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if records, err := readAll(dir); err != nil || len(records) != recordsOfVictim {
		t.Errorf("%d records, %v", len(records), err)
	}
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	if _, err := log.Append(t.Context(), mark(301, 1)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("append: %v, want ErrReadOnly", err)
	}
}

// openFiles lists the files below a folder that this process has open.
func openFiles(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list the files of a process")
	}
	var found []string
	for _, entry := range entries {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err == nil && strings.HasPrefix(path, folder) {
			found = append(found, path)
		}
	}
	return found
}

// A log at rest has no file open, reports its head, notifies of growth, and reopens when it is
// used, also by the holder of its lock.
func TestRest(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists the files of a process")
	}
	dir := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	grow(t, log, 3)
	grown := testenv.Must(log.Watch(t.Context()))(t)
	rest := func() {
		t.Helper()
		testenv.Check(t, log.CloseFiles())
	}
	rest()
	if open := openFiles(t, dir); len(open) > 0 {
		t.Errorf("open at rest: %v", open)
	}
	if head, err := log.CachedHead(t.Context()); err != nil || head.Seq != 3 || len(openFiles(t, dir)) > 0 {
		t.Errorf("%+v, %v, open: %v", head, err, openFiles(t, dir))
	}
	unlock := testenv.Must(log.Lock(t.Context()))(t)
	rest()
	if _, err := log.Append(t.Context(), mark(4, 1)); err != nil {
		t.Error(err)
	}
	unlock()
	<-grown
	rest()
	if head, err := log.Head(t.Context()); err != nil || head.Seq != 4 {
		t.Errorf("%+v, %v", head, err)
	}
	if folder, err := sqlite.MakeGrowthFolder(dir); err != nil || folder != filepath.Join(dir, "growth") {
		t.Errorf("%s, %v", folder, err)
	}
}
