package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Environment returns the part of an environment, as name=value, that an untrusted program gets: home, language and the
// named variables, nothing secret.
func Environment(all []string, named ...string) []string {
	given := append([]string{"HOME", "PATH", "TMPDIR", "LANG", "TERM", "USER", "LOGNAME", "SHELL"}, named...)
	if runtime.GOOS == "windows" { // programs do not start there without these
		given = append(given, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE",
			"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "USERNAME")
	}
	var list []string
	for _, variable := range all {
		name, _, _ := strings.Cut(variable, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if slices.Contains(given, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
			list = append(list, variable)
		}
	}
	return append(list, NotFromHere()...)
}

// NotFromHere returns the variable that keeps Windows from looking for a program in the current folder first, which may
// be a repository with its own git.exe. Other systems need nothing.
func NotFromHere() []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	return []string{"NoDefaultCurrentDirectoryInExePath=1"}
}

// EnvFamily is the environment variable that marks the commands that planloop starts on Linux, and what they start.
const EnvFamily = "PLANLOOP_FAMILY"

// VariableName reports whether text is a valid name of an environment variable.
func VariableName(text string) bool {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(text)
}

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

// SearchPath is where Look finds programs: folders that only administrators write to.
const SearchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin:/opt/homebrew/bin"

// Look finds a program on the fixed path, ignoring PATH. Windows has no fixed path.
func Look(name string) (string, error) {
	if runtime.GOOS == "windows" {
		return lookOnWindows(name, filepath.SplitList(os.Getenv("PATH")))
	}
	for _, folder := range filepath.SplitList(SearchPath) {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", notFound(name)
}

// lookOnWindows finds a program in some folders. It ignores folders without an absolute path, above all the current
// one, where Windows looks first and which is often a repository; batch files are not programs. bash is git's own: the
// system's bash belongs to WSL, which gets neither our environment nor our git.
func lookOnWindows(name string, folders []string) (string, error) {
	file := name + ".exe"
	if name == "bash" {
		file = "git.exe"
	}
	for _, folder := range folders {
		program := filepath.Join(folder, file)
		if !filepath.IsAbs(folder) || !isFile(program) {
			continue
		}
		if name != "bash" {
			return program, nil
		}
		if bash := bashBeside(folder); bash != "" {
			return bash, nil
		}
	}
	return "", notFound(name)
}

// bashBeside returns the bash installed with the git in a folder, or "". The folder is cmd or bin below
// git's own, or the bin that git's shell puts first, such as mingw64/bin.
func bashBeside(folder string) string {
	up := filepath.Dir(folder)
	for _, top := range []string{up, filepath.Dir(up)} {
		for _, below := range []string{"bin", filepath.Join("usr", "bin")} {
			if bash := filepath.Join(top, below, "bash.exe"); isFile(bash) {
				return bash
			}
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func notFound(name string) error { return fmt.Errorf("%s: %w", name, exec.ErrNotFound) }
