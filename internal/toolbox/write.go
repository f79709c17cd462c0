package toolbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/plan"
)

// target follows the links of a path that is to be written and returns what it
// comes to, which may not exist yet. Git's own folder is refused however it is
// spelt or reached: what stands there is run by git later on.
func (b *Box) target(field, rel string) (string, error) {
	var done []string
	links := 0
	for todo := strings.Split(rel, "/"); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && len(done) == 0:
			return "", invalid(field, plan.Quote(rel)+" leads out of the workspace by a link", inside)
		case name == "..":
			done = done[:len(done)-1]
			continue
		case gitFolder(name):
			return "", invalid(field, plan.Quote(rel)+" belongs to git", "change it with a git command")
		}
		at := path.Join(append(done[:len(done):len(done)], name)...)
		info, err := b.root.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", refused(field, rel, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, name)
			continue
		}
		if links++; links > 40 {
			return "", invalid(field, plan.Quote(rel)+" is a link that leads in a circle", "name the file itself")
		}
		to, err := b.root.Readlink(at)
		if err != nil {
			return "", refused(field, rel, err)
		}
		if filepath.IsAbs(to) {
			return "", invalid(field, plan.Quote(rel)+" leads out of the workspace by a link", inside)
		}
		todo = append(strings.Split(filepath.ToSlash(to), "/"), todo...)
	}
	if len(done) == 0 {
		return "", invalid(field, plan.Quote(rel)+" is a directory", "name a file in it")
	}
	return path.Join(done...), nil
}

// gitFolder reports the names that some file system takes for .git: without
// regard to case, to dots and spaces at the end, to characters that do not show.
func gitFolder(name string) bool {
	name = strings.Map(func(r rune) rune {
		if plan.Invisible(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// replace puts data in the place of a file in one step: whoever reads it sees the
// one or the other, also after a crash. Without over it refuses a file that is
// there.
func (b *Box) replace(field, rel string, data []byte, mode fs.FileMode, over bool) (err error) {
	temporary := path.Join(path.Dir(rel), ".planloop-"+rand.Text()+".tmp")
	if err := b.writeNew(temporary, data, mode, over); err != nil {
		return refused(field, rel, err)
	}
	if over {
		if err := b.root.Rename(temporary, rel); err != nil {
			return refused(field, rel, errors.Join(err, b.root.Remove(temporary)))
		}
		return nil
	}
	defer func() { err = errors.Join(err, b.root.Remove(temporary)) }()
	err = b.root.Link(temporary, rel)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(field, rel)
	}
	// This file system has no hard links.
	if err := b.writeNew(rel, data, mode, false); errors.Is(err, fs.ErrExist) {
		return exists(field, rel)
	} else if err != nil {
		return refused(field, rel, err)
	}
	return nil
}

func exists(field, rel string) error {
	return conflict(field, plan.Quote(rel)+" exists", "change it with str_replace, or set overwrite")
}

// writeNew writes a file that must not be there and removes it if that does not
// succeed. With exact it gets the mode as it is, else the umask has its say.
func (b *Box) writeNew(rel string, data []byte, mode fs.FileMode, exact bool) (err error) {
	file, err := b.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(err, b.root.Remove(rel))
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if exact {
		if err := file.Chmod(mode.Perm()); err != nil {
			return err
		}
	}
	return file.Sync()
}

// writable refuses a text that is too long to be written.
func (b *Box) writable(field, rel string, length int) error {
	if int64(length) <= b.limits.FileBytes {
		return nil
	}
	return invalid(field, fmt.Sprintf("would make %s %s long", plan.Quote(rel), size(int64(length))),
		"write at most "+size(b.limits.FileBytes)+", or use a command")
}
