package cli

import (
	"cmp"
	"os/exec"
	"strings"

	"github.com/planloop/planloop/internal/process"
)

// browsers returns the commands that open an address in the user's browser, in the order to try them; empty without a desktop. The address
// never passes through a shell.
func browsers(goos string, getenv func(string) string, address string) [][]string {
	var all [][]string
	if goos != "windows" { // on Windows paths contain colons
		for command := range strings.SplitSeq(getenv("BROWSER"), ":") {
			if words := strings.Fields(command); len(words) > 0 {
				all = append(all, withAddress(words, address))
			}
		}
	}
	byWindows := []string{"rundll32.exe", "url.dll,FileProtocolHandler", address}
	switch {
	case goos == "windows":
		all = append(all, byWindows)
	case goos == "darwin":
		all = append(all, []string{"open", address})
	case getenv("WSL_DISTRO_NAME") != "":
		all = append(all, []string{"wslview", address}, byWindows)
	case cmp.Or(getenv("DISPLAY"), getenv("WAYLAND_DISPLAY")) != "": // otherwise xdg-open would start a text browser in the terminal
		all = append(all, []string{"xdg-open", address})
	}
	return all
}

// withAddress puts the address in the place of %s in a command of BROWSER, or else at its end.
func withAddress(words []string, address string) []string {
	named := false
	for i, word := range words {
		named = named || strings.Contains(word, "%s")
		words[i] = strings.ReplaceAll(word, "%s", address)
	}
	if !named {
		words = append(words, address)
	}
	return words
}

// runFirst runs the commands in turn until one succeeds, and reports whether one did. It returns when that command ends, perhaps only when
// the browser closes.
func runFirst(commands [][]string) bool {
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		process.Apart(cmd)
		if cmd.Run() == nil {
			return true
		}
	}
	return false
}
