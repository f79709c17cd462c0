// Package hosts knows the agents' hosts on a machine: whether they are installed, which of their
// files name servers and hooks, and how to add planloop's parts to these files, keep them current
// and remove them without changing anything else.
//
// It must not ask questions or print: a change is a value (Edit) until it is written.
package hosts

import (
	"os"
	"path/filepath"
	"strings"
)

// Machine is the computer with the hosts. GOOS decides the locations of files, and a
// test may choose it; everything else is read from this machine.
type Machine struct {
	GOOS     string
	Home     string
	Getenv   func(string) string
	LookPath func(string) (string, error) // finds a program
	Program  string                       // absolute path that starts planloop
	Project  string                       // directory of the scope Project
	Ledger   string                       // folder for init's records and backups
	Marks    string                       // folder with a file for each workspace that planning mode restricts
}

// Scope says for which user or project the files count.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // all projects of the user
	Project Scope = "project" // all users who work in the directory
)

// join makes a path as the machine's system writes it.
func (m Machine) join(first string, more ...string) string {
	path := strings.Join(append([]string{first}, more...), "/")
	if m.GOOS == "windows" {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

func (m Machine) home(parts ...string) string    { return m.join(m.Home, parts...) }
func (m Machine) project(parts ...string) string { return m.join(m.Project, parts...) }

// variable returns the path that a variable names, else otherwise. A relative one depends on the host's own directory: it is ignored.
func (m Machine) variable(name, otherwise string) string {
	if value := m.Getenv(name); m.isAbs(value) {
		return value
	}
	return otherwise
}

func (m Machine) isAbs(path string) bool {
	if m.GOOS == "windows" {
		return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') || strings.HasPrefix(path, `\\`)
	}
	return strings.HasPrefix(path, "/")
}

// inProject reports whether a path lies in the project. The home directory, and those above it, are no projects.
func (m Machine) inProject(path string) bool {
	isWithin := func(path string) bool {
		inside, err := filepath.Rel(m.Project, path)
		return err == nil && filepath.IsLocal(inside)
	}
	return m.Project != "" && isWithin(path) && !isWithin(m.Home)
}

// config returns a folder below the user's configuration, for programs that follow the XDG convention on every system.
func (m Machine) config(parts ...string) string {
	return m.join(m.variable("XDG_CONFIG_HOME", m.home(".config")), parts...)
}

// appData returns a folder below the one where desktop programs keep their settings.
func (m Machine) appData(parts ...string) string {
	switch m.GOOS {
	case "darwin":
		return m.join(m.home("Library", "Application Support"), parts...)
	case "windows":
		return m.join(m.roaming(), parts...)
	}
	return m.config(parts...)
}

func (m Machine) roaming() string { return m.variable("APPDATA", m.home("AppData", "Roaming")) }

func firstExisting(files ...string) string {
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return files[0]
}

// evidence describes how a host was found, "" if it was not.
func (m Machine) evidence(h host) string {
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

// ShellVariables lists the variables that agents' hosts set in the shells they run. A person's own shell has none of them.
func ShellVariables() []string {
	return append(ShellOnlyVariables(), "AI_AGENT", "CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE")
}

// ShellOnlyVariables lists the ShellVariables that no known host also sets for its servers. Claude Code sets CLAUDECODE for both
// since 2.1.154.
func ShellOnlyVariables() []string { return []string{"CODEX_SANDBOX", "CURSOR_AGENT", "COPILOT_AGENT"} }
