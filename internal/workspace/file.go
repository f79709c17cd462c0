package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// FileName is the name of the workspace's own configuration file.
const FileName = ".planloop.yaml"

// readOwn returns the text of the workspace's own file, nil when there is none.
// The directory came from a stranger: nothing outside it is opened, and nothing
// that is not a plain file.
func readOwn(dir string) ([]byte, error) {
	path := filepath.Join(dir, FileName)
	linked, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer root.Close()
	info, err := root.Stat(FileName)
	if err != nil && linked.Mode()&fs.ModeSymlink != 0 {
		return nil, &ConfigError{Source: path, Problem: "is a link that leads out of the workspace or nowhere",
			Want: "put a file there, or link to one inside by a relative path", Err: err}
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	file, err := root.Open(FileName)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return readAll(path, file)
}

// readUsers returns the text of the user's file, nil when there is none. A file
// that is there and cannot be read is an error: without it a policy would be
// looser than the user wrote.
func readUsers(path string) ([]byte, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	// It names commands to run, so what anybody can write must not be obeyed.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, &ConfigError{Source: path, Problem: "can be written by everybody on this machine", Want: "run chmod o-w on it"}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return readAll(path, file)
}

// readAll reads one byte more than is allowed, so that too much is noticed.
func readAll(path string, file *os.File) ([]byte, error) {
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func notPlain(path string) error {
	return &ConfigError{Source: path, Problem: "is not a plain file", Want: "put a file there or remove it"}
}

func unreadable(path string, err error) error {
	cause := err
	if detail := (*fs.PathError)(nil); errors.As(err, &detail) {
		cause = detail.Err
	}
	return &ConfigError{Source: path, Problem: "cannot be read: " + cause.Error(), Want: "make it readable or remove it", Err: err}
}
