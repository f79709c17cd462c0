package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// openFile opens a regular file for reading. The error names the kind of any other file.
func (b *Box) openFile(rel string) (*os.File, fs.FileInfo, error) {
	info, err := b.root.Stat(rel)
	if err != nil {
		return nil, nil, refused(rel, err)
	}
	if err := regular(rel, info); err != nil {
		return nil, nil, err
	}
	file, info, err := b.files.Open(rel)
	if err != nil {
		return nil, nil, refused(rel, err)
	}
	if err := regular(rel, info); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func regular(rel string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return invalid("/path", plan.Quote(rel)+" is a directory", "name a file in it")
	}
	return invalid("/path", plan.Quote(rel)+" is "+kind(info.Mode()), "name a regular file")
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
	return "not a regular file"
}

// readWhole reads a file of at most Limits.FileBytes.
func (b *Box) readWhole(rel string) (data []byte, info fs.FileInfo, err error) {
	file, info, err := b.openFile(rel)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, b.limits.FileBytes+1))
	if err != nil {
		return nil, nil, refused(rel, err)
	}
	if int64(len(data)) > b.limits.FileBytes {
		return nil, nil, invalid("/path", plan.Quote(rel)+" is larger than "+size(b.limits.FileBytes),
			"use a command that reads or changes it")
	}
	return data, info, nil
}

const bom = "\ufeff"

// chunk is the read buffer size in bytes.
const chunk = 64 << 10

// watched is a reader that returns the context's error once it is done.
type watched struct {
	ctx context.Context
	r   io.Reader
}

func (w watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

// lines reads a file line by line, and keeps at most max bytes of each line in memory.
type lines struct {
	r    *bufio.Reader
	max  int
	text []byte
	left int  // bytes of the line after text
	crlf bool // it ended with CR LF
	open bool // it did not end with a newline
	read int64
}

func newLines(ctx context.Context, r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(watched{ctx, r}, chunk), max: max}
}

// next reads the next line. Its text excludes the line ending and is valid until the next call. At the end of the file
// it returns io.EOF.
func (l *lines) next() error {
	l.text, l.left, l.crlf, l.open = l.text[:0], 0, false, false
	var last byte
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		part = bytes.TrimSuffix(part, []byte("\n"))
		if len(part) > 0 {
			last = part[len(part)-1]
		}
		n := min(len(part), l.max-len(l.text))
		l.text = append(l.text, part[:n]...)
		l.left += len(part) - n
		switch {
		case err == nil:
			if l.crlf = last == '\r'; l.crlf && l.left > 0 {
				l.left--
			} else if l.crlf {
				l.text = l.text[:len(l.text)-1]
			}
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.text) > 0:
			l.open = true
			return nil
		default:
			return err
		}
	}
}

// ReadFile is the input of Box.ReadFile (execution: read_file).
type ReadFile struct {
	Path string `json:"path"`
}

// ReadFileReply is a whole file, unchanged.
type ReadFileReply struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Bytes   int    `json:"bytes"`
}

// ReadFile is View for a step of a plan with an output that another step uses: it returns the whole text, unnumbered
// and unescaped, or an error.
func (b *Box) ReadFile(ctx context.Context, in ReadFile) (ReadFileReply, error) {
	rel, err := in.check(b)
	if err != nil {
		return ReadFileReply{}, err
	}
	if err := ctx.Err(); err != nil {
		return ReadFileReply{}, err
	}
	data, _, err := b.readWhole(rel)
	if err != nil {
		return ReadFileReply{}, err
	}
	if !utf8.Valid(data) {
		return ReadFileReply{}, invalid("/path", plan.Quote(rel)+" is not UTF-8 text", "use a command that reads or changes it")
	}
	return ReadFileReply{Path: rel, Content: string(data), Bytes: len(data)}, nil
}

func (in ReadFile) check(b *Box) (rel string, err error) { return b.place(in.Path) }

// Text is the answer for a model.
func (r ReadFileReply) Text() string {
	return fmt.Sprintf("%s: %s\n%s", safetext.EscapeLine(r.Path), plan.Pluralize(r.Bytes, "byte"), safetext.Escape(r.Content))
}

// Value is the content, for steps that refer to this one.
func (r ReadFileReply) Value() any { return r.Content }

// WriteFile is the input of Box.WriteFile (execution: write_file).
type WriteFile struct {
	Path    string `json:"path"`
	Content string `json:"content" text:"any"`
}

// WriteFile is CreateFile for a step of a plan: it replaces an existing file.
func (b *Box) WriteFile(ctx context.Context, in WriteFile) (CreateFileReply, error) {
	return b.CreateFile(ctx, in.created())
}

func (in WriteFile) created() CreateFile {
	return CreateFile{Path: in.Path, Content: in.Content, Overwrite: true}
}

func (in WriteFile) check(b *Box) (rel string, err error) { return in.created().check(b) }

const inside = "give a path inside the workspace, relative to it"

// place returns a model's path relative to the workspace: clean, with slashes, and "." for the workspace itself. An
// absolute path is accepted if it is below the workspace. It only reads the text; os.Root ensures that no link leads
// out.
func (b *Box) place(text string) (string, error) {
	switch {
	case text == "":
		return "", invalid("/path", "is empty", inside)
	case !utf8.ValidString(text):
		return "", invalid("/path", "is not valid UTF-8", inside)
	case utf8.RuneCountInString(text) > plan.MaxPath:
		return "", invalid("/path", "is too long", fmt.Sprintf("shorten it to at most %d characters", plan.MaxPath))
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", invalid("/path", "has a control character", "remove it")
	}
	outside := invalid("/path", plan.Quote(text)+" is outside the workspace", inside)
	named := inside + "; a file of that name is ./" + plan.Shorten(text, 20)
	if filepath.IsAbs(text) {
		below, ok := under(b.names, text)
		if !ok {
			return "", outside
		}
		text = "./" + below
	}
	switch fault := plan.PathProblem(text); fault {
	case plan.PathOK:
	case plan.PathBackslash:
		return "", invalid("/path", string(fault), "separate names with /")
	case plan.PathHome:
		return "", invalid("/path", "begins with ~, which is not expanded", named)
	case plan.PathDrive:
		return "", invalid("/path", string(fault), named)
	default:
		return "", outside
	}
	rel := path.Clean(text)
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", outside
	}
	return rel, nil
}

// under returns the rest of an absolute path after one of the roots.
func under(roots []string, text string) (string, bool) {
	for _, root := range roots {
		rel, err := filepath.Rel(root, filepath.Clean(text))
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
