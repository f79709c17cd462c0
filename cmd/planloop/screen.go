package main

// What is printed for people keeps these rules:
//
//   - A status is told by a mark, a colour and, where it needs attention, a
//     word; without colour nothing is lost.
//   - Only the terminal's own eight colours, bold and faint are used, so that
//     the user's theme decides how they look. Green is done, cyan is being worked
//     on, yellow waits for somebody, red failed; faint is what may be skipped.
//   - There is no escape sequence in a pipe, with NO_COLOR, CLICOLOR=0 or
//     TERM=dumb; CLICOLOR_FORCE asks for colour in a pipe.
//   - In a terminal every line fits its width. In a pipe nothing is wrapped, so
//     that a step is one line whatever its length.
//   - Text from the state is made printable before any style is put on it.
//   - Only the live view in a terminal moves the cursor.

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/planloop/planloop/plan"
)

// enableColours lets old Windows consoles understand escape sequences; elsewhere
// there is nothing to do.
func enableColours(out *os.File) {
	_, _ = termenv.EnableVirtualTerminalProcessing(termenv.NewOutput(out)) // without them it is plain
}

// screen is how text looks where it is printed.
type screen struct {
	width int // 0: unlimited
	rows  int // 0: unlimited
	marks marks

	plain, bold, faint         style
	good, busy, waiting, wrong style
}

// style puts a style on one line of text.
type style func(string) string

const (
	fallbackWidth = 80
	narrowest     = 24 // below that lines are left to the terminal
)

func (a *app) screen() screen {
	width, rows := a.extent()
	profile := termenv.Ascii
	if a.colours() {
		profile = termenv.ANSI
	}
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetColorProfile(profile)   // instead of what the library makes of the environment
	renderer.SetHasDarkBackground(true) // decides nothing here, and is not asked of the terminal
	line := renderer.NewStyle().Inline(true)
	colour := func(number string) style { return single(line.Foreground(lipgloss.Color(number))) }
	return screen{
		width: width, rows: rows, marks: marksFor(a.getenv),
		plain: func(text string) string { return text },
		bold:  single(line.Bold(true)), faint: single(line.Faint(true)),
		wrong: colour("1"), good: colour("2"), waiting: colour("3"), busy: colour("6"),
	}
}

func single(s lipgloss.Style) style { return func(text string) string { return s.Render(text) } }

// colours decides by the conventions of NO_COLOR and CLICOLOR.
func (a *app) colours() bool {
	switch {
	case a.getenv("NO_COLOR") != "":
		return false
	case a.getenv("CLICOLOR_FORCE") != "" && a.getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return a.outIsTerm && a.getenv("CLICOLOR") != "0" && a.getenv("TERM") != "dumb"
}

// extent is the size of the terminal, zeros in a pipe.
func (a *app) extent() (width, rows int) {
	if !a.outIsTerm {
		return 0, 0
	}
	if a.size != nil {
		width, rows = a.size()
	}
	if width <= 0 {
		width, _ = strconv.Atoi(a.getenv("COLUMNS"))
	}
	if width <= 0 {
		width = fallbackWidth
	}
	return max(width, narrowest), rows
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
func (s screen) mark(step *plan.Step, ready bool) (string, style) {
	switch {
	case step.Status == plan.Done:
		return s.marks.done, s.good
	case step.Status == plan.InProgress:
		return s.marks.running, s.busy
	case step.Status == plan.Blocked:
		return s.marks.blocked, s.waiting
	case step.Status == plan.Failed:
		return s.marks.failed, s.wrong
	case step.Status.Finished():
		return s.marks.dropped, s.faint
	case ready:
		return s.marks.ready, s.plain
	}
	return s.marks.waiting, s.faint
}

// planStyle is how the status of a plan looks.
func (s screen) planStyle(status plan.PlanStatus) style {
	switch status {
	case plan.StatusCompleted:
		return s.good
	case plan.StatusActive:
		return s.busy
	case plan.StatusFailed:
		return s.wrong
	}
	return s.waiting
}

// bar draws the progress of steps.
func (s screen) bar(steps plan.Steps) string {
	width := 30
	if s.width > 0 {
		width = min(width, s.width/3)
	}
	total := steps.Len()
	done := steps.Finished() * width / total
	begun := (steps.Finished() + steps.Count(plan.InProgress)) * width / total
	return s.marks.ends[0] + s.good(strings.Repeat(s.marks.bar[0], done)) +
		s.busy(strings.Repeat(s.marks.bar[1], begun-done)) +
		s.faint(strings.Repeat(s.marks.bar[2], width-begun)) + s.marks.ends[1]
}

// wrap breaks text into lines that fit behind a margin.
func (s screen) wrap(text string, margin int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if s.width == 0 {
		return strings.Split(text, "\n")
	}
	lines := strings.Split(ansi.Wrap(text, max(s.width-margin, narrowest/2), ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// fit cuts a line to the width that is left behind a margin.
func (s screen) fit(text string, margin int) string {
	if s.width == 0 {
		return text
	}
	return ansi.Truncate(text, max(s.width-margin, narrowest/2), s.marks.more)
}

// atMost keeps the first n lines and says that there are more.
func (s screen) atMost(n int, lines []string, margin int) []string {
	if len(lines) <= n {
		return lines
	}
	cut := append([]string(nil), lines[:n]...)
	cut[n-1] = s.fit(strings.TrimRight(cut[n-1], " .,;:")+" "+s.marks.more, margin)
	return cut
}

// pad fills text up to a width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
