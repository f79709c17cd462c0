package sqlite_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/sqlite"
)

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
	grown, err := log.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rest := func() {
		t.Helper()
		if err := log.CloseFiles(); err != nil {
			t.Fatal(err)
		}
	}
	rest()
	if open := openFiles(t, dir); len(open) > 0 {
		t.Errorf("open at rest: %v", open)
	}
	if head, err := log.CachedHead(t.Context()); err != nil || head.Seq != 3 || len(openFiles(t, dir)) > 0 {
		t.Errorf("%+v, %v, open: %v", head, err, openFiles(t, dir))
	}
	unlock, err := log.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
