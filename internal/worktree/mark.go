package worktree

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// mark is by what a file is known to be as it was. The zero value is that of one that is not there.
type mark struct {
	kind fs.FileMode // the type, and whether it may be executed
	size int64
	time time.Time
	hash [sha256.Size]byte // of what it holds, where it was read
	read bool
}

// same reports whether a file is as it was, as far as its marks tell: what was read tells all.
func (m mark) same(now mark) bool {
	if m.kind != now.kind || m.size != now.size {
		return false
	}
	if m.read && now.read {
		return m.hash == now.hash
	}
	return m.time.Equal(now.time)
}

// marker makes marks of the files below a folder.
type marker struct {
	tree *tree.Tree
	root *os.Root
	room int64 // bytes that may still be read
}

const executable = 0o111

// mark makes the mark of a file, of what it holds as well where that is asked for and not too much.
func (m *marker) mark(name string, read bool) mark {
	info, err := m.root.Lstat(name)
	if err != nil {
		return mark{}
	}
	made := mark{kind: info.Mode().Type() | info.Mode()&executable, size: info.Size(), time: info.ModTime()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := m.root.Readlink(name)
		made.hash, made.read = sha256.Sum256([]byte(target)), err == nil
	case info.Mode().IsRegular() && read && info.Size() <= min(maxHashed, m.room):
		made.hash, made.read = m.hash(name)
		m.room -= info.Size()
	}
	return made
}

// hash is that of what a regular file holds.
func (m *marker) hash(name string) (sum [sha256.Size]byte, ok bool) {
	file, _, err := m.tree.Open(name)
	if err != nil {
		return sum, false
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(file, maxHashed))
	return [sha256.Size]byte(h.Sum(nil)), err == nil
}
