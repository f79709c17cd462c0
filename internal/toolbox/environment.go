package toolbox

import (
	"os"
	"path/filepath"
	"strings"
)

// environment is what a command gets to see of ours: where things are and how
// text is written, by an allow list, so that no token or key is handed on. It has
// no terminal to draw on and nobody to ask.
func environment(getenv func(string) string) []string {
	list := []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
	for _, name := range passed() {
		value := getenv(name)
		if name == "PATH" {
			value = absolutePaths(value)
		}
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

func passed() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
		"LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		// What Windows and its programs do not run without.
		"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles",
	}
}

// absolutePaths leaves out of a search path what the workspace could fill.
func absolutePaths(list string) string {
	var kept []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}
