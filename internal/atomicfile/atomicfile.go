// Package atomicfile writes files whole or not at all: whoever reads one sees the
// former text or the new one, also after a crash or a power cut. It knows nothing
// of what the files hold, or of why they are written.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Leftovers is the glob pattern of the files that a crash in the middle of
// writing may leave beside the file.
const Leftovers = ".planloop-*.tmp"

// leftAfter is the age at which nobody writes such a file any more.
const leftAfter = time.Hour

// Sweep removes from a folder what a crash in the middle of writing has left there, and nothing of
// another program's. A file that cannot be removed does no harm.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // what cannot be listed is not swept
	for _, entry := range entries {
		left, _ := filepath.Match(Leftovers, entry.Name())
		if info, err := entry.Info(); left && err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftAfter {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Options say how a file is written. The zero value makes a file as programs
// usually do (0o666 less what the umask takes away), over the former one.
type Options struct {
	Mode fs.FileMode // the exact permissions, whatever the umask says; 0: those of Like
	Like fs.FileInfo // the former file: the new one gets its permissions and, as far as we may, its owner
	New  bool        // refuse a file that is there already, with an error that wraps fs.ErrExist

	// Confirm is asked when the new text is on disk, right before it takes its
	// place. Its error is returned as it is, and the former file stays.
	Confirm func() error
}

// WriteFile writes the file at path. Its folder must exist. A link at path is
// replaced and not followed.
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

// Write writes the file name, whose folder must exist, without leaving the folder
// root. The errors of the file system are of type *fs.PathError and name the file.
func Write(root *os.Root, name string, data []byte, o Options) error {
	temporary := filepath.Join(filepath.Dir(name), ".planloop-"+rand.Text()+".tmp")
	if err := create(root, temporary, data, o); err != nil {
		return about(name, err)
	}
	defer func() { _ = root.Remove(temporary) }() // a renaming has taken it away
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

// place puts what is on disk where it belongs.
func place(root *os.Root, temporary, name string, data []byte, o Options) error {
	if !o.New {
		return root.Rename(temporary, name)
	}
	// Unlike a renaming, a link never takes the place of a file.
	err := root.Link(temporary, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// There are no hard links here: half of the text can be seen for a moment.
	return create(root, name, data, o)
}

// create writes a file that must not be there, and removes it if that does not
// succeed.
func create(root *os.Root, name string, data []byte, o Options) (err error) {
	mode := o.Mode.Perm()
	if mode == 0 && o.Like != nil {
		mode = o.Like.Mode().Perm()
	}
	exact := o.Mode != 0 || o.Like != nil
	first := fs.FileMode(0o666)
	if exact {
		first = 0o600 // until it has the right one
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

// SyncFolder makes the names in a folder durable, where the system needs that.
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
		return nil // who may write in a folder need not be able to read it
	}
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(folder.Sync()), folder.Close())
}

// about returns what the file system said, of the file that was to be written
// and not of the one beside it.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	cause := err
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		cause = failed.Err
	} else if failed, ok := errors.AsType[*os.LinkError](err); ok {
		cause = failed.Err
	}
	return &fs.PathError{Op: "write", Path: name, Err: cause}
}
