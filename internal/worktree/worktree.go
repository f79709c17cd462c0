// Package worktree detects the files of a folder that changed between two looks: in a git work tree by HEAD and the
// uncommitted changes, elsewhere by the files' metadata. Files ignored by git are skipped. Git runs no commands that a
// repository configures.
//
// It must not know the author of the changes, or the caller's purpose.
package worktree

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// Snapshot is the state of a folder at one time.
type Snapshot struct {
	dir   string
	repos map[string]repository  // by the prefix of their files' paths, "" for the folder's own; nil: without git
	files map[string]fingerprint // without git; nil: too many files
}

const (
	maxFiles       = 100_000   // most files without git
	maxHashed      = 16 << 20  // most bytes of a file to hash
	maxTotalHashed = 128 << 20 // most bytes of all files to hash in one look
)

// TakeSnapshot takes a snapshot of a folder. If the folder has too many files for that, no changes are detected later.
func TakeSnapshot(ctx context.Context, dir string) (Snapshot, error) {
	l, err := newReader(dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { _ = l.root.Close() }()
	if err := l.readRepository(ctx, dir, "", 0); err == nil {
		return Snapshot{dir: dir, repos: l.repos}, nil
	}
	return Snapshot{dir: dir, files: l.walk(ctx)}, ctx.Err()
}

// ChangedSince returns the files that changed since a snapshot, sorted, with slashes and relative to its folder, and reports
// whether a repository in it is at a different commit.
func ChangedSince(ctx context.Context, before Snapshot) (changed []string, moved bool, err error) {
	l, err := newReader(before.dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = l.root.Close() }()
	found := map[string]bool{}
	if before.repos != nil {
		if err := l.readRepository(ctx, before.dir, "", 0); err != nil {
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

// reader reads a folder: its repository and the nested ones, or its files.
type reader struct {
	tree  *tree.Tree
	root  *os.Root
	room  int64 // bytes that may still be read for hashes
	repos map[string]repository
}

func newReader(dir string) (*reader, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &reader{tree: tree.In(root), root: root, room: maxTotalHashed, repos: map[string]repository{}}, nil
}

// walk returns the fingerprints of all files; nil if there are too many.
func (l *reader) walk(ctx context.Context) map[string]fingerprint {
	files := map[string]fingerprint{}
	walk := l.tree.Walk(tree.Options{Entries: maxFiles})
	for name, entry := range walk.Below(ctx, ".") {
		if !entry.IsDir() {
			files[name] = l.fingerprint(name, false)
		}
	}
	if walk.Bound() != tree.Whole {
		return nil
	}
	return files
}

// compare finds the changes in each repository.
func (l *reader) compare(ctx context.Context, before map[string]repository, found map[string]bool) (moved bool, err error) {
	l.room += maxTotalHashed
	for prefix := range union(before, l.repos) {
		was, existed := before[prefix]
		is, exists := l.repos[prefix]
		if !existed || !exists {
			found[strings.TrimSuffix(prefix, "/")] = true
			continue
		}
		moved = moved || was.head != is.head
		if err := l.compareRepository(ctx, was, is, prefix, found); err != nil {
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

// fingerprint identifies the state of a file. The zero value is a missing file.
type fingerprint struct {
	kind fs.FileMode // type and executable bits
	size int64
	time time.Time
	hash [sha256.Size]byte // of its content, if read is set
	read bool
}

// same reports whether a file is unchanged according to its fingerprints; hashes count more than times.
func (m fingerprint) same(now fingerprint) bool {
	if m.kind != now.kind || m.size != now.size {
		return false
	}
	if m.read && now.read {
		return m.hash == now.hash
	}
	return m.time.Equal(now.time)
}

const executable = 0o111

// fingerprint returns the fingerprint of a file, with its hash if read is set and the file is not too large.
func (l *reader) fingerprint(name string, read bool) fingerprint {
	info, err := l.root.Lstat(name)
	if err != nil {
		return fingerprint{}
	}
	made := fingerprint{kind: info.Mode().Type() | info.Mode()&executable, size: info.Size(), time: info.ModTime()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := l.root.Readlink(name)
		made.hash, made.read = sha256.Sum256([]byte(target)), err == nil
	case info.Mode().IsRegular() && read && info.Size() <= min(maxHashed, l.room):
		made.hash, made.read = l.hash(name)
		l.room -= info.Size()
	}
	return made
}

func (l *reader) hash(name string) (sum [sha256.Size]byte, ok bool) {
	file, _, err := l.tree.Open(name)
	if err != nil {
		return sum, false
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(file, maxHashed))
	return [sha256.Size]byte(h.Sum(nil)), err == nil
}
