package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/planloop/planloop/internal/safetext"
)

// Where a workspace may be named outside a flag.
const (
	envWorkspace = "PLANLOOP_WORKSPACE"
	// envProject is set by Claude Code for the stdio servers and hooks it starts.
	envProject = "CLAUDE_PROJECT_DIR"
)

// Lookup is what a workspace is found by.
type Lookup struct {
	Flag  string   // --workspace, "" when not given
	Roots []string // the roots a host told, file:// URIs; used only when there is exactly one

	Getenv func(string) string
	Getwd  func() (string, error) // nil: os.Getwd
	Home   string                 // "": the user's home directory
}

// Find returns the workspace: the flag, else PLANLOOP_WORKSPACE, else the host's
// project variable or its only root, else the git work tree around the current
// directory, else the current directory. What was not named by the user and is the
// top of a file system or the home directory is no project: it becomes the
// workspace named default, and the Notice says so.
//
// An error that a person can cure (a directory that is not there) is a
// *PlaceError.
func Find(in Lookup) (Workspace, error) {
	in = in.withDefaults()
	found, err := in.place()
	if err != nil {
		return Workspace{}, err
	}
	path, err := in.resolve(found)
	if err != nil {
		return Workspace{}, err
	}
	state, err := StateHome(in.Getenv, in.Home)
	if err != nil {
		return Workspace{}, err
	}
	if !found.explicit && in.noProject(path) {
		return defaultWorkspace(path, state), nil
	}
	return Workspace{Path: path, Name: safetext.EscapeLine(filepath.Base(path)), StateDir: filepath.Join(state, stateName(path))}, nil
}

// PlaceError says why a directory cannot be the workspace.
type PlaceError struct {
	Path    string // as it was given
	From    string // who gave it: --workspace, PLANLOOP_WORKSPACE …
	Problem string
	Fix     string
	Err     error // the cause, may be nil
}

// Error says what is wrong with which directory and what to do.
func (e *PlaceError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s %s; %s", e.From, e.Problem, e.Fix)
	}
	return fmt.Sprintf("workspace %s (from %s) %s; %s", safetext.EscapeLine(e.Path), e.From, e.Problem, e.Fix)
}

// Unwrap returns the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

func (in Lookup) withDefaults() Lookup {
	if in.Getwd == nil {
		in.Getwd = os.Getwd
	}
	in.Home = homeOr(in.Home)
	return in
}

// place is a directory that is to be the workspace, and where its name came from.
type place struct {
	dir      string
	from     string
	explicit bool // the user named it
}

func (in Lookup) place() (place, error) {
	if in.Flag != "" {
		return place{in.Flag, "--workspace", true}, nil
	}
	if dir := in.Getenv(envWorkspace); dir != "" {
		return place{dir, envWorkspace, true}, nil
	}
	if dir := in.Getenv(envProject); dir != "" {
		return place{dir, envProject, false}, nil
	}
	if len(in.Roots) == 1 {
		if dir, ok := pathOfURI(in.Roots[0]); ok {
			return place{dir, "the host's root", false}, nil
		}
	}
	dir, err := in.currentDir()
	if err != nil {
		return place{}, err
	}
	return place{in.workTree(dir), "the current directory", false}, nil
}

func (in Lookup) currentDir() (string, error) {
	dir, err := in.Getwd()
	if err != nil {
		return "", &PlaceError{From: "the current directory", Problem: "cannot be read: " + err.Error(),
			Fix: "change to another or name the workspace with --workspace DIR", Err: err}
	}
	return dir, nil
}

// workTree returns the innermost directory at or above dir that holds .git, a
// folder or the file of a linked work tree, or dir itself. It stops below the
// home directory and the top: a home directory under version control does not
// make one workspace of everything in it.
func (in Lookup) workTree(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; !in.noProject(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
	}
	return dir
}

// noProject reports whether a directory is the top of a file system or the home
// directory: where hosts without a project start their servers.
func (in Lookup) noProject(path string) bool {
	if filepath.Dir(path) == path {
		return true
	}
	if in.Home == "" {
		return false
	}
	home, err := filepath.EvalSymlinks(in.Home)
	return path == filepath.Clean(in.Home) || err == nil && path == home
}

// resolve returns the cleaned, absolute, symlink-free path of a directory.
func (in Lookup) resolve(p place) (string, error) {
	path := in.expandHome(p.dir)
	if !filepath.IsAbs(path) {
		dir, err := in.currentDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return "", p.refuse(err)
	}
	if !info.IsDir() {
		return "", &PlaceError{Path: p.dir, From: p.from, Problem: "is not a directory", Fix: "name the directory it is in"}
	}
	// Some Windows volumes cannot be resolved although they can be opened.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return asSpelled(path), nil
}

// expandHome reads a leading ~, which no shell has replaced in a host's
// configuration file.
func (in Lookup) expandHome(dir string) string {
	rest, ok := strings.CutPrefix(dir, "~")
	if !ok || in.Home == "" || rest != "" && !os.IsPathSeparator(rest[0]) {
		return dir
	}
	return filepath.Join(in.Home, rest)
}

func (p place) refuse(err error) error {
	problem, fix := "cannot be opened: "+safetext.EscapeLine(err.Error()), "name another directory"
	switch {
	case strings.Contains(p.dir, "${"):
		problem, fix = "holds a variable that the host has not replaced", "write the path out"
	case errors.Is(err, fs.ErrNotExist):
		problem, fix = "does not exist", "create it or name another directory"
	case errors.Is(err, fs.ErrPermission):
		problem, fix = "cannot be read by this user", "change its permissions or name another directory"
	}
	return &PlaceError{Path: p.dir, From: p.from, Problem: problem, Fix: fix, Err: err}
}

// pathOfURI returns the local path that a file:// URI names. Other schemes and
// other machines name nothing that this process can read.
func pathOfURI(uri string) (string, bool) {
	parsed, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(parsed.Scheme, "file") || parsed.Opaque != "" {
		return "", false
	}
	return localPath(parsed.Host, parsed.Path, runtime.GOOS == "windows")
}

func localPath(host, path string, windows bool) (string, bool) {
	remote := host != "" && !strings.EqualFold(host, "localhost")
	if strings.ContainsRune(path, 0) || !strings.HasPrefix(path, "/") || remote && !windows {
		return "", false
	}
	if !windows {
		return path, true
	}
	if remote {
		return filepath.FromSlash("//" + host + path), true
	}
	return filepath.FromSlash(strings.TrimPrefix(path, "/")), true // /C:/code is C:\code
}

// asSpelled returns path as the file system spells it. The usual file system of
// macOS opens /Users/ann/Code as /users/ann/code too, and both must be one
// workspace. Windows paths come out of symlink resolution spelled so; elsewhere
// names differ when their bytes differ.
func asSpelled(path string) string {
	if runtime.GOOS != "darwin" {
		return path
	}
	return spelledBy(path, names)
}

// spelledBy replaces each element of path by the one entry of its folder that
// equals it but for case and Unicode form. What cannot be listed stays.
func spelledBy(path string, list func(dir string) []string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	parent = spelledBy(parent, list)
	return filepath.Join(parent, entry(filepath.Base(path), list(parent)))
}

func entry(name string, among []string) string {
	var alike []string
	for _, other := range among {
		if other == name {
			return name
		}
		if strings.EqualFold(norm.NFC.String(other), norm.NFC.String(name)) {
			alike = append(alike, other)
		}
	}
	if len(alike) != 1 {
		return name
	}
	return alike[0]
}

func names(dir string) []string {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	all, _ := folder.Readdirnames(-1)
	return all
}
