// Package tree reads the files of a workspace: which there are, which of them git
// ignores, and what they hold.
//
// A tree is hostile ground: it may be huge, loop, hold pipes and devices, or lie
// about what is text. Everything goes through os.Root, so that no link leads out;
// nothing but regular files and directories is opened; walks follow no links, are
// bounded, and go in the same order each time. What is ignored follows git's rules
// without asking git, whose configuration could run programs.
//
// It must not know what the files are read for.
package tree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

var (
	errNotRegular = errors.New("not a regular file or directory")
	errDirectory  = errors.New("is a directory")
	errTooLarge   = errors.New("is larger than is read")
	errNotText    = errors.New("is not text")
)

// Tree is the directory of a workspace, open for reading. It is safe for
// concurrent use. Names in it are relative and have slashes; "." is the directory.
type Tree struct {
	root *os.Root
}

// Open opens a directory.
func Open(directory string) (*Tree, error) {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w; give a directory that exists and can be read", err)
	}
	return In(root), nil
}

// In returns the tree of a directory that is open already.
func In(root *os.Root) *Tree { return &Tree{root: root} }

// Close closes the directory. What FS returned is of no use afterwards.
func (t *Tree) Close() error { return t.root.Close() }

// Stat tells what a name stands for, behind links that stay within the tree.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.root.Stat(name) }

// Open opens a regular file or a directory for reading. Anything else is refused
// before it is opened, and again after, since it may have been exchanged: opening
// a pipe would wait for a writer, opening a device could act on it.
func (t *Tree) Open(name string) (*os.File, fs.FileInfo, error) {
	info, err := t.root.Stat(name)
	if err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return nil, nil, err
	}
	return t.openSeen(name)
}

// openSeen opens what was seen to be a regular file or a directory.
func (t *Tree) openSeen(name string) (*os.File, fs.FileInfo, error) {
	flags := os.O_RDONLY
	if runtime.GOOS != "windows" {
		flags |= syscall.O_NONBLOCK // a pipe that has taken the place of the file is not waited for
	}
	file, err := t.root.OpenFile(name, flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func readable(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
}

// Read returns the content of a text file of at most most bytes, which a walk has
// shown to be a regular file. It reads into buffer and returns a part of it, or of
// a larger one, also with an error.
func (t *Tree) Read(name string, most int, buffer []byte) ([]byte, error) {
	content, whole, err := beginning(t.openSeen, name, most, buffer)
	if err == nil && !whole {
		err = &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	if err != nil {
		return content[:0], err
	}
	return content, nil
}

// ReadText returns at most most bytes from the beginning of a text file, in whole
// characters, without what a prompt or a terminal would act on or not show. It
// reports false for what is outside the tree, missing, in git's own folder, no
// regular file or no text in UTF-8.
func (t *Tree) ReadText(name string, most int) (string, bool) {
	if most <= 0 || !filepath.IsLocal(name) || filepath.ToSlash(name) != name || !Nameable(name) || InRepository(name) {
		return "", false
	}
	content, whole, err := beginning(t.Open, name, most, nil)
	if err != nil {
		return "", false
	}
	if !whole {
		content = WholeCharacters(content)
	}
	if !utf8.Valid(content) {
		return "", false
	}
	return safetext.Drop(string(content)), true
}

// beginning returns up to most bytes of a text file, and whether that is all.
func beginning(open func(name string) (*os.File, fs.FileInfo, error), name string, most int, buffer []byte) (content []byte, whole bool,
	err error) {
	file, info, err := open(name)
	if err != nil {
		return buffer, false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info.IsDir() {
		return buffer, false, &fs.PathError{Op: "read", Path: name, Err: errDirectory}
	}
	// What a file says of its size is not believed: it may grow, and some have none.
	read := bytes.NewBuffer(buffer[:0])
	_, err = read.ReadFrom(io.LimitReader(file, int64(most)+1))
	content = read.Bytes()
	if err == nil && Binary(content) {
		err = &fs.PathError{Op: "read", Path: name, Err: errNotText}
	}
	return content[:min(len(content), most)], len(content) <= most, err
}

// Binary reports whether what begins so is no text: it has a NUL, as UTF-16 has too.
func Binary(beginning []byte) bool {
	return bytes.IndexByte(beginning[:min(len(beginning), Sniffed)], 0) >= 0
}

// Sniffed is how much of a file tells whether it is text, in bytes; git looks as far.
const Sniffed = 8_000

// Nameable reports whether a plan, a prompt and a terminal can carry the name of
// a file: UTF-8 on one line, with nothing hidden, and no back quote, which ends
// the name of a file in a hint.
func Nameable(name string) bool { return safetext.PrintableLine(name) && !strings.Contains(name, "`") }

// WholeCharacters cuts a character that is not all there off the end.
func WholeCharacters(content []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(content); i++ {
		if start := len(content) - i; utf8.RuneStart(content[start]) {
			if !utf8.FullRune(content[start:]) {
				return content[:start]
			}
			return content
		}
	}
	return content
}

// maxNames is how many entries of one directory are read.
const maxNames = 50_000

// List returns the entries of a directory in the order of the paths in it: a
// directory stands where what it holds would. Of more than 50,000 it returns some,
// and reports that there are more.
func (t *Tree) List(ctx context.Context, directory string) (list []fs.DirEntry, more bool, err error) {
	file, info, err := t.Open(directory)
	if err != nil {
		return nil, false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if !info.IsDir() {
		return nil, false, &fs.PathError{Op: "list", Path: directory, Err: fs.ErrInvalid}
	}
	for ended := false; !ended && len(list) < maxNames; {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		batch, err := file.ReadDir(min(1_024, maxNames-len(list)))
		list = append(list, batch...)
		if ended = errors.Is(err, io.EOF); err != nil && !ended {
			return nil, false, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(Slashed(a), Slashed(b)) })
	return list, len(list) == maxNames, nil
}

// Slashed is the name of an entry, with a slash behind that of a directory.
func Slashed(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// FS returns the tree as a file system. Its links lead nowhere outside, and what
// is neither a regular file nor a directory cannot be opened.
func (t *Tree) FS() fs.FS { return view{t.root.FS().(rootFS), t} }

// rootFS is what os.Root.FS promises, but for reading a file at once.
type rootFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// view is the fs.FS of a tree.
type view struct {
	rootFS
	tree *Tree
}

func (v view) Open(name string) (fs.File, error) {
	if _, err := filepath.Localize(name); err != nil { // on Windows some names have a second reading
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, _, err := v.tree.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// GitFolder reports whether some file system takes a name for .git: without regard
// to case, to dots and spaces at the end, to characters that do not show. What
// stands there is run by git later on, and may hold passwords.
func GitFolder(name string) bool {
	name = strings.Map(func(r rune) rune {
		if plan.Invisible(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// Markdown reports whether a path names a Markdown file outside git's own folder: one
// that nothing runs or obeys.
func Markdown(name string) bool {
	base := path.Base(name)
	extension := strings.ToLower(path.Ext(base))
	return len(base) > len(extension) && slices.Contains([]string{".md", ".mdc", ".markdown"}, extension) && !InRepository(name)
}

// InRepository reports whether a path leads into git's own folder.
func InRepository(path string) bool {
	for element := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		if GitFolder(element) {
			return true
		}
	}
	return false
}
