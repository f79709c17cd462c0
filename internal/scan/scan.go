// Package scan reads the tree of a workspace to find what is worth doing in it
// without asking a model: marks in comments, source without tests, links in
// documents that lead nowhere. It also sums the tree up for a prompt.
//
// It tells these from the names of files and the forms of lines, and parses no
// language. Every scan is bounded in files, bytes and time, and says when a bound
// cut it short.
//
// It must not know plans, steps, gates or models: what it finds is plain text,
// and whether a plan has it already is for the caller to judge.
package scan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// Options bounds a scan. Zero fields mean the default in brackets.
type Options struct {
	MaxFiles    int           // files and folders that are visited [100,000]
	MaxBytes    int           // size of a file above which it is not read [256 KiB]
	MaxFindings int           // findings that are returned [1,000]
	Duration    time.Duration // after which the scan ends with what it has [20 s]

	// Progress is called for each file with the number of those dealt with, never by
	// two goroutines at once. The scan waits for it.
	Progress func(done int)
}

func (o Options) withDefaults() Options {
	o.MaxFiles = cmp.Or(o.MaxFiles, 100_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<10)
	o.MaxFindings = cmp.Or(o.MaxFindings, 1_000)
	o.Duration = cmp.Or(o.Duration, 20*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Result is what a scan found.
type Result struct {
	Findings []Finding // ranked
	Left     int       // findings beyond the limit, which are not in Findings
	Files    int       // regular files that are not ignored
	Folders  int
	Read     int        // files that were read
	Cut      tree.Bound // what cut the scan short; ByContext is the time limit too
	Duration time.Duration
}

// Note says in a sentence what the scan did not see, empty when it saw all.
func (r Result) Note() string {
	switch r.Cut {
	case tree.ByEntries:
		return fmt.Sprintf("The scan stopped after %d files in %d folders; the rest of the tree was not read.", r.Files, r.Folders)
	case tree.ByContext:
		return fmt.Sprintf("The scan stopped after %s with %d files read; the rest of the tree was not read.",
			r.Duration.Round(time.Millisecond), r.Read)
	}
	return ""
}

// Top returns at most n findings, in rank: the best of each kind in turn, so that
// a hundred marks do not hide the one dead link.
func (r Result) Top(n int) []Finding {
	byKind := map[string][]Finding{}
	var kinds []string
	for _, f := range r.Findings {
		if byKind[f.Kind] == nil {
			kinds = append(kinds, f.Kind)
		}
		byKind[f.Kind] = append(byKind[f.Kind], f)
	}
	var top []Finding
	for i := 0; len(top) < min(n, len(r.Findings)); i++ {
		for _, kind := range kinds {
			if i < len(byKind[kind]) && len(top) < n {
				top = append(top, byKind[kind][i])
			}
		}
	}
	slices.SortFunc(top, func(a, b Finding) int { return cmp.Compare(a.Rank, b.Rank) })
	return top
}

// Scan walks a tree once and returns what is worth doing in it. A bound that cuts
// it short is no error: Result.Cut names it. When ctx ends, Scan returns what it
// has with the cause.
func Scan(ctx context.Context, t *tree.Tree, o Options) (Result, error) {
	o = o.withDefaults()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()

	c := &collection{options: o, kept: map[thing]*found{}, sizes: map[string]int{}, tests: map[string]bool{}}
	w := t.Walk(tree.Options{Breadth: true, Entries: o.MaxFiles, Skip: skipped(limited, t)})
	files, folders := read(limited, t, w, c)
	result := c.result(limited, t, cut(w))
	result.Files, result.Folders, result.Duration = files, folders, time.Since(begin)
	if ctx.Err() != nil {
		return result, fmt.Errorf("scan the workspace: %w", context.Cause(ctx))
	}
	return result, nil
}

// cut is why a walk did not see all there is.
func cut(w *tree.Walk) tree.Bound {
	if w.Cut == tree.Whole && w.Crowded != "" {
		return tree.ByEntries
	}
	return w.Cut
}

// read runs the walk and the readers of the files it comes across. The walk ends
// when the tree or a bound does, the readers when the walk is over and all is read,
// or when ctx ends; read waits for all of them.
func read(ctx context.Context, t *tree.Tree, w *tree.Walk, c *collection) (files, folders int) {
	var group sync.WaitGroup
	names := make(chan string, 4_096)
	group.Go(func() {
		defer close(names)
		folders = 1
		for name, e := range w.Below(ctx, ".") {
			switch {
			case e.IsDir():
				folders++
			case e.Type().IsRegular():
				files++
				select {
				case names <- name:
				case <-ctx.Done(): // the walk notices
				}
			}
		}
	})
	for range min(max(runtime.GOMAXPROCS(0), 2), 8) {
		group.Go(func() {
			var buffer []byte
			for name := range names {
				if ctx.Err() != nil {
					return
				}
				var y yield
				y, buffer = readFile(t, name, c.options.MaxBytes, buffer)
				c.add(name, y)
			}
		})
	}
	group.Wait()
	return files, folders
}

// yield is what a file brought.
type yield struct {
	read      bool
	sightings []sighting
	about     string // see subject
	isTest    bool
	offers    bool // something that tests can call
	lines     int
}

// readFile reads a file into a buffer, which it returns for the next.
func readFile(t *tree.Tree, name string, most int, buffer []byte) (yield, []byte) {
	if lies(name, "testdata", "__fixtures__", "__snapshots__") {
		return yield{}, buffer // what is wrong there is wrong on purpose
	}
	var y yield
	y.about, y.isTest = subject(name)
	l := languageOf(name)
	if l.name == "" {
		return y, buffer
	}
	buffer, err := t.Read(name, most, buffer)
	if err != nil {
		return y, buffer
	}
	y.read = true
	content := buffer
	if l.name == markdown {
		content = prose(content)
		y.sightings = links(name, content)
	} else if generated(content) || minified(content) {
		return y, buffer
	}
	y.sightings = append(y.sightings, marks(name, content, l.openers)...)
	y.offers = !y.isTest && y.about != "" && testable(name, content)
	y.lines = bytes.Count(content, []byte("\n"))
	return y, buffer
}

// skipped reports the folders that hold no work of the people here, whatever git
// ignores: dependencies, caches, what a build made. A Go package may be called like
// the last, and then its source gives it away. What no plan can name is skipped too.
func skipped(ctx context.Context, t *tree.Tree) func(string, fs.DirEntry) bool {
	return func(name string, e fs.DirEntry) bool {
		if !tree.Nameable(e.Name()) {
			return true
		}
		if !e.IsDir() {
			return false
		}
		switch e.Name() {
		case ".hg", ".svn", ".jj", ".bzr",
			"node_modules", "bower_components", "jspm_packages", "vendor", "Pods", "site-packages",
			"__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache",
			".next", ".nuxt", ".svelte-kit", ".turbo", ".parcel-cache", ".cache", ".gradle", ".terraform", ".yarn", ".pnpm-store",
			".idea", ".vs", "coverage", "htmlcov", ".nyc_output":
			return true
		case "build", "dist", "out", "target":
			list, _, err := t.List(ctx, name)
			return err != nil || !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return path.Ext(e.Name()) == ".go" })
		}
		return strings.HasSuffix(e.Name(), ".egg-info")
	}
}

// maxLine is the length from which on a line was made by a program.
const maxLine = 2_000

// minified reports source that no person wrote, by its longest line.
func minified(content []byte) bool {
	for len(content) > maxLine {
		end := bytes.IndexByte(content, '\n')
		if end < 0 || end > maxLine {
			return true
		}
		content = content[end+1:]
	}
	return false
}

// generated reports source that says at its top that a program wrote it.
func generated(content []byte) bool {
	head := content[:min(len(content), 2<<10)]
	return bytes.Contains(head, []byte("@generated")) || bytes.Contains(head, []byte("DO NOT EDIT"))
}

// maxKept bounds the different things that are kept, per kind.
const maxKept = 50_000

// thing tells findings that are the same from others. A link is the same within
// its document only, a mark without words within its file.
type thing struct{ kind, word, text, within string }

// place is where something stands.
type place struct {
	path string
	line int
}

// sighting is a thing at one of its places.
type sighting struct {
	thing
	place
}

// source is a file that holds what tests can call.
type source struct {
	name, about string
	lines       int
}

// collection gathers what the readers find. Its lock also keeps the calls of
// Progress apart.
type collection struct {
	options Options

	mu      sync.Mutex
	done    int
	read    int
	kept    map[thing]*found
	sizes   map[string]int // things kept, by kind
	left    int            // marks beyond maxKept
	sources []source
	tests   map[string]bool // what tests are about
}

// add takes what a file brought.
func (c *collection) add(name string, y yield) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.options.Progress(c.done)
	if y.read {
		c.read++
	}
	for _, s := range y.sightings {
		c.keep(s)
	}
	if y.offers {
		c.sources = append(c.sources, source{name, y.about, y.lines})
	}
	if y.isTest {
		c.tests[y.about] = true
	}
}

func (c *collection) keep(s sighting) {
	f := c.kept[s.thing]
	switch {
	case f != nil:
	case c.sizes[s.kind] < maxKept:
		c.sizes[s.kind]++
		f = &found{thing: s.thing}
		c.kept[s.thing] = f
	case s.kind == KindMark:
		c.left++
		return
	default:
		return
	}
	f.add(s.place)
}

// result judges what had to wait until all files were read, and ranks. Of a tree
// that was not seen whole nothing is known of its tests. Links are looked up here;
// when there is no time left for that, they are no findings.
func (c *collection) result(ctx context.Context, t *tree.Tree, cut tree.Bound) Result {
	if ctx.Err() != nil {
		cut = tree.ByContext
	}
	for _, s := range c.sources {
		if cut == tree.Whole && !c.tests[s.about] {
			f := &found{thing: thing{kind: KindUntested, within: s.name}, size: s.lines}
			f.add(place{s.name, 1})
			c.kept[f.thing] = f
		}
	}
	for key, f := range c.kept {
		if key.kind != KindDeadLink {
			continue
		}
		isDead := false
		if ctx.Err() == nil {
			isDead, f.outside = dead(t, key.within, key.text)
		}
		if !isDead && !f.outside {
			delete(c.kept, key)
		}
	}
	if ctx.Err() != nil {
		cut = tree.ByContext
	}
	findings := make([]Finding, 0, len(c.kept))
	for _, f := range c.kept {
		findings = append(findings, f.finding())
	}
	rank(findings)
	left := c.left + max(len(findings)-c.options.MaxFindings, 0)
	return Result{Findings: findings[:min(len(findings), c.options.MaxFindings)], Left: left, Read: c.read, Cut: cut}
}
