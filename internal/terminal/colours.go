package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/planloop/planloop/plan"
)

// EnableColours lets old Windows consoles understand escape sequences; elsewhere
// there is nothing to do.
func EnableColours(out *os.File) {
	_, _ = termenv.EnableVirtualTerminalProcessing(termenv.NewOutput(out)) // without them it is plain
}

// Style puts a style on one line of text.
type Style func(string) string

func (s *Screen) setStyles(colours bool) {
	profile := termenv.Ascii
	if colours {
		profile = termenv.ANSI
	}
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetColorProfile(profile)   // instead of what the library makes of the environment
	renderer.SetHasDarkBackground(true) // decides nothing here, and is not asked of the terminal
	line := renderer.NewStyle().Inline(true)
	style := func(s lipgloss.Style) Style { return func(text string) string { return s.Render(text) } }
	colour := func(number string) Style { return style(line.Foreground(lipgloss.Color(number))) }
	s.Plain = func(text string) string { return text }
	s.Bold, s.Faint = style(line.Bold(true)), style(line.Faint(true))
	s.Wrong, s.Good, s.Waiting, s.Busy = colour("1"), colour("2"), colour("3"), colour("6")
}

// colours decides by the conventions of NO_COLOR and CLICOLOR.
func (o Options) colours() bool {
	switch {
	case o.Getenv("NO_COLOR") != "":
		return false
	case o.Getenv("CLICOLOR_FORCE") != "" && o.Getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return o.IsTerminal && o.Getenv("CLICOLOR") != "0" && o.Getenv("TERM") != "dumb"
}

// marks are the signs for what a status is.
type marks struct {
	done, running, ready, waiting, blocked, failed, dropped string
	bar                                                     [3]string // done, being worked on, left
	ends                                                    [2]string // of the bar
	more                                                    string
}

// marksFor returns signs that the locale can show.
func marksFor(getenv func(string) string) marks {
	if inUTF8(getenv) {
		return marks{"✓", "▸", "○", "·", "!", "✗", "-", [3]string{"█", "▓", "░"}, [2]string{"", ""}, "…"}
	}
	return marks{"x", ">", "o", ".", "!", "#", "-", [3]string{"#", "+", "."}, [2]string{"[", "]"}, "..."}
}

// inUTF8 reports whether the locale is one of UTF-8, or says nothing.
func inUTF8(getenv func(string) string) bool {
	for _, variable := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(variable)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// mark returns the sign and the style of a step's status.
func (s Screen) mark(step *plan.Step, ready bool) (string, Style) {
	switch {
	case step.Status == plan.Done:
		return s.marks.done, s.Good
	case step.Status == plan.InProgress:
		return s.marks.running, s.Busy
	case step.Status == plan.Blocked:
		return s.marks.blocked, s.Waiting
	case step.Status == plan.Failed:
		return s.marks.failed, s.Wrong
	case step.Status.Finished():
		return s.marks.dropped, s.Faint
	case ready:
		return s.marks.ready, s.Plain
	}
	return s.marks.waiting, s.Faint
}

// planStyle is how the status of a plan looks.
func (s Screen) planStyle(status plan.PlanStatus) Style {
	switch status {
	case plan.StatusCompleted:
		return s.Good
	case plan.StatusActive:
		return s.Busy
	case plan.StatusFailed:
		return s.Wrong
	}
	return s.Waiting
}

// bar draws the progress of steps.
func (s Screen) bar(steps plan.Steps) string {
	width := 30
	if s.width > 0 {
		width = min(width, s.width/3)
	}
	total := steps.Len()
	done := steps.Finished() * width / total
	begun := (steps.Finished() + steps.Count(plan.InProgress)) * width / total
	return s.marks.ends[0] + s.Good(strings.Repeat(s.marks.bar[0], done)) +
		s.Busy(strings.Repeat(s.marks.bar[1], begun-done)) +
		s.Faint(strings.Repeat(s.marks.bar[2], width-begun)) + s.marks.ends[1]
}
