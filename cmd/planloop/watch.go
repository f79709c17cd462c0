package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// watch shows the plan at every change, whichever process makes it, until ctx
// ends, which is no error. Nothing is asked for in between: the log tells of its
// growth.
func (a *app) watch(ctx context.Context, opened *opened, format showFormat, all bool) error {
	grown, err := opened.verbs.Watch(ctx)
	if err != nil {
		return err
	}
	w := watching{app: a, opened: opened, format: format, all: all}
	if a.outIsTerm && format != "json" {
		err = w.live(ctx, grown)
	} else {
		err = w.append(ctx, grown)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

type watching struct {
	*app
	opened *opened
	format showFormat
	all    bool
}

// append prints one rendering after the other, with an empty line between them;
// JSON is one document a line.
func (w watching) append(ctx context.Context, grown <-chan struct{}) error {
	shown := plan.Revision(-1)
	for {
		state, err := w.opened.verbs.State(ctx)
		if err != nil {
			return err
		}
		if state.Revision != shown {
			data, err := w.rendering(state)
			if err != nil {
				return err
			}
			if shown >= 0 && w.format != "json" {
				data = append([]byte("\n"), data...)
			}
			if err := w.print(data); err != nil {
				return err
			}
			shown = state.Revision
		}
		if _, ok := <-grown; !ok {
			return ctx.Err()
		}
	}
}

func (w watching) rendering(state plan.State) ([]byte, error) {
	if w.format == "text" {
		return joined(w.view(w.opened, state, nil, w.all).lines()), nil
	}
	data, err := rendered(state, w.format)
	if err != nil || w.format != "json" {
		return data, err
	}
	return oneLine(data)
}

// The sequences of the live view.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // a screen of its own, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	fromTop     = "\x1b[H"
	endOfLine   = "\x1b[K\r\n"
	clearBelow  = "\x1b[K\x1b[J"
)

// live redraws a screen of its own at every change and when the terminal gets
// another size. What was shown last stays in the terminal afterwards.
func (w watching) live(ctx context.Context, grown <-chan struct{}) (err error) {
	resized, stop := resizes()
	defer stop()
	if err := w.print([]byte(enterScreen)); err != nil {
		return err
	}
	var last page
	defer func() {
		_ = w.print([]byte(leaveScreen))
		if err == nil || ctx.Err() != nil {
			_ = w.print(joined(last.lines()))
		}
	}()
	for {
		state, err := w.opened.verbs.State(ctx)
		if err != nil {
			return err
		}
		if last, err = w.page(state); err != nil {
			return err
		}
		if err := w.print(w.frame(last, state.Revision)); err != nil {
			return err
		}
		select {
		case _, ok := <-grown:
			if !ok {
				return ctx.Err()
			}
		case <-resized:
		}
	}
}

// page lays a state out in the format asked for.
func (w watching) page(state plan.State) (page, error) {
	if w.format == "text" {
		return w.view(w.opened, state, nil, w.all), nil
	}
	data, err := rendered(state, w.format)
	if err != nil {
		return page{}, err
	}
	return page{body: strings.Split(string(bytes.TrimRight(data, "\n")), "\n")}, nil
}

// frame fits a page into the terminal: what does not fit is cut from the body,
// around the step to work on.
func (w watching) frame(p page, revision plan.Revision) []byte {
	s := w.screen()
	hint := s.faint(s.fit(fmt.Sprintf("revision %d, Ctrl-C to end", revision), 0))
	p.foot = append(p.foot, "", hint)
	lines := p.lines()
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

// cut returns the lines that fit: the head, a part of the body around its focus,
// the foot.
func (p page) cut(s screen) []string {
	room := s.rows - len(p.head) - len(p.foot)
	if room < 3 { // a tiny terminal: the foot says what to do
		lines := append(p.body, p.foot...)
		return lines[max(0, len(lines)-s.rows):]
	}
	from := min(max(0, p.focus-room/3), len(p.body)-room)
	body := append([]string(nil), p.body[from:from+room]...)
	if from > 0 {
		body[0] = s.faint(fmt.Sprintf("  %s %s above", s.marks.more, count(from+1, "line")))
	}
	if left := len(p.body) - from - room; left > 0 {
		body[room-1] = s.faint(fmt.Sprintf("  %s %s below", s.marks.more, count(left+1, "line")))
	}
	return page{head: p.head, body: body, foot: p.foot}.lines()
}
