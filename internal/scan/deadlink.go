package scan

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// dead reports whether a link in the document leads nowhere in the workspace, or
// out of it, which is told from the link alone: nothing outside is looked at.
func (t *Tree) dead(document, target string) (dead, outside bool) {
	name := path.Join(path.Dir(document), target)
	if name == ".." || strings.HasPrefix(name, "../") {
		return false, true
	}
	for _, candidate := range candidates(name) {
		if t.has(candidate) {
			return false, false
		}
	}
	return true, false
}

// candidates are the files a link may mean: sites made of Markdown link to pages
// without their extension, or with the one they will have.
func candidates(name string) []string {
	list := []string{name}
	switch path.Ext(name) {
	case "":
		list = append(list, name+".md", name+".mdx")
	case ".html":
		stem := strings.TrimSuffix(name, ".html")
		list = append(list, stem+".md", stem+".mdx")
	}
	return list
}

// isFile reports whether name is surely there, and a file.
func (t *Tree) isFile(name string) bool {
	info, err := t.root.Stat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// has reports whether name is there, or may be: only what is surely missing is not.
func (t *Tree) has(name string) bool {
	_, err := t.root.Stat(filepath.FromSlash(name))
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
