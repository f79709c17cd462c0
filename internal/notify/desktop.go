package notify

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// desktopTime bounds the programme that shows a notice. Windows takes seconds to
// start its own.
const desktopTime = 15 * time.Second

// Bounds of what a desktop shows.
const (
	desktopTitle = 120
	desktopText  = 400
)

// Run runs a programme with exactly these arguments, the first of which names it,
// and this environment, and waits for its end: no shell, no input, no output. It
// returns soon after ctx is done. An error of a programme that is not there wraps
// exec.ErrNotFound or fs.ErrNotExist.
type Run func(ctx context.Context, argv, env []string) error

// desktop shows notices where the user sits.
type desktop struct {
	system string // as in runtime.GOOS
	getenv func(string) string
	run    Run
}

func newDesktop(system string, getenv func(string) string, run Run) *desktop {
	if run == nil {
		run = process
	}
	return &desktop{system, getenv, run}
}

func (d *desktop) name() string { return "desktop" }

func (d *desktop) wants(Event) bool { return true }

// deliver shows a notice once: what could not be shown then is not tried again.
func (d *desktop) deliver(ctx context.Context, e envelope) error {
	argv, env := d.command(cut(e.heading(), desktopTitle), cut(e.summary(), desktopText))
	if argv == nil {
		return &failure{problem: "no known program shows notices on this system", quiet: true}
	}
	ctx, cancel := context.WithTimeout(ctx, desktopTime)
	defer cancel()
	err := d.run(ctx, argv, env)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &failure{problem: argv[0] + " did not end in time", tries: 1}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return &failure{problem: argv[0] + " is not installed", tries: 1, quiet: true}
	}
	return &failure{problem: argv[0] + " failed: there may be no desktop to show it on", tries: 1}
}

// summary is what a desktop shows below the heading.
func (n Notice) summary() string {
	var lines []string
	if text := line(n.Text); text != "" {
		lines = append(lines, cut(text, desktopText/2))
	}
	if len(n.Steps) > 0 {
		lines = append(lines, n.size())
	}
	if call := n.call(); call != "" {
		lines = append(lines, call)
	}
	if name := folder(n.Workspace); name != "" {
		lines = append(lines, "Workspace: "+name)
	}
	return strings.Join(lines, "\n")
}

// size says how many steps there are and what they risk.
func (n Notice) size() string {
	size := plan.Counted(len(n.Steps), "step")
	if risk := n.highest(); risk != "" {
		size += ", highest risk " + risk
	}
	return size
}

// process runs a programme as a process, without a window. Its input is empty
// and its output goes nowhere: that of planloop may be a protocol.
func process(ctx context.Context, argv, env []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.WaitDelay = time.Second
	hideWindow(cmd)
	return cmd.Run()
}

// command returns the arguments and the environment of the programme that shows a
// notice, nil where none is known. Only texts vary, and none of them is read as
// an option, as markup or as a script.
func (d *desktop) command(title, text string) (argv, env []string) {
	title, text = undashed(title), undashed(text)
	session := []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "PATH", "USER",
		"WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"}
	switch d.system {
	case "linux", "freebsd", "openbsd", "netbsd":
		// Of the second text backslashes make other characters, and markup is shown as such.
		text = strings.NewReplacer(`\`, `\\`, "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
		return []string{"notify-send", "--app-name=planloop", "--", title, text}, d.kept(session)
	case "darwin":
		return append(appleScript(), title, text), d.kept(session)
	case "windows":
		env = d.kept([]string{"APPDATA", "LOCALAPPDATA", "PATH", "SystemDrive", "SystemRoot", "TEMP", "TMP",
			"USERNAME", "USERPROFILE", "windir"})
		return d.powerShell(), append(env, titleVariable+"="+title, textVariable+"="+text)
	}
	return nil, nil
}

// undashed returns text that no program takes for an option.
func undashed(s string) string {
	if strings.HasPrefix(s, "-") {
		return " " + s
	}
	return s
}

// appleScript shows the texts that follow it. They are arguments of the script
// and no part of it; the first argument is a fixed word, at which osascript stops
// looking for options.
func appleScript() []string {
	return []string{"/usr/bin/osascript",
		"-e", "on run argv",
		"-e", "display notification (item 3 of argv) with title (item 1 of argv) subtitle (item 2 of argv)",
		"-e", "end run",
		"planloop"}
}

// The variables by which the texts reach the script on Windows.
const (
	titleVariable = "PLANLOOP_NOTICE_TITLE"
	textVariable  = "PLANLOOP_NOTICE_TEXT"
)

// toast is a PowerShell script that shows a notice. Its texts come from the
// environment and are put into the document as text. It has no double quotes,
// which would not survive a Windows command line as they are.
//
//go:embed toast.ps1
var toast string

// powerShell names the programme in full: a folder of the workspace may stand in
// PATH before its own.
func (d *desktop) powerShell() []string {
	root := cmp.Or(d.getenv("SystemRoot"), `C:\Windows`)
	return []string{root + `\System32\WindowsPowerShell\v1.0\powershell.exe`, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", toast}
}

// kept returns those variables that are set. The rest of the environment, where
// keys stand, is no concern of a programme that shows a text.
func (d *desktop) kept(names []string) []string {
	env := []string{}
	for _, name := range names {
		if value := d.getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
