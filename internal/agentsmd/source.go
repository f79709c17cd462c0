package agentsmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// source is a file as it was read.
type source struct {
	file   string // as asked for
	target string // by its way through the workspace, free of links
	data   []byte
	info   fs.FileInfo // nil when there is no such file
}

func (s source) exists() bool { return s.info != nil }

// same reports whether two readings found the same.
func (s source) same(other source) bool {
	if s.target != other.target || s.exists() != other.exists() {
		return false
	}
	return !s.exists() || s.info.Mode() == other.info.Mode() && bytes.Equal(s.data, other.data)
}

// openWorkspace opens the folder that nothing here leaves.
func openWorkspace(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return root, nil
}

// read reads a file of the workspace. An error is an *Error.
func read(root *os.Root, file string) (source, error) {
	found, err := resolve(root, file)
	if err != nil {
		return source{file: file}, err
	}
	s := source{file: file, target: found.target}
	info, err := root.Lstat(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, unreadable(file, err)
	}
	if !info.Mode().IsRegular() {
		return s, notPlain(file) // opening a pipe would wait for ever
	}
	s.data, s.info, err = readPlain(root, file, s.path())
	return s, err
}

func (s source) path() string { return filepath.FromSlash(s.target) }

func readPlain(root *os.Root, file, target string) ([]byte, fs.FileInfo, error) {
	f, err := root.Open(target)
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	if len(data) > MaxBytes {
		return nil, nil, tooLarge(file, fmt.Sprintf("it is larger than %d bytes", MaxBytes))
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, nil, &Error{File: file, State: NotText, Problem: "it is not UTF-8 text", Fix: "save it as UTF-8, or name another file as agents_file"}
	}
	return data, info, nil
}

// document takes the file apart. An error is an *Error.
func (s source) document() (document, error) {
	d, wrong := parse(string(s.data))
	if wrong != nil {
		return d, &Error{File: s.file, State: Broken, Line: wrong.line, Problem: wrong.problem, Fix: wrong.fix}
	}
	return d, nil
}
