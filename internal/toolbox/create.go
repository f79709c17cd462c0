package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// CreateFile is the input of Box.CreateFile.
type CreateFile struct {
	Path      string `json:"path"`
	Content   string `json:"content" text:"any"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"description=replace the file if it exists"`
}

// CreateFileReply describes the written file.
type CreateFileReply struct {
	Path     string `json:"path"`
	Bytes    int    `json:"bytes"`
	Lines    int    `json:"lines"`
	Replaced bool   `json:"replaced,omitempty"` // the file existed
}

// CreateFile writes a file, and its directories, as a whole or not at all.
func (b *Box) CreateFile(ctx context.Context, in CreateFile) (CreateFileReply, error) {
	rel, err := in.check(b)
	if err != nil {
		return CreateFileReply{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	at, err := b.target(ctx, rel)
	if err != nil {
		return CreateFileReply{}, err
	}
	former, err := b.former(at, in.Overwrite)
	if err != nil {
		return CreateFileReply{}, err
	}
	if shown := safetext.EscapeLine(rel); former == nil && shown != rel {
		return CreateFileReply{}, invalid("/path", plan.Quote(rel)+" has characters that hide or reorder text", "leave them out")
	}
	if err := b.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return CreateFileReply{}, refused(rel, err)
	}
	if err := b.replace(at, []byte(in.Content), former, nil); err != nil {
		return CreateFileReply{}, err
	}
	reply := CreateFileReply{Path: safetext.EscapeLine(rel), Bytes: len(in.Content), Replaced: former != nil}
	for range strings.Lines(in.Content) {
		reply.Lines++
	}
	return reply, nil
}

func (in CreateFile) check(b *Box) (rel string, err error) {
	if rel, err = b.place(in.Path); err != nil {
		return "", err
	}
	if strings.HasSuffix(in.Path, "/") {
		return "", invalid("/path", "names a directory", "leave out the final /; directories are made with the files in them")
	}
	return rel, b.writable("/content", rel, len(in.Content))
}

// former returns the existing file to replace, or nil.
func (b *Box) former(rel string, overwrite bool) (fs.FileInfo, error) {
	info, err := b.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refused(rel, err)
	}
	if err := regular(rel, info); err != nil {
		return nil, err
	}
	if !overwrite {
		return nil, exists(rel)
	}
	return info, nil
}

// Text is the answer for a model.
func (r CreateFileReply) Text() string {
	verb := "Created"
	if r.Replaced {
		verb = "Replaced"
	}
	return fmt.Sprintf("%s %s: %s, %s.", verb, r.Path, plan.Pluralize(r.Lines, "line"), plan.Pluralize(r.Bytes, "byte"))
}

// target returns the final path of a file to be written, and refuses it while only reading is allowed.
func (b *Box) target(ctx context.Context, rel string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	at, err := b.resolve(rel)
	if err != nil {
		return "", err
	}
	hold, err := b.wall(at).hold(ctx)
	if err == nil && hold.By != "" {
		err = conflict("", hold.By+" is on, and no file is changed until a plan is approved", hold.Fix)
	}
	return at, err
}

// resolve follows the links of a path and returns the final one, which may not exist yet. It refuses git's own folder
// under any spelling or link, because git later runs files in it.
func (b *Box) resolve(rel string) (string, error) {
	var done []string
	links := 0
	for todo := strings.Split(rel, "/"); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && len(done) == 0:
			return "", invalid("/path", plan.Quote(rel)+" leads out of the workspace through a link", inside)
		case name == "..":
			done = done[:len(done)-1]
			continue
		case tree.GitFolder(name):
			return "", invalid("/path", plan.Quote(rel)+" belongs to git", "change it with a git command")
		}
		at := path.Join(append(done[:len(done):len(done)], name)...)
		info, err := b.root.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", refused(rel, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, name)
			continue
		}
		if links++; links > 40 {
			return "", invalid("/path", plan.Quote(rel)+" is a link that leads in a circle", "name the file itself")
		}
		to, err := b.root.Readlink(at)
		if err != nil {
			return "", refused(rel, err)
		}
		if filepath.IsAbs(to) {
			return "", invalid("/path", plan.Quote(rel)+" leads out of the workspace through a link", inside)
		}
		todo = append(strings.Split(filepath.ToSlash(to), "/"), todo...)
	}
	if len(done) == 0 {
		return "", invalid("/path", plan.Quote(rel)+" is a directory", "name a file in it")
	}
	return path.Join(done...), nil
}

// replace writes a file as a whole or not at all: it replaces the file like, or, if like is nil, creates a new one.
func (b *Box) replace(rel string, data []byte, like fs.FileInfo, confirm func() error) error {
	err := safefile.Write(b.root, rel, data, safefile.Options{Like: like, New: like == nil, Confirm: confirm})
	switch {
	case err == nil, errors.As(err, new(*plan.ValidationError)):
		return err
	case errors.Is(err, fs.ErrExist):
		return exists(rel)
	}
	return refused(rel, err)
}

func exists(rel string) error {
	return conflict("/path", plan.Quote(rel)+" exists", "change it with str_replace, or set overwrite")
}

// writable refuses a text that is too long to be written.
func (b *Box) writable(field, rel string, length int) error {
	if int64(length) <= b.limits.FileBytes {
		return nil
	}
	return invalid(field, fmt.Sprintf("would make %s %s long", plan.Quote(rel), size(int64(length))),
		"write at most "+size(b.limits.FileBytes)+", or use a command")
}
