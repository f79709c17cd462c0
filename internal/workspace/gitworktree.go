package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// workTree returns the innermost git work tree at or above dir, and whether there is one. A linked work tree counts as
// its own; a submodule belongs to the repository around it, unless it has been a workspace. The search ends below the
// home directory and the top: a home directory under version control does not make everything in it one workspace.
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

// maxGitFile bounds the part of a .git file that is read, in bytes.
const maxGitFile = 8 << 10

// isSubmodule reports whether .git leads to a repository stored among another's modules. A linked work tree's .git
// leads to a folder with a commondir file.
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
