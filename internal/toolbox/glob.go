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

// Glob is the input of Glob.
type Glob struct {
	Pattern string `json:"pattern" jsonschema:"description=such as **/*_test.go; ** is any directories"`
	Path    string `json:"path,omitempty" jsonschema:"description=directory to look in"`
	Ignored bool   `json:"ignored,omitempty" jsonschema:"description=also what .gitignore names"`
}

// GlobReply lists the paths that match.
type GlobReply struct {
	Paths     []string `json:"paths"` // relative to the workspace, sorted; a directory ends with a slash
	Truncated bool     `json:"truncated,omitempty"`
	Note      string   `json:"note,omitempty"`
}

// Glob finds files and directories by their names.
func (b *Box) Glob(ctx context.Context, in Glob) (GlobReply, error) {
	dir, err := in.judge(b)
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

func (in Glob) judge(b *Box) (dir string, err error) {
	if err := badGlob("/pattern", in.Pattern); err != nil {
		return "", err
	}
	return b.place(cmp.Or(in.Path, "."))
}

func (b *Box) glob(ctx context.Context, dir, pattern string, all bool) GlobReply {
	// What stands before the first wildcard need not be searched for.
	fixed, rest := doublestar.SplitPattern(pattern)
	if start := path.Join(dir, fixed); strings.Contains(pattern, "/") && !strings.ContainsAny(fixed, `\`) && b.directory(start) == nil {
		dir, pattern = start, rest
	}
	w := b.walk(dir, all)
	reply := GlobReply{Paths: []string{}}
	length, stopped := 0, ""
	for rel, e := range w.Below(ctx, dir) {
		if ok, err := doublestar.Match(pattern, strings.TrimPrefix(rel, dir+"/")); err != nil || !ok {
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
	reply.Truncated = stopped != "" || w.Cut != tree.Whole || w.Crowded != ""
	reply.Note = join(stopped, b.passedOver(w))
	return reply
}

// Files lists the files that a pattern matches, sorted, for whoever needs all of them: more than
// so many, or a search that was cut short, are an error.
func (b *Box) Files(ctx context.Context, pattern string, most int) ([]string, error) {
	dir, err := Glob{Pattern: pattern}.judge(b)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	w, list := b.walk(dir, false), []string{}
	for rel, e := range w.Below(timed, dir) {
		if ok, err := doublestar.Match(relative(pattern), strings.TrimPrefix(rel, dir+"/")); err != nil || !ok || e.IsDir() {
			continue
		}
		if len(list) == most {
			return nil, fmt.Errorf("%s matches more than %d files", plan.Quote(pattern), most)
		}
		list = append(list, rel)
	}
	if w.Cut != tree.Whole || w.Crowded != "" {
		return nil, fmt.Errorf("the files that %s matches were not all found: %s", plan.Quote(pattern), b.passedOver(w))
	}
	slices.Sort(list)
	return list, ended(ctx)
}

// walk goes through what is below a directory. What git ignores and node_modules
// is left out unless all is asked for, or the walk begins in it.
func (b *Box) walk(dir string, all bool) *tree.Walk {
	const modules = "node_modules"
	all = all || slices.Contains(strings.Split(dir, "/"), modules)
	skip := func(_ string, e fs.DirEntry) bool { return !all && e.IsDir() && e.Name() == modules }
	return b.files.Walk(tree.Options{Ignored: all, Entries: b.limits.Entries, Skip: skip})
}

// passedOver says what a walk did not go through.
func (b *Box) passedOver(w *tree.Walk) string {
	return join(
		when(w.Cut == tree.ByEntries, fmt.Sprintf("stopped after %d files and directories", b.limits.Entries)),
		when(w.Cut == tree.ByContext, "stopped when the time was up"),
		when(w.Cut == tree.Whole && w.Crowded != "", "only some entries of "+safetext.EscapeLine(w.Crowded)+" were read"),
		when(w.Unreadable > 0, plan.Counted(w.Unreadable, "directory")+" could not be read"))
}

// ended returns the caller's own end, which is an error; the end of our time is
// a note.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("search: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

// directory refuses what is not one.
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

// maxAlternatives bounds the combinations of the alternatives in a pattern: the
// matcher tries them one by one.
const maxAlternatives = 100

// alternatives counts the combinations of what stands in the braces of a pattern.
// Of braces within braces it counts too many.
func alternatives(pattern string) int {
	product := 1
	var open []int // of each group that is open, its alternatives so far
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

// relative is a pattern of paths without what says nothing.
func relative(pattern string) string { return strings.TrimPrefix(pattern, "./") }

// badGlob says what is wrong with a pattern of paths.
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

// Text is what a model reads.
func (r GlobReply) Text() string {
	return strings.Join(append([]string{headline(plan.Counted(len(r.Paths), "path"), r.Truncated, r.Note)}, r.Paths...), "\n")
}

// headline is the first line of what a search found.
func headline(found string, truncated bool, note string) string {
	return found + when(truncated, ", more may match") + when(note != "", " ("+note+")")
}
