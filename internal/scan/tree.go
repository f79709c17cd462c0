package scan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// errNotRegular is what opening a pipe, a socket or a device yields.
var errNotRegular = errors.New("not a regular file or directory")

// Tree is the directory of a workspace, open for reading. It is safe for
// concurrent use.
type Tree struct {
	root *os.Root
}

// Open opens the directory root. Symbolic links in it are never followed out of it.
func Open(root string) (*Tree, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w; give a directory that exists and can be read", err)
	}
	return &Tree{root: r}, nil
}

// Close releases the directory. What FS returned is of no use afterwards.
func (t *Tree) Close() error { return t.root.Close() }

// open opens a regular file or a directory for reading. Anything else is refused
// before it is opened, and again after, since it may have been exchanged: opening
// a pipe would wait for a writer, opening a device could act on it.
func (t *Tree) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := t.root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !readable(info) {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	return t.openSeen(name)
}

// openSeen opens what was seen to be a regular file or a directory.
func (t *Tree) openSeen(name string) (*os.File, fs.FileInfo, error) {
	file, err := t.root.OpenFile(name, os.O_RDONLY|openFlag, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !readable(info) {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func readable(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// outcome says what became of an attempt to read a file.
type outcome int

const (
	wasRead outcome = iota
	wasLarge
	wasBinary
	wasUnreadable
)

// read returns the content of a file that a walk saw, if it is a text of at most
// most bytes. It reads into buffer and returns a part of it, or of a larger one.
func (t *Tree) read(name string, most int, buffer []byte) ([]byte, outcome) {
	file, info, err := t.openSeen(filepath.FromSlash(name))
	if err != nil {
		return buffer[:0], wasUnreadable
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info.IsDir() {
		return buffer[:0], wasUnreadable
	}
	if info.Size() > int64(most) {
		return buffer[:0], wasLarge
	}
	content, err := readUpTo(file, most+1, buffer[:0])
	switch {
	case err != nil:
		return content[:0], wasUnreadable
	case len(content) > most:
		return content[:0], wasLarge
	case binary(content):
		return content[:0], wasBinary
	}
	return content, wasRead
}

// readUpTo appends at most most bytes of r to buffer. What a file says of its
// size is not believed: it may grow, and some have none.
func readUpTo(r io.Reader, most int, buffer []byte) ([]byte, error) {
	for len(buffer) < most {
		if len(buffer) == cap(buffer) {
			buffer = append(buffer, make([]byte, 16<<10)...)[:len(buffer)]
		}
		n, err := r.Read(buffer[len(buffer):min(cap(buffer), most)])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

// FS returns the tree as a file system. Its links lead nowhere outside, and what
// is neither a regular file nor a directory cannot be opened.
func (t *Tree) FS() fs.FS { return view{t} }

// view is the fs.FS of a tree.
type view struct {
	tree *Tree
}

var (
	_ fs.StatFS     = view{}
	_ fs.ReadDirFS  = view{}
	_ fs.ReadLinkFS = view{}
)

func (v view) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, invalid("open", name)
	}
	file, _, err := v.tree.open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (v view) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, invalid("stat", name)
	}
	return v.tree.root.Stat(filepath.FromSlash(name))
}

func (v view) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, invalid("lstat", name)
	}
	return v.tree.root.Lstat(filepath.FromSlash(name))
}

func (v view) ReadLink(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", invalid("readlink", name)
	}
	return v.tree.root.Readlink(filepath.FromSlash(name))
}

func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(v.tree.root.FS(), name)
}

func invalid(operation, name string) error {
	return &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
}

// join is path.Join for a folder that may be the root.
func join(folder, name string) string {
	if folder == "." {
		return name
	}
	return path.Join(folder, name)
}
