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
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

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

// Wrap breaks text into lines that fit behind a margin.
func (s Screen) Wrap(text string, margin int) []string {
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

// Fit cuts a line to the width that is left behind a margin.
func (s Screen) Fit(text string, margin int) string {
	if s.width == 0 {
		return text
	}
	return ansi.Truncate(text, max(s.width-margin, narrowest/2), s.marks.more)
}

// hang lays out text behind a label, its further lines below its beginning.
func (s Screen) hang(label string, look Style, text string) []string {
	margin := ansi.StringWidth(label)
	lines := s.Wrap(safetext.EscapeLine(text), margin)
	for i, line := range lines {
		if i == 0 {
			lines[i] = look(label) + line
		} else {
			lines[i] = strings.Repeat(" ", margin) + line
		}
	}
	return lines
}

// Next lays out what to do next; nothing for "".
func (s Screen) Next(next string) []string {
	if next == "" {
		return nil
	}
	return s.hang("Next: ", s.Bold, next)
}

// Dated lays out an entry of the log: revision, time, what was done.
func (s Screen) Dated(revision plan.Revision, at time.Time, text string, revisionWidth int) []string {
	return s.hang(fmt.Sprintf("%*d  %s  ", revisionWidth, revision, at.Local().Format(dateAndTime)), s.Faint, text)
}

// atMost keeps the first n lines and says that there are more.
func (s Screen) atMost(n int, lines []string, margin int) []string {
	if len(lines) <= n {
		return lines
	}
	cut := append([]string(nil), lines[:n]...)
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
