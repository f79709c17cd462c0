package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"
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
		return &failure{problem: "this system has no programme for it that is known", quiet: true}
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
	size := fmt.Sprintf("%d steps", len(n.Steps))
	if len(n.Steps) == 1 {
		size = "1 step"
	}
	if risk := n.highest(); risk != "" {
		size += ", highest risk " + risk
	}
	return size
}
