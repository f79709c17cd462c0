// Package scan reads a workspace's files for marks in comments (TODO, FIXME, HACK, XXX) and summarizes the tree for a
// prompt. It does not parse languages: it goes by file names and the shape of lines. Every scan is bounded in files,
// bytes and time, and says when a bound cut it short.
//
// It must not know plans, steps, gates or models: what it returns is plain text, and the caller decides whether a plan
// has it already.
package scan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/tree"
)

// Options bounds a scan. Zero fields mean the default in brackets.
type Options struct {
	MaxFiles int             // files and folders that are visited [100,000]
	MaxBytes int             // size of a file above which it is not read [256 KiB]
	Duration time.Duration   // after which the scan ends with what it has [20 s]
	Progress func(files int) // called after each file with their number; may be nil
}

func (o Options) withDefaults() Options {
	o.MaxFiles = cmp.Or(o.MaxFiles, 100_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<10)
	o.Duration = cmp.Or(o.Duration, 20*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Result is what a scan found.
type Result struct {
	Findings []Finding // the most urgent first
	Files    int       // regular files that are not ignored
	Folders  int
	Read     int        // files that were read
	Cut      tree.Bound // what cut the scan short; ByContext is the time limit too
	Duration time.Duration
}

// Note says in a sentence what the scan did not see, "" if it saw all.
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

// maxMarks bounds the different marks that are kept.
const maxMarks = 50_000

// Scan walks a tree once and returns the marks in it. A bound that cuts it short is no error: Result.Cut names it. When
// ctx ends, Scan returns what it has with the cause.
func Scan(ctx context.Context, t *tree.Tree, o Options) (Result, error) {
	o = o.withDefaults()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	r := Result{Folders: 1}
	kept := map[mark]*places{}
	var buffer []byte // for one file after the other
	w := t.Walk(tree.Options{Breadth: true, Entries: o.MaxFiles, Skip: skipped(limited, t)})
	for name, e := range w.Below(limited, ".") {
		switch {
		case e.IsDir():
			r.Folders++
			continue
		case !e.Type().IsRegular():
			continue
		}
		content, ok := readSource(t, name, o.MaxBytes, &buffer)
		if ok {
			r.Read++
		}
		for m, line := range marks(name, content) {
			if kept[m] == nil && len(kept) < maxMarks {
				kept[m] = &places{}
			}
			if kept[m] != nil {
				kept[m].add(place{name, line})
			}
		}
		r.Files++
		o.Progress(r.Files)
	}
	for m, found := range kept {
		r.Findings = append(r.Findings, found.finding(m))
	}
	rank(r.Findings)
	r.Cut, r.Duration = cut(w), time.Since(begin)
	if limited.Err() != nil {
		r.Cut = tree.ByContext
	}
	if ctx.Err() != nil {
		return r, fmt.Errorf("scan the workspace: %w", context.Cause(ctx))
	}
	return r, nil
}

// cut is why a walk did not see all there is.
func cut(w *tree.Walk) tree.Bound {
	if w.Cut == tree.Whole && w.Crowded != "" {
		return tree.ByEntries
	}
	return w.Cut
}

// readSource reads a file that people write, into a buffer that it may replace by a longer one. It is false for a file
// that was not read. What is wrong in the fixtures of tests is wrong on purpose, so they are not read.
func readSource(t *tree.Tree, name string, most int, buffer *[]byte) (content []byte, ok bool) {
	fixture := func(folder string) bool {
		return slices.Contains([]string{"testdata", "__fixtures__", "__snapshots__"}, folder)
	}
	if languageOf(name).name == "" || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), fixture) {
		return nil, false
	}
	content, err := t.Read(name, most, *buffer)
	if err != nil {
		return nil, false
	}
	*buffer = content
	if path.Ext(name) != ".md" && (generated(content) || minified(content)) {
		return nil, true
	}
	return content, true
}

// skipped reports the folders without work of the people here, whatever git ignores: dependencies, caches, build
// output. A folder named like build output may be a Go package, which its source files show. A name that no plan can
// hold is skipped too.
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

// maxLine is the length of the longest line that a person writes.
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

// generated reports source whose first lines say that a program wrote it.
func generated(content []byte) bool {
	head := content[:min(len(content), 2<<10)]
	return bytes.Contains(head, []byte("@generated")) || bytes.Contains(head, []byte("DO NOT EDIT"))
}
