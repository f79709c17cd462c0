package process

import (
	"runtime"
	"slices"
	"strings"
)

// Environment returns the part of an environment, as name=value, that an untrusted program gets: home, language and the
// named variables, nothing secret.
func Environment(all []string, named ...string) []string {
	given := append(usual(), named...)
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

// usual are the variables that programs need.
func usual() []string {
	names := []string{"HOME", "PATH", "TMPDIR", "LANG", "TERM", "USER", "LOGNAME", "SHELL"}
	if runtime.GOOS == "windows" { // programs do not start there without these
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE",
			"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "USERNAME")
	}
	return names
}

// VariableName reports whether text is a valid name of an environment variable.
func VariableName(text string) bool {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}
