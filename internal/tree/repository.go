package tree

import (
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/plan"
)

// GitFolder reports whether some file system takes a name for .git: without regard
// to case, to dots and spaces at the end, to characters that do not show. What
// stands there is run by git later on, and may hold passwords.
func GitFolder(name string) bool {
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

// InRepository reports whether a path leads into git's own folder.
func InRepository(path string) bool {
	for element := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		if GitFolder(element) {
			return true
		}
	}
	return false
}
