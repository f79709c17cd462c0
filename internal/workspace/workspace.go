// Package workspace finds the workspace and its state folder, reads the layers of the configuration, and names the
// actor.
//
// Its inputs (environment, current directory, home) arrive as values. It writes only the marker file, on request. It
// must not know the contents of a plan, the format of a log, the tools of a toolset, or the checks of a gate: it only
// knows the names of gates and strategies.
package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
)

// Workspace is an agent's working directory, and the folder of its state.
type Workspace struct {
	Path     string // absolute, cleaned, symlink-free
	Name     string // for people: the directory's name, or default
	StateDir string // folder of its track's log; may not exist yet
	Track    string // the track's name; "" for main
	Default  bool   // the workspace named default: Path is only where it was started
	From     string // source of the choice: --workspace, a variable's name, FromRoot, FromWorkTree or FromDir
	Doubt    string // argument against the choice, and how to correct it; "" if there is no doubt
}

const defaultName = "default"

// stateName is a readable slug of the directory's name and 64 bits of its path's hash.
func stateName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return slug(filepath.Base(path), 24, "workspace") + "-" + hex.EncodeToString(sum[:8])
}

// slug returns at most n lower-case ASCII letters, digits and single dashes of text, or instead if none are left.
func slug(text string, n int, instead string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if b.Len() == n {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if cut := strings.TrimRight(b.String(), "-"); cut != "" {
		return cut
	}
	return instead
}

// MarkerFile is the name of the file that names a state's directory.
const MarkerFile = "workspace.json"

// WriteMarker writes the workspace's path into dir, which must exist, so that a person can distinguish the folders in
// the state home. It is written atomically, readable only by the user, and left alone if unchanged.
func (w Workspace) WriteMarker(dir string) error {
	// A path is bytes; invalid UTF-8 in it is replaced.
	text, _ := json.Marshal(map[string]string{"path": w.Path}, jsontext.AllowInvalidUTF8(true)) // cannot fail
	text = append(text, '\n')
	path := filepath.Join(dir, MarkerFile)
	if there, err := safefile.Read(path, int64(len(text)+1)); err == nil && bytes.Equal(there, text) {
		return nil
	}
	if err := safefile.WriteFile(path, text, safefile.Options{Mode: safefile.FileMode}); err != nil {
		return fmt.Errorf("write the workspace's marker: %w", err)
	}
	return nil
}

const appName = "planloop"

// StateHome returns the folder with the state of each workspace: $XDG_STATE_HOME/planloop, or the platform's default.
// An empty home is the user's.
func StateHome(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_STATE_HOME", xdg.StateHome, home)
}

// CacheHome returns the folder for reproducible data: $XDG_CACHE_HOME/planloop, or the platform's default.
func CacheHome(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_CACHE_HOME", xdg.CacheHome, home)
}

// TemplateFolder returns the folder of the user's own templates for plans: $XDG_DATA_HOME/planloop/templates, or the
// platform's default.
func TemplateFolder(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_DATA_HOME", xdg.DataHome, home, "templates")
}

// ConfigFile returns the path of the user's own configuration file: $XDG_CONFIG_HOME/planloop/config.yaml, or the
// platform's default.
func ConfigFile(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_CONFIG_HOME", xdg.ConfigHome, home, configName)
}

// TeamFolder returns the folder of the user's memberships of teams: $XDG_CONFIG_HOME/planloop/teams, or the platform's default.
func TeamFolder(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_CONFIG_HOME", xdg.ConfigHome, home, "teams")
}

const configName = "config.yaml"

// platformFolder returns the platform's folder in a home directory, which is below on Linux, ignoring the environment.
func platformFolder(home, below string) string {
	switch runtime.GOOS {
	case "darwin":
		below = filepath.Join("Library", "Application Support")
	case "windows":
		below = filepath.Join("AppData", "Local")
	}
	return filepath.Join(home, below)
}

// appFolder returns a path in our folder below the variable's, else below the platform's. The library read the environment at the
// start, so the caller's comes first, and the platform's folder moves with the caller's home.
func appFolder(getenv func(string) string, variable, platform, home string, names ...string) (string, error) {
	below := filepath.Join(append([]string{appName}, names...)...)
	if dir := getenv(variable); filepath.IsAbs(dir) { // relative ones must be ignored
		return filepath.Join(dir, below), nil
	}
	home = homeOr(home)
	if home == "" {
		return "", errors.New("no home directory was found; set HOME or " + variable + " to an absolute path")
	}
	if rel, err := filepath.Rel(xdg.Home, platform); err == nil && filepath.IsLocal(rel) {
		platform = filepath.Join(home, rel)
	}
	return filepath.Join(platform, below), nil
}

// homeOr returns home, or the user's home directory, or "". Hosts may start a server with almost no environment: ask the system.
func homeOr(home string) string {
	if home != "" {
		return home
	}
	if own, err := os.UserHomeDir(); err == nil && filepath.IsAbs(own) {
		return own
	}
	return accountHome()
}

// accountHome returns the user's home directory according to the system, or "".
func accountHome() string {
	if me, err := user.Current(); err == nil && filepath.IsAbs(me.HomeDir) {
		return me.HomeDir
	}
	return ""
}

// FindOverlaps returns the workspaces that equal, contain or are below a path, and their marked tracks, as far as their states are
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
	for _, marked := range in.MarkedAt(path) { // its state may have been deleted
		if !slices.ContainsFunc(found, func(w Workspace) bool { return w.StateDir == marked.StateDir }) {
			found = append(found, marked)
		}
	}
	return found
}

const sep = string(filepath.Separator)

// stateHomes are the folders that may contain states. A restricted agent may choose the environment, but not the default folder.
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

// isEmptyPlace reports whether a directory is not a project. For a work tree, a home that only the environment claims is ignored.
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

// realPath returns a path without links, as far as it exists, in its disk's spelling. A dangling link leads to its target.
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

// States returns the state folders of the open tracks of all workspaces, as far as they are known; see FindOverlaps.
func (in Lookup) States() []string {
	in = in.withDefaults()
	var states []string
	for _, home := range in.stateHomes() {
		entries, _ := os.ReadDir(home) // may not exist
		for _, entry := range entries {
			state := filepath.Join(home, entry.Name())
			if found, ok := LookUpState(state); ok {
				states = append(states, found.OpenDirs()...)
			}
		}
	}
	return states
}

// FromState returns the workspace of a state folder, which may be a track's, according to its marker; the one named default has
// no marker.
func FromState(state string) Workspace {
	if above, track := filepath.Split(state); filepath.Base(above) == tracksName {
		return FromState(filepath.Dir(filepath.Clean(above))).On(track)
	}
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
