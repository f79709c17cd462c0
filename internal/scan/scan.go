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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/tree"
)

// Options bounds a scan. Zero fields mean the default in brackets.
type Options struct {
	MaxFiles    int           // files and folders that are visited [100,000]
	MaxBytes    int           // size of a file above which it is not read [256 KiB]
	MaxFindings int           // findings that are returned [1,000]
	Duration    time.Duration // after which the scan ends with what it has [20 s]

	// Progress is called now and then with the number of files dealt with, never
	// by two goroutines at once. The scan waits for it.
	Progress func(done int)
}

func (o Options) withDefaults() Options {
	o.MaxFiles = orDefault(o.MaxFiles, 100_000)
	o.MaxBytes = orDefault(o.MaxBytes, 256<<10)
	o.MaxFindings = orDefault(o.MaxFindings, 1_000)
	o.Duration = orDefault(o.Duration, 20*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n <= 0 {
		return otherwise
	}
	return n
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

	c := newCollection(o)
	w := t.Walk(tree.Options{Breadth: true, Entries: o.MaxFiles, Skip: skipped(limited, t)})
	files, folders, err := read(limited, t, w, c)
	result := c.result(limited, t, cut(w))
	result.Files, result.Folders, result.Duration = files, folders, time.Since(begin)
	if ctx.Err() != nil {
		return result, fmt.Errorf("scan the workspace: %w", context.Cause(ctx))
	}
	return result, err
}

// cut is why a walk did not see all there is.
func cut(w *tree.Walk) tree.Bound {
	if w.Cut == tree.Whole && w.Crowded != "" {
		return tree.ByEntries
	}
	return w.Cut
}

// chunk is how many files are read between two reports.
const chunk = 64

// read runs the walk and the readers of the files it comes across. The walk ends
// when the tree or a bound does, the readers when the walk is over and all is read,
// or when ctx ends; read waits for all of them.
func read(ctx context.Context, t *tree.Tree, w *tree.Walk, c *collection) (files, folders int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan []string, 64)
	group.Go(func() error {
		defer close(jobs)
		folders = 1
		var names []string
		hand := func() {
			select {
			case jobs <- names:
			case <-ctx.Done(): // the walk notices
			}
			names = nil
		}
		for name, e := range w.Below(ctx, ".") {
			switch {
			case e.IsDir():
				folders++
			case e.Type().IsRegular():
				files++
				if names = append(names, name); len(names) == chunk {
					hand()
				}
			}
		}
		hand()
		return nil
	})
	for range min(max(runtime.GOMAXPROCS(0), 2), 8) {
		group.Go(func() error {
			r := reader{tree: t, most: c.options.MaxBytes}
			for names := range jobs {
				c.add(r.read(ctx, names))
			}
			return nil
		})
	}
	err = group.Wait()
	return files, folders, err
}

// reader reads files, one after the other, into the same buffer.
type reader struct {
	tree   *tree.Tree
	most   int
	buffer []byte
}

// yield is what some files brought.
type yield struct {
	files   int // dealt with
	read    int
	marks   []mark
	links   []link
	sources []source
	tests   []string // what tests are about
}

func (r *reader) read(ctx context.Context, names []string) *yield {
	y := &yield{}
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		y.files++
		if !inFixture(name) {
			r.readFile(name, y)
		}
	}
	return y
}

func (r *reader) readFile(name string, y *yield) {
	about, isTest := subject(name)
	if isTest {
		y.tests = append(y.tests, about)
	}
	l := languageOf(name)
	if l.name == "" {
		return
	}
	content, err := r.tree.Read(name, r.most, r.buffer)
	r.buffer = content
	if err != nil {
		return
	}
	y.read++
	if l.name == markdown {
		content = prose(content)
		y.links = append(y.links, links(name, content)...)
	} else if generated(content) || minified(content) {
		return
	}
	y.marks = append(y.marks, marks(name, content, l.openers)...)
	if !isTest && about != "" && testable(name, content) {
		y.sources = append(y.sources, source{name: name, about: about, lines: bytes.Count(content, []byte("\n"))})
	}
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

// inFixture reports whether a path lies in a folder of material for tests: what is
// wrong in it is wrong on purpose.
func inFixture(name string) bool {
	for element := range strings.SplitSeq(path.Dir(name), "/") {
		switch element {
		case "testdata", "__fixtures__", "__snapshots__":
			return true
		}
	}
	return false
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
