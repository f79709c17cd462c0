package gates

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// existence is what became of looking for a path.
type existence int

const (
	absent    existence = iota
	present             // a file or directory, or a pattern that matches one
	astray              // a link leads out of the workspace, or in a circle
	tooWide             // a pattern that would take too long to search
	ambiguous           // a pattern that is not valid, or too intricate
)

// tree looks for paths in the workspace, once for each.
type tree struct {
	files fs.FS
	seen  map[string]existence
	left  int // how many entries may still be read for patterns
}

// maxEntries bounds what all patterns of a candidate read together.
const maxEntries = 50_000

func newTree(files fs.FS) *tree {
	return &tree{files: files, seen: map[string]existence{}, left: maxEntries}
}

// look looks for a path that locate has returned.
func (t *tree) look(ctx context.Context, p string) existence {
	if known, ok := t.seen[p]; ok {
		return known
	}
	found := t.stat(p)
	if found == absent && isGlob(p) {
		found = t.search(ctx, p)
	}
	t.seen[p] = found
	return found
}

func (t *tree) stat(p string) existence {
	_, err := fs.Stat(t.files, p)
	switch {
	case err == nil, errors.Is(err, fs.ErrPermission):
		return present // what may not be looked into is there
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case t.linked(p):
		return astray
	}
	return absent // something else stands in the way: a file where a directory is meant, a name too long
}

// linked reports whether a path leads over a link. Only those make a lookup fail
// although something is there.
func (t *tree) linked(p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		if info, err := fs.Lstat(t.files, p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// search reports whether a pattern matches anything. Patterns follow no links
// below where they begin, and look into .git and node_modules only when they say so.
func (t *tree) search(ctx context.Context, pattern string) existence {
	if !simple(pattern) {
		return ambiguous
	}
	found := false
	files := &bounded{FS: t.files, ctx: ctx, left: &t.left, pattern: pattern}
	err := doublestar.GlobWalk(files, pattern, func(match string, _ fs.DirEntry) error {
		if _, err := files.Stat(match); err != nil {
			return nil // a link that leads nowhere, or out of the workspace
		}
		found = true
		return errFound
	}, doublestar.WithNoFollow())
	switch {
	case found:
		return present
	case files.stopped:
		return tooWide
	case err != nil:
		return ambiguous
	}
	return absent
}

var errFound = errors.New("found")

// simple reports whether a pattern is valid and can be matched without trying very
// many ways: alternatives multiply, and so do stars.
func simple(pattern string) bool {
	return doublestar.ValidatePattern(pattern) && strings.Count(pattern, "{") <= 3 &&
		strings.Count(pattern, ",") <= 30 && strings.Count(pattern, "*") <= 16
}

// bounded is a file system that stops answering after so many entries, or when
// the context ends.
type bounded struct {
	fs.FS
	ctx     context.Context
	left    *int
	pattern string
	stopped bool
}

var errBound = errors.New("the bound is reached")

func (b *bounded) Stat(name string) (fs.FileInfo, error) {
	if err := b.take(1); err != nil {
		return nil, err
	}
	return fs.Stat(b.FS, name)
}

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.take(1); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(b.FS, name)
	if bound := b.take(len(entries)); bound != nil {
		return nil, bound
	}
	var shown []fs.DirEntry
	for _, entry := range entries {
		if !b.hides(entry.Name()) {
			shown = append(shown, entry)
		}
	}
	return shown, err
}

func (b *bounded) take(n int) error {
	if err := b.ctx.Err(); err != nil {
		b.stopped = true
		return err
	}
	if *b.left < n {
		b.stopped, *b.left = true, 0
		return errBound
	}
	*b.left -= n
	return nil
}

func (b *bounded) hides(name string) bool {
	return (name == ".git" || name == "node_modules") && !strings.Contains(b.pattern, name)
}
