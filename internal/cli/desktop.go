package cli

import (
	"cmp"
	"os/exec"
	"runtime"
	"strings"

	"github.com/planloop/planloop/internal/process"
)

// browsers returns commands to try that open an address in the user's browser; none without a desktop. No shell sees the address.
func browsers(goos string, getenv func(string) string, address string) [][]string {
	var all [][]string
	if goos != "windows" { // on Windows paths contain colons
		for command := range strings.SplitSeq(getenv("BROWSER"), ":") {
			words := strings.Fields(command)
			if len(words) == 0 {
				continue
			}
			if !strings.Contains(command, "%s") {
				words = append(words, "%s")
			}
			for i, word := range words {
				words[i] = strings.ReplaceAll(word, "%s", address)
			}
			all = append(all, words)
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

// openBrowser opens an address in the user's browser, unless they are logged in from another machine or have no desktop. If no browser can
// be opened, it calls failed.
func (a *app) openBrowser(address string, failed func()) bool {
	commands := browsers(runtime.GOOS, a.getenv, address)
	if a.forwardCommand(address) != "" || len(commands) == 0 {
		return false
	}
	go func() { // ends with the browser, or with the process
		if !runFirst(commands) {
			failed()
		}
	}()
	return true
}

// runFirst runs the commands until one succeeds, and reports whether one did. It may return only when the browser closes.
func runFirst(commands [][]string) bool {
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		process.Detach(cmd)
		if cmd.Run() == nil {
			return true
		}
	}
	return false
}

// desktopNotice returns the command that shows a text on the desktop; nil without a desktop, or on other systems than those of the page in
// the background. No shell or script sees the text.
func desktopNotice(goos string, getenv func(string) string, text string) []string {
	switch {
	case goos == "darwin":
		return []string{"osascript", "-e", "on run argv", "-e", `display notification (item 1 of argv) with title "planloop"`,
			"-e", "end run", text}
	case cmp.Or(getenv("DISPLAY"), getenv("WAYLAND_DISPLAY")) != "":
		return []string{"notify-send", "--app-name=planloop", "--", "planloop", text}
	}
	return nil
}
