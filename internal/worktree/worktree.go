// Package worktree tells which files of a folder have changed between two looks at it: where git has
// a work tree, by HEAD and by what stands otherwise than in its commit; elsewhere by going through the
// files. What git ignores is passed over. Git runs nothing that a repository names.
//
// It must not know who changed them, or why somebody asks.
package worktree

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/tree"
)

// Snapshot is what stood in a folder when it was looked at.
type Snapshot struct {
	dir   string
	repos map[string]repository // by what the paths of their files begin with, "" for that of the folder; nil: without git
	files map[string]mark       // without git; nil: more than are looked at
}

const (
	maxFiles   = 100_000   // that are gone through without git
	maxHashed  = 16 << 20  // bytes of a file that is read
	mostHashed = 128 << 20 // bytes of all files that a look reads
)

// Look takes down what stands in a folder. Where it holds more than can be taken down, nothing is
// seen to change there.
func Look(ctx context.Context, dir string) (Snapshot, error) {
	l, err := newLook(dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { _ = l.root.Close() }()
	if err := l.into(ctx, dir, "", 0); err == nil {
		return Snapshot{dir: dir, repos: l.repos}, nil
	}
	return Snapshot{dir: dir, files: l.walk(ctx)}, ctx.Err()
}

// After lists the files that have changed since a snapshot was taken, sorted, with slashes and
// relative to its folder, and tells whether a repository in it stands at another commit.
func After(ctx context.Context, before Snapshot) (changed []string, moved bool, err error) {
	l, err := newLook(before.dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = l.root.Close() }()
	found := map[string]bool{}
	if before.repos != nil {
		if err := l.into(ctx, before.dir, "", 0); err != nil {
			return nil, false, err
		}
		moved, err = l.compare(ctx, before.repos, found)
		return slices.Sorted(maps.Keys(found)), moved, err
	}
	now := l.walk(ctx)
	if before.files == nil || now == nil {
		return nil, false, ctx.Err()
	}
	for name := range union(before.files, now) {
		if !before.files[name].same(now[name]) {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), false, nil
}

// look goes through a folder: its repository and those nested in it, or its files.
type look struct {
	marker
	repos map[string]repository
}

func newLook(dir string) (*look, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &look{marker: marker{tree.In(root), root, mostHashed}, repos: map[string]repository{}}, nil
}

// walk makes the marks of all files; nil where they are too many.
func (l *look) walk(ctx context.Context) map[string]mark {
	files := map[string]mark{}
	walk := l.tree.Walk(tree.Options{Entries: maxFiles})
	for name, entry := range walk.Below(ctx, ".") {
		if !entry.IsDir() {
			files[name] = l.mark(name, false)
		}
	}
	if walk.Cut != tree.Whole || walk.Crowded != "" {
		return nil
	}
	return files
}

// compare finds what has changed in each of the repositories.
func (l *look) compare(ctx context.Context, before map[string]repository, found map[string]bool) (moved bool, err error) {
	l.room += mostHashed
	for prefix := range union(before, l.repos) {
		was, existed := before[prefix]
		is, exists := l.repos[prefix]
		if !existed || !exists {
			found[strings.TrimSuffix(prefix, "/")] = true
			continue
		}
		moved = moved || was.head != is.head
		if err := l.changed(ctx, was, is, prefix, found); err != nil {
			return moved, err
		}
	}
	return moved, nil
}

func union[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for _, names := range []map[string]V{a, b} {
		for name := range names {
			all[name] = true
		}
	}
	return all
}
