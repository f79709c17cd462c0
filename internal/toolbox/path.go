package toolbox

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

const inside = "give a path inside the workspace, relative to it"

// place returns a model's path relative to the workspace: clean, with slashes, and "." for the workspace itself. An
// absolute path is accepted if it is below the workspace. It only reads the text; os.Root ensures that no link leads
// out.
func (b *Box) place(text string) (string, error) {
	switch {
	case text == "":
		return "", invalid("/path", "is empty", inside)
	case !utf8.ValidString(text):
		return "", invalid("/path", "is not valid UTF-8", inside)
	case utf8.RuneCountInString(text) > plan.MaxPath:
		return "", invalid("/path", "is too long", fmt.Sprintf("shorten it to at most %d characters", plan.MaxPath))
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", invalid("/path", "has a control character", "remove it")
	}
	outside := invalid("/path", plan.Quote(text)+" is outside the workspace", inside)
	named := inside + "; a file of that name is ./" + plan.Shorten(text, 20)
	if filepath.IsAbs(text) {
		below, ok := under(b.names, text)
		if !ok {
			return "", outside
		}
		text = "./" + below
	}
	switch fault := plan.PathProblem(text); fault {
	case plan.PathOK:
	case plan.PathBackslash:
		return "", invalid("/path", string(fault), "separate names with /")
	case plan.PathHome:
		return "", invalid("/path", "begins with ~, which is not expanded", named)
	case plan.PathDrive:
		return "", invalid("/path", string(fault), named)
	default:
		return "", outside
	}
	rel := path.Clean(text)
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", outside
	}
	return rel, nil
}

// under returns the rest of an absolute path after one of the roots.
func under(roots []string, text string) (string, bool) {
	for _, root := range roots {
		rel, err := filepath.Rel(root, filepath.Clean(text))
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
