package terminal

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	timelineSteps = 40 // steps to show, unless All is set
	narrowestBar  = 8
)

// Timeline lays out the steps of the state's plan as bars over time.
func (v PlanView) Timeline(steps []history.TimelineStep) []string {
	if len(steps) == 0 {
		return []string{"No step was started yet."}
	}
	s, from, to := v.Screen, time.Time{}, time.Time{}
	for _, step := range steps {
		for _, part := range step.Parts {
			if from.IsZero() || part.From.Before(from) {
				from = part.From
			}
			if to = later(to, part.To); part.Kind == history.PartRunning && part.To.IsZero() {
				to = later(to, v.Now)
			}
		}
	}
	shown, more := steps, 0
	if len(steps) > timelineSteps && !v.All {
		shown, more = steps[:timelineSteps], len(steps)-timelineSteps
	}
	width, idWidth, titleWidth, factWidth := cmp.Or(s.width, fallbackWidth), 0, 0, 0
	for _, step := range shown {
		idWidth = max(idWidth, len(step.Step.String()))
		titleWidth = max(titleWidth, ansi.StringWidth(safetext.EscapeLine(step.Title)))
		factWidth = max(factWidth, len(timelineFacts(step, to)))
	}
	titleWidth = min(titleWidth, width/3)
	bar := max(narrowestBar, width-len("x ")-idWidth-3*len("  ")-titleWidth-factWidth)
	var lines []string
	for _, step := range shown {
		sign, look := s.marks.waiting, s.Faint
		if now, ok := v.State.Plan.Steps.Get(step.Step); ok {
			sign, look = s.mark(now, v.State.Plan.Steps.IsReady(step.Step))
		}
		title := ansi.Truncate(safetext.EscapeLine(step.Title), titleWidth, s.marks.more)
		line := look(sign) + " " + look(Pad(step.Step.String(), idWidth)) + "  " + Pad(title, titleWidth) + "  " +
			s.timelineBar(step.Parts, from, to, bar)
		if facts := timelineFacts(step, to); facts != "" {
			line += "  " + s.Faint(facts)
		}
		lines = append(lines, ansi.Truncate(strings.TrimRight(line, " "), width, s.marks.more))
	}
	if more > 0 {
		lines = append(lines, s.Faint(fmt.Sprintf("%s and %d more", s.marks.more, more)))
	}
	legend := clock(from, v.Now) + " - " + clock(to, v.Now)
	if took := history.FormatDuration(to.Sub(from)); took != "" {
		legend += " (" + took + ")"
	}
	legend += fmt.Sprintf("   %s waiting   %s running   %s failed or retried", s.marks.waiting, s.marks.bar[0], s.marks.bar[3])
	return append(append(lines, ""), s.Hang("", s.Faint, legend)...)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s Screen) timelineSign(kind history.PartKind) (string, Style) {
	switch kind {
	case history.PartRunning:
		return s.marks.bar[0], s.Busy
	case history.PartFailed:
		return s.marks.bar[3], s.Wrong
	}
	return s.marks.waiting, s.Faint
}

// timelineBar draws parts, each at least one column wide. Failed attempts are drawn over successful ones.
func (s Screen) timelineBar(parts []history.TimelinePart, from, to time.Time, width int) string {
	kinds := make([]history.PartKind, width)
	column := func(at time.Time) int {
		return int(math.Round(float64(width) * min(1, at.Sub(from).Seconds()/max(to.Sub(from).Seconds(), 1e-9))))
	}
	for _, kind := range []history.PartKind{history.PartWaiting, history.PartRunning, history.PartFailed} {
		for _, part := range parts {
			if part.Kind != kind {
				continue
			}
			first, end := min(column(part.From), width-1), width
			if !part.To.IsZero() {
				end = max(first+1, column(part.To))
			}
			for i := first; i < end; i++ {
				kinds[i] = kind
			}
		}
	}
	var b strings.Builder
	for i := 0; i < width; {
		n := 1
		for i+n < width && kinds[i+n] == kinds[i] {
			n++
		}
		if sign, look := s.timelineSign(kinds[i]); kinds[i] == "" {
			b.WriteString(Pad("", n))
		} else {
			b.WriteString(look(strings.Repeat(sign, n)))
		}
		i += n
	}
	return b.String()
}

// timelineFacts returns how long the work on a step took until a time, and the tokens that it used.
func timelineFacts(step history.TimelineStep, until time.Time) string {
	var worked time.Duration
	for _, part := range step.Parts {
		if part.Kind != history.PartWaiting {
			if part.To.IsZero() {
				part.To = until
			}
			worked += part.To.Sub(part.From)
		}
	}
	text := history.FormatDuration(worked)
	if step.Tokens > 0 {
		tokens := plan.Pluralize(step.Tokens, "token")
		if step.Tokens >= 10_000 {
			tokens = fmt.Sprintf("%dk tokens", step.Tokens/1000)
		}
		text = strings.TrimPrefix(text+", "+tokens, ", ")
	}
	return text
}
