// Package terminal lays out everything people see at a terminal: plans, steps, planning mode, lists, and the live view.
// It takes states and texts and returns lines; it runs no verb and knows no command line.
//
// Output for people follows these rules:
//
//   - A status has a mark, a colour and, where it needs attention, a word; nothing depends on colour alone.
//   - Only the terminal's own eight colours, bold and faint are used, so that the user's theme decides how they look.
//     Green is done, cyan in progress, yellow waiting for a person, red failed; faint text may be skipped.
//   - No escape sequences in a pipe, with NO_COLOR, CLICOLOR=0 or TERM=dumb; CLICOLOR_FORCE enables colour in a pipe.
//   - In a terminal every line fits its width. In a pipe nothing is wrapped, so a step is one line of any length.
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

	"cmp"
	"context"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Options describe the output for a Screen.
type Options struct {
	Getenv     func(string) string
	IsTerminal bool                     // else a pipe or a file
	Size       func() (width, rows int) // of the terminal, in characters, zeros if unknown; nil: unknown
}

// Screen lays out text for an output.
type Screen struct {
	width int // 0: unlimited
	rows  int // 0: unlimited
	marks marks

	Plain, Bold, Faint         Style
	Good, Busy, Waiting, Wrong Style
}

const (
	fallbackWidth = 80
	narrowest     = 24 // narrower terminals wrap lines themselves
)

// NewScreen returns the screen for an output.
func NewScreen(o Options) Screen {
	s := Screen{marks: marksFor(o.Getenv)}
	s.width, s.rows = o.extent()
	s.setStyles(o.colours())
	return s
}

// extent returns the size of the terminal; zeros in a pipe.
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

// Rows returns the number of lines of the terminal, 0 if unknown.
func (s Screen) Rows() int { return s.rows }

// wrap breaks text into lines that fit next to a margin.
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

// Fit cuts a line to the width left by a margin.
func (s Screen) Fit(text string, margin int) string {
	if s.width == 0 {
		return text
	}
	return ansi.Truncate(text, max(s.width-margin, narrowest/2), s.marks.more)
}

// StatusLine returns the state in at most 60 columns for a status bar, "" if there is nothing to report.
func (s Screen) StatusLine(state plan.State) string {
	p, before, title, after := state.Plan, "", "", ""
	switch questions := state.CurrentQuestions(); {
	case state.Draft != nil && state.ModeNow().Request != nil && !state.IsReturned():
		before, title = "plan waits for you: ", state.Draft.Objective
	case len(questions) > 0:
		before, title = "question for you: ", questions[0].Text
	case state.PhaseNow().IsRestricted():
		before, title = "planning: ", state.ModeNow().About()
	case p == nil || p.IsOver():
		return ""
	default:
		title, after = p.Objective, fmt.Sprintf(": %d/%d", p.Steps.Count(plan.Done), p.Steps.Len())
		if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 {
			after += ", blocked by " + plan.Shorten(safetext.EscapeLine(blockers[0].ID), narrowest/2)
		} else if p.Status != plan.StatusActive {
			after += ", " + string(p.Status)
		} else if step := p.Steps.Next(); step != nil && step.Status == plan.InProgress {
			after += ", " + step.ID.String() + " in progress"
		}
	}
	return before + ansi.Truncate(safetext.EscapeLine(title), 60-ansi.StringWidth(before+after), s.marks.more) + after
}

// Hang lays out printable text after a label; further lines are marked.
func (s Screen) Hang(label string, look Style, text string) []string {
	further := safetext.Mark
	if margin := ansi.StringWidth(label); margin > len(bar) {
		further = Pad("", margin-len(bar)) + bar
	}
	return s.hang(label, further, look, text)
}

func (s Screen) hang(label, further string, look Style, text string) []string {
	lines := s.wrap(text, max(ansi.StringWidth(label), len(further)))
	for i, line := range lines {
		if i > 0 {
			label = further
		}
		lines[i] = strings.TrimRight(label+look(line), " ")
	}
	return lines
}

// coloured lays out any text with a style on each line. All lines but the first begin with a bar.
func (s Screen) coloured(look Style, text string) []string {
	lines := s.barred("", "  ", safetext.Escape(text))
	for i, line := range lines {
		lines[i] = look(line)
	}
	return lines
}

const bar = "| " // the end of safetext.Mark

// barred lays out printable text with a margin; further lines get a deeper one and a bar.
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

// Told lays out our own lines that contain foreign text; long lines continue after a bar.
func (s Screen) Told(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, s.barred("", "  ", line)...)
	}
	return lines
}

// Next lays out the next action; nothing for "".
func (s Screen) Next(next string) []string {
	if next == "" {
		return nil
	}
	label := s.Bold("Next: ")
	return s.hang(label, Pad("", ansi.StringWidth(label)), s.Plain, safetext.EscapeLine(next))
}

// Dated lays out a log entry: revision, time and text.
func (s Screen) Dated(revision plan.Revision, at time.Time, text string, revisionWidth int) []string {
	label := fmt.Sprintf("%*d  %s  ", revisionWidth, revision, at.Local().Format(dateAndTime))
	return s.Hang(s.Faint(label), s.Plain, safetext.EscapeLine(text))
}

// atMost returns the first n lines, with a mark if more were cut.
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

// Joined returns the lines as one text.
func Joined(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

const dateAndTime = "2006-01-02 15:04"

// clock formats a time for people, without the date if it is today.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04")
	}
	return t.Format(dateAndTime)
}

// EnableColours makes old Windows consoles interpret escape sequences; on other systems it does nothing.
func EnableColours(out *os.File) {
	_, _ = termenv.EnableVirtualTerminalProcessing(termenv.NewOutput(out)) // on an error the output is plain
}

// Style puts a style on one line of text.
type Style func(string) string

func (s *Screen) setStyles(colours bool) {
	profile := termenv.Ascii
	if colours {
		profile = termenv.ANSI
	}
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetColorProfile(profile)   // overrides the library's detection
	renderer.SetHasDarkBackground(true) // has no effect here, but prevents a query to the terminal
	line := renderer.NewStyle().Inline(true)
	style := func(s lipgloss.Style) Style { return func(text string) string { return s.Render(text) } }
	colour := func(number string) Style { return style(line.Foreground(lipgloss.Color(number))) }
	s.Plain = func(text string) string { return text }
	s.Bold, s.Faint = style(line.Bold(true)), style(line.Faint(true))
	s.Wrong, s.Good, s.Waiting, s.Busy = colour("1"), colour("2"), colour("3"), colour("6")
}

func (o Options) colours() bool {
	switch {
	case o.Getenv("NO_COLOR") != "":
		return false
	case o.Getenv("CLICOLOR_FORCE") != "" && o.Getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return o.IsTerminal && o.Getenv("CLICOLOR") != "0" && o.Getenv("TERM") != "dumb"
}

type marks struct {
	done, running, ready, waiting, blocked, failed, dropped string
	bar                                                     [4]string // done, in progress, left, done but not verified
	ends                                                    [2]string // of the bar
	more                                                    string
	branch                                                  [2]string // to a child of the step above, and to its last child
	turning                                                 []string  // animation for running steps
}

// marksFor returns signs that the locale can display.
func marksFor(getenv func(string) string) marks {
	if inUTF8(getenv) {
		return marks{"✓", "▸", "○", "·", "!", "✗", "-", [4]string{"█", "▓", "░", "▒"}, [2]string{"", ""}, "…",
			[2]string{"├─ ", "└─ "}, []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}}
	}
	return marks{"x", ">", "o", ".", "!", "#", "-", [4]string{"#", "+", ".", "?"}, [2]string{"[", "]"}, "...",
		[2]string{"|- ", "`- "}, []string{"|", "/", "-", `\`}}
}

// inUTF8 reports whether the locale uses UTF-8, or is not set.
func inUTF8(getenv func(string) string) bool {
	for _, variable := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(variable)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

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
	case step.Status.IsFinished():
		return s.marks.dropped, s.Faint
	case ready:
		return s.marks.ready, s.Plain
	}
	return s.marks.waiting, s.Faint
}

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

// bar draws the progress of steps, with the done steps that are not verified apart.
func (s Screen) bar(steps plan.Steps, unverified int) string {
	width := 30
	if s.width > 0 {
		width = min(width, s.width/3)
	}
	total := steps.Len()
	done := steps.FinishedCount() * width / total
	verified := (steps.FinishedCount() - unverified) * width / total
	begun := (steps.FinishedCount() + steps.Count(plan.InProgress)) * width / total
	finished := s.Good(strings.Repeat(s.marks.bar[0], verified))
	if verified < done {
		finished += s.Waiting(strings.Repeat(s.marks.bar[3], done-verified))
	}
	return s.marks.ends[0] + finished +
		s.Busy(strings.Repeat(s.marks.bar[1], begun-done)) +
		s.Faint(strings.Repeat(s.marks.bar[2], width-begun)) + s.marks.ends[1]
}

// Live shows a page in the alternate screen and redraws it after every change.
type Live struct {
	Out    io.Writer
	Screen func() Screen // called for each redraw: the terminal may have been resized
	Page   func(context.Context) (Page, plan.Revision, error)
	CtrlC  string // the effect of Ctrl-C; "": to end
	Gone   bool   // the last page is not printed afterwards
}

// Escape sequences of the live view.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, hidden cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	fromTop     = "\x1b[H"
	endOfLine   = "\x1b[K\r\n"
	clearBelow  = "\x1b[K\x1b[J"
)

// Run redraws the screen after each message on changed and when the terminal is resized, until ctx ends or changed is
// closed. Unless Gone is set, the last page is then printed to the normal screen.
func (l Live) Run(ctx context.Context, changed <-chan struct{}) (err error) {
	resized, stop := resizes()
	defer stop()
	if err := l.print([]byte(enterScreen)); err != nil {
		return err
	}
	var last Page
	defer func() {
		_ = l.print([]byte(leaveScreen))
		if !l.Gone && (err == nil || ctx.Err() != nil) {
			_ = l.print(Joined(last.Lines()))
		}
	}()
	for {
		page, revision, err := l.Page(ctx)
		if err != nil {
			return err
		}
		last = page
		if err := l.print(l.Screen().frame(page, revision, cmp.Or(l.CtrlC, "to end"))); err != nil {
			return err
		}
		select {
		case _, ok := <-changed:
			if !ok {
				return ctx.Err()
			}
		case <-resized:
		}
	}
}

func (l Live) print(data []byte) error {
	if _, err := l.Out.Write(data); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// frame fits a page into the terminal: the body is cut around its focus.
func (s Screen) frame(p Page, revision plan.Revision, ctrlC string) []byte {
	hint := s.Faint(s.Fit(fmt.Sprintf("revision %d, Ctrl-C %s", revision, ctrlC), 0))
	p.foot = append(p.foot, "", hint)
	lines := p.Lines()
	if s.rows > 0 && len(lines) > s.rows {
		lines = p.cut(s)
	}
	for i, line := range lines {
		if ansi.StringWidth(line) > s.width {
			lines[i] = ansi.Truncate(line, s.width, s.marks.more)
		}
	}
	return []byte(fromTop + strings.Join(lines, endOfLine) + clearBelow)
}

// cut returns the lines that fit: the head, a part of the body around its focus, the foot.
func (p Page) cut(s Screen) []string {
	room := s.rows - len(p.head) - len(p.foot)
	if room < 3 { // a tiny terminal: the foot has the next action
		lines := append(p.body, p.foot...)
		return lines[max(0, len(lines)-s.rows):]
	}
	from := min(max(0, p.focus-room/3), len(p.body)-room)
	body := append([]string(nil), p.body[from:from+room]...)
	if from > 0 {
		body[0] = s.Faint(fmt.Sprintf("  %s %s above", s.marks.more, plan.Pluralize(from+1, "line")))
	}
	if left := len(p.body) - from - room; left > 0 {
		body[room-1] = s.Faint(fmt.Sprintf("  %s %s below", s.marks.more, plan.Pluralize(left+1, "line")))
	}
	return Page{head: p.head, body: body, foot: p.foot}.Lines()
}
