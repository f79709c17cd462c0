package toolbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// openFile opens a regular file for reading, and says of anything else what it is.
func (b *Box) openFile(field, rel string) (*os.File, fs.FileInfo, error) {
	info, err := b.root.Stat(rel)
	if err != nil {
		return nil, nil, refused(field, rel, err)
	}
	if err := regular(field, rel, info); err != nil {
		return nil, nil, err
	}
	file, info, err := b.files.Open(rel)
	if err != nil {
		return nil, nil, refused(field, rel, err)
	}
	if err := regular(field, rel, info); err != nil {
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
