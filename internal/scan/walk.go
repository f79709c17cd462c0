package scan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxDepth bounds how deep a walk goes: opening a file takes one step a level.
const maxDepth = 64

// Bound names what cut a walk short.
type Bound string

// The bounds of a walk.
const (
	Whole     Bound = ""      // none did
	ByFiles   Bound = "files" // the number of files, or of folders
	ByTime    Bound = "time"
	Cancelled Bound = "cancelled" // by the caller
)

// Skipped counts what a walk passed over.
type Skipped struct {
	Ignored    int // by .gitignore, files and folders
	Folders    int // of dependencies, caches, builds
	Links      int // symbolic links, which are not followed
	Special    int // pipes, sockets, devices
	Unreadable int // files and folders that could not be read, or lie too deep
	Odd        int // names that no plan can carry
	Large      int // files above the limit
	Binary     int // files that are no text
	Made       int // files that a program wrote
}

// folder is one directory as the walk found it.
type folder struct {
	path    string   // "." is the root
	files   []string // regular files, sorted
	folders []string // sorted; the walk visits them later
	partial bool     // files is not all there is
	rules   *ignoreRules
	depth   int
}

// walk visits the folders of a tree, the upper ones first, each level in order.
type walk struct {
	tree     *Tree
	maxFiles int
	visit    func(folder) error

	files, folders int
	skipped        Skipped
}

// run walks until all is seen or a bound is reached. An error is visit's.
func (w *walk) run(ctx context.Context) (Bound, error) {
	queue := []folder{{path: ".", rules: w.excludes()}}
	for len(queue) > 0 {
		if ctx.Err() != nil {
			return Cancelled, nil
		}
		if w.folders >= w.maxFiles || w.files >= w.maxFiles {
			return ByFiles, nil
		}
		next := queue[0]
		queue = queue[1:]
		if !w.list(ctx, &next) {
			continue
		}
		w.folders++
		w.files += len(next.files)
		if err := w.visit(next); err != nil {
			return Whole, err
		}
		if next.partial {
			return w.why(ctx), nil
		}
		for _, name := range next.folders {
			queue = append(queue, folder{path: join(next.path, name), rules: next.rules, depth: next.depth + 1})
		}
	}
	return Whole, nil
}

func (w *walk) why(ctx context.Context) Bound {
	if ctx.Err() != nil {
		return Cancelled
	}
	return ByFiles
}

// excludes are the rules of .git/info/exclude, which count least.
func (w *walk) excludes() *ignoreRules {
	const name = ".git/info/exclude"
	if !w.tree.isFile(name) {
		return nil
	}
	content, result := w.tree.read(name, maxIgnoreBytes, nil)
	if result != wasRead {
		return nil
	}
	return (*ignoreRules)(nil).with(".", content)
}

// list fills in what is in a folder, and reports whether it is to be visited.
func (w *walk) list(ctx context.Context, f *folder) bool {
	entries, partial, err := w.entries(ctx, f.path)
	if err != nil || f.depth > maxDepth {
		w.skipped.Unreadable++
		return false
	}
	f.partial = partial
	f.rules = w.rulesOf(f, entries)
	for _, entry := range entries {
		if ctx.Err() != nil {
			f.partial = true // many rules for many files take time
			break
		}
		w.sort(f, entry)
	}
	if builtFolder(path.Base(f.path), f.files) {
		w.skipped.Folders++
		return false
	}
	slices.Sort(f.files)
	slices.Sort(f.folders)
	if most := w.maxFiles - w.files; len(f.files) > most {
		f.files, f.partial = f.files[:most], true
	}
	return true
}

// sort puts an entry where it belongs: among the files or folders, or among what
// is only counted.
func (w *walk) sort(f *folder, entry fs.DirEntry) {
	name, kind := entry.Name(), entry.Type()
	switch {
	case !nameable(name):
		w.skipped.Odd++
	case kind.IsDir() && skippedFolder(name):
		w.skipped.Folders++
	case f.rules.ignores(join(f.path, name), kind.IsDir()):
		w.skipped.Ignored++
	case kind.IsDir():
		f.folders = append(f.folders, name)
	case kind&fs.ModeSymlink != 0:
		w.skipped.Links++
	case kind.IsRegular():
		f.files = append(f.files, name)
	default:
		w.skipped.Special++
	}
}

func (w *walk) rulesOf(f *folder, entries []fs.DirEntry) *ignoreRules {
	named := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" && e.Type().IsRegular() })
	if !named {
		return f.rules
	}
	content, result := w.tree.read(join(f.path, ".gitignore"), maxIgnoreBytes, nil)
	if result != wasRead {
		return f.rules
	}
	return f.rules.with(f.path, content)
}

// entries lists a folder in batches, since it may hold more than anybody wants to
// sort. partial says that some are missing.
func (w *walk) entries(ctx context.Context, name string) (list []fs.DirEntry, partial bool, err error) {
	file, info, err := w.tree.open(filepath.FromSlash(name))
	if err != nil {
		return nil, false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if !info.IsDir() {
		return nil, false, fs.ErrInvalid
	}
	for {
		batch, err := file.ReadDir(1_024)
		list = append(list, batch...)
		if errors.Is(err, io.EOF) {
			return list, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if len(list) > 2*w.maxFiles || ctx.Err() != nil {
			return list, true, nil
		}
	}
}

// inFixture reports whether a path lies in a folder of material for tests.
func inFixture(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if fixtureFolder(element) {
			return true
		}
	}
	return false
}
