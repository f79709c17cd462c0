package agentsmd

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// destination is the destination of a path in the workspace. All its paths are relative to the workspace, with forward
// slashes.
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

// link returns the first link on the way to the target, or "", and adds the way to the trail. If the way ends before
// the target, it has no link.
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
