package agentsmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mayWrite refuses a file that is read-only, whether marked so or not ours to
// write: renaming another over it would go round that.
func mayWrite(root *os.Root, s source) error {
	if !s.exists() {
		return nil
	}
	if s.info.Mode().Perm()&0o222 == 0 {
		return readOnly(s.file, "it is read-only", nil)
	}
	f, err := root.OpenFile(s.path(), os.O_WRONLY, 0)
	if err != nil {
		return readOnly(s.file, "it cannot be written: "+cause(err), err)
	}
	return f.Close()
}

// replacement is a new text that is on disk beside a file, about to take its
// place.
type replacement struct {
	root *os.Root
	was  source
	temp string
	text []byte
}

// prepare writes the new text beside the file.
func prepare(root *os.Root, was source, text []byte) (*replacement, error) {
	folder, name := filepath.Split(was.path())
	if err := root.MkdirAll(filepath.Clean(folder), 0o777); err != nil {
		return nil, notWritten(was, err)
	}
	r := &replacement{root: root, was: was, temp: filepath.Join(folder, "."+name+".planloop-"+rand.Text()), text: text}
	if err := r.write(r.temp); err != nil {
		r.discard()
		return nil, notWritten(was, err)
	}
	return r, nil
}

// notWritten tells a place that may not be written from one that cannot be.
func notWritten(was source, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return readOnly(was.file, "its folder cannot be written: "+cause(err), err)
	}
	return fmt.Errorf("write %s: %w", was.file, err)
}

// write creates a file with the new text, on disk, and with the mode and owner
// of the former one.
func (r *replacement) write(path string) error {
	mode := fs.FileMode(0o666)
	if r.was.exists() {
		mode = 0o600 // until it has the right one
	}
	f, err := r.root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(r.text)
	if err == nil && r.was.exists() {
		err = keepMode(f, r.was.info)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// keepMode gives a file the owner of another, as far as we may, and its mode.
func keepMode(f *os.File, like fs.FileInfo) error {
	keepOwner(f, like)
	return f.Chmod(like.Mode().Perm())
}

// commit puts the new text in the file's place, unless the file is no longer
// what it was: then what somebody else wrote would be lost.
func (r *replacement) commit() error {
	if err := unchanged(r.root, r.was); err != nil {
		return err
	}
	return r.put()
}

func (r *replacement) put() error {
	put := r.root.Rename
	if !r.was.exists() {
		put = r.putNew
	}
	err := put(r.temp, r.was.path())
	if !r.was.exists() && errors.Is(err, fs.ErrExist) {
		return changed(r.was.file)
	}
	if err != nil {
		return notWritten(r.was, err)
	}
	syncFolder(r.root, filepath.Dir(r.was.path()))
	return nil
}

// putNew never replaces a file, as a renaming would. Where there are no hard
// links the text is written once more, and half of it can be seen for a moment.
func (r *replacement) putNew(temp, path string) error {
	err := r.root.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	err = r.write(path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		_ = r.root.Remove(path)
	}
	return err
}

// discard removes what is left beside the file: nothing, after a renaming.
func (r *replacement) discard() { _ = r.root.Remove(r.temp) }

// remove deletes a file, unless it is no longer what it was.
func remove(root *os.Root, was source) error {
	if err := unchanged(root, was); err != nil {
		return err
	}
	if err := root.Remove(was.path()); err != nil {
		return notWritten(was, err)
	}
	syncFolder(root, filepath.Dir(was.path()))
	return nil
}

// unchanged reads a file again and refuses when it is not what it was.
func unchanged(root *os.Root, was source) error {
	now, err := read(root, was.file)
	if err != nil || !was.same(now) {
		return changed(was.file)
	}
	return nil
}

// syncFolder brings a renaming to the disk where folders can be synced. If that
// fails the old text is back after a power cut, and the next look finds it out.
func syncFolder(root *os.Root, folder string) {
	f, err := root.Open(folder)
	if err != nil {
		return
	}
	_ = f.Sync()
	_ = f.Close()
}
