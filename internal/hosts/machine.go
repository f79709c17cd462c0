// Package hosts knows the agents' hosts on a machine: whether they are installed, which files
// of theirs name servers and hooks, what these have of planloop, and how that is written,
// kept current and taken out again while everything else in the files stays.
//
// It asks nobody and prints nothing: what a file would hold is a value (Edit) until it
// is written.
package hosts

import (
	"os"
	"path/filepath"
	"strings"
)

// Machine is where hosts are looked for. Files are where they are on GOOS, which a test
// may choose; all else is read from this machine.
type Machine struct {
	GOOS     string
	Home     string
	Getenv   func(string) string
	LookPath func(string) (string, error) // finds a program
	Program  string                       // the absolute path that starts planloop
	Project  string                       // the directory of the scope Project
	Ledger   string                       // the folder for what init remembers, and for backups
}

// Scope is whose files are meant.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // for all projects of the user
	Project Scope = "project" // for everybody who works in the directory
)

// join makes a path as the machine's system writes it.
func (m Machine) join(parts ...string) string {
	if m.GOOS == "windows" {
		return strings.ReplaceAll(strings.Join(parts, `\`), "/", `\`)
	}
	return strings.Join(parts, "/")
}

func (m Machine) home(parts ...string) string { return m.join(append([]string{m.Home}, parts...)...) }

func (m Machine) project(parts ...string) string {
	return m.join(append([]string{m.Project}, parts...)...)
}

// isAbs reports whether a path is absolute on the machine's system.
func (m Machine) isAbs(path string) bool {
	if m.GOOS == "windows" {
		return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') || strings.HasPrefix(path, `\\`)
	}
	return strings.HasPrefix(path, "/")
}

// variable is the folder or file that a variable names, else another. Hosts take a relative
// one from where they are started, which nobody knows here: it is left out of account.
func (m Machine) variable(name, otherwise string) string {
	if value := m.Getenv(name); m.isAbs(value) {
		return value
	}
	return otherwise
}

// config is a folder below the user's configuration, as programs have it that follow the
// XDG convention on every system.
func (m Machine) config(parts ...string) string {
	return m.join(append([]string{m.variable("XDG_CONFIG_HOME", m.home(".config"))}, parts...)...)
}

// appData is a folder below where programs with a window keep their settings.
func (m Machine) appData(parts ...string) string {
	switch m.GOOS {
	case "darwin":
		return m.home(append([]string{"Library", "Application Support"}, parts...)...)
	case "windows":
		return m.join(append([]string{m.roaming()}, parts...)...)
	}
	return m.config(parts...)
}

func (m Machine) roaming() string { return m.variable("APPDATA", m.home("AppData", "Roaming")) }

// first is the first of some files that exists, else the first of them.
func first(files ...string) string {
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return files[0]
}

// found says how a host was found, "" when it was not.
func (m Machine) found(h host) string {
	for _, program := range h.programs {
		if _, err := m.LookPath(program); err == nil {
			return program + " is on the PATH"
		}
	}
	for _, trace := range h.traces {
		if _, err := os.Stat(trace); err == nil {
			return m.Short(trace) + " exists"
		}
	}
	return ""
}

// Short writes a path below the home directory with ~.
func (m Machine) Short(path string) string {
	if rest, ok := strings.CutPrefix(path, m.Home+string(filepath.Separator)); ok && m.Home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
