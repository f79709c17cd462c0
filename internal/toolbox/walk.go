package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
)

// walk goes through the files and directories below a directory, in the order of
// their paths. It follows no link, so it ends.
type walk struct {
	box     *Box
	ctx     context.Context
	ignored *ignored
	seen    int
	stopped string // why it did not go through all, if so
	closed  int    // directories that could not be read
}

func (b *Box) walk(ctx context.Context, dir string, all bool) *walk {
	return &walk{box: b, ctx: ctx, ignored: b.ignoredFrom(dir, all)}
}

// below yields every path below dir. What is left out is not looked into.
func (w *walk) below(dir string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) { w.visit(dir, yield) }
}

func (w *walk) visit(dir string, yield func(string, fs.DirEntry) bool) bool {
	list, more, err := w.box.entries(w.ctx, dir)
	if w.expired() {
		return false
	}
	if err != nil {
		w.closed++
		return true
	}
	if more {
		w.stopped = fmt.Sprintf("only %d entries of %s were read", maxNames, oneLine(dir))
	}
	w.ignored.enter(dir)
	for _, e := range list {
		rel := path.Join(dir, e.Name())
		if w.ignored.entry(rel, e) {
			continue
		}
		if w.seen++; w.seen > w.box.limits.Entries {
			w.stopped = fmt.Sprintf("stopped after %d files and directories", w.box.limits.Entries)
			return false
		}
		if w.expired() || !yield(rel, e) || e.IsDir() && !w.visit(rel, yield) {
			return false
		}
	}
	return true
}

// expired reports whether the time is up, and notes it.
func (w *walk) expired() bool {
	if w.ctx.Err() == nil {
		return false
	}
	w.stopped = "stopped when the time was up"
	return true
}

// note says what was not gone through.
func (w *walk) note() string {
	var notes []string
	if w.stopped != "" {
		notes = append(notes, w.stopped)
	}
	if w.closed > 0 {
		notes = append(notes, counted(w.closed, "directory", "directories")+" could not be read")
	}
	return strings.Join(notes, "; ")
}

// ended returns the caller's own end, which is an error; the end of our time is
// a note.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("search: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

func segments(rel string) []string { return strings.Split(rel, "/") }
