// Package demo plays planloop's story in a temporary project: a scripted agent plans, a person decides, the agent works. The agent reaches
// planloop as real hosts do, by its program: the MCP server and the hook command. It must not know the user's settings, state or hosts.
package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is a temporary folder with a project, and an environment that leads planloop there.
type Place struct {
	folder  string
	Project string
	Home    string
	env     []string
}

// The project's files.
const (
	settingsFile = "payments.json"
	readMe       = "README.md"
	settings     = "{\n  \"retries\": 0\n}\n"
	newSettings  = "{\n  \"retries\": 3\n}\n"
	introduction = "# Shop\n\nTakes payments.\n"
	addition     = "\nA failed payment is retried 3 times: `retries` in payments.json.\n"
)

// NewPlace makes the folder. environ is the environment to start from, without the variables that lead to the user's own settings and
// projects. Remove deletes the folder.
func NewPlace(environ []string) (*Place, error) {
	folder, err := os.MkdirTemp("", "planloop-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	p, err := furnish(folder, environ)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the demo's project: %w", err), os.RemoveAll(folder))
	}
	return p, nil
}

func furnish(folder string, environ []string) (*Place, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	p := &Place{folder: folder, Project: filepath.Join(folder, "shop"), Home: filepath.Join(folder, "home")}
	p.env = slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "PLANLOOP_") || strings.HasPrefix(name, "XDG_") && name != "XDG_RUNTIME_DIR"
	})
	p.env = append(p.env, "PLANLOOP_WORKSPACE="+p.Project) // before a host's variable for the user's project
	for _, name := range []string{"HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"} {
		p.env = append(p.env, name+"="+p.Home)
	}
	for _, name := range []string{"CONFIG", "STATE", "DATA", "CACHE"} { // Windows and macOS heed them, too
		p.env = append(p.env, "XDG_"+name+"_HOME="+filepath.Join(p.Home, strings.ToLower(name)))
	}
	for _, dir := range []string{p.Project, p.Home, filepath.Join(p.Project, ".git")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{settingsFile: settings, readMe: introduction} {
		if err := os.WriteFile(filepath.Join(p.Project, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Environ returns the environment for the demo's processes.
func (p *Place) Environ() []string { return p.env }

// Getenv returns a variable of that environment.
func (p *Place) Getenv(name string) string {
	for _, variable := range slices.Backward(p.env) {
		if value, is := strings.CutPrefix(variable, name+"="); is {
			return value
		}
	}
	return ""
}

// Remove deletes the folder with everything in it.
func (p *Place) Remove() error { return os.RemoveAll(p.folder) }
