package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/store"
)

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.startWatching(); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// startWatching starts to watch for other processes, unless it has already; the goroutine ends with Close.
// It only watches the folder of the growth file: on some systems watching a folder opens the files
// in it, and closing the database's files again would drop the locks that SQLite has on them.
func (l *Log) startWatching() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	if err := l.makeFolder(); err != nil {
		return err
	}
	if l.watcher == nil {
		heads, err := fsnotify.NewWatcher()
		if err != nil {
			return fmt.Errorf("watch %s: %w", l.dir, err)
		}
		lastHead, _ := readPin(l.headPath())
		l.watcher = heads
		l.watching.Go(func() { l.watchGrowth(heads, lastHead) })
	}
	// Again, even if done before: the folder may have been replaced.
	if err := l.watcher.Add(filepath.Dir(l.headPath())); err != nil {
		return fmt.Errorf("watch %s: %w", l.dir, err)
	}
	return nil
}

// MakeGrowthFolder makes the folder of a log's growth file, and returns it. To follow many logs, watch these
// folders with one watcher of the system, which allows few, and read the logs with Glance.
func MakeGrowthFolder(dir string) (string, error) {
	l := New(dir, Options{})
	return filepath.Dir(l.headPath()), l.makeFolder()
}

// CachedHead returns the head of the log in a folder without opening the log, as Glance does; the zero Head if it cannot.
func CachedHead(dir string) store.Head {
	head, _ := readPin(New(dir, Options{}).headPath())
	return head
}

// DatabasePath returns the path of the database of the log in a folder.
func DatabasePath(dir string) string { return New(dir, Options{}).databasePath() }

// watchGrowth notifies of growth by any process, this one included.
func (l *Log) watchGrowth(heads *fsnotify.Watcher, lastHead store.Head) {
	for {
		pause := lookPause
		select {
		case _, ok := <-heads.Events:
			if !ok {
				return
			}
			head, ok := readPin(l.headPath())
			if ok && head == lastHead {
				break
			}
			if head.Seq > lastHead.Seq+1 {
				pause = busyPause
			}
			lastHead = head
			l.grown.Notify() // also if the file is unreadable: reading the log then reports the fault
		case _, ok := <-heads.Errors:
			if !ok {
				return
			}
			l.grown.Notify() // events were lost: watchers must look for themselves
		}
		time.Sleep(pause)
	}
}

// The minimum time between two looks at the growth file; the system joins events in between. While
// appends come so fast that one look finds several, more frequent looks would only slow them down.
const (
	lookPause = 2 * time.Millisecond
	busyPause = 20 * time.Millisecond
)
