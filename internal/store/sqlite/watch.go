package sqlite

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/store"
)

// Watch implements store.Log. It watches the folder of the growth file and no
// other: on some systems watching a folder opens the files in it, and closing
// the database's files again would drop the locks that SQLite has on them.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if err := l.makeFolder(); err != nil {
		return nil, err
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", l.dir, err)
	}
	if err := files.Add(filepath.Join(l.dir, growthName)); err != nil {
		_ = files.Close()
		return nil, fmt.Errorf("watch %s: %w", l.dir, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{log: l, files: files, own: l.grown.Listen(ctx), grown: make(chan struct{}, 1)}
	// From here on every growth brings an event; what was there before counts as
	// known. The log need not be open for that.
	if w.known, err = l.Glance(ctx); err != nil {
		cancel()
		_ = files.Close()
		return nil, err
	}
	go w.run(ctx, cancel)
	return w.grown, nil
}

// watcher tells one listener of growth. Its goroutine ends with its context,
// or when the log is closed.
type watcher struct {
	log   *Log
	files *fsnotify.Watcher
	own   <-chan struct{} // growth by this process
	known store.Head
	grown chan struct{}
}

func (w *watcher) run(ctx context.Context, cancel context.CancelFunc) {
	defer close(w.grown)
	defer w.files.Close()
	defer cancel()
	for {
		select {
		case _, ok := <-w.own:
			if !ok {
				return // the context has ended or the log is closed
			}
			w.look(ctx)
		case _, ok := <-w.files.Events:
			if !ok {
				return
			}
			w.look(ctx)
		case _, ok := <-w.files.Errors:
			if !ok {
				return
			}
			w.tell() // events were lost: whoever listens shall look for himself
		}
	}
}

// look tells of growth if there is any. An error is growth of a kind: whoever
// looks at the log next is told what is wrong.
func (w *watcher) look(ctx context.Context) {
	head, err := w.log.Glance(ctx)
	if err == nil && head == w.known {
		return
	}
	if err == nil {
		w.known = head
	}
	if ctx.Err() == nil {
		w.tell()
	}
}

func (w *watcher) tell() {
	select {
	case w.grown <- struct{}{}:
	default: // the one before was not received yet
	}
}
