package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const envWorkspace = "PLANLOOP_WORKSPACE"

// Sources of the choice of a workspace, other than --workspace and variables.
const (
	fromFlag     = "--workspace"
	FromRoot     = "the host's root"
	FromWorkTree = "the git work tree around the current directory"
	FromDir      = "the current directory"
)

// Lookup is the input for finding a workspace.
type Lookup struct {
	Flag   string   // --workspace, "" if not given
	Roots  []string // the host's open directories, as file:// URIs or as paths
	Dir    string   // the agent's directory as its host tells a hook; "": the process's own directory
	Hosted bool     // a host chose the current directory, not the caller

	Getenv func(string) string
	Getwd  func() (string, error) // nil: os.Getwd
	Home   string                 // "": the user's home directory

	states string   // the state home, "" if there isn't one
	homes  []string // the home directory as named and with links resolved
}

// Find returns the workspace: the flag, else PLANLOOP_WORKSPACE, else the directory from the host's variables or roots
// (the first of several), else the current directory. If the user has not named it, it is replaced by the git work tree
// around it. The top of a file system, the home directory and the system's own directories are not projects: they
// become the workspace named default. From is the source of the choice, Doubt the argument against it.
//
// An error that a person can fix (they named a directory that does not exist) is a *ConfigError.
func Find(in Lookup) (Workspace, error) {
	in = in.withDefaults()
	state, err := StateHome(in.Getenv, in.Home)
	if err != nil {
		return Workspace{}, err
	}
	found, doubts, err := in.place()
	if err != nil {
		return Workspace{}, err
	}
	// The host only happened to be in a directory of the system or of a program. One with an older plan keeps it.
	isSystemFolder := found.from == FromDir && in.Hosted && !in.hasState(found.dir) &&
		slices.ContainsFunc(in.homes, func(home string) bool { return isSystemPath(runtime.GOOS, found.dir, home) })
	if !found.named && in.isNoProject(found.dir) || isSystemFolder {
		doubts = append(doubts, fmt.Sprintf("started in %s, which is not a project: using the workspace named %s, "+
			"which all sessions without a project share", quoted(found.dir), defaultName))
		return Workspace{Path: found.dir, Name: defaultName, Default: true, From: found.from, Doubt: in.doubtText(doubts),
			StateDir: filepath.Join(state, defaultName)}, nil
	}
	if found.from == FromDir && in.Hosted {
		doubts = append(doubts, "the host started planloop in "+quoted(found.dir)+", which is not a git work tree")
	}
	if runtime.GOOS == "windows" && strings.HasPrefix(found.dir, wslShare) {
		doubts = append(doubts, "it is in WSL, where another planloop keeps another plan: run that one")
	}
	return Workspace{Path: found.dir, Name: safetext.EscapeLine(filepath.Base(found.dir)), From: found.from, Doubt: in.doubtText(doubts),
		StateDir: filepath.Join(state, stateName(found.dir))}, nil
}

// doubtText returns the argument against a choice and how to correct it, for an agent whose host started planloop, or the caller.
func (in Lookup) doubtText(doubts []string) string {
	if len(doubts) == 0 {
		return ""
	}
	wayOn := "; name another with --workspace DIR or " + envWorkspace
	if in.Hosted {
		wayOn = "; if that is wrong, ask the user to name the directory: `planloop serve --workspace DIR`, or " + envWorkspace
	}
	return strings.Join(doubts, "; ") + wayOn
}

func (in Lookup) withDefaults() Lookup {
	if in.Getwd == nil {
		in.Getwd = os.Getwd
	}
	in.Home = homeOr(in.Home)
	in.states, _ = StateHome(in.Getenv, in.Home)
	if in.Home != "" {
		in.homes = []string{filepath.Clean(in.Home)}
		if home, err := filepath.EvalSymlinks(in.Home); err == nil {
			in.homes = append(in.homes, home, diskSpelling(home))
		}
	}
	return in
}

// place is a candidate for the workspace, and the source of its name.
type place struct {
	dir   string
	from  string
	named bool // by the user
}

// place returns the first candidate that names a directory. A host's unusable one is skipped with a doubt; a user's must exist.
func (in Lookup) place() (found place, doubts []string, err error) {
	for _, p := range []place{{in.Flag, fromFlag, true}, {in.Getenv(envWorkspace), envWorkspace, true}} {
		if p.dir == "" {
			continue
		}
		_, afterVariable, _ := strings.Cut(p.dir, "${") // of a host's configuration
		if path, err := in.resolve(p); err == nil || !strings.Contains(afterVariable, "}") {
			p.dir = path
			return p, nil, err
		}
		doubts = append(doubts, fmt.Sprintf("%s is %s, which the host did not replace, so it was ignored", p.from, quoted(p.dir)))
	}
	for _, t := range in.hostDirs() {
		dirs := in.usable(t)
		if len(dirs) == 0 {
			doubts = append(doubts, fmt.Sprintf("%s names %s, which is not a directory here, so it was ignored", t.from, quoted(t.dirs[0])))
			continue
		}
		if others := dirs[1:]; len(others) > 0 {
			doubts = append(doubts, fmt.Sprintf("the host has %s open; this is the first (another: %s)",
				plan.Pluralize(len(dirs), "folder"), quoted(others[0])))
		}
		return place{dir: dirs[0], from: t.from}, doubts, nil
	}
	dir, err := in.currentDir()
	if err != nil {
		return place{}, nil, err
	}
	path, err := in.resolve(place{dir: dir, from: FromDir})
	if err != nil {
		return place{}, nil, err
	}
	if top, ok := in.workTree(path); ok {
		return place{dir: top, from: FromWorkTree}, doubts, nil
	}
	return place{dir: path, from: FromDir}, doubts, nil
}

type hostDirs struct {
	from string
	dirs []string // at least one
}

// hostDirs reads the roots, and the variables in which hosts pass the open directories to their servers and hooks.
func (in Lookup) hostDirs() []hostDirs {
	var all []hostDirs
	for _, name := range []string{
		"CLAUDE_PROJECT_DIR",     // Claude Code's servers and hooks; an alias in the hooks of Gemini CLI and Cursor
		"GEMINI_PROJECT_DIR",     // Gemini CLI's hooks
		"CURSOR_PROJECT_DIR",     // Cursor's hooks
		"WORKSPACE_FOLDER_PATHS", // Cursor's servers
	} {
		if text := in.Getenv(name); text != "" {
			all = append(all, hostDirs{name, in.splitDirs(text)})
		}
	}
	if len(in.Roots) > 0 {
		all = append(all, hostDirs{FromRoot, in.Roots})
	}
	return all
}

// HostDirs returns the open directories that a host passes in variables.
func (in Lookup) HostDirs() (all []string) {
	in.Roots = nil
	for _, source := range in.withDefaults().hostDirs() {
		all = append(all, source.dirs...)
	}
	return all
}

// splitDirs reads a variable with one directory, or with several in any of the usual forms.
func (in Lookup) splitDirs(text string) []string {
	var list []string
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		return list
	}
	if _, err := in.resolve(place{dir: text}); err == nil {
		return []string{text}
	}
	for _, separator := range []string{",", string(filepath.ListSeparator)} {
		if list := strings.Split(text, separator); len(list) > 1 {
			return list
		}
	}
	return []string{text}
}

// usable returns the projects among a host's directories, resolved and without duplicates: directories in one work tree
// are one project. Without any project it returns the first other directory.
func (in Lookup) usable(t hostDirs) []string {
	var projects, others []string
	for _, dir := range t.dirs {
		path, err := in.resolve(place{dir: strings.TrimSpace(dir), from: t.from})
		if err != nil {
			continue
		}
		// The work tree around it is the project, as for a shell in the directory; one with an older plan of its own keeps it.
		if top, ok := in.workTree(path); ok && !in.hasState(path) {
			path = top
		}
		if in.isNoProject(path) {
			others = append(others, path)
		} else if !slices.Contains(projects, path) {
			projects = append(projects, path)
		}
	}
	if len(projects) > 0 {
		return projects
	}
	return others[:min(len(others), 1)]
}

func (in Lookup) currentDir() (string, error) {
	if in.Dir != "" {
		if path, err := in.resolve(place{dir: in.Dir}); err == nil {
			return path, nil
		}
	}
	dir, err := in.Getwd()
	if err != nil {
		return "", &ConfigError{Source: FromDir, Problem: "cannot be read: " + err.Error(),
			Want: "change to another or name the workspace with --workspace DIR", Err: err}
	}
	return dir, nil
}

// hasState reports whether a directory has been a workspace.
func (in Lookup) hasState(dir string) bool {
	info, err := os.Stat(filepath.Join(in.states, stateName(dir)))
	return in.states != "" && err == nil && info.IsDir()
}

// isNoProject reports whether a directory is a file system's top or the home directory, where hosts without a project start servers.
func (in Lookup) isNoProject(path string) bool {
	return filepath.Dir(path) == path || slices.Contains(in.homes, path)
}

// resolve returns the cleaned, absolute, symlink-free path of a directory.
func (in Lookup) resolve(p place) (string, error) {
	path := in.localPath(p.dir)
	// No shell expands a leading ~ in a host's configuration file.
	if below, ok := strings.CutPrefix(path, "~"); ok && in.Home != "" && (below == "" || os.IsPathSeparator(below[0])) {
		path = filepath.Join(in.Home, below)
	}
	if !filepath.IsAbs(path) {
		dir, err := in.Getwd()
		if err != nil {
			return in.currentDir()
		}
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", p.refuse("does not exist", "create it or name another directory", err)
	case errors.Is(err, fs.ErrPermission):
		return "", p.refuse("cannot be read by this user", "change its permissions or name another directory", err)
	case err != nil:
		return "", p.refuse("cannot be opened: "+safetext.EscapeLine(err.Error()), "name another directory", err)
	case !info.IsDir():
		return "", p.refuse("is not a directory", "name the directory it is in", nil)
	}
	// Some Windows volumes can be opened but not resolved.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if spelled := diskSpelling(path); spelled == path || in.hasState(spelled) || !in.hasState(path) {
		return spelled, nil
	}
	return path, nil // an older plan was made under the spelling as given
}

// localPath converts a host's path or URI to a path of this system.
func (in Lookup) localPath(given string) string {
	s := system{runtime.GOOS, in.Getenv("WSL_DISTRO_NAME")}
	path, ok := s.path(given)
	if !ok {
		return given
	}
	if _, err := os.Stat(given); err == nil && !isURI(given) { // it exists as given
		return given
	}
	return path
}

func (p place) refuse(problem, fix string, cause error) error {
	return &ConfigError{Source: "workspace " + p.dir + " (from " + p.from + ")", Problem: problem, Want: fix, Err: cause}
}

// quoted shortens a directory for a sentence.
func quoted(dir string) string { return plan.Shorten(safetext.EscapeLine(dir), 100) }

// workTree returns the innermost git work tree at or above dir, below the home directory and the top. A linked work tree counts as
// its own; a submodule belongs to the repository around it, unless it has been a workspace.
func (in Lookup) workTree(dir string) (top string, ok bool) {
	for at := dir; !in.isNoProject(at); at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if _, err := os.Stat(git); err != nil {
			continue
		}
		if !isSubmodule(git) || in.hasState(at) {
			return at, true
		}
		if !ok { // in case no repository contains it
			top, ok = at, true
		}
	}
	return top, ok
}

const maxGitFile = 8 << 10 // bytes of a .git file

// isSubmodule reports whether .git leads to another's modules. A linked work tree's leads to a folder with a commondir file.
func isSubmodule(git string) bool {
	info, err := os.Lstat(git)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitFile { // opening a pipe would wait for ever
		return false
	}
	text, err := os.ReadFile(git)
	dir, ok := bytes.CutPrefix(text, []byte("gitdir:"))
	if err != nil || !ok {
		return false
	}
	path := filepath.FromSlash(strings.TrimSpace(string(dir)))
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(git), path)
	}
	if _, err := os.Stat(filepath.Join(path, "commondir")); err == nil {
		return false
	}
	return strings.Contains(filepath.ToSlash(path), "/modules/")
}
