package tree

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
)

// ScanOptions limit a scan. Zero fields mean the default in brackets.
type ScanOptions struct {
	MaxFiles int             // files and folders to visit [100,000]
	Duration time.Duration   // time limit; the scan then returns its findings so far [20 s]
	Progress func(files int) // called after each file with the number of files so far; may be nil
}

// ScanResult is the result of a scan.
type ScanResult struct {
	Findings []Finding // most urgent first
	Files    int       // regular files, without ignored ones
	Folders  int
	Read     int   // files read
	Cut      Bound // the limit that cut the scan short; ByContext includes the time limit
	Duration time.Duration
}

// Note returns a sentence about the unread part of the tree, or "" if the scan was complete.
func (r ScanResult) Note() string {
	switch r.Cut {
	case ByEntries:
		return fmt.Sprintf("The scan stopped after %d files in %d folders; the rest of the tree was not read.", r.Files, r.Folders)
	case ByContext:
		return fmt.Sprintf("The scan stopped after %s with %d files read; the rest of the tree was not read.",
			r.Duration.Round(time.Millisecond), r.Read)
	}
	return ""
}

// Limits of a scan.
const (
	maxMarks  = 50_000    // different ones
	maxSource = 256 << 10 // bytes of a file; a larger one is not read
)

// Scan walks a tree once and returns the marks in it. A limit that cuts it short is not an error; Result.Cut
// names it. When ctx ends, Scan returns its findings so far with the cause.
func Scan(ctx context.Context, t *Tree, o ScanOptions) (ScanResult, error) {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, cmp.Or(o.Duration, 20*time.Second))
	defer cancel()
	r := ScanResult{Folders: 1}
	kept := map[mark]*places{}
	var buffer []byte // reused for all files
	w := t.Walk(Options{Breadth: true, Entries: cmp.Or(o.MaxFiles, 100_000), Skip: skipped(limited, t)})
	for name, e := range w.Below(limited, ".") {
		switch {
		case e.IsDir():
			r.Folders++
			continue
		case !e.Type().IsRegular():
			continue
		}
		content, ok := readSource(t, name, &buffer)
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
		if o.Progress != nil {
			o.Progress(r.Files)
		}
	}
	for m, found := range kept {
		r.Findings = append(r.Findings, found.finding(m))
	}
	rank(r.Findings)
	r.Cut, r.Duration = w.Bound(), time.Since(begin)
	if limited.Err() != nil {
		r.Cut = ByContext
	}
	if ctx.Err() != nil {
		return r, fmt.Errorf("scan the workspace: %w", context.Cause(ctx))
	}
	return r, nil
}

// readSource reads a source file into a buffer that it may replace by a larger one. It returns false for a
// file that it does not read. Test fixtures are not read, because their marks are intentional.
func readSource(t *Tree, name string, buffer *[]byte) (content []byte, ok bool) {
	fixture := func(folder string) bool {
		return slices.Contains([]string{"testdata", "__fixtures__", "__snapshots__"}, folder)
	}
	if languageOf(name).name == "" || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), fixture) {
		return nil, false
	}
	content, err := t.Read(name, maxSource, *buffer)
	if err != nil {
		return nil, false
	}
	*buffer = content
	if path.Ext(name) != ".md" && (generated(content) || minified(content)) {
		return nil, true
	}
	return content, true
}

// skipped returns a function that reports entries to skip, even if git does not ignore them: dependencies,
// caches and build output, and names that a plan cannot hold. A folder named like build output is kept if it
// has Go files.
func skipped(ctx context.Context, t *Tree) func(string, fs.DirEntry) bool {
	return func(name string, e fs.DirEntry) bool {
		if !Nameable(e.Name()) {
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

// maxLine is the longest line, in bytes, that people write.
const maxLine = 2_000

// minified reports whether a line is too long to be written by a person.
func minified(content []byte) bool {
	return slices.ContainsFunc(bytes.Split(content, []byte("\n")), func(line []byte) bool { return len(line) > maxLine })
}

// generated reports whether the first lines say that a program wrote the file.
func generated(content []byte) bool {
	head := content[:min(len(content), 2<<10)]
	return bytes.Contains(head, []byte("@generated")) || bytes.Contains(head, []byte("DO NOT EDIT"))
}
