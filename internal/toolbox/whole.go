package toolbox

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

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
