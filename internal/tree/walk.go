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
	maxDepth     = 256       // of folders: opening a file takes one step a level
	maxRules     = 256 << 10 // bytes of one ignore file; git has no use for larger ones
	maxAllRules  = 4 << 20   // bytes of all ignore files of a walk
	maxEntries   = 200_000
	ignoreFile   = ".gitignore"
	excludesFile = ".git/info/exclude"
)

// Options says what a walk goes through. The zero value is usable.
type Options struct {
	Ignored bool // goes through what git ignores, too
	Breadth bool // the upper levels first; else in the order of the paths
	Entries int  // files and directories that are yielded at most; 0: 200,000

	// Skip, if given, leaves out an entry with all that is below it. It is asked
	// about what is not ignored.
	Skip func(name string, e fs.DirEntry) bool
}

// Bound names what ended a walk early.
type Bound string

// The bounds of a walk.
const (
	Whole     Bound = ""        // nothing did, or who asked
	ByEntries Bound = "entries" // Options.Entries
	ByContext Bound = "context"
)

// Walk goes through the files and directories below a directory. It follows no
// links and never looks into .git. It is for one use, by one goroutine.
type Walk struct {
	tree    *Tree
	options Options
	entries int
	room    int64 // bytes of ignore files that may still be read

	// What was not gone through, to be read when the walk has ended.
	Cut        Bound
	Crowded    string // a directory of which only some entries were read
	Unreadable int    // directories that could not be read, or lie too deep
}

// Walk prepares a walk.
func (t *Tree) Walk(o Options) *Walk {
	o.Entries = cmp.Or(o.Entries, maxEntries)
	return &Walk{tree: t, options: o, room: maxAllRules}
}

// folder is a directory that is to be visited.
type folder struct {
	name  string
	rules *Rules // of the folders above it
	depth int
}

// Below yields the name of every entry below a directory, and the entry. Who
// begins in a directory that is itself ignored wants to see it: nothing in it is.
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

// visit yields what is in a folder and enters the folders in it. It reports
// whether the walk goes on.
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

// over reports whether the context has ended, and notes it.
func (w *Walk) over(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	w.Cut = ByContext
	return true
}

// rulesAbove returns the rules of the folders above a directory, where a walk
// begins. It notes when they leave the directory out.
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

// load adds the rules of an ignore file of a folder, if there is one. As git does,
// it follows no link to it.
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
	// Where git sets core.ignorecase for the repositories it makes.
	fold := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	return rules.With(folder, content, fold)
}
