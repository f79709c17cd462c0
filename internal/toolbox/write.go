package toolbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
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
		err = hold.Refuse("", plan.Quote(rel)+" would be changed", "")
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

// StrReplace is the input of Box.StrReplace.
type StrReplace struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"description=text exactly as in the file\\, without line numbers" text:"any"`
	New  string `json:"new" text:"any"`
	All  bool   `json:"all,omitempty" jsonschema:"description=every occurrence"`
}

// StrReplaceReply describes the change.
type StrReplaceReply struct {
	Path     string `json:"path"`
	Replaced int    `json:"replaced"` // occurrences
	Line     int    `json:"line"`     // of the first
}

// StrReplace replaces a text in a file. The text must match exactly, and only once unless All is set. Mode and line
// endings are preserved.
func (b *Box) StrReplace(ctx context.Context, in StrReplace) (StrReplaceReply, error) {
	rel, err := in.check(b)
	if err != nil {
		return StrReplaceReply{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	at, err := b.target(ctx, rel)
	if err != nil {
		return StrReplaceReply{}, err
	}
	data, info, err := b.readWhole(at)
	if err != nil {
		return StrReplaceReply{}, err
	}
	e, err := edited(data, in)
	if err != nil {
		return StrReplaceReply{}, err
	}
	if err := b.writable("/new", at, len(data)+e.count*(len(e.new)-len(e.old))); err != nil {
		return StrReplaceReply{}, err
	}
	unchanged := func() error { return b.unchanged(at, info) }
	if err := b.replace(at, bytes.ReplaceAll(data, e.old, e.new), info, unchanged); err != nil {
		return StrReplaceReply{}, err
	}
	return StrReplaceReply{Path: safetext.EscapeLine(rel), Replaced: e.count, Line: lineAt(data, bytes.Index(data, e.old))}, nil
}

func (in StrReplace) check(b *Box) (rel string, err error) {
	switch in.Old {
	case "":
		return "", invalid("/old", "is empty", "give the text to replace; create_file makes a new file")
	case in.New:
		return "", invalid("/new", "is the same as old", "give another text, or leave the file as it is")
	}
	return b.place(in.Path)
}

// edit is a replacement in the bytes of a file.
type edit struct {
	old, new []byte
	count    int
}

// edited fits a replacement to a file, or returns the reason it cannot.
func edited(data []byte, in StrReplace) (edit, error) {
	e := edit{old: []byte(in.Old), new: []byte(in.New)}
	crlf, lf := bytes.Count(data, []byte("\r\n")), bytes.Count(data, []byte("\n"))
	e.count = bytes.Count(data, e.old)
	if e.count == 0 && crlf > 0 { // models write LF for lines that end with CR LF
		e.old = withCRLF(e.old)
		e.new = withCRLF(e.new)
		e.count = bytes.Count(data, e.old)
	} else if crlf > 0 && crlf == lf {
		e.new = withCRLF(e.new)
	}
	switch {
	case e.count == 0:
		return edit{}, absent(data, in)
	case e.count > 1 && !in.All:
		return edit{}, invalid("/old", fmt.Sprintf("is found %d times, at lines %s", e.count, linesOf(data, e.old)),
			"add lines around it until it is found once, or set all")
	case bytes.Equal(e.old, e.new):
		return edit{}, invalid("/new", "differs from old in line endings alone, which stay as they are",
			"give another text, or leave the file as it is")
	}
	return e, nil
}

func withCRLF(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// absent reports that a text was not found, and suggests the text that may have been meant.
func absent(data []byte, in StrReplace) error {
	problem := "is not found in " + plan.Quote(in.Path)
	fix := "copy it from view exactly, including its white space"
	if n := alike(data, in.Old); n > 0 {
		problem += fmt.Sprintf("; line %d differs in white space alone", n)
		fix = fmt.Sprintf("view %s from %d and copy it exactly", plan.Quote(in.Path), n)
	} else if numbered(in.Old) {
		fix = "leave the line numbers of view out"
	}
	return invalid("/old", problem, fix)
}

// alike returns the first line of a passage that equals text except for white space, or 0.
func alike(data []byte, text string) int {
	want, left := squeezed(text), -1
	if want != "" {
		left = strings.Index(squeezed(string(data)), want)
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if left < 0 {
			break
		}
		if left -= len(squeezed(line)); left < 0 {
			return number
		}
	}
	return 0
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// numbered reports whether a text begins with a line number as view shows it.
func numbered(text string) bool {
	number, _, ok := strings.Cut(text, "\t")
	_, err := strconv.ParseUint(strings.TrimSpace(number), 10, 32)
	return ok && err == nil
}

// unchanged refuses to replace a file that was changed since it was read.
func (b *Box) unchanged(rel string, read fs.FileInfo) error {
	now, err := b.root.Lstat(rel)
	if err != nil {
		return refused(rel, err)
	}
	if now.Size() != read.Size() || !now.ModTime().Equal(read.ModTime()) {
		return conflict("/path", plan.Quote(rel)+" was changed at the same time", "view it and try again")
	}
	return nil
}

func lineAt(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

// linesOf lists the lines where a text is found, at most ten.
func linesOf(data, text []byte) string {
	var list []string
	for from := 0; ; from += len(text) {
		i := bytes.Index(data[from:], text)
		if i < 0 || len(list) == 10 {
			return strings.Join(list, ", ") + when(i >= 0, ", …")
		}
		from += i
		list = append(list, strconv.Itoa(lineAt(data, from)))
	}
}

// Text is the answer for a model.
func (r StrReplaceReply) Text() string {
	if r.Replaced == 1 {
		return fmt.Sprintf("Replaced it in %s at line %d.", r.Path, r.Line)
	}
	return fmt.Sprintf("Replaced %d occurrences in %s, the first at line %d.", r.Replaced, r.Path, r.Line)
}
