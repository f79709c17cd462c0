package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/safetext"
)

// Overlapping returns the workspaces with a state whose directory is at a path, holds it,
// or lies below it, as far as their states can be known: those under the state home of the
// environment, and under the one that the user has without it. What lies below is told by
// marker files. The path need not exist; links in it are followed. What is no project, and
// so the workspace named default, overlaps nothing.
func (in Lookup) Overlapping(path string) []Workspace {
	in = in.withDefaults()
	path = realPath(path, mostLinks)
	var found []Workspace
	add := func(dir, state string) {
		if info, err := os.Stat(state); err == nil && info.IsDir() && !in.holdsNothing(dir) {
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
		states, _ := os.ReadDir(home) // without a state there is nothing to hold
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

// stateHomes are the folders under which states may lie. Whoever is restricted may choose
// the environment; the user's own place does not depend on it.
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

// holdsNothing reports whether a directory is no project. The environment's word for what
// the home directory is does not count for a work tree.
func (in Lookup) holdsNothing(dir string) bool {
	switch {
	case filepath.Dir(dir) == dir:
		return true
	case !in.noProject(dir):
		return false
	}
	_, err := os.Stat(filepath.Join(dir, ".git"))
	return err != nil || Lookup{Home: accountHome()}.noProject(dir)
}

const mostLinks = 40 // that lead on to each other

// realPath is a path without links, as far as it exists, as the file system spells it. A
// link that leads nowhere yet leads to where a file would be made.
func realPath(path string, links int) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return asSpelled(real)
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

// States are the folders of all workspaces that have a state, as far as they can be known; see Overlapping.
func (in Lookup) States() []string {
	in = in.withDefaults()
	var states []string
	for _, home := range in.stateHomes() {
		entries, _ := os.ReadDir(home) // without one there are none
		for _, entry := range entries {
			state := filepath.Join(home, entry.Name())
			if _, is := InState(state); is {
				states = append(states, state)
			}
		}
	}
	return states
}

// OfState is the workspace that a state folder belongs to, as its marker says; the one named default has none.
func OfState(state string) Workspace {
	dir, ok := readMarker(state)
	if !ok {
		return Workspace{Name: defaultName, StateDir: state, Default: true}
	}
	return Workspace{Path: dir, Name: safetext.EscapeLine(filepath.Base(dir)), StateDir: state}
}

// InState is OfState of a folder in a state home, false where it is the state of none.
func InState(folder string) (Workspace, bool) {
	found := OfState(folder)
	return found, !found.Default || filepath.Base(folder) == defaultName
}

// readMarker returns the directory that a state belongs to.
func readMarker(state string) (dir string, ok bool) {
	text, err := private.Read(filepath.Join(state, MarkerFile), 64<<10)
	var marker map[string]string
	if err != nil || json.Unmarshal(text, &marker) != nil {
		return "", false
	}
	return marker["path"], filepath.IsAbs(marker["path"])
}
