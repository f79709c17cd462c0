package hosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Refusal says why a file is left unchanged, and how to fix that.
type Refusal struct{ Path, Problem, Fix string }

func (r *Refusal) Error() string { return r.Path + " " + r.Problem }

// ErrChanged means that another program wrote the file after it was read.
var ErrChanged = errors.New("another program changed the file at the same time")

// file is the current state of a file.
type file struct {
	target string      // the end of the link if the host's path is one, else that path
	info   fs.FileInfo // nil if it does not exist
	text   []byte
}

// Limits of the size of a file, in bytes. Claude Code kept the history of its projects in the file that names its servers,
// which grew to 65 MB; all other files of hosts stay well below a megabyte.
const (
	maxFile    = 2 << 20
	maxHistory = 64 << 20
)

// checkSize refuses a file larger than any that hosts write; reading one could take minutes.
func checkSize(path string, size int64) error {
	bound := int64(maxFile)
	if filepath.Base(path) == claudeHistory {
		bound = maxHistory
	}
	if size <= bound {
		return nil
	}
	return &Refusal{path, fmt.Sprintf("is larger than %d MB", bound>>20), "check its content, then shorten or move it"}
}

// read reads a file of a host's, which need not exist. What cannot be written without harm is a Refusal, unless nothing
// of init's can be there to remove.
func (m Machine) read(path string, scope Scope, remove bool) (file, error) {
	f := file{target: path}
	_, err := filepath.EvalSymlinks(path)
	if missing, ok := errors.AsType[*fs.PathError](err); ok && remove && errors.Is(err, fs.ErrNotExist) && !m.hasRecord(missing.Path) {
		return f, nil
	}
	if link := m.linkInProject(path); scope == Project && link != "" {
		return f, &Refusal{path, "is reached through a link (" + m.Short(link) + "), and planloop follows no links in a project",
			"replace the link with a file or folder"}
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if f.target, err = filepath.EvalSymlinks(path); err != nil {
			return f, &Refusal{path, "is a broken link", "repair or remove the link"}
		}
		info, err = os.Stat(f.target)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case !info.Mode().IsRegular():
		return f, &Refusal{path, "is not a regular file", "move it away"}
	case checkSize(path, info.Size()) != nil:
		return f, checkSize(path, info.Size())
	case info.Mode().Perm()&0o200 == 0:
		return f, &Refusal{path, "is read-only", "make it writable (chmod u+w), or add the lines of --dry-run where the file is generated"}
	}
	if owner, others := ownedByOthers(info); others {
		return f, &Refusal{path, fmt.Sprintf("belongs to another user (%d)", owner), "run this as its owner"}
	}
	f.info = info
	f.text, err = readAll(f.target)
	return f, err
}

func readAll(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Refusal{path, "is not a regular file", "move it away"} // a pipe would block
	}
	if err := checkSize(path, info.Size()); err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxHistory)) // it may have grown since the check
}

// linkInProject returns the outermost link below the project on the way to a path, which need not exist; "" without a link.
// A link may lead out of the project, or to a file that belongs to another program, such as git. On Windows, junctions count too.
func (m Machine) linkInProject(path string) (link string) {
	for up := filepath.Dir(path); path != m.Project && up != path; path, up = up, filepath.Dir(up) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			link = path
		}
	}
	return link
}
