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

const maxRetries = 16 // of a path that changed while it was resolved

// Watch reports possible changes of a file, including creation and removal, after a quiet period without further
// changes. It also watches the directories and links on the way to the file. A caller that reads the file after Watch
// returns, and again after each report, misses no change. The channel is closed when the context ends.
func Watch(ctx context.Context, workspace, file string, quiet time.Duration) (<-chan struct{}, error) {
	dir, err := filepath.Abs(workspace)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", file, err)
	}
	if refused := checkName(file); refused != nil {
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
	reports := make(chan struct{}, 1)
	go w.run(ctx)
	go mergeEvents(ctx, w.events, reports, quiet)
	return reports, nil
}

// watcher converts file system events into events of one file. Its goroutine ends with the context.
type watcher struct {
	dir, file string
	files     *fsnotify.Watcher
	events    chan struct{}
	trail     map[string]bool // paths with changes that affect the file
	folders   map[string]bool // the watched ones
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	defer w.files.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.files.Events: // never closed before this goroutine closes files
			if w.concerns(event.Name) {
				w.follow(event.Name)
			}
		case <-w.files.Errors:
			w.follow(w.dir) // events were lost: any folder may have been replaced
		}
	}
}

func (w *watcher) concerns(path string) bool { return w.trail[path] || w.folders[path] }

// follow watches the folders at or below a path again, since a folder of that name may have been replaced, and reports
// a change. If a folder can no longer be watched, the report still makes the caller read the file.
func (w *watcher) follow(path string) {
	for folder := range w.folders {
		if folder == path || strings.HasPrefix(folder, path+string(filepath.Separator)) {
			w.drop(folder)
		}
	}
	_ = w.arm()
	notify(w.events)
}

// arm watches the folders on the way to the file, until nothing has changed between two looks.
func (w *watcher) arm() error {
	var missing error // a folder that was removed since the look
	for range maxRetries {
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

// look returns the paths on the way to the file, and their folders, as absolute paths.
func (w *watcher) look() (trail, folders map[string]bool, err error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	trail, folders = map[string]bool{}, map[string]bool{}
	found, _ := resolve(root, w.file) // a dangling path is watched as far as it exists
	for _, each := range found.trail {
		at := filepath.Join(w.dir, filepath.FromSlash(each))
		trail[at], folders[filepath.Dir(at)] = true, true
	}
	return trail, folders, nil
}

// watch makes folders the set of watched folders.
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

// drop stops watching a folder. Errors are ignored: a deleted folder has lost its watch already.
func (w *watcher) drop(folder string) {
	_ = w.files.Remove(folder)
	delete(w.folders, folder)
}

// notify never blocks: one pending message is enough.
func notify(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

const maxQuietPeriods = 10 // to wait, so that a file under constant change is reported, too

// mergeEvents forwards events, merging those in quick succession. It closes reports when the events or the context end.
func mergeEvents(ctx context.Context, events <-chan struct{}, reports chan<- struct{}, quiet time.Duration) {
	defer close(reports)
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
			timer.Reset(min(quiet, first.Add(maxQuietPeriods*quiet).Sub(now)))
		case <-timer.C:
			first = time.Time{}
			notify(reports)
		}
	}
}
