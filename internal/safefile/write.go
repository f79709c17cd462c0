// Package safefile writes files atomically, and keeps files and folders private.
//
// After a crash or a power cut a reader sees the former text or the new one. A private file belongs to the user alone:
// it is not reached through a link, has no other owner, and cannot be changed by others. The package knows neither the
// content of the files nor their purpose.
package safefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Leftovers is the glob pattern of temporary files that a crash during a write may leave next to the file.
const Leftovers = ".planloop-*.tmp"

// leftAfter is the age after which such a file is no longer being written.
const leftAfter = time.Hour

// Sweep removes the leftovers of crashed writes from a folder, and no other files. It ignores errors, since a leftover
// does no harm.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // an unreadable folder is not swept
	for _, entry := range entries {
		left, _ := filepath.Match(Leftovers, entry.Name())
		if info, err := entry.Info(); left && err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftAfter {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Options control a write. The zero value creates a file with the usual mode (0o666 minus the umask), replacing the
// former one.
type Options struct {
	Mode fs.FileMode // exact permissions, regardless of the umask; 0: those of Like
	Like fs.FileInfo // the former file: the new one gets its permissions and, if permitted, its owner
	New  bool        // refuse an existing file with an error that wraps fs.ErrExist

	// Confirm is called when the new text is on disk, just before it replaces the file. Its error is returned
	// unchanged, and the former file stays.
	Confirm func() error
}

// WriteFile writes the file at path. Its folder must exist. A link at path is replaced, not followed.
func WriteFile(path string, data []byte, o Options) error {
	dir, name := filepath.Split(path)
	folder, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return about(path, err)
	}
	defer folder.Close()
	err = Write(folder, name, data, o)
	if failed, ok := err.(*fs.PathError); ok && failed.Path == name {
		failed.Path = path
	}
	return err
}

// Write writes the file name within root. Its folder must exist. File system errors are of type *fs.PathError and name
// the file.
func Write(root *os.Root, name string, data []byte, o Options) error {
	temporary := filepath.Join(filepath.Dir(name), ".planloop-"+rand.Text()+".tmp")
	if err := create(root, temporary, data, o); err != nil {
		return about(name, err)
	}
	defer func() { _ = root.Remove(temporary) }() // fails after a rename
	if o.Confirm != nil {
		if err := o.Confirm(); err != nil {
			return err
		}
	}
	if err := place(root, temporary, name, data, o); err != nil {
		return about(name, err)
	}
	return about(name, syncFolder(root, filepath.Dir(name)))
}

// place moves the temporary file to its final name.
func place(root *os.Root, temporary, name string, data []byte, o Options) error {
	if !o.New {
		return root.Rename(temporary, name)
	}
	// Unlike a rename, a link never replaces a file.
	err := root.Link(temporary, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Without hard links a reader may briefly see part of the text.
	return create(root, name, data, o)
}

// create writes a file that must not exist, and removes it on failure.
func create(root *os.Root, name string, data []byte, o Options) (err error) {
	mode := o.Mode.Perm()
	if mode == 0 && o.Like != nil {
		mode = o.Like.Mode().Perm()
	}
	exact := o.Mode != 0 || o.Like != nil
	first := fs.FileMode(0o666)
	if exact {
		first = 0o600 // until the final mode is set
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, first)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = root.Remove(name)
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if o.Like != nil {
		keepOwner(file, o.Like)
	}
	if exact {
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	return file.Sync()
}

// SyncFolder makes the names in a folder durable, on systems that need it.
func SyncFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return syncFolder(root, ".")
}

func syncFolder(root *os.Root, dir string) error {
	folder, err := root.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a writable folder need not be readable
	}
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(folder.Sync()), folder.Close())
}

// about returns a file system error with the name of the requested file instead of the temporary one.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "write", Path: name, Err: Cause(err)}
}

// Cause returns a file system error without its path.
func Cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return failed.Err
	}
	return err
}
