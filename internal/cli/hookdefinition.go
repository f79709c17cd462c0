package cli

import (
	"cmp"
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

// definitions searches the files of a definition. Hosts differ in which of several they take, so none may have a problem.
type definitions struct {
	hook.Definition
	left    int
	problem string
	found   bool
}

// findDefinition reads the files of a skill, a command or a subagent, or with the name hook.AnyName of all. It follows no link out of a
// project or the home directory.
func (a *app) findDefinition(call hook.Call, d hook.Definition) (problem string, found bool) {
	all := definitions{Definition: d, left: maxDefinitions}
	home, _ := a.home()
	places, projects := []string{home, a.getenv("GEMINI_CLI_HOME")}, append([]string{call.Dir}, call.Roots...)
	for _, dir := range projects {
		for ; filepath.IsAbs(dir) && !slices.Contains(places, dir); dir = filepath.Dir(dir) {
			places = append(places, dir)
		}
	}
	for _, folder := range d.Folders() {
		for _, place := range places {
			all.search(place, folder)
		}
		for _, project := range projects { // Claude Code also reads those of parts of a project
			all.search(project, "*/"+folder)
			all.search(project, "*/*/"+folder)
		}
		_, inside, _ := strings.Cut(folder, "/")
		for _, variable := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME"} {
			all.search(a.getenv(variable), inside)
		}
	}
	if all.left <= 0 {
		return "may have a file among too many others", true
	}
	return all.problem, all.found
}

func (d *definitions) search(place, pattern string) {
	root, err := os.OpenRoot(place)
	if err != nil || !filepath.IsAbs(place) {
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
		info, err := fs.Stat(files, at)
		name, ok := d.NameOf(at)
		switch d.left--; {
		case d.left <= 0:
			return
		case err == nil && info.IsDir() && depth > 0:
			d.walk(files, at, depth-1)
		case ok, err != nil && strings.EqualFold(entry.Name(), d.Name): // the latter is a link out of the place
			own, problem := "", "has a file that planloop cannot read"
			if err == nil && info.Mode().IsRegular() && info.Size() <= maxDefinition {
				if text, err := fs.ReadFile(files, at); err == nil {
					own, problem = d.Read(text)
				}
			}
			isNamed := !ok || d.Name == hook.AnyName || strings.EqualFold(name, d.Name) || strings.EqualFold(own, d.Name)
			if isNamed || own == hook.AnyName {
				d.problem, d.found = cmp.Or(d.problem, problem), d.found || isNamed
			}
		}
	}
}
