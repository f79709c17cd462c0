package main

import (
	"cmp"
	"os/exec"
	"strings"

	"github.com/planloop/planloop/internal/process"
)

// browsers are the commands that show an address in the person's browser, the one to be tried first first; none where
// there is no desktop. No shell reads the address.
func browsers(goos string, getenv func(string) string, address string) [][]string {
	var all [][]string
	if goos != "windows" { // there a colon stands in paths
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
	case cmp.Or(getenv("DISPLAY"), getenv("WAYLAND_DISPLAY")) != "": // else xdg-open starts what shows text in the terminal
		all = append(all, []string{"xdg-open", address})
	}
	return all
}

// withAddress puts the address where a command of BROWSER says, else behind it.
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

// show has the first of some commands that can do it show a page, and reports whether one did. It returns when that
// command ends, which may be when the browser does.
func show(commands [][]string) bool {
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		process.Apart(cmd)
		if cmd.Run() == nil {
			return true
		}
	}
	return false
}
