package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
)

// FindOverlaps returns the workspaces with a state that equal, contain or are below a path, as far as their states are
// known: those under the state home of the environment, and under the user's default one. Workspaces below the path are
// found by marker files. The path need not exist; links in it are followed. Directories that are not projects, and so
// use the workspace named default, overlap nothing.
func (in Lookup) FindOverlaps(path string) []Workspace {
	in = in.withDefaults()
	path = realPath(path, maxLinks)
	var found []Workspace
	add := func(dir, state string) {
		if info, err := os.Stat(state); err == nil && info.IsDir() && !in.isEmptyPlace(dir) {
			found = append(found, Workspace{Path: dir, Name: safetext.EscapeLine(filepath.Base(dir)), StateDir: state})
		}
	}
	for _, home := range in.stateHomes() {
		for dir := path; ; dir = filepath.Dir(dir) {
			add(dir, filepath.Join(home, stateName(dir)))
			if filepath.Dir(dir) == dir {
				break
			}
		}
		states, _ := os.ReadDir(home) // without a state there is nothing to overlap
		for _, state := range states {
			state := filepath.Join(home, state.Name())
			if dir, ok := readMarker(state); ok && strings.HasPrefix(dir, strings.TrimSuffix(path, sep)+sep) {
				add(dir, state)
			}
		}
	}
	return found
}

const sep = string(filepath.Separator)

// stateHomes are the folders that may contain states. A restricted agent may choose the environment, but the user's
// default folder does not depend on it.
func (in Lookup) stateHomes() []string {
	var homes []string
	if home, err := StateHome(in.Getenv, in.Home); err == nil {
		homes = append(homes, home)
	}
	for _, home := range []string{in.Home, accountHome()} {
		if home != "" {
			homes = append(homes, filepath.Join(platformFolder(home, filepath.Join(".local", "state")), appName))
		}
	}
	slices.Sort(homes)
	return slices.Compact(homes)
}

// isEmptyPlace reports whether a directory is not a project. For a work tree, it ignores a home directory that only the
// environment claims.
func (in Lookup) isEmptyPlace(dir string) bool {
	switch {
	case filepath.Dir(dir) == dir:
		return true
	case !in.isNoProject(dir):
		return false
	}
	_, err := os.Stat(filepath.Join(dir, ".git"))
	return err != nil || Lookup{Home: accountHome()}.isNoProject(dir)
}

const maxLinks = 40 // in a chain

// realPath returns a path without links, as far as it exists, in the file system's spelling. A dangling link leads to
// the place where a file would be created.
func realPath(path string, links int) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return diskSpelling(real)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	to, err := os.Readlink(path)
	parent = realPath(parent, links)
	switch {
	case err != nil || links == 0:
		return filepath.Join(parent, filepath.Base(path))
	case filepath.IsAbs(to):
		return realPath(to, links-1)
	}
	return realPath(filepath.Join(parent, to), links-1)
}

// States returns the state folders of all workspaces, as far as they are known; see FindOverlaps.
func (in Lookup) States() []string {
	in = in.withDefaults()
	var states []string
	for _, home := range in.stateHomes() {
		entries, _ := os.ReadDir(home) // may not exist
		for _, entry := range entries {
			state := filepath.Join(home, entry.Name())
			if _, ok := LookUpState(state); ok {
				states = append(states, state)
			}
		}
	}
	return states
}

// FromState returns the workspace of a state folder according to its marker; the one named default has no marker.
func FromState(state string) Workspace {
	dir, ok := readMarker(state)
	if !ok {
		return Workspace{Name: defaultName, StateDir: state, Default: true}
	}
	return Workspace{Path: dir, Name: safetext.EscapeLine(filepath.Base(dir)), StateDir: state}
}

// LookUpState is FromState for a folder in a state home, and false if the folder is not a state.
func LookUpState(folder string) (Workspace, bool) {
	found := FromState(folder)
	return found, !found.Default || filepath.Base(folder) == defaultName
}

// readMarker returns the directory that a state belongs to.
func readMarker(state string) (dir string, ok bool) {
	text, err := safefile.Read(filepath.Join(state, MarkerFile), 64<<10)
	var marker map[string]string
	if err != nil || json.Unmarshal(text, &marker) != nil {
		return "", false
	}
	return marker["path"], filepath.IsAbs(marker["path"])
}
