package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
)

// A mark is a file that exists while planning mode restricts a workspace, with the workspace's path. It tells the shell line of a hook
// that planloop must not be missing, and planloop that a log was deleted.

// MarkFolder returns the folder of the marks for a state home. It lies beside it, so that deleting the states does not delete them.
func MarkFolder(stateHome string) string { return stateHome + "-planning" }

func (w Workspace) markFile() string {
	return filepath.Join(MarkFolder(w.StateHome()), w.ID())
}

// Marked returns how long ago the workspace was marked, false if it is not.
func (w Workspace) Marked() (age time.Duration, ok bool) {
	info, err := os.Lstat(w.markFile())
	if err != nil {
		return 0, false
	}
	return time.Since(info.ModTime()), true
}

// Mark sets or removes the workspace's mark.
func (w Workspace) Mark(on bool) error {
	_, isMarked := w.Marked()
	switch {
	case isMarked == on:
		return nil
	case !on:
		return os.Remove(w.markFile())
	}
	if err := safefile.MakeFolder(filepath.Dir(w.markFile())); err != nil {
		return err
	}
	path := w.Path
	if w.Default {
		path = ""
	}
	return safefile.WriteFile(w.markFile(), []byte(path), safefile.Options{Mode: safefile.FileMode})
}

// Marks returns the marked workspaces, as far as their state homes are known; see FindOverlaps.
func (in Lookup) Marks() (all []Workspace) {
	in = in.withDefaults()
	for _, home := range in.stateHomes() {
		entries, _ := os.ReadDir(MarkFolder(home)) // usually missing
		for _, entry := range entries {
			name, track, _ := strings.Cut(entry.Name(), trackSeparator)
			marked := Workspace{Name: name, StateDir: filepath.Join(home, name)}.On(track)
			path, err := safefile.Read(marked.markFile(), 64<<10)
			if marked.Default = err != nil || !filepath.IsAbs(string(path)); !marked.Default {
				marked.Path, marked.Name = string(path), safetext.EscapeLine(filepath.Base(string(path)))
			}
			all = append(all, marked)
		}
	}
	return all
}

// MarkedTracks returns the workspace on each of its marked tracks.
func (w Workspace) MarkedTracks() (all []Workspace) {
	entries, _ := os.ReadDir(MarkFolder(w.StateHome())) // usually missing
	for _, entry := range entries {
		name, track, _ := strings.Cut(entry.Name(), trackSeparator)
		if name == filepath.Base(w.SharedDir()) {
			all = append(all, w.On(track))
		}
	}
	return all
}

// MarkedAt returns the marked workspaces with a directory that is, contains or is below one of the paths.
func (in Lookup) MarkedAt(paths ...string) []Workspace { return in.At(in.Marks(), paths...) }

// At returns those of some workspaces with a directory that is, contains or is below one of the paths.
func (in Lookup) At(all []Workspace, paths ...string) []Workspace {
	if len(all) == 0 {
		return nil
	}
	in, paths = in.withDefaults(), slices.Clone(paths)
	for i, path := range paths {
		paths[i] = realPath(path, maxLinks)
	}
	within := func(outer, inner string) bool {
		inside, err := filepath.Rel(outer, inner)
		return err == nil && filepath.IsLocal(inside)
	}
	return slices.DeleteFunc(all, func(w Workspace) bool {
		return w.Default || in.isEmptyPlace(w.Path) ||
			!slices.ContainsFunc(paths, func(path string) bool { return within(w.Path, path) || within(path, w.Path) })
	})
}
