// Package terminal lays out what people see at a terminal: plans, steps, planning
// mode, lists, and the live view. It is given states and texts and returns lines; it
// runs no verb and knows no command line.
//
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
package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Options say where text is printed.
type Options struct {
	Getenv     func(string) string
	IsTerminal bool                     // else it is a pipe or a file
	Size       func() (width, rows int) // of the terminal, in characters, zeros when unknown; nil: unknown
}

// Screen is how text looks where it is printed.
type Screen struct {
	width int // 0: unlimited
	rows  int // 0: unlimited
	marks marks

	Plain, Bold, Faint         Style
	Good, Busy, Waiting, Wrong Style
}

const (
	fallbackWidth = 80
	narrowest     = 24 // below that lines are left to the terminal
)

// NewScreen returns the screen of where text is printed.
func NewScreen(o Options) Screen {
	s := Screen{marks: marksFor(o.Getenv)}
	s.width, s.rows = o.extent()
	s.setStyles(o.colours())
	return s
}

// extent is the size of the terminal, zeros in a pipe.
func (o Options) extent() (width, rows int) {
	if !o.IsTerminal {
		return 0, 0
	}
	if o.Size != nil {
		width, rows = o.Size()
	}
	if width <= 0 {
		width, _ = strconv.Atoi(o.Getenv("COLUMNS"))
	}
	if width <= 0 {
		width = fallbackWidth
	}
	return max(width, narrowest), rows
}

// Rows is how many lines the terminal shows at once, 0 when unknown.
func (s Screen) Rows() int { return s.rows }

// wrap breaks text into lines that fit behind a margin.
func (s Screen) wrap(text string, margin int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if s.width == 0 {
		return strings.Split(text, "\n")
	}
	lines := strings.Split(ansi.Wrap(text, max(s.width-margin, narrowest/2-len(bar)), ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// Fit cuts a line to the width that is left behind a margin.
func (s Screen) Fit(text string, margin int) string {
	if s.width == 0 {
		return text
	}
	return ansi.Truncate(text, max(s.width-margin, narrowest/2), s.marks.more)
}

// Hang lays out printable text behind a label, its further lines below its beginning.
func (s Screen) Hang(label string, look Style, text string) []string {
	margin := ansi.StringWidth(label)
	lines := s.wrap(text, margin)
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", margin)
		}
		lines[i] = strings.TrimRight(label+look(line), " ")
	}
	return lines
}

// coloured lays out any text, and puts a style on each of its lines. All but the first stand
// behind a bar.
func (s Screen) coloured(look Style, text string) []string {
	lines := s.barred("", "  ", safetext.Escape(text))
	for i, line := range lines {
		lines[i] = look(line)
	}
	return lines
}

// bar stands before what a text goes on with: no line of ours begins like that, so that no
// text can be taken for one.
const bar = "| "

// barred lays out printable text from a margin on, its further lines behind a deeper one and
// a bar.
func (s Screen) barred(margin, deeper, text string) []string {
	lines := s.wrap(text, len(deeper+bar))
	for i, line := range lines {
		if i > 0 {
			line = deeper + bar + line
		} else {
			line = margin + line
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// Told lays out lines of ours, which hold texts: what does not fit into one goes on behind a bar.
func (s Screen) Told(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, s.barred("", "  ", line)...)
	}
	return lines
}

// Next lays out what to do next; nothing for "".
func (s Screen) Next(next string) []string {
	if next == "" {
		return nil
	}
	return s.Hang(s.Bold("Next: "), s.Plain, safetext.EscapeLine(next))
}

// Dated lays out an entry of the log: revision, time, what was done.
func (s Screen) Dated(revision plan.Revision, at time.Time, text string, revisionWidth int) []string {
	label := fmt.Sprintf("%*d  %s  ", revisionWidth, revision, at.Local().Format(dateAndTime))
	return s.Hang(s.Faint(label), s.Plain, safetext.EscapeLine(text))
}

// atMost keeps the first n lines and says that there are more.
func (s Screen) atMost(n int, lines []string, margin int) []string {
	if len(lines) <= n {
		return lines
	}
	cut := slices.Clone(lines[:n])
	cut[n-1] = s.Fit(strings.TrimRight(cut[n-1], " .,;:")+" "+s.marks.more, margin)
	return cut
}

// Pad fills text up to a width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// Joined is lines as they are printed.
func Joined(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

const dateAndTime = "2006-01-02 15:04"

// clock writes a time as a person reads it today.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04")
	}
	return t.Format(dateAndTime)
}

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
	branch                                                  [2]string // to what belongs to the step above, and to the last of that
	turning                                                 []string  // one after the other for what runs
}

// marksFor returns signs that the locale can show.
func marksFor(getenv func(string) string) marks {
	if inUTF8(getenv) {
		return marks{"✓", "▸", "○", "·", "!", "✗", "-", [3]string{"█", "▓", "░"}, [2]string{"", ""}, "…",
			[2]string{"├─ ", "└─ "}, []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}}
	}
	return marks{"x", ">", "o", ".", "!", "#", "-", [3]string{"#", "+", "."}, [2]string{"[", "]"}, "...",
		[2]string{"|- ", "`- "}, []string{"|", "/", "-", `\`}}
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
