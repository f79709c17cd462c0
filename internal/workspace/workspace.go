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
	"strings"

	"github.com/adrg/xdg"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safefile"
)

// Workspace is an agent's working directory, and the folder of its state.
type Workspace struct {
	Path     string // absolute, cleaned, symlink-free
	Name     string // for people: the directory's name, or default
	StateDir string // folder of its log; may not exist yet
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

// slug returns text in lower-case ASCII letters, digits and single dashes, at most n of them, or instead if the result
// is empty.
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

// appFolder returns a path in our folder, which is below the one that the variable names, else below the platform's. The library read the
// environment once when the program started, so the caller's environment comes first, and the platform's folder moves
// with the caller's home.
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

// homeOr returns home, or the user's home directory, or "" if unknown. Some hosts start a server with almost no
// environment; then the system is asked.
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
