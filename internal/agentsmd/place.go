package agentsmd

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks bounds the links on the way to a file, so that a circle ends.
const maxLinks = 8

// place is where a path of the workspace leads. All paths in it are relative to
// the workspace and have forward slashes.
type place struct {
	target string   // the file, free of links
	trail  []string // every path that was looked at: if none of them changes, neither does the target
}

// check refuses names that are not plainly those of a file below the workspace.
func check(file string) *Error {
	switch {
	case file == "" || path.Clean(file) == "." || strings.HasSuffix(file, "/"):
		return outside(file, "it names no file")
	case path.IsAbs(file) || !filepath.IsLocal(filepath.FromSlash(file)) || strings.HasPrefix(file, "~"):
		return outside(file, "it is not a path inside the workspace")
	case strings.ContainsAny(file, `\:`) || strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return outside(file, "it holds characters that a path here must not hold")
	}
	return nil
}

func outside(file, problem string) *Error {
	return &Error{File: file, State: Outside, Problem: problem, Fix: "name a Markdown file inside the workspace, such as docs/agents.md"}
}

func badLink(file, problem string) *Error {
	return &Error{File: file, State: Outside, Problem: problem, Fix: "make it a relative link straight to a Markdown file inside the workspace, or a file"}
}

// resolve follows a path: links to folders, and one link to a file. The trail is
// also returned with an error. What is opened later is opened through root, so a
// link that changes meanwhile leads nowhere else.
func resolve(root *os.Root, file string) (place, error) {
	if refused := check(file); refused != nil {
		return place{}, refused
	}
	w := walk{root: root, file: file, at: ".", todo: strings.Split(path.Clean(file), "/")}
	for len(w.todo) > 0 {
		if err := w.step(); err != nil {
			return place{trail: w.trail}, err
		}
	}
	p := place{target: w.at, trail: w.trail}
	if w.links > 0 && !writable(p.target) {
		return p, badLink(file, "a link in it leads to a file that planloop does not write")
	}
	return p, nil
}

// walk is a path on the way to its target.
type walk struct {
	root  *os.Root
	file  string
	at    string   // what is behind, free of links
	todo  []string // what is ahead
	trail []string
	links int
	last  bool // a link to the file itself was followed
}

func (w *walk) step() error {
	part := w.todo[0]
	w.todo = w.todo[1:]
	if part == ".." && w.at == "." {
		return badLink(w.file, "a link in it leads out of the workspace")
	}
	next := path.Join(w.at, part)
	if part == "" || part == "." || part == ".." {
		w.at = next
		return nil
	}
	w.trail = append(w.trail, next)
	info, err := w.root.Lstat(filepath.FromSlash(next))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.end(next)
	case err != nil:
		return unreadable(w.file, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(next)
	}
	w.at = next
	return nil
}

// end takes what is still ahead as it is written: none of it exists.
func (w *walk) end(next string) error {
	w.at = path.Join(next, path.Join(w.todo...))
	w.todo = nil
	if !filepath.IsLocal(filepath.FromSlash(w.at)) || w.at == "." {
		return badLink(w.file, "a link in it leads out of the workspace")
	}
	return nil
}

func (w *walk) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return badLink(w.file, "it leads over too many links")
	}
	if len(w.todo) == 0 {
		if w.last {
			return badLink(w.file, "it is a link to a link")
		}
		w.last = true
	}
	to, err := w.root.Readlink(filepath.FromSlash(link))
	if err != nil {
		return unreadable(w.file, err)
	}
	if filepath.IsAbs(to) || path.IsAbs(filepath.ToSlash(to)) {
		return badLink(w.file, "a link in it is absolute")
	}
	w.todo = append(strings.Split(filepath.ToSlash(to), "/"), w.todo...)
	return nil
}

// writable reports whether a link may lead to a file: the link came with the
// workspace from a stranger, and must not make us write what something else
// runs or obeys.
func writable(target string) bool {
	for part := range strings.SplitSeq(target, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return slices.Contains([]string{".md", ".mdc", ".markdown"}, strings.ToLower(path.Ext(target)))
}

// folders returns the folders that hold what was looked at.
func (p place) folders() []string {
	var list []string
	for _, each := range p.trail {
		if folder := path.Dir(each); !slices.Contains(list, folder) {
			list = append(list, folder)
		}
	}
	return list
}
