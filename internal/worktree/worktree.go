// Package worktree detects the files of a folder that changed between two looks: in a git work tree by HEAD and the
// uncommitted changes, elsewhere by the files' metadata. Files ignored by git are skipped. Git runs no commands that a
// repository configures.
//
// It must not know the author of the changes, or the caller's purpose.
package worktree

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/tree"
)

// Snapshot is the state of a folder at one time.
type Snapshot struct {
	dir   string
	repos map[string]repository // by the prefix of their files' paths, "" for the folder's own; nil: without git
	files map[string]mark       // without git; nil: too many files
}

const (
	maxFiles   = 100_000   // most files without git
	maxHashed  = 16 << 20  // most bytes of a file to hash
	mostHashed = 128 << 20 // most bytes of all files to hash in one look
)

// Look takes a snapshot of a folder. If the folder has too many files for that, no changes are detected later.
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

// After returns the files that changed since a snapshot, sorted, with slashes and relative to its folder, and reports
// whether a repository in it is at a different commit.
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

// look reads a folder: its repository and the nested ones, or its files.
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

// walk returns the marks of all files; nil if there are too many.
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

// compare finds the changes in each repository.
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
