package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
)

// CreateFile is the input of CreateFile.
type CreateFile struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"description=replace the file if it exists"`
}

// CreateFileReply says what was written.
type CreateFileReply struct {
	Path     string `json:"path"`
	Bytes    int    `json:"bytes"`
	Lines    int    `json:"lines"`
	Replaced bool   `json:"replaced,omitempty"` // there was a file
}

// CreateFile writes a file, and the directories it stands in, whole or not at all.
func (b *Box) CreateFile(ctx context.Context, in CreateFile) (CreateFileReply, error) {
	rel, err := b.place("/path", in.Path)
	if err != nil {
		return CreateFileReply{}, err
	}
	if strings.HasSuffix(in.Path, "/") {
		return CreateFileReply{}, invalid("/path", "names a directory", "leave the / at the end out; directories come with the files in them")
	}
	if err := b.writable("/content", rel, len(in.Content)); err != nil {
		return CreateFileReply{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return CreateFileReply{}, err
	}
	at, err := b.target("/path", rel)
	if err != nil {
		return CreateFileReply{}, err
	}
	replaced, mode, err := b.room(at, in.Overwrite)
	if err != nil {
		return CreateFileReply{}, err
	}
	if err := b.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return CreateFileReply{}, refused("/path", rel, err)
	}
	if err := b.replace("/path", at, []byte(in.Content), mode, replaced); err != nil {
		return CreateFileReply{}, err
	}
	return CreateFileReply{Path: safetext.EscapeLine(rel), Bytes: len(in.Content), Lines: lineCount(in.Content), Replaced: replaced}, nil
}

// room reports whether there is a file to be replaced, and the mode to write.
func (b *Box) room(rel string, overwrite bool) (there bool, mode fs.FileMode, err error) {
	info, err := b.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, 0o666, nil
	case err != nil:
		return false, 0, refused("/path", rel, err)
	}
	if err := regular("/path", rel, info); err != nil {
		return false, 0, err
	}
	if !overwrite {
		return false, 0, exists("/path", rel)
	}
	return true, info.Mode(), nil
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// Text is what a model reads.
func (r CreateFileReply) Text() string {
	verb := "Created"
	if r.Replaced {
		verb = "Replaced"
	}
	return fmt.Sprintf("%s %s: %s, %s.", verb, r.Path, counted(r.Lines, "line", "lines"), counted(r.Bytes, "byte", "bytes"))
}
