package tree

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"path"
	"runtime"
	"slices"
	"strings"
)

const (
	maxDepth     = 256       // of folders: opening a file takes one step per level
	maxRules     = 256 << 10 // bytes of one ignore file; larger ones are not realistic
	maxAllRules  = 4 << 20   // bytes of all ignore files in a walk
	maxEntries   = 200_000
	ignoreFile   = ".gitignore"
	excludesFile = ".git/info/exclude"
)

// Options configure a walk. The zero value is usable.
type Options struct {
	Ignored bool // includes files ignored by git
	Breadth bool // upper levels first; else in path order
	Entries int  // most files and directories to yield; 0: 200,000

	// Skip, if not nil, leaves out an entry and everything below it. It is not called for ignored entries.
	Skip func(name string, e fs.DirEntry) bool
}

// Bound is the limit that ended a walk early.
type Bound string

// The bounds of a walk.
const (
	Whole     Bound = ""        // no limit, or the caller stopped
	ByEntries Bound = "entries" // Options.Entries
	ByContext Bound = "context"
)

// Walk visits the files and directories below a directory. It follows no links and never enters .git. A Walk
// must be used once, by one goroutine.
type Walk struct {
	tree    *Tree
	options Options
	entries int
	room    int64 // bytes of ignore files that may still be read

	// The parts that were not visited, valid after the walk.
	Cut        Bound
	Crowded    string // a directory with too many entries, of which only some were read
	Unreadable int    // directories that could not be read, or are too deep
}

// Walk returns a walk that has not started; see Walk.Below.
func (t *Tree) Walk(o Options) *Walk {
	o.Entries = cmp.Or(o.Entries, maxEntries)
	return &Walk{tree: t, options: o, room: maxAllRules}
}

// Bound returns the limit that kept the walk from visiting everything, also one on the entries of a single directory.
func (w *Walk) Bound() Bound {
	if w.Cut == Whole && w.Crowded != "" {
		return ByEntries
	}
	return w.Cut
}

// folder is a directory to visit.
type folder struct {
	name  string
	rules *Rules // of the folders above it
	depth int
}

// Below yields the path of each entry below a directory, and the entry. If the directory itself is ignored, nothing in
// it counts as ignored, because the caller asked for it.
func (w *Walk) Below(ctx context.Context, directory string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) {
		var queue []folder
		enter := func(f folder) bool {
			queue = append(queue, f)
			return true
		}
		if !w.options.Breadth {
			enter = func(f folder) bool { return w.visit(ctx, f, yield, enter) }
		}
		going := enter(folder{name: directory, rules: w.rulesAbove(directory)})
		for ; going && len(queue) > 0; queue = queue[1:] {
			going = w.visit(ctx, queue[0], yield, enter)
		}
	}
}

// visit yields the entries of a folder and enters its folders. It reports whether the walk continues.
func (w *Walk) visit(ctx context.Context, f folder, yield func(string, fs.DirEntry) bool, enter func(folder) bool) bool {
	if f.depth > maxDepth {
		w.Unreadable++
		return true
	}
	list, more, err := w.tree.List(ctx, f.name)
	if w.over(ctx) {
		return false
	}
	if err != nil {
		w.Unreadable++
		return true
	}
	if more {
		w.Crowded = f.name
	}
	rules := f.rules
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ignoreFile }) {
		rules = w.load(rules, f.name, path.Join(f.name, ignoreFile))
	}
	for _, e := range list {
		name := path.Join(f.name, e.Name())
		ignored := e.Name() == ".git" || !w.options.Ignored && rules.Ignores(name, e.IsDir())
		if ignored || w.options.Skip != nil && w.options.Skip(name, e) {
			continue
		}
		if w.entries++; w.entries > w.options.Entries {
			w.Cut = ByEntries
			return false
		}
		if w.over(ctx) || !yield(name, e) || e.IsDir() && !enter(folder{name, rules, f.depth + 1}) {
			return false
		}
	}
	return true
}

func (w *Walk) over(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	w.Cut = ByContext
	return true
}

// rulesAbove returns the rules of the folders above the walk's first directory. If they ignore it, ignore rules are
// switched off.
func (w *Walk) rulesAbove(directory string) *Rules {
	rules := w.load(nil, ".", excludesFile)
	if directory == "." {
		return rules
	}
	at := "."
	for name := range strings.SplitSeq(directory, "/") {
		rules = w.load(rules, at, path.Join(at, ignoreFile))
		at = path.Join(at, name)
		if rules.Ignores(at, true) {
			w.options.Ignored = true
			return nil
		}
	}
	return rules
}

// load adds the rules of a folder's ignore file, if it exists. Like git, it does not follow a link.
func (w *Walk) load(rules *Rules, folder, file string) *Rules {
	if w.options.Ignored {
		return nil
	}
	info, err := w.tree.root.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > min(w.room, maxRules) {
		return rules
	}
	content, err := w.tree.Read(file, maxRules, nil)
	if err != nil {
		return rules
	}
	w.room -= int64(len(content))
	// The systems where git sets core.ignorecase in new repositories.
	fold := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	return rules.With(folder, content, fold)
}
