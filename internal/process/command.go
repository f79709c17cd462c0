package process

import (
	"path/filepath"
	"slices"
	"strings"
)

const maxArguments = 256

// CheckCommand returns why a configured command cannot be started, and what to write instead; "" if it can. It does not
// look for the program.
func CheckCommand(command []string) (problem, want string) {
	const example = "write the program and its arguments as a list, such as command: [claude, -p]"
	switch {
	case len(command) == 0 || command[0] == "":
		return "names no program", example
	case len(command) > maxArguments || slices.ContainsFunc(command, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return "cannot be given to a program", example
	case filepath.Base(command[0]) != command[0] && !filepath.IsAbs(command[0]):
		return "begins with a relative path", "give the name of a program on PATH, or an absolute path"
	}
	return "", ""
}
