package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

const (
	shortPlan    = 20 // a plan of so many steps is shown without folds
	shortestFold = 3
	detailLines  = 3
	noteLines    = 2
)

// planView lays a state out for a person.
type planView struct {
	screen screen
	state  plan.State
	former *plan.PastPlan // set when the plan is not the current one
	all    bool           // nothing is folded or shortened
	next   string         // "" for none
	now    time.Time
	lapsed func(*plan.Step) bool // whether a claim has passed over; nil: none has
}

// page is a laid-out state in its parts, so that the live view can fit it into
// a terminal: the head and the foot always show.
type page struct {
	head, body, foot []string
	focus            int // the line of the body that matters most
}

func (p page) lines() []string { return slices.Concat(p.head, p.body, p.foot) }

func (v planView) page() page {
	var p page
	p.head = v.head()
	p.body, p.focus = v.steps()
	p.foot = v.foot()
	return p
}

func (v planView) head() []string {
	var lines []string
	for _, line := range v.screen.wrap(printableLine(v.state.Plan.Objective), 0) {
		lines = append(lines, v.screen.bold(line))
	}
	lines = append(lines, v.status()...)
	if summary := v.state.Plan.Summary; summary != "" {
		lines = append(lines, v.block(summary, 0, detailLines)...)
	}
	lines = append(lines, v.verdict()...)
	lines = append(lines, v.approval()...)
	return append(lines, "")
}

// status is where the plan stands: its status, the bar, the numbers.
func (v planView) status() []string {
	p, s := v.state.Plan, v.screen
	line := s.planStyle(p.Status)(string(p.Status))
	if p.Version > 1 {
		line += fmt.Sprintf(", version %d", p.Version)
	}
	if p.Steps.Len() == 0 {
		return []string{line + s.faint(", no steps")}
	}
	line += fmt.Sprintf("  %s  %d of %d done", s.bar(p.Steps), p.Steps.Count(plan.Done), p.Steps.Len())
	line = s.fit(line, 0)
	plain, styled := v.counts()
	switch {
	case plain == "":
		return []string{line}
	case s.width == 0 || ansi.StringWidth(line)+2+ansi.StringWidth(plain) <= s.width:
		return []string{line + ", " + styled}
	}
	return []string{line, s.fit(styled, 0)}
}

// counts names how many steps have a status that is worth a word.
func (v planView) counts() (plain, styled string) {
	s := v.screen
	var words, looks []string
	for _, part := range []struct {
		status plan.StepStatus
		word   string
		style  style
	}{
		{plan.Failed, "failed", s.wrong}, {plan.Blocked, "blocked", s.waiting}, {plan.InProgress, "in progress", s.busy},
		{plan.Skipped, "skipped", s.faint}, {plan.Cancelled, "cancelled", s.faint},
	} {
		if n := v.state.Plan.Steps.Count(part.status); n > 0 {
			word := fmt.Sprintf("%d %s", n, part.word)
			words, looks = append(words, word), append(looks, part.style(word))
		}
	}
	return strings.Join(words, ", "), strings.Join(looks, ", ")
}

// steps lays out the steps and returns the line of the one to work on.
func (v planView) steps() (lines []string, focus int) {
	steps := v.state.Plan.Steps
	idWidth := len(steps.Highest().String())
	next := steps.Next()
	for i := 0; i < steps.Len(); {
		if n := v.foldable(i); n > 0 {
			lines = append(lines, v.fold(i, n))
			i += n
			continue
		}
		step := steps.At(i)
		if step == next {
			focus = len(lines)
		}
		lines = append(lines, v.step(step, idWidth)...)
		i++
	}
	return lines, focus
}

// foldable returns how many finished steps from position i on become one line.
func (v planView) foldable(i int) int {
	steps := v.state.Plan.Steps
	if v.all || steps.Len() <= shortPlan {
		return 0
	}
	n := 0
	for i+n < steps.Len() && steps.At(i+n).Status.Finished() {
		n++
	}
	if n < shortestFold {
		return 0
	}
	return n
}

func (v planView) fold(i, n int) string {
	steps := v.state.Plan.Steps
	done := 0
	for k := range n {
		if steps.At(i+k).Status == plan.Done {
			done++
		}
	}
	text := fmt.Sprintf("%s-%s  %d steps done", steps.At(i).ID, steps.At(i+n-1).ID, n)
	if done < n {
		text = fmt.Sprintf("%s-%s  %d steps finished, %d of them done", steps.At(i).ID, steps.At(i+n-1).ID, n, done)
	}
	return "  " + v.screen.good(v.screen.marks.done) + " " + v.screen.faint(v.screen.fit(text, 4))
}

func (v planView) step(step *plan.Step, idWidth int) []string {
	lines, margin := v.title(step, idWidth)
	lines = v.remark(lines, step, margin)
	return append(lines, v.below(step, margin)...)
}

// title lays out a step's mark, id and title, and returns the margin that these
// leave.
func (v planView) title(step *plan.Step, idWidth int) (lines []string, margin int) {
	s := v.screen
	sign, look := s.mark(step, v.state.Plan.Steps.IsReady(step.ID))
	id := pad(step.ID.String(), idWidth)
	margin = 2 + ansi.StringWidth(sign) + 1 + idWidth + 2
	indent := strings.Repeat(" ", margin)

	title := s.plain
	switch {
	case step.Status.Finished():
		title = s.faint
	case step.Status == plan.InProgress:
		title = s.bold
	}
	for i, text := range s.wrap(printableLine(step.Title), margin) {
		if i == 0 {
			lines = append(lines, "  "+look(sign)+" "+look(id)+"  "+title(text))
		} else {
			lines = append(lines, indent+title(text))
		}
	}
	return lines, margin
}

// remark puts what is to be known about a step behind its title, or below it
// where there is no room.
func (v planView) remark(lines []string, step *plan.Step, margin int) []string {
	text, look := v.about(step)
	if text == "" {
		return lines
	}
	last := len(lines) - 1
	if v.screen.width == 0 || ansi.StringWidth(lines[last])+2+ansi.StringWidth(text) <= v.screen.width {
		lines[last] += "  " + look(text)
		return lines
	}
	for _, line := range v.screen.wrap(text, margin) {
		lines = append(lines, strings.Repeat(" ", margin)+look(line))
	}
	return lines
}

// about says in words what the mark of an open step leaves open.
func (v planView) about(step *plan.Step) (string, style) {
	s := v.screen
	switch {
	case step.Status == plan.InProgress:
		return v.claim(step)
	case step.Status == plan.Blocked:
		return "(blocked)", s.waiting
	case step.Status == plan.Failed && step.Critical:
		return "(failed, critical)", s.wrong
	case step.Status == plan.Failed:
		return "(failed)", s.wrong
	case step.Status == plan.Skipped, step.Status == plan.Cancelled:
		return "(" + string(step.Status) + ")", s.faint
	}
	if waiting := v.state.Plan.Steps.WaitingOn(step.ID); len(waiting) > 0 && step.Status == plan.Pending {
		return "(waits for " + plan.IDs(waiting) + ")", s.waiting
	}
	return "", nil
}

// claim says who works on a step, and whether that may still be so.
func (v planView) claim(step *plan.Step) (string, style) {
	if step.ClaimedBy == "" {
		return "(in progress)", v.screen.busy
	}
	text := printableLine(step.ClaimedBy)
	if !step.StartedAt.IsZero() {
		text += ", since " + v.clock(step.StartedAt)
	}
	if v.lapsed != nil && v.lapsed(step) {
		return "(" + text + ", gone: anybody may go on)", v.screen.waiting
	}
	return "(" + text + ")", v.screen.busy
}

// below is what is shown under a step's title: details while it is open, the
// last note and the last evidence.
func (v planView) below(step *plan.Step, margin int) []string {
	var lines []string
	if step.Details != "" && (v.all || !step.Status.Finished()) {
		lines = append(lines, v.block(step.Details, margin, detailLines)...)
	}
	notes := step.Notes
	if len(notes) > 0 && !v.all {
		notes = notes[len(notes)-1:]
	}
	for _, note := range notes {
		lines = append(lines, v.block("note: "+note, margin, noteLines)...)
	}
	if step.Error != "" && !slices.Contains(notes, step.Error) {
		lines = append(lines, v.block("error: "+step.Error, margin, noteLines)...)
	}
	return append(lines, v.evidence(step, margin)...)
}

// block lays out faint text behind a margin, in at most so many lines.
func (v planView) block(text string, margin, most int) []string {
	lines := v.screen.wrap(printable(text), margin)
	if !v.all {
		lines = v.screen.atMost(most, lines, margin)
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(strings.Repeat(" ", margin)+v.screen.faint(line), " ")
	}
	return out
}

func (v planView) foot() []string {
	var lines []string
	if v.state.Plan.Steps.Len() > 0 {
		lines = append(lines, "")
	}
	if final := v.state.Plan.FinalSummary; final != "" {
		lines = append(append(lines, v.block("Final summary: "+final, 0, detailLines)...), "")
	}
	if p := v.state.Plan; p.Status == plan.StatusAbandoned && p.Steps.Len() == 0 {
		text := "Bring its steps back: planloop restore " + p.ID
		lines = append(lines, v.block(text, 0, len(text))...)
	}
	if v.former != nil {
		text := fmt.Sprintf("A former plan, %s on %s. Bring it back: planloop restore %s",
			pastWord(v.former.Reason), v.former.ArchivedAt.Local().Format("2006-01-02 15:04"), v.former.ID)
		return append(lines, v.block(text, 0, len(text))...)
	}
	lines = append(lines, v.mode()...)
	lines = append(lines, v.signals()...)
	return append(lines, v.screen.nextLines(v.next)...)
}

func (v planView) clock(t time.Time) string { return clock(t, v.now) }

// pastWord says what became of a former plan.
func pastWord(reason string) string {
	switch reason {
	case "cleared", "replaced":
		return reason
	}
	return "replaced by a restored one"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
