package cli

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
)

// maxDefinitions bounds the files and folders that are searched for a skill or a subagent, maxDefinition the bytes of its file, and
// maxDepth its place below a host's folder.
const (
	maxDefinitions = 5000
	maxDefinition  = 256 << 10
	maxDepth       = 6
)

// definitions searches the files that a host may take for a definition. Hosts differ in which of several they take, so none may have a
// problem.
type definitions struct {
	hook.Definition
	host    hook.Host
	left    int
	problem string
	found   bool
}

// findDefinition reads the files of a skill, a command or a subagent. It follows no link out of a project or the home directory.
func (a *app) findDefinition(call hook.Call, d hook.Definition) (problem string, found bool) {
	all := definitions{Definition: d, host: call.Host, left: maxDefinitions}
	home, _ := a.home()
	places := []string{home}
	for _, dir := range append([]string{call.Dir}, call.Roots...) {
		for ; filepath.IsAbs(dir) && !slices.Contains(places, dir); dir = filepath.Dir(dir) {
			places = append(places, dir)
		}
	}
	for _, folder := range d.Folders(call.Host) {
		for _, place := range places {
			all.search(place, folder)
		}
		for variable, usual := range hook.MovedFolders() {
			if inside, ok := strings.CutPrefix(folder, usual); ok && filepath.IsAbs(a.getenv(variable)) {
				all.search(a.getenv(variable), inside)
			}
		}
	}
	if all.left <= 0 {
		return "may have a file among too many others", true
	}
	return all.problem, all.found
}

// search reads the matching files below some folders of a place.
func (d *definitions) search(place, pattern string) {
	root, err := os.OpenRoot(place)
	if err != nil {
		return // most hosts have no such folder
	}
	defer root.Close()
	folders, _ := fs.Glob(root.FS(), pattern)
	for _, folder := range folders {
		d.walk(root.FS(), folder, maxDepth)
	}
}

func (d *definitions) walk(files fs.FS, folder string, depth int) {
	entries, _ := fs.ReadDir(files, folder) // a file has none
	for _, entry := range entries {
		at := path.Join(folder, entry.Name())
		if d.left--; d.left <= 0 {
			return
		}
		if info, err := fs.Stat(files, at); err == nil && info.IsDir() && depth > 0 {
			d.walk(files, at, depth-1)
		} else if name, ok := d.NameOf(d.host, at); ok {
			d.read(files, at, name, info)
		} else if err != nil && strings.EqualFold(entry.Name(), d.Name) { // a link out of the place
			d.problem, d.found = "has a file that planloop cannot read", true
		}
	}
}

// read reads one file, whose name it may replace by its own.
func (d *definitions) read(files fs.FS, at, name string, info fs.FileInfo) {
	own, problem := "", "has a file that planloop cannot read"
	if info != nil && info.Mode().IsRegular() {
		if file, err := files.Open(at); err == nil {
			text, err := io.ReadAll(io.LimitReader(file, maxDefinition+1))
			if errors.Join(err, file.Close()) == nil && len(text) <= maxDefinition {
				own, problem = d.Read(text)
			}
		}
	}
	isNamed := strings.EqualFold(name, d.Name) || strings.EqualFold(own, d.Name)
	if isNamed || own == hook.AnyName {
		d.problem, d.found = cmp.Or(d.problem, problem), d.found || isNamed
	}
}
