package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxLooks bounds how often a path is followed again because it changed while it
// was being followed.
const maxLooks = 16

// Watch tells when a file may have changed, has come or gone, once nothing more
// has happened to it for the time given. It also watches what leads to the file:
// its folders, and links. Whoever looks at the file after Watch has returned, and
// again when told, misses nothing. The channel is closed when the context ends.
func Watch(ctx context.Context, workspace, file string, quiet time.Duration) (<-chan struct{}, error) {
	dir, err := filepath.Abs(workspace)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", file, err)
	}
	if refused := check(file); refused != nil {
		return nil, refused
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", file, err)
	}
	w := &watcher{dir: dir, file: file, files: files, events: make(chan struct{}, 1), folders: map[string]bool{}}
	if err := w.arm(); err != nil {
		_ = files.Close()
		return nil, fmt.Errorf("watch %s: %w", file, err)
	}
	told := make(chan struct{}, 1)
	go w.run(ctx)
	go settle(ctx, w.events, told, quiet)
	return told, nil
}

// watcher turns events of the file system into events of one file. Its goroutine
// ends with the context.
type watcher struct {
	dir, file string
	files     *fsnotify.Watcher
	events    chan struct{}
	trail     map[string]bool // the paths whose change concerns the file
	folders   map[string]bool // that are watched
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	defer w.files.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-w.files.Events:
			if !ok {
				return
			}
			if w.concerns(event.Name) {
				w.follow(event.Name)
			}
		case _, ok := <-w.files.Errors:
			if !ok {
				return
			}
			w.follow(w.dir) // events were lost: any folder may be another one
		}
	}
}

func (w *watcher) concerns(path string) bool { return w.trail[path] || w.folders[path] }

// follow watches anew what is at or below a path: a folder of the same name may
// be another one now. Then it tells. If something cannot be watched any more,
// whoever is told still looks at the file.
func (w *watcher) follow(path string) {
	for folder := range w.folders {
		if folder == path || strings.HasPrefix(folder, path+string(filepath.Separator)) {
			w.drop(folder)
		}
	}
	_ = w.arm()
	tell(w.events)
}

// arm follows the path of the file and watches the folders on its way, until
// nothing has changed between two looks.
func (w *watcher) arm() error {
	var missing error // a folder that has gone since it was looked at
	for range maxLooks {
		trail, folders, err := w.look()
		if err != nil {
			return err
		}
		if maps.Equal(trail, w.trail) && maps.Equal(folders, w.folders) {
			return nil
		}
		w.trail = trail
		missing = w.watch(folders)
		if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
	}
	return missing
}

// look returns what leads to the file now, and the folders that hold it, as
// absolute paths.
func (w *watcher) look() (trail, folders map[string]bool, err error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	trail, folders = map[string]bool{}, map[string]bool{}
	found, _ := resolve(root, w.file) // a path that leads nowhere is watched as far as it leads
	for _, each := range found.trail {
		at := filepath.Join(w.dir, filepath.FromSlash(each))
		trail[at], folders[filepath.Dir(at)] = true, true
	}
	return trail, folders, nil
}

// watch makes the watched folders those of a set.
func (w *watcher) watch(folders map[string]bool) error {
	for folder := range w.folders {
		if !folders[folder] {
			w.drop(folder)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if w.folders[folder] {
			continue
		}
		if err := w.files.Add(folder); err != nil {
			return err
		}
		w.folders[folder] = true
	}
	return nil
}

// drop ends the watching of a folder. That it was not watched is no error: a
// folder that is deleted takes its watch along.
func (w *watcher) drop(folder string) {
	_ = w.files.Remove(folder)
	delete(w.folders, folder)
}

// tell never waits: one message that was not received yet is enough.
func tell(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// patience is how many quiet times are waited at most: a file that is written
// without end is told of all the same.
const patience = 10

// settle passes events on, many in quick succession as one. It closes told when
// the events or the context end.
func settle(ctx context.Context, events <-chan struct{}, told chan<- struct{}, quiet time.Duration) {
	defer close(told)
	timer := time.NewTimer(quiet)
	timer.Stop()
	defer timer.Stop()
	var first time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			timer.Reset(min(quiet, first.Add(patience*quiet).Sub(now)))
		case <-timer.C:
			first = time.Time{}
			tell(told)
		}
	}
}
