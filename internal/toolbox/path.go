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

// place returns a path as a model writes it relative to the workspace: clean,
// with slashes, "." for the workspace itself. It only reads the text; that no
// link leads out is for os.Root to see.
func (b *Box) place(field, text string) (string, error) {
	rel, problem, fix := relative(text, b.names)
	if problem != "" {
		return "", invalid(field, problem, fix)
	}
	return rel, nil
}

// placeOr is place for a path that need not be given.
func (b *Box) placeOr(field, text, otherwise string) (string, error) {
	if text == "" {
		return otherwise, nil
	}
	return b.place(field, text)
}

const inside = "give a path inside the workspace, relative to it"

// relative cleans a path, or says what is wrong with it. An absolute path is
// taken when it stands under one of the roots.
func relative(text string, roots []string) (rel, problem, fix string) {
	switch {
	case text == "":
		return "", "is empty", inside
	case !utf8.ValidString(text):
		return "", "is not valid UTF-8", inside
	case utf8.RuneCountInString(text) > plan.MaxPath:
		return "", "is too long", fmt.Sprintf("shorten it to at most %d characters", plan.MaxPath)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", "has a control character", "remove it"
	}
	if filepath.IsAbs(text) {
		below, ok := under(roots, text)
		if !ok {
			return "", plan.Quote(text) + " is outside the workspace", inside
		}
		text = "./" + below
	}
	named := "; a file of that name is ./" + plan.Shorten(text, 20)
	switch fault := plan.PathProblem(text); fault {
	case plan.PathWithin:
	case plan.PathBackslash:
		return "", string(fault), "separate names with /"
	case plan.PathHome:
		return "", "begins with ~, which is not expanded", inside + named
	case plan.PathDrive:
		return "", string(fault), inside + named
	default:
		return "", plan.Quote(text) + " is outside the workspace", inside
	}
	rel = path.Clean(text)
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", plan.Quote(text) + " is outside the workspace", inside
	}
	return rel, "", ""
}

// under returns what follows one of the roots in an absolute path.
func under(roots []string, text string) (string, bool) {
	for _, root := range roots {
		rel, err := filepath.Rel(root, filepath.Clean(text))
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
