package process

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	maxArguments = 256
	minTimeout   = time.Second
)

// CheckConfig returns the first key of a configured program that is unusable, why, and what to write instead; "" if there is none.
func CheckConfig(command []string, timeout, maxTimeout time.Duration, env []string) (key, problem, want string) {
	if problem, want := CheckCommand(command); problem != "" {
		return "command", problem, want
	}
	if timeout != 0 && (timeout < minTimeout || timeout > maxTimeout) {
		return "timeout", fmt.Sprintf("of %s is out of range", timeout),
			fmt.Sprintf("write a time with its unit, from %s to %s, such as timeout: 5m", minTimeout, maxTimeout)
	}
	if slices.ContainsFunc(env, func(name string) bool { return !VariableName(name) }) {
		return "env", "holds a text that cannot be the name of a variable", "list names such as ANTHROPIC_API_KEY, not values"
	}
	return "", "", ""
}

// CheckCommand returns why a configured command cannot be started, and what to write instead; "" if it can. It does not
// look for the program.
func CheckCommand(command []string) (problem, want string) {
	const example = "write the program and its arguments as a list, such as command: [PROGRAM, ARGUMENT]"
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
