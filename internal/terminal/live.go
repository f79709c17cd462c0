package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

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
