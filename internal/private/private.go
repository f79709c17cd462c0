// Package private makes, checks and opens folders and files that are the user's alone:
// none is reached through a link, belongs to somebody else, or can be changed by others.
// It knows nothing of what they hold.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Nobody but the user reads or writes them.
const (
	FolderMode fs.FileMode = 0o700
	FileMode   fs.FileMode = 0o600
)

const elsewhere = "or set XDG_STATE_HOME to a folder of your own"

// Folder refuses a folder that is a link, belongs to somebody else or can be written by
// others, or that lies in such a one: who can write there can put another in its place.
// What lies above these two is the user's affair. The error wraps fs.ErrNotExist where
// there is no folder.
func Folder(path string) error {
	above, err := real(filepath.Dir(path))
	if err != nil {
		return err
	}
	if above.Mode()&fs.ModeSticky == 0 || above.Mode().Perm()&0o022 == 0 {
		if err := checkOwner(filepath.Dir(path), above, true); err != nil {
			return err
		}
	}
	info, err := real(path)
	if err != nil {
		return err
	}
	return checkOwner(path, info, false)
}

// real returns what stands at a path, which must be a folder.
func real(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link, and planloop keeps its data behind none: move the link away, %s", path, elsewhere)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: move it away, %s", path, elsewhere)
	}
	return info, nil
}

// Make makes the folder, or checks the one that is there.
func Make(path string) error {
	if err := Folder(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(path, FolderMode); err != nil {
		return err
	}
	if err := ensureMode(path, FolderMode); err != nil {
		return err
	}
	return Folder(path)
}

// File refuses a file that is no plain file of the user's own, and tells who may use it.
// A file that does not exist is well, and private.
func File(path string) (mode fs.FileMode, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return FileMode, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), plain(path, info)
}

// Unread refuses a file of the user's own that others can read.
func Unread(path string) error {
	mode, err := File(path)
	if err == nil && !Only(mode) {
		err = fmt.Errorf("%s can be read by others (mode %04o): run chmod 600 on it", filepath.Base(path), mode)
	}
	return err
}

func plain(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link or not a regular file (%s): move it away; planloop keeps its data behind no link",
			path, info.Mode().Type())
	}
	return checkOwner(path, info, false)
}

// Open opens a file of the user's own, which is made if the flag says so.
func Open(path string, flag int) (*os.File, error) {
	if _, err := File(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, flag|NoFollow, FileMode)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = plain(path, info)
	}
	if err == nil && flag&os.O_CREATE != 0 && info.Mode().Perm() != FileMode {
		err = file.Chmod(FileMode)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Read returns what is in a file of the user's own, at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// ensureMode undoes what the umask took away.
func ensureMode(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() == mode || !info.IsDir() && !info.Mode().IsRegular() {
		return err
	}
	return os.Chmod(path, mode)
}
