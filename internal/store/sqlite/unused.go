package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unusedAfter is the age after which a process that makes a log, and has not locked it, must have been killed.
const unusedAfter = time.Minute

// RemoveUnused removes the folder of a log that never got a record because its maker was killed, and reports whether it did. The rename
// under the lock keeps a process that comes late from using files that are about to vanish: it makes the folder again.
func RemoveUnused(dir string) bool {
	l := New(dir, Options{LockWait: time.Millisecond})
	defer l.Close()
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || time.Since(info.ModTime()) < unusedAfter || !l.hasOnlyEmptyLog() {
		return false
	}
	unlock, err := l.Lock(context.Background())
	if err != nil {
		return false
	}
	defer unlock()
	head, err := l.Head(context.Background())
	if err != nil || head.Seq > 0 || l.CloseFiles() != nil {
		return false
	}
	unused := filepath.Join(filepath.Dir(dir), ".unused-"+filepath.Base(dir))
	return os.RemoveAll(unused) == nil && os.Rename(dir, unused) == nil && os.RemoveAll(unused) == nil
}

// hasOnlyEmptyLog reports whether the folder holds nothing else, as far as names and sizes tell. A process that only watches makes the
// folder of the head, and no lock.
func (l *Log) hasOnlyEmptyLog() bool {
	if info, err := os.Lstat(l.headPath()); err == nil && info.Size() > 0 {
		return false
	}
	entries, err := os.ReadDir(l.dir)
	return err == nil && (len(entries) == 0 || exists(l.lock.path) && !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return !slices.Contains([]string{lockName, growthName, databaseName, databaseName + "-wal", databaseName + "-shm"}, entry.Name())
	}))
}
