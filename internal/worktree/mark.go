package worktree

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// mark identifies the state of a file. The zero value is a missing file.
type mark struct {
	kind fs.FileMode // type and executable bits
	size int64
	time time.Time
	hash [sha256.Size]byte // of its content, if read is set
	read bool
}

// same reports whether a file is unchanged according to its marks; hashes count more than times.
func (m mark) same(now mark) bool {
	if m.kind != now.kind || m.size != now.size {
		return false
	}
	if m.read && now.read {
		return m.hash == now.hash
	}
	return m.time.Equal(now.time)
}

// marker makes marks of the files in a folder.
type marker struct {
	tree *tree.Tree
	root *os.Root
	room int64 // bytes that may still be read
}

const executable = 0o111

// mark returns the mark of a file, with its hash if read is set and the file is not too large.
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

// hash returns the hash of a regular file's content.
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
