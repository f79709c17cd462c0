package gates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// locate returns the workspace's form of a path: relative, with slashes, without detours. A path that leaves the
// workspace in any system's spelling has a fault instead, worded to follow "lists".
func locate(given string) (clean, fault string) {
	given = strings.TrimSpace(given)
	switch {
	case given == "":
		return "", "an empty path"
	case !safetext.PrintableLine(given):
		return "", "a path with invisible characters"
	case strings.Contains(given, "://") || strings.HasPrefix(strings.ToLower(given), "file:"):
		return "", "a URL instead of a path"
	case variable(given), climbs(given), plan.PathProblem(strings.ReplaceAll(given, `\`, "/")) != plan.PathOK:
		return "", outside
	case plan.PathProblem(given) != plan.PathOK:
		return "", "a path with a backslash"
	case utf8.RuneCountInString(given) > plan.MaxPath:
		return "", fmt.Sprintf("a path of more than %d characters", plan.MaxPath)
	}
	if clean = path.Clean(given); clean != given {
		return locate(clean) // ./~ is ~ in another spelling
	}
	return clean, ""
}

const outside = "a path outside the workspace"

// variable reports whether a path begins with a variable that a shell would expand.
func variable(given string) bool {
	first, _, _ := strings.Cut(strings.ReplaceAll(given, `\`, "/"), "/")
	switch {
	case strings.HasPrefix(first, "${"), strings.HasPrefix(first, "$("):
		return true
	case strings.HasPrefix(first, "$"):
		return len(first) > 1 && strings.ToUpper(first) == first
	}
	return len(first) > 2 && strings.HasPrefix(first, "%") && strings.HasSuffix(first, "%")
}

// climbs reports whether a path has an element that leads up, including the spellings that some systems accept: dots
// with spaces around or between.
func climbs(given string) bool {
	for _, element := range strings.FieldsFunc(given, func(r rune) bool { return r == '/' || r == '\\' }) {
		if strings.Trim(element, ". ") == "" && strings.Count(element, ".") > 1 {
			return true
		}
	}
	return false
}

// isGlob reports whether a path may be a pattern. A file may have such a name as well.
func isGlob(p string) bool { return strings.ContainsAny(p, "*?[{") }

func checkPathsExist(ctx context.Context, e *examination, i int) []flaw {
	if e.tree == nil {
		return nil
	}
	var list []flaw
	for _, given := range distinct(e.New[i].RelevantFilePaths) {
		list = append(list, e.checkListed(ctx, i, given)...)
	}
	for _, given := range distinct(e.New[i].Creates) {
		list = append(list, e.checkCreated(ctx, given)...)
	}
	return list
}

// checkListed checks an entry of relevant_file_paths.
func (e *examination) checkListed(ctx context.Context, i int, given string) []flaw {
	p, fault := locate(given)
	if fault != "" {
		return misplaced(fault, "relevant_file_paths", given)
	}
	switch e.find(ctx, i, p) {
	case present:
		return nil
	case astray:
		return misplaced(outside, "relevant_file_paths", given)
	case tooWide:
		return []flaw{{message: "lists a pattern in `relevant_file_paths` that is too broad to search: " + code(given) + ".",
			fix: "start it with a directory"}}
	case ambiguous:
		return []flaw{{message: "lists a pattern in `relevant_file_paths` that is too complex or invalid: " + code(given) + ".",
			fix: "use *, ?, ** and a few alternatives such as {a,b}, or name the files"}}
	}
	fix := "correct the path, or name it in `creates` of this task or of one it depends on"
	if bare := withoutLine(p); bare != p && !isGlob(bare) && bare != "" && e.tree.look(ctx, bare) == present { // the most frequent slip
		fix = "write " + code(bare) + " without the line"
	}
	return []flaw{{message: "lists a non-existent path in `relevant_file_paths`: " + code(given) + ".", fix: fix}}
}

// checkCreated checks an entry of creates: it need not exist, but must be in the workspace.
func (e *examination) checkCreated(ctx context.Context, given string) []flaw {
	p, fault := locate(given)
	if fault != "" {
		return misplaced(fault, "creates", given)
	}
	if !isGlob(p) && e.tree.look(ctx, p) == astray {
		return misplaced(outside, "creates", given)
	}
	return nil
}

// find looks for a path on disk, then among the paths that the plan creates.
func (e *examination) find(ctx context.Context, i int, p string) existence {
	found := e.tree.look(ctx, p)
	if found != present && found != astray && e.made.covers(i, p) {
		return present
	}
	return found
}

func misplaced(fault, field, given string) []flaw {
	message := "lists " + fault + " in `" + field + "`"
	if strings.TrimSpace(given) == "" {
		return []flaw{{message: message + ".", fix: "remove it"}}
	}
	return []flaw{{message: message + ": " + code(given) + ".",
		fix: "write paths relative to the workspace, with slashes and without `..`"}}
}

func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool {
		again := seen[item]
		seen[item] = true
		return again
	})
}

// Missing lists the paths and patterns that match no file or directory.
func Missing(ctx context.Context, files fs.FS, list []string) []string {
	t := &tree{files: files, seen: map[string]existence{}, left: maxEntries}
	return slices.DeleteFunc(slices.Clone(list), func(given string) bool {
		p, fault := locate(given)
		found := t.look(ctx, p)
		return fault == "" && (found == present || found == tooWide)
	})
}

// existence is the result of looking for a path.
type existence int

const (
	absent    existence = iota
	present             // a file or directory, or a pattern that matches one
	astray              // a link leads out of the workspace, or in a circle
	tooWide             // a pattern that would take too long to search
	ambiguous           // a pattern that is invalid or too complex
)

// tree looks for paths in the workspace, once for each.
type tree struct {
	files fs.FS
	seen  map[string]existence
	left  int // entries that patterns may still read
}

// maxEntries bounds the entries that all patterns of a candidate read together.
const maxEntries = 50_000

// look looks for a path that locate has returned.
func (t *tree) look(ctx context.Context, p string) existence {
	if known, ok := t.seen[p]; ok {
		return known
	}
	found := t.stat(p)
	if found == absent && isGlob(p) {
		found = t.search(ctx, p)
	}
	t.seen[p] = found
	return found
}

func (t *tree) stat(p string) existence {
	_, err := fs.Stat(t.files, p)
	switch {
	case err == nil, errors.Is(err, fs.ErrPermission):
		return present // it exists, but may not be read
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case t.linked(p):
		return astray
	}
	return absent // another obstacle: a file in place of a directory, a name too long
}

// linked reports whether a path contains a link. Only links make the lookup of an existing file fail.
func (t *tree) linked(p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		if info, err := fs.Lstat(t.files, p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// search reports whether a pattern matches anything. Patterns follow no links below their start, and look into .git and
// node_modules only if they name them.
func (t *tree) search(ctx context.Context, pattern string) existence {
	if !simple(pattern) {
		return ambiguous
	}
	found := false
	files := &bounded{FS: t.files, ctx: ctx, left: &t.left, pattern: pattern}
	err := doublestar.GlobWalk(files, pattern, func(match string, _ fs.DirEntry) error {
		if _, err := files.Stat(match); err != nil {
			return nil // a dangling link, or one that leads out of the workspace
		}
		found = true
		return errFound
	}, doublestar.WithNoFollow())
	switch {
	case found:
		return present
	case files.stopped:
		return tooWide
	case err != nil:
		return ambiguous
	}
	return absent
}

var errFound = errors.New("found")

// simple reports whether a pattern is valid and can be matched without very many attempts: alternatives multiply, and
// so do stars.
func simple(pattern string) bool {
	return doublestar.ValidatePattern(pattern) && strings.Count(pattern, "{") <= 3 &&
		strings.Count(pattern, ",") <= 30 && strings.Count(pattern, "*") <= 16
}

// bounded is a file system that fails after a number of entries, or when the context ends.
type bounded struct {
	fs.FS
	ctx     context.Context
	left    *int
	pattern string
	stopped bool
}

var errBound = errors.New("the bound is reached")

func (b *bounded) Stat(name string) (fs.FileInfo, error) {
	if err := b.take(1); err != nil {
		return nil, err
	}
	return fs.Stat(b.FS, name)
}

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.take(1); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(b.FS, name)
	if bound := b.take(len(entries)); bound != nil {
		return nil, bound
	}
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return (name == ".git" || name == "node_modules") && !strings.Contains(b.pattern, name)
	}), err
}

func (b *bounded) take(n int) error {
	if err := b.ctx.Err(); err != nil {
		b.stopped = true
		return err
	}
	if *b.left < n {
		b.stopped, *b.left = true, 0
		return errBound
	}
	*b.left -= n
	return nil
}

// creations holds the paths that the tasks of a plan will create.
type creations struct {
	graph   graph
	exact   map[string][]int // path, and every directory above it → its creators
	inside  map[string][]int // created directory → its creators, for paths in it
	created []creation
	before  reach
	left    int // comparisons still allowed

	patterns []creation // the patterns among created
}

type creation struct {
	path string
	by   int
	glob bool
}

// maxComparisons bounds the work on plans in which everything creates everything.
const maxComparisons = 5_000_000

func newCreations(c Candidate, g graph) *creations {
	m := &creations{graph: g, exact: map[string][]int{}, inside: map[string][]int{}, left: maxComparisons,
		before: reach{mark: make([]int, len(g.deps))}}
	for i, t := range c.New {
		m.add(i, t.Creates)
	}
	for i := range c.Have.Len() {
		if step := c.Have.At(i); step.Status != plan.Skipped && step.Status != plan.Cancelled {
			m.add(g.tasks+i, step.Creates)
		}
	}
	return m
}

func (m *creations) add(by int, paths []string) {
	for _, given := range paths {
		p, fault := locate(given)
		if fault != "" || p == "." {
			continue
		}
		c := creation{p, by, isGlob(p) && simple(p)}
		m.created = append(m.created, c)
		if c.glob {
			m.patterns = append(m.patterns, c)
		}
		for up := p; up != "."; up = path.Dir(up) {
			m.exact[up] = with(m.exact[up], by)
		}
		if path.Ext(p) == "" || strings.HasSuffix(strings.TrimSpace(given), "/") {
			m.inside[p] = with(m.inside[p], by)
		}
	}
}

func with(list []int, by int) []int {
	if n := len(list); n > 0 && list[n-1] == by {
		return list
	}
	return append(list, by)
}

// covers reports whether a path is created by the task, or by one it depends on, directly or through others.
func (m *creations) covers(task int, p string) bool {
	if len(m.created) == 0 {
		return false
	}
	m.before.from(task, m.graph)
	if m.among(m.exact[p]) {
		return true
	}
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		if m.among(m.inside[up]) {
			return true
		}
	}
	return m.matches(p)
}

func (m *creations) among(creators []int) bool {
	for _, by := range creators {
		if m.left--; m.left < 0 {
			return false
		}
		if m.before.has(by) {
			return true
		}
	}
	return false
}

// matches reports whether a path and a created path match as patterns.
func (m *creations) matches(p string) bool {
	wanted, list := isGlob(p) && simple(p), m.patterns
	if wanted {
		list = m.created
	}
	for _, c := range list {
		if m.left--; m.left < 0 {
			return false
		}
		if !m.before.has(c.by) {
			continue
		}
		if c.glob && doublestar.MatchUnvalidated(c.path, p) || wanted && doublestar.MatchUnvalidated(p, c.path) {
			return true
		}
	}
	return false
}

// reach is the set of a task and everything before it, cached for the last task asked about, because tasks are checked
// one after another.
type reach struct {
	task int // counted from 1, which is also the mark of its members
	mark []int
}

func (r *reach) from(task int, g graph) {
	if r.task == task+1 {
		return
	}
	r.task = task + 1
	r.mark[task] = r.task
	for open := []int{task}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		for _, dep := range g.deps[next] {
			if r.mark[dep] != r.task {
				r.mark[dep] = r.task
				open = append(open, dep)
			}
		}
	}
}

func (r *reach) has(node int) bool { return r.mark[node] == r.task }
