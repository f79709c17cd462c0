// Package tree reads the files of a workspace: their names, their contents, and which of them git ignores.
//
// A tree is untrusted: it may be huge, loop, contain pipes and devices, or disguise binary files as text. All
// access goes through os.Root, so that no link leads out. Only regular files and directories are opened.
// Walks follow no links, are limited, and always use the same order. Ignore rules follow git's without
// running git, because its configuration could run programs.
//
// The package must not know the purpose of reading.
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

// Tree is the directory of a workspace, open for reading. It is safe for concurrent use. Names are relative
// to it, with slashes; "." is the directory itself.
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

// In returns the tree of an open directory.
func In(root *os.Root) *Tree { return &Tree{root: root} }

// Close closes the directory. The result of FS must not be used after that.
func (t *Tree) Close() error { return t.root.Close() }

// Open opens a regular file or a directory for reading. Anything else is refused before it is opened, and
// checked again after, in case it was exchanged: opening a pipe would wait for a writer, opening a device
// could act on it.
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

// openSeen opens a file that was a regular file or a directory a moment ago.
func (t *Tree) openSeen(name string) (*os.File, fs.FileInfo, error) {
	flags := os.O_RDONLY
	if runtime.GOOS != "windows" {
		flags |= syscall.O_NONBLOCK // do not wait if a pipe has replaced the file
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

// LeadsOut reports whether a name was refused because a link in it leads out of the tree.
func LeadsOut(err error) bool { // os.Root does not export the error
	return err != nil && strings.HasSuffix(err.Error(), ": path escapes from parent")
}

// Read returns the content of a text file of at most limit bytes. A walk must have found it to be a regular
// file. It reads into buffer, and returns a part of buffer or of a larger one, even with an error.
func (t *Tree) Read(name string, limit int, buffer []byte) ([]byte, error) {
	content, whole, err := beginning(t.openSeen, name, limit, buffer)
	if err == nil && !whole {
		err = &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	if err != nil {
		return content[:0], err
	}
	return content, nil
}

// ReadText returns up to limit bytes from the start of a text file, in whole characters, without control and
// invisible characters. It returns false if the name is outside the tree, missing, in git's own folder, not a
// regular file or not UTF-8 text.
func (t *Tree) ReadText(name string, limit int) (string, bool) {
	if limit <= 0 || !filepath.IsLocal(name) || filepath.ToSlash(name) != name || !Nameable(name) || InRepository(name) {
		return "", false
	}
	content, whole, err := beginning(t.Open, name, limit, nil)
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

// beginning returns up to limit bytes of a text file, and whether that is the whole file.
func beginning(open func(name string) (*os.File, fs.FileInfo, error), name string, limit int, buffer []byte) (content []byte, whole bool,
	err error) {
	file, info, err := open(name)
	if err != nil {
		return buffer, false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info.IsDir() {
		return buffer, false, &fs.PathError{Op: "read", Path: name, Err: errDirectory}
	}
	// The size in the file info is not reliable: the file may grow, and some files report none.
	read := bytes.NewBuffer(buffer[:0])
	_, err = read.ReadFrom(io.LimitReader(file, int64(limit)+1))
	content = read.Bytes()
	if err == nil && Binary(content) {
		err = &fs.PathError{Op: "read", Path: name, Err: errNotText}
	}
	return content[:min(len(content), limit)], len(content) <= limit, err
}

// Binary reports whether the start of a file has a NUL byte, as UTF-16 has too.
func Binary(beginning []byte) bool {
	return bytes.IndexByte(beginning[:min(len(beginning), Sniffed)], 0) >= 0
}

// Sniffed is the number of bytes that decide whether a file is text, as in git.
const Sniffed = 8_000

// Nameable reports whether a plan, a prompt and a terminal can carry a file name: a single line of UTF-8
// without invisible characters, and without back quotes, which end the name of a file in a hint.
func Nameable(name string) bool { return safetext.PrintableLine(name) && !strings.Contains(name, "`") }

// WholeCharacters removes an incomplete character at the end.
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

// maxNames limits the entries read from one directory.
const maxNames = 50_000

// List returns the entries of a directory in path order: a directory is sorted like the paths in it. It reads
// at most 50,000 entries; if it reaches that limit, more is true.
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

// Slashed returns the name of an entry, with a slash after that of a directory.
func Slashed(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// FS returns the tree as a file system. Links do not lead outside, and only regular files and directories can
// be opened.
func (t *Tree) FS() fs.FS { return view{t.root.FS().(rootFS), t} }

// rootFS is the part of os.Root.FS in use; fs.ReadFileFS is left out, so that reads go through Open.
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
	if _, err := filepath.Localize(name); err != nil { // on Windows some names are ambiguous
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, _, err := v.tree.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// GitFolder reports whether any file system may treat a name as .git: it ignores case, dots and spaces at the
// end, and invisible characters. Git runs files in that folder, and it may contain passwords.
func GitFolder(name string) bool {
	name = strings.Map(func(r rune) rune {
		if plan.IsInvisible(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// Markdown reports whether a path names a Markdown file outside git's own folder, which no program runs or
// obeys.
func Markdown(name string) bool {
	base := path.Base(name)
	extension := strings.ToLower(path.Ext(base))
	return len(base) > len(extension) && slices.Contains([]string{".md", ".mdc", ".markdown"}, extension) && !InRepository(name)
}

// InRepository reports whether a path leads into git's own folder.
func InRepository(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(filepath.Clean(path)), "/"), GitFolder)
}
