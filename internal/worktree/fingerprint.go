package worktree

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"time"
)

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

// hash returns the hash of a regular file's content.
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
