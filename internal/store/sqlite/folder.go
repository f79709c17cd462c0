package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Nobody but the user reads or writes a log.
const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// makeFolder makes the folder and the one in it for the head, or checks those
// that are there.
func (l *Log) makeFolder() error {
	for _, dir := range []string{l.dir, filepath.Join(l.dir, growthName)} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			continue
		}
		if err := os.MkdirAll(dir, folderMode); err != nil {
			return explain(dir, err)
		}
		if err := ensureMode(dir, folderMode); err != nil {
			return explain(dir, err)
		}
	}
	return l.checkFolder()
}

// checkFolder refuses a folder that others can write to, or that cannot hold a
// database safely.
func (l *Log) checkFolder() error {
	info, err := os.Stat(l.dir)
	if err != nil {
		return explain(l.dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: remove it or choose another place", l.dir)
	}
	if err := checkOwner(l.dir, info); err != nil {
		return err
	}
	if l.opts.AllowNetwork {
		return nil
	}
	return checkFileSystem(l.dir)
}

// checkFile refuses a file of the log that is not the user's own. A file that
// does not exist is well.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return explain(path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link or no file at all (%s): remove it; a log is never reached through a link", path, info.Mode().Type())
	}
	return checkOwner(path, info)
}

// ensureMode undoes what the umask took away.
func ensureMode(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	return os.Chmod(path, mode)
}

// createFile makes an empty file with the right mode. A file that exists is an
// error and is not opened: to close it would drop the locks that SQLite holds
// on it in this process.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return ensureMode(path, fileMode)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
