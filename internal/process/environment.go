package process

import (
	"runtime"
	"slices"
	"strings"
)

// Environment is what a stranger's program is given of an environment, as name=value: where
// home is and which language is spoken, nothing secret, and the variables that are named.
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

// NotFromHere is what keeps Windows from looking for a program in the current folder first, which may be a repository
// with a git.exe of its own. Elsewhere nothing is needed.
func NotFromHere() []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	return []string{"NoDefaultCurrentDirectoryInExePath=1"}
}

// usual are the variables that programs cannot do without.
func usual() []string {
	names := []string{"HOME", "PATH", "TMPDIR", "LANG", "TERM", "USER", "LOGNAME", "SHELL"}
	if runtime.GOOS == "windows" { // where programs do not start without
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE",
			"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "USERNAME")
	}
	return names
}
