package workspace

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

const appName = "planloop"

// StateHome returns the folder under which each workspace has its state:
// $XDG_STATE_HOME/planloop, or the platform's place. A nil getenv is os.Getenv,
// an empty home the user's.
func StateHome(getenv func(string) string, home string) (string, error) {
	return appFolder(getenv, "XDG_STATE_HOME", xdg.StateHome, home)
}

// ConfigFile returns the path of the user's own configuration file:
// $XDG_CONFIG_HOME/planloop/config.yaml, or the platform's place.
func ConfigFile(getenv func(string) string, home string) (string, error) {
	dir, err := appFolder(getenv, "XDG_CONFIG_HOME", xdg.ConfigHome, home)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "config.yaml"), nil
}

// appFolder is ours below the folder that the variable names, else below the
// platform's. The library has read the environment once, when the program
// started; what the caller's says comes first, and the platform's folder moves
// with the caller's home.
func appFolder(getenv func(string) string, variable, platform, home string) (string, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	if dir := getenv(variable); filepath.IsAbs(dir) { // a relative one is to be ignored
		return filepath.Join(dir, appName), nil
	}
	home = homeOr(home)
	if home == "" {
		return "", errors.New("there is no home directory to keep files in; set HOME or " + variable + " to an absolute path")
	}
	return filepath.Join(rebase(platform, xdg.Home, home), appName), nil
}

// rebase returns path with the leading from replaced by to.
func rebase(path, from, to string) string {
	rel, err := filepath.Rel(from, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.Join(to, rel)
}

// homeOr returns home, or the user's home directory, or "" where there is none.
// Some hosts start a server with next to no environment: then the system knows.
func homeOr(home string) string {
	if home != "" {
		return home
	}
	if own, err := os.UserHomeDir(); err == nil && filepath.IsAbs(own) {
		return own
	}
	if me, err := user.Current(); err == nil && filepath.IsAbs(me.HomeDir) {
		return me.HomeDir
	}
	return ""
}
