package agentsmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// Inspect compares the block in a file, given by its relative path with forward slashes, with the canonical text.
// Problems with the file are states; an error means that the workspace cannot be opened, or that the canonical text
// cannot be in a block (ErrCanonical).
func Inspect(workspace, file, canonical string) (Result, error) {
	root, _, found, err := inspect(workspace, file, canonical)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	return found, nil
}

// inspect also returns the open workspace, which the caller closes, and the file.
func inspect(workspace, file, canonical string) (*os.Root, source, Result, error) {
	content, err := contentOf(canonical)
	if err != nil {
		return nil, source{}, Result{}, err
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, source{}, Result{}, err
	}
	s, d, refused := parseFile(root, file)
	if refused == nil {
		found := compare(s, d, content)
		if len(found.Content) <= MaxBytes {
			return root, s, found, nil
		}
		refused = tooLarge(file, fmt.Sprintf("with planloop's block it would be larger than %d bytes", MaxBytes))
	}
	return root, s, Result{File: s.file, Target: s.target, State: refused.State, Refusal: refused}, nil
}

func compare(s source, d document, content string) Result {
	found := Result{File: s.file, Target: s.target, State: Absent}
	if !s.exists() {
		found.Content = []byte(renderBlock(content, "\n") + "\n")
		return found
	}
	found.Before = s.data
	switch b := d.block; {
	case b == nil:
		found.State = NoBlock
	case !b.intact:
		found.State, found.Edits = Edited, b.content
	case b.content != content:
		found.State = Outdated
	default:
		// Different line endings than in the rest of the file do not justify a write.
		found.State, found.Content = InSync, s.data
		return found
	}
	found.Content = []byte(d.with(content))
	return found
}

type source struct {
	file   string // as requested
	target string // the path without links
	data   []byte
	info   fs.FileInfo // nil if the file does not exist
}

func (s source) exists() bool { return s.info != nil }

func read(root *os.Root, file string) (source, *Error) {
	found, err := resolve(root, file)
	if err != nil {
		return source{file: file}, err
	}
	s := source{file: file, target: found.target}
	info, missing := root.Lstat(s.path())
	if errors.Is(missing, fs.ErrNotExist) {
		return s, nil
	}
	if missing != nil {
		return s, unreadable(file, missing)
	}
	if !info.Mode().IsRegular() { // opening a pipe would block forever
		return s, &Error{File: file, State: Unreadable, Problem: "it is not a plain file", Fix: "put a plain file there"}
	}
	s.data, s.info, err = readPlain(root, file, s.path())
	return s, err
}

func (s source) path() string { return filepath.FromSlash(s.target) }

func readPlain(root *os.Root, file, target string) ([]byte, fs.FileInfo, *Error) {
	f, info, err := tree.In(root).Open(target)
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	if len(data) > MaxBytes {
		return nil, nil, tooLarge(file, fmt.Sprintf("it is larger than %d bytes", MaxBytes))
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, nil, &Error{File: file, State: NotText, Problem: "it is not UTF-8 text",
			Fix: "save it as UTF-8, or name another file as agents_file"}
	}
	return data, info, nil
}

func parseFile(root *os.Root, file string) (source, document, *Error) {
	s, err := read(root, file)
	if err != nil {
		return s, document{}, err
	}
	d, wrong := parse(string(s.data))
	if wrong != nil {
		return s, d, &Error{File: file, State: Broken, Line: wrong.line, Problem: wrong.problem, Fix: wrong.fix}
	}
	return s, d, nil
}

// destination is where a path in the workspace leads, as relative paths with forward slashes.
type destination struct {
	target string   // the file, without links
	trail  []string // all paths on the way; the target can only change if one of them changes
}

// checkName refuses names that are not clearly a file in the workspace.
func checkName(file string) *Error {
	switch {
	case file == "" || path.Clean(file) == "." || strings.HasSuffix(file, "/"):
		return outside(file, "it does not name a file")
	case plan.PathProblem(file) != plan.PathOK || !filepath.IsLocal(filepath.FromSlash(file)):
		return outside(file, "it is not a path inside the workspace")
	case strings.Contains(file, ":") || !safetext.PrintableLine(file):
		return outside(file, "it contains characters that are not allowed here")
	}
	return nil
}

func outside(file, problem string) *Error {
	return &Error{File: file, State: Outside, Problem: problem, Fix: "name a Markdown file inside the workspace, such as docs/agents.md"}
}

func badLink(file, problem string) *Error {
	return &Error{File: file, State: Outside, Problem: problem,
		Fix: "make it a plain file, or a single relative link to a Markdown file inside the workspace"}
}

// resolve follows a path through at most one link: the file itself or a directory on the way. The trail is also
// returned with an error. The file is later opened through root, so a concurrent change of the link cannot lead
// outside.
func resolve(root *os.Root, file string) (destination, *Error) {
	if refused := checkName(file); refused != nil {
		return destination{}, refused
	}
	p := destination{target: path.Clean(file)}
	link, err := p.link(root, file)
	if err != nil || link == "" {
		return p, err
	}
	to, unread := root.Readlink(filepath.FromSlash(link))
	if unread != nil {
		return p, unreadable(file, unread)
	}
	if filepath.IsAbs(to) || path.IsAbs(filepath.ToSlash(to)) {
		return p, badLink(file, "a link in it is absolute")
	}
	p.target = path.Join(path.Dir(link), filepath.ToSlash(to), strings.TrimPrefix(p.target, link))
	if p.target == "." || !filepath.IsLocal(filepath.FromSlash(p.target)) {
		return p, badLink(file, "a link in it leads out of the workspace")
	}
	another, err := p.link(root, file)
	switch {
	case err != nil:
		return p, err
	case another != "":
		return p, badLink(file, "it goes through more than one link")
	case !tree.Markdown(p.target): // the link is untrusted: never write to a file that other programs execute or obey
		return p, badLink(file, "a link in it leads to a file that planloop does not write")
	}
	return p, nil
}

// link returns the first link on the way to the target, or "", and adds the way to the trail.
func (p *destination) link(root *os.Root, file string) (string, *Error) {
	at := ""
	for name := range strings.SplitSeq(p.target, "/") {
		at = path.Join(at, name)
		p.trail = append(p.trail, at)
		info, err := root.Lstat(filepath.FromSlash(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", unreadable(file, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return at, nil
		}
	}
	return "", nil
}
