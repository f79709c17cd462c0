package toolbox

import (
	"io/fs"
	"path"

	"github.com/git-pkgs/gitignore"
)

// ignored is what a search leaves out: git's own folder always, and unless all is
// asked for, node_modules and what the .gitignore files name that were met on the
// way. A .gitignore belongs to the workspace: it is read through the Box and only
// to a bounded size.
type ignored struct {
	box   *Box
	all   bool
	rules *gitignore.Matcher
	room  int64 // bytes of rules that may still be read
}

const maxRules = 256 << 10

// ignoredFrom returns what is left out of a search that begins in dir. One that
// begins in a place that is left out wants to see it.
func (b *Box) ignoredFrom(dir string, all bool) *ignored {
	i := &ignored{box: b, all: all, rules: gitignore.New(""), room: maxRules}
	if all || dir == "." {
		return i
	}
	i.load(".git/info/exclude", "")
	at := ""
	for _, name := range segments(dir) {
		i.load(path.Join(at, ".gitignore"), at)
		at = path.Join(at, name)
		if i.leavesOut(at, true) {
			i.all = true
			return i
		}
	}
	return i
}

// enter learns the rules of a directory that is about to be searched.
func (i *ignored) enter(dir string) {
	if i.all {
		return
	}
	if dir == "." {
		i.load(".git/info/exclude", "")
		dir = ""
	}
	i.load(path.Join(dir, ".gitignore"), dir)
}

// load adds the rules of a file, if there is one: without it nothing is ignored.
func (i *ignored) load(file, dir string) {
	info, err := i.box.root.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > i.room {
		return
	}
	data, _, err := i.box.readWhole("", file)
	if err != nil {
		return
	}
	i.room -= int64(len(data))
	i.rules.AddPatterns(data, dir)
}

func (i *ignored) entry(rel string, e fs.DirEntry) bool {
	if e.Name() == ".git" {
		return true
	}
	return !i.all && i.leavesOut(rel, e.IsDir())
}

func (i *ignored) leavesOut(rel string, dir bool) bool {
	return dir && path.Base(rel) == "node_modules" || i.rules.MatchPath(rel, dir)
}
