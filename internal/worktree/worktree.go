// Package worktree tells which files of a folder have changed between two looks at it.
//
// It must not know who changed them, or why somebody asks.
package worktree

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// Snapshot is what stood in a folder when it was looked at.
type Snapshot struct {
	dir   string
	files map[string]print // nil: there were more than are looked at
}

// print is by what a file is known to be the same as before.
type print struct {
	size int64
	time time.Time
}

const maxFiles = 50_000

// Look takes down what stands in a folder.
func Look(ctx context.Context, dir string) (Snapshot, error) {
	opened, err := tree.Open(dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer opened.Close()
	s := Snapshot{dir: dir, files: map[string]print{}}
	walk := opened.Walk(tree.Options{Entries: maxFiles})
	for name, entry := range walk.Below(ctx, ".") {
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			s.files[name] = print{info.Size(), info.ModTime()}
		}
	}
	if walk.Cut != tree.Whole || walk.Crowded != "" {
		s.files = nil
	}
	return s, ctx.Err()
}

// After lists the files that have changed since a snapshot was taken, with slashes and relative to
// its folder, in their order, and tells whether the folder stands at another commit.
func After(ctx context.Context, before Snapshot) (changed []string, moved bool, err error) {
	now, err := Look(ctx, before.dir)
	if err != nil || before.files == nil || now.files == nil {
		return nil, false, err
	}
	names := map[string]bool{}
	for name, print := range now.files {
		if was, ok := before.files[name]; !ok || was != print {
			names[name] = true
		}
	}
	for name := range before.files {
		if _, ok := now.files[name]; !ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), false, nil
}
