package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Only the user can read or write them.
const (
	FolderMode fs.FileMode = 0o700
	FileMode   fs.FileMode = 0o600
)

const elsewhere = "or set XDG_STATE_HOME to a folder of your own"

// CheckFolder refuses a folder that is a link, has another owner or is writable by others. It checks the parent, too
// (sticky ones such as /tmp pass), since anyone with write access to it could replace the folder. Folders above these
// two are not checked. The error wraps fs.ErrNotExist if the folder is missing.
func CheckFolder(path string) error {
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

// real returns the information of a path that must be a folder.
func real(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link, and planloop does not follow links to its data: move it away, %s", path, elsewhere)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: move it away, %s", path, elsewhere)
	}
	return info, nil
}

// MakeFolder creates the folder, or checks the existing one.
func MakeFolder(path string) error {
	if err := CheckFolder(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(path, FolderMode); err != nil {
		return err
	}
	if err := ensureMode(path, FolderMode); err != nil {
		return err
	}
	return CheckFolder(path)
}

// CheckFile refuses a path that is not a regular file of the user, and returns its permissions. A missing file is not an
// error and counts as private.
func CheckFile(path string) (mode fs.FileMode, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return FileMode, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), plain(path, info)
}

// CheckUnread refuses a file of the user that others can read.
func CheckUnread(path string) error {
	mode, err := CheckFile(path)
	if err == nil && !UserOnly(mode) {
		err = fmt.Errorf("%s can be read by others (mode %04o): run chmod 600 on it", filepath.Base(path), mode)
	}
	return err
}

func plain(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link or not a regular file (%s): move it away; planloop does not follow links to its data",
			path, info.Mode().Type())
	}
	return checkOwner(path, info, false)
}

// Open opens a file of the user, and creates it if the flag says so.
func Open(path string, flag int) (*os.File, error) {
	if _, err := CheckFile(path); err != nil {
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

// Read returns the first bytes of a file of the user, at most limit.
func Read(path string, limit int64) ([]byte, error) {
	file, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}

// ensureMode sets the permissions that the umask removed.
func ensureMode(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() == mode || !info.IsDir() && !info.Mode().IsRegular() {
		return err
	}
	return os.Chmod(path, mode)
}
