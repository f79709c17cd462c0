package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func (v PlanView) step(step *plan.Step, idWidth int) []string {
	lines, margin := v.title(step, idWidth)
	lines = v.remark(lines, step, margin)
	return append(lines, v.below(step, margin)...)
}

// title lays out a step's mark, id and title, and returns the width of mark and id.
func (v PlanView) title(step *plan.Step, idWidth int) (lines []string, margin int) {
	s := v.Screen
	sign, look := s.mark(step, v.State.Plan.Steps.IsReady(step.ID))
	label := "  " + look(sign) + " " + look(Pad(step.ID.String(), idWidth)) + "  "
	title := s.Plain
	switch {
	case step.Status.IsFinished():
		title = s.Faint
	case step.Status == plan.InProgress:
		title = s.Bold
	}
	return s.Hang(label, title, safetext.EscapeLine(step.Title)), ansi.StringWidth(label)
}

// remark puts a step's remark after its title, or below it if it does not fit.
func (v PlanView) remark(lines []string, step *plan.Step, margin int) []string {
	text, look := v.about(step)
	if text == "" {
		return lines
	}
	last := len(lines) - 1
	if v.Screen.width == 0 || ansi.StringWidth(lines[last])+2+ansi.StringWidth(text) <= v.Screen.width {
		lines[last] += "  " + look(text)
		return lines
	}
	return append(lines, v.Screen.Hang(strings.Repeat(" ", margin), look, text)...)
}

// about returns the details that a step's mark does not show.
func (v PlanView) about(step *plan.Step) (string, Style) {
	s := v.Screen
	switch {
	case step.OpenQuestion() != nil:
		return "(" + askWords(step.OpenQuestion().Kind) + ")", s.Waiting
	case step.IsLooping():
		return "(for " + plan.Pluralize(len(step.Instances()), "entry") + ")", s.Busy
	case step.Status == plan.InProgress:
		return v.claim(step)
	case step.Status == plan.Blocked:
		return "(blocked)", s.Waiting
	case step.Status == plan.Failed && step.Critical:
		return "(failed, critical)", s.Wrong
	case step.Status == plan.Failed:
		return "(failed)", s.Wrong
	case step.Status == plan.Skipped, step.Status == plan.Cancelled:
		return "(" + string(step.Status) + ")", s.Faint
	}
	if waiting := v.State.Plan.Steps.UnmetDependencies(step.ID); len(waiting) > 0 && step.Status == plan.Pending {
		return "(waits for " + plan.IDs(waiting) + ")", s.Waiting
	}
	return "", nil
}

func (v PlanView) claim(step *plan.Step) (string, Style) {
	if step.ClaimedBy == "" {
		return "(in progress)", v.Screen.Busy
	}
	text := safetext.EscapeLine(verbs.Carrier(step)) + prefixed(", since ", v.clock(step.StartedAt))
	if v.Lapsed != nil && v.Lapsed(step) {
		return "(" + text + ", gone: may be taken over)", v.Screen.Waiting
	}
	return "(" + text + ")", v.Screen.Busy
}

// below returns the lines under a step's title: details while it is open, the last note and the last evidence.
func (v PlanView) below(step *plan.Step, margin int) []string {
	lines := v.unseen(step, margin)
	if v.All || !step.Status.IsFinished() {
		lines = append(lines, v.block(margin, detailLines, step.Details)...)
	}
	notes := latest(v, step.Notes)
	for _, note := range notes {
		lines = append(lines, v.block(margin, noteLines, "note: "+note)...)
	}
	if !slices.Contains(notes, step.Error) {
		lines = append(lines, v.block(margin, noteLines, prefixed("error: ", step.Error))...)
	}
	for _, r := range v.Remarks {
		if r.Now == step.ID && (v.All || !r.IsResolved) {
			lines = append(lines, v.block(margin, noteLines, r.Lines(true)...)...)
		}
	}
	return append(lines, v.evidence(step, margin)...)
}

// latest returns the last entry of a list; with All the whole list.
func latest[T any](v PlanView, list []T) []T {
	if v.All {
		return list
	}
	return list[max(0, len(list)-1):]
}

// Remarks lays out the comments on a draft.
func (s Screen) Remarks(remarks []verbs.PlacedComment) []string {
	var lines []string
	for _, r := range remarks {
		for _, text := range r.Lines(false) {
			lines = append(lines, s.coloured(s.Plain, text)...)
		}
	}
	if lines != nil {
		lines = append([]string{"", s.Bold("Comments:")}, lines...)
	}
	return lines
}

func (v PlanView) unseen(step *plan.Step, margin int) []string {
	text := v.State.Plan.Approval.UnseenNote(step.ID)
	if text == "" {
		return nil
	}
	return v.Screen.Hang(strings.Repeat(" ", margin), v.Screen.Waiting, text)
}

func (v PlanView) evidence(step *plan.Step, margin int) []string {
	var lines []string
	for _, e := range latest(v, step.Evidence) {
		lines = append(lines, v.block(margin, 1, "evidence: "+v.proof(e))...)
		if v.All {
			lines = append(lines, v.block(margin+2, 0, e.Output)...)
		}
	}
	return lines
}

// proof describes a piece of evidence, and whether planloop recorded it itself.
func (v PlanView) proof(e plan.Evidence) string {
	text := e.Note
	switch {
	case e.Command != "" && e.ExitCode != nil:
		text = e.Command + " " + e.Outcome()
		if !e.Recorded {
			text += ", as reported"
		}
	case e.Command != "":
		text = e.Command + ", as reported"
	case e.Criterion != "":
		text = e.Criterion + ": " + e.Note
	}
	if v.All {
		text += fmt.Sprintf(" (%s, %s)", e.By, v.clock(e.At))
	}
	return text
}

// Step lays out everything known about a step, one row per field.
func (v PlanView) Step(step *plan.Step) []string {
	lines, margin := v.title(step, len(step.ID.String()))
	lines = append(append(lines, v.unseen(step, margin)...), "")
	row := func(label string, texts ...string) {
		for _, text := range texts {
			if text == "" {
				continue
			}
			lines = append(lines, v.Screen.Hang(v.Screen.Faint(Pad(label, rowMargin)), v.Screen.Plain, safetext.Escape(text))...)
			label = Pad("", rowMargin-len(bar)) + bar
		}
	}
	for _, f := range plan.SpecFields()[1:] { // below its title
		row(f.Label, f.Texts(step)...)
	}
	row("needed by", plan.IDs(v.State.Plan.Steps.Dependents(step.ID)))
	v.become(step, row)
	for _, r := range v.Remarks {
		if r.Now == step.ID {
			row("comment", r.Lines(true)...)
		}
	}
	return lines
}

const rowMargin = 12

func (v PlanView) become(step *plan.Step, row func(string, ...string)) {
	status := step.Status.Spaced()
	if about, _ := v.about(step); about != "" && about != "("+status+")" {
		status += " " + about
	}
	row("status", status)
	if step.Attempts > 1 {
		row("attempts", strconv.Itoa(step.Attempts))
	}
	row("started", v.clock(step.StartedAt))
	if !step.CompletedAt.IsZero() {
		row("completed", v.clock(step.CompletedAt)+prefixed(" by ", step.ExecutedBy))
	}
	if now := v.StepProgress[step.ID]; step.IsRunning() {
		row("agent", step.ActiveAgent())
		row("doing", cmp.Or(safetext.LastLine(now.What), safetext.LastLine(now.Log)))
	}
	row("notes", step.Notes...)
	row("error", step.Error)
	for i, e := range step.Evidence {
		label := "evidence"
		if i > 0 {
			label = Pad("", rowMargin-len(bar)) + bar
		}
		row(label, v.proof(e), e.Output)
	}
	row("output", verbs.ShownOutput(step))
	row("files", step.AffectedFiles...)
	if step.Execution != nil {
		row("not named", step.Execution.OutOfScopeFiles...)
		if step.IsStale() {
			row("stale", "it used a value that was replaced")
		}
		if x := step.Execution; x.CommitMoved || x.ChangesUnknown {
			row("warning", "it "+history.ChangesOutside(nil, x.CommitMoved, x.ChangesUnknown))
		}
	}
	for _, signal := range v.State.Signals {
		if signal.Open && v.State.SignalStep(signal) == step.ID && v.Former == nil {
			row("signal", fmt.Sprintf("%s %s: %s", signal.Level, plan.Quote(signal.ID), signal.Message))
		}
	}
}

// clock formats a time for people, "" for none.
func (v PlanView) clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t, v.Now)
}
