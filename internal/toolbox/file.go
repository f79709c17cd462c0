package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
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
		return nil, nil, invalid(field, fmt.Sprintf("%s is larger than %s", plan.Quote(rel), size(b.limits.FileBytes)),
			"use a command for it")
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

// ReadFile is the input of ReadFile (execution: read_file).
type ReadFile struct {
	Path string `json:"path"`
}

// ReadFileReply is a whole file, exactly as it is.
type ReadFileReply struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Bytes   int    `json:"bytes"`
}

// ReadFile is View for a step of a plan whose outcome another step uses: it gives
// the whole text, unnumbered and unescaped, or nothing.
func (b *Box) ReadFile(ctx context.Context, in ReadFile) (ReadFileReply, error) {
	rel, err := b.place("/path", in.Path)
	if err != nil {
		return ReadFileReply{}, err
	}
	if err := ctx.Err(); err != nil {
		return ReadFileReply{}, err
	}
	data, _, err := b.readWhole("/path", rel)
	if err != nil {
		return ReadFileReply{}, err
	}
	if !utf8.Valid(data) {
		return ReadFileReply{}, invalid("/path", plan.Quote(rel)+" is not text in UTF-8", "use a command for it")
	}
	return ReadFileReply{Path: rel, Content: string(data), Bytes: len(data)}, nil
}

// Text is what a model reads.
func (r ReadFileReply) Text() string {
	return fmt.Sprintf("%s: %s\n%s", safetext.EscapeLine(r.Path), counted(r.Bytes, "byte", "bytes"), safetext.Escape(r.Content))
}

// Value is what a step that refers to this one gets.
func (r ReadFileReply) Value() any { return r.Content }

// WriteFile is the input of WriteFile (execution: write_file).
type WriteFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// WriteFile is CreateFile for a step of a plan: a file that is there is replaced.
func (b *Box) WriteFile(ctx context.Context, in WriteFile) (CreateFileReply, error) {
	return b.CreateFile(ctx, CreateFile{Path: in.Path, Content: in.Content, Overwrite: true})
}
