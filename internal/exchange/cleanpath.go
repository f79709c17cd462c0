package exchange

import (
	"path"
	"strings"
)

// pathProblem says why text, which is clean in itself, is no path within the
// workspace, or returns "". Patterns and directories are paths too.
func pathProblem(text string) string {
	switch {
	case strings.ContainsRune(text, '\\'):
		return "has a backslash"
	case strings.HasPrefix(text, "/"):
		return "is absolute"
	case strings.HasPrefix(text, "~"):
		return "begins in a home directory"
	case hasDrive(text):
		return "begins with a drive"
	}
	if clean := path.Clean(text); clean == ".." || strings.HasPrefix(clean, "../") {
		return "leaves the workspace"
	}
	return ""
}

func hasDrive(text string) bool {
	if len(text) < 2 || text[1] != ':' {
		return false
	}
	letter := text[0] | 0x20
	return letter >= 'a' && letter <= 'z'
}
