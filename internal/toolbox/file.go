package toolbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// openFile opens a regular file for reading. Anything else is refused without
// being opened, since opening a pipe waits for its writer and opening a device
// can do anything; should a file turn into one in between, the open does not wait.
func (b *Box) openFile(field, rel string) (*os.File, fs.FileInfo, error) {
	info, err := b.root.Stat(rel)
	if err != nil {
		return nil, nil, refused(field, rel, err)
	}
	if err := regular(field, rel, info); err != nil {
		return nil, nil, err
	}
	file, err := b.root.OpenFile(rel, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, refused(field, rel, err)
	}
	info, err = file.Stat()
	if err == nil {
		err = regular(field, rel, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func regular(field, rel string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return invalid(field, plan.Quote(rel)+" is a directory", "name a file in it")
	}
	return invalid(field, plan.Quote(rel)+" is "+kind(info.Mode()), "name a regular file")
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// readWhole reads a file of at most Limits.FileBytes.
func (b *Box) readWhole(field, rel string) (data []byte, info fs.FileInfo, err error) {
	file, info, err := b.openFile(field, rel)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, b.limits.FileBytes+1))
	if err != nil {
		return nil, nil, refused(field, rel, err)
	}
	if int64(len(data)) > b.limits.FileBytes {
		return nil, nil, invalid(field, fmt.Sprintf("%s is larger than %s", plan.Quote(rel), size(b.limits.FileBytes)), "use a command for it")
	}
	return data, info, nil
}

// sniffed is how much of a file tells what it is.
const sniffed = 8_000

// binary reports whether a file that begins so is no text: it has a NUL, as
// UTF-16 has too.
func binary(beginning []byte) bool {
	return bytes.IndexByte(beginning[:min(len(beginning), sniffed)], 0) >= 0
}

const bom = "\ufeff"

// notUTF8 reports whether a line, which may have been cut within a character, is
// not UTF-8.
func notUTF8(line []byte, cut bool) bool {
	for range utf8.UTFMax - 1 {
		if !cut || utf8.Valid(line) {
			break
		}
		if r, n := utf8.DecodeLastRune(line); r != utf8.RuneError || n != 1 {
			return true
		}
		line = line[:len(line)-1]
	}
	return !utf8.Valid(line)
}
