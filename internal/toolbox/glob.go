package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// Glob is the input of Box.Glob.
type Glob struct {
	Pattern string `json:"pattern" jsonschema:"description=such as **/*_test.go; ** is any directories"`
	Path    string `json:"path,omitempty" jsonschema:"description=directory to look in"`
	Ignored bool   `json:"ignored,omitempty" jsonschema:"description=also what .gitignore names"`
}

// GlobReply lists the matching paths.
type GlobReply struct {
	Paths     []string `json:"paths"` // relative to the workspace, sorted; a directory ends with a slash
	Truncated bool     `json:"truncated,omitempty"`
	Note      string   `json:"note,omitempty"`
}

// Glob finds files and directories by name.
func (b *Box) Glob(ctx context.Context, in Glob) (GlobReply, error) {
	dir, err := in.check(b)
	if err != nil {
		return GlobReply{}, err
	}
	if err := b.directory(dir); err != nil {
		return GlobReply{}, err
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	pattern := relative(in.Pattern)
	reply := b.glob(timed, dir, pattern, in.Ignored)
	if len(reply.Paths) == 0 && !strings.Contains(pattern, "/") {
		reply.Note = join(reply.Note, "**/"+safetext.EscapeLine(pattern)+" also looks in the directories below")
	}
	return reply, ended(ctx)
}

func (in Glob) check(b *Box) (dir string, err error) {
	if err := badGlob("/pattern", in.Pattern); err != nil {
		return "", err
	}
	return b.place(cmp.Or(in.Path, "."))
}

func (b *Box) glob(ctx context.Context, dir, pattern string, all bool) GlobReply {
	// Folders before the first wildcard need not be searched.
	fixed, rest := doublestar.SplitPattern(pattern)
	if start := path.Join(dir, fixed); strings.Contains(pattern, "/") && !strings.ContainsAny(fixed, `\`) && b.directory(start) == nil {
		dir, pattern = start, rest
	}
	w := b.walk(dir, all)
	reply := GlobReply{Paths: []string{}}
	length, stopped := 0, ""
	for rel, e := range w.Below(ctx, dir) {
		if !doublestar.MatchUnvalidated(pattern, strings.TrimPrefix(rel, dir+"/")) {
			continue
		}
		if e.IsDir() {
			rel += "/"
		}
		rel = safetext.EscapeLine(rel)
		if length += len(rel) + 1; len(reply.Paths) == b.limits.Matches || length > b.limits.PageBytes {
			stopped = fmt.Sprintf("only the first %d are listed", len(reply.Paths))
			break
		}
		reply.Paths = append(reply.Paths, rel)
	}
	reply.Truncated = stopped != "" || w.Bound() != tree.Whole
	reply.Note = join(stopped, b.passedOver(w))
	return reply
}

// Files returns all files that match a pattern, sorted. It is an error if there are more than limit, or if the search
// was cut short.
func (b *Box) Files(ctx context.Context, pattern string, limit int) ([]string, error) {
	dir, err := Glob{Pattern: pattern}.check(b)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	w, list := b.walk(dir, false), []string{}
	for rel, e := range w.Below(timed, dir) {
		if e.IsDir() || !doublestar.MatchUnvalidated(relative(pattern), strings.TrimPrefix(rel, dir+"/")) {
			continue
		}
		if len(list) == limit {
			return nil, fmt.Errorf("%s matches more than %d files", plan.Quote(pattern), limit)
		}
		list = append(list, rel)
	}
	if w.Bound() != tree.Whole {
		return nil, fmt.Errorf("the files that %s matches were not all found: %s", plan.Quote(pattern), b.passedOver(w))
	}
	slices.Sort(list)
	return list, ended(ctx)
}

// walk visits everything below a directory. It skips node_modules and files that git ignores, unless all is set or the
// walk begins inside node_modules.
func (b *Box) walk(dir string, all bool) *tree.Walk {
	const modules = "node_modules"
	all = all || slices.Contains(strings.Split(dir, "/"), modules)
	skip := func(_ string, e fs.DirEntry) bool { return !all && e.IsDir() && e.Name() == modules }
	return b.files.Walk(tree.Options{Ignored: all, Entries: b.limits.Entries, Skip: skip})
}

// passedOver lists the parts that a walk did not visit.
func (b *Box) passedOver(w *tree.Walk) string {
	return join(
		when(w.Cut == tree.ByEntries, fmt.Sprintf("stopped after %d files and directories", b.limits.Entries)),
		when(w.Cut == tree.ByContext, "stopped when the time was up"),
		when(w.Cut == tree.Whole && w.Crowded != "", "only some entries of "+safetext.EscapeLine(w.Crowded)+" were read"),
		when(w.Unreadable > 0, plan.Pluralize(w.Unreadable, "directory")+" could not be read"))
}

// ended returns an error if the caller's context ended. Our own time limit is only a note.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("search: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

func (b *Box) directory(rel string) error {
	info, err := b.root.Stat(rel)
	if err != nil {
		return refused(rel, err)
	}
	if !info.IsDir() {
		return invalid("/path", safetext.EscapeLine(rel)+" is not a directory", "name the directory it is in")
	}
	return nil
}

// maxAlternatives bounds the combinations of alternatives in a pattern: the matcher tries them one by one.
const maxAlternatives = 100

// alternatives returns the combinations of a pattern's braces. Nested braces are overcounted.
func alternatives(pattern string) int {
	product := 1
	var open []int // for each open group, its alternatives so far
	for i := 0; i < len(pattern) && product <= maxAlternatives; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				product *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return product
}

// relative removes a redundant ./ from a pattern of paths.
func relative(pattern string) string { return strings.TrimPrefix(pattern, "./") }

// badGlob returns the fault of a pattern of paths.
func badGlob(field, pattern string) error {
	pattern = relative(pattern)
	switch {
	case pattern == "":
		return invalid(field, "is empty", "give a pattern such as **/*.go")
	case len(pattern) > maxPattern:
		return invalid(field, "is too long", fmt.Sprintf("shorten it to at most %d bytes", maxPattern))
	case alternatives(pattern) > maxAlternatives:
		return invalid(field, fmt.Sprintf("has more than %d combinations of alternatives", maxAlternatives),
			"ask for some of them at a time")
	case strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~"):
		return invalid(field, "is not relative", "give the directory as path")
	case strings.Contains("/"+pattern+"/", "/../"):
		return invalid(field, "leads upwards", "give the directory as path")
	case !doublestar.ValidatePattern(pattern):
		return invalid(field, "is not a valid pattern", "close every [ and {")
	}
	return nil
}

// Text is the answer for a model.
func (r GlobReply) Text() string {
	return strings.Join(append([]string{headline(plan.Pluralize(len(r.Paths), "path"), r.Truncated, r.Note)}, r.Paths...), "\n")
}

func headline(found string, truncated bool, note string) string {
	return found + when(truncated, ", more may match") + when(note != "", " ("+note+")")
}
