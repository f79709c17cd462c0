package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// RunView lays out a running plan: a line or two per step, with steps that do not fit into the terminal as numbers.
// Running and asking steps are always shown.
type RunView struct {
	PlanView
	Turn    int // position in the animation of running steps
	Limits  RunLimits
	Waiting string // for what, and since when
}

// RunLimits is the duration of a run for its viewer, and its limits.
type RunLimits struct {
	Begun  time.Time // zero: unknown
	Until  time.Time // no new steps start after this; zero: unlimited
	Before int       // number of earlier agent starts
	Starts int       // most agent starts after Before; 0: unlimited
}

// Progress is the progress of a step while an engine carries it out.
type Progress struct {
	Percent int    // 0 to 100
	What    string // current activity
	Log     string // the end of its output
}

const hintLines = 2 // that the live view adds below a page

// Page lays out the run.
func (v RunView) Page() Page {
	if v.State.Plan == nil {
		return v.withoutPlan()
	}
	head := append(v.Screen.atMost(2, v.Screen.coloured(v.Screen.Bold, v.State.Plan.Objective), 0), "")
	foot := append(append([]string{""}, v.status()...), v.duration()...)
	foot = append(append(foot, v.mode()...), v.signals()...)
	if v.Waiting != "" {
		foot = append(foot, v.Screen.coloured(v.Screen.Waiting, v.Waiting)...)
	}
	foot = append(foot, v.Screen.Next(v.Next)...)
	room := 0
	if rows := v.Screen.rows; rows > 0 {
		room = max(3, rows-len(head)-len(foot)-hintLines)
	}
	body, focus := v.tree(room)
	return Page{head: head, body: body, foot: foot, focus: focus}
}

type runRow struct {
	step   *plan.Step
	branch string // before an instance of a loop
	rank   int    // relevance: rows with the highest ranks are hidden first
}

// The ranks.
const (
	rankNow = iota // running or asking
	rankWrong
	rankBegun
	rankReady
	rankWaiting
	rankFinished
	ranks
)

// tree lays out the steps in at most room lines, 0 for unlimited, and returns the most important line.
func (v RunView) tree(room int) (lines []string, focus int) {
	rows := v.rows()
	hidden := ranks
	for hidden > rankWrong && room > 0 && v.height(rows, hidden) > room {
		hidden--
	}
	focus = -1
	for i := 0; i < len(rows); {
		if n := folded(rows[i:], hidden); n > 1 {
			lines = append(lines, v.foldRows(rows[i:i+n]))
			i += n
			continue
		}
		if rows[i].rank == rankNow && focus < 0 {
			focus = len(lines)
		}
		lines = append(lines, v.row(rows[i])...)
		i++
	}
	return lines, max(focus, 0)
}

// height returns the number of lines of the rows if those from rank hidden on are hidden.
func (v RunView) height(rows []runRow, hidden int) int {
	height := 0
	for i := 0; i < len(rows); {
		n := folded(rows[i:], hidden)
		if height++; n <= 1 && v.below(rows[i].step) != "" {
			height++
		}
		i += max(1, n)
	}
	return height
}

// folded returns the number of hidden rows at the beginning.
func folded(rows []runRow, hidden int) int {
	n := 0
	for n < len(rows) && rows[n].rank >= hidden {
		n++
	}
	return n
}

func askWords(kind plan.AskKind) string {
	return map[plan.AskKind]string{plan.AskApproval: "may it run?", plan.AskPause: "asks you",
		plan.AskUnknown: "outcome unknown"}[kind]
}

func (v RunView) rows() []runRow {
	steps := v.State.Plan.Steps
	rows := make([]runRow, 0, steps.Len())
	for step := range steps.All() {
		if _, grouped := steps.Get(step.Loop()); grouped {
			continue
		}
		rows = append(rows, runRow{step: step, rank: v.rank(step)})
		if step.Execution == nil {
			continue
		}
		from := len(rows)
		for _, id := range step.Execution.Instances {
			if instance, ok := steps.Get(id); ok {
				rows = append(rows, runRow{instance, v.Screen.marks.branch[0], v.rank(instance)})
			}
		}
		if len(rows) > from {
			rows[len(rows)-1].branch = v.Screen.marks.branch[1]
		}
	}
	return rows
}

func (v RunView) rank(step *plan.Step) int {
	switch {
	case step.OpenQuestion() != nil, step.IsRunning():
		return rankNow
	case step.Status == plan.Failed, step.Status == plan.Blocked:
		return rankWrong
	case step.Status == plan.InProgress:
		return rankBegun
	case step.Status.IsFinished():
		return rankFinished
	case v.State.Plan.Steps.IsReady(step.ID):
		return rankReady
	}
	return rankWaiting
}

func (v RunView) foldRows(rows []runRow) string {
	words := [ranks]string{rankWrong: "failed or blocked", rankBegun: "in progress", rankReady: "ready", rankWaiting: "waiting",
		rankFinished: "finished"}
	var counts [ranks]int
	low, high, done := rows[0].step.ID, rows[0].step.ID, 0
	for _, row := range rows {
		counts[row.rank]++
		low, high = min(low, row.step.ID), max(high, row.step.ID)
		if row.step.Status == plan.Done {
			done++
		}
	}
	if done == counts[rankFinished] {
		words[rankFinished] = "done"
	}
	var parts []string
	for rank, n := range slices.Backward(counts[:]) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[rank]))
		}
	}
	text := fmt.Sprintf("%s-%s  %s", low, high, strings.Join(parts, ", "))
	return "  " + v.Screen.Faint(v.Screen.Fit(v.Screen.marks.more+" "+text, 2))
}

func (v RunView) row(r runRow) []string {
	s, idWidth := v.Screen, len(v.State.Plan.Steps.Highest().String())
	sign, look := v.sign(r.step)
	label := "  " + r.branch + look(sign) + " " + look(Pad(r.step.ID.String(), idWidth)) + "  "
	remark, remarkLook := v.remarks(r.step)
	title, margin := s.Plain, ansi.StringWidth(label)
	if r.rank == rankFinished || r.rank == rankWaiting {
		title = s.Faint
	}
	if r.rank == rankNow {
		title = s.Bold
	}
	line := label + title(s.Fit(safetext.EscapeLine(r.step.Title), margin+len("  ")+ansi.StringWidth(remark)))
	if remark != "" {
		line += "  " + remarkLook(remark)
	}
	lines := []string{s.Fit(line, 0)}
	if below := v.below(r.step); below != "" {
		lines = append(lines, strings.Repeat(" ", margin)+s.Faint(s.Fit(bar+below, margin)))
	}
	return lines
}

func (v RunView) sign(step *plan.Step) (string, Style) {
	s := v.Screen
	switch {
	case step.OpenQuestion() != nil:
		return "?", s.asking
	case step.IsRunning():
		return s.marks.turning[v.Turn%len(s.marks.turning)], s.Busy
	}
	return s.mark(step, v.State.Plan.Steps.IsReady(step.ID))
}

// asking is the style of a step that asks the person.
func (s Screen) asking(text string) string { return s.Bold(s.Waiting(text)) }

func (v RunView) remarks(step *plan.Step) (string, Style) {
	s := v.Screen
	switch ask := step.OpenQuestion(); {
	case ask != nil:
		return askWords(ask.Kind), s.asking
	case step.IsRunning():
		return v.pace(step), s.Busy
	case step.Execution != nil && step.IsExpanded() && len(step.Execution.Instances) > 0:
		return v.entries(step.Execution.Instances), s.Faint
	case step.Status == plan.Done && step.Result != nil && step.Result.Duration > 0:
		return history.FormatDuration(time.Duration(step.Result.Duration) * time.Millisecond), s.Faint
	case step.Status == plan.Done:
		return "", s.Faint
	case step.Status == plan.Failed && step.Attempts > 1:
		return fmt.Sprintf("(failed, attempt %d)", step.Attempts), s.Wrong
	}
	return v.about(step)
}

func (v RunView) pace(step *plan.Step) string {
	text := ""
	if agent := step.ActiveAgent(); agent != "" {
		text = safetext.EscapeLine(agent) + "  "
	}
	if percent := min(max(v.StepProgress[step.ID].Percent, 0), 100); percent > 0 {
		const width = 10
		done := percent * width / 100
		marks := v.Screen.marks
		text = marks.ends[0] + strings.Repeat(marks.bar[0], done) + strings.Repeat(marks.bar[2], width-done) + marks.ends[1] +
			fmt.Sprintf(" %d%%  ", percent)
	}
	if !step.StartedAt.IsZero() {
		text += history.FormatDuration(v.Now.Sub(step.StartedAt)) + "  "
	}
	if step.Attempts > 1 {
		text += fmt.Sprintf("attempt %d", step.Attempts)
	}
	return strings.TrimSpace(text)
}

func (v RunView) entries(instances []plan.StepID) string {
	done := 0
	for _, id := range instances {
		if instance, ok := v.State.Plan.Steps.Get(id); ok && instance.Status == plan.Done {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(instances))
}

// below returns the line below a step: its question, activity or error.
func (v RunView) below(step *plan.Step) string {
	ask, now := step.OpenQuestion(), v.StepProgress[step.ID]
	switch {
	case ask != nil && ask.Kind == plan.AskPause:
		return safetext.EscapeLine(ask.Text)
	case ask != nil:
		return strings.TrimSpace(safetext.EscapeLine(step.Tool) + " " + safetext.EscapeLine(plan.Shorten(string(ask.Args), 1000)))
	case step.ActiveAgent() != "":
		return cmp.Or(safetext.LastLine(now.What), safetext.LastLine(now.Log))
	case step.IsRunning():
		return cmp.Or(safetext.LastLine(now.Log), safetext.LastLine(now.What))
	case step.Status == plan.Failed:
		return firstLine(step.Error)
	case step.Status == plan.Blocked && len(step.Notes) > 0:
		return firstLine(step.Notes[len(step.Notes)-1])
	case step.Execution != nil && step.Execution.ExceededScope():
		x := step.Execution
		return "warning: it " + safetext.EscapeLine(history.ChangesOutside(x.OutOfScopeFiles, x.CommitMoved, x.ChangesUnknown))
	}
	return ""
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return safetext.EscapeLine(first)
}

func (v RunView) duration() []string {
	c := v.Limits
	if c.Begun.IsZero() || v.State.Run == nil {
		return nil
	}
	text, started := v.Now.Sub(c.Begun).Round(time.Second).String(), 0
	joint := ", agents started: "
	for _, name := range slices.Sorted(maps.Keys(v.State.Run.Starts)) {
		started += v.State.Run.Starts[name]
		text += fmt.Sprintf("%s%s %d", joint, safetext.EscapeLine(name), v.State.Run.Starts[name])
		joint = ", "
	}
	if c.Starts > 0 {
		text += fmt.Sprintf("; --starts leaves %d", max(0, c.Starts+c.Before-started))
	}
	if !c.Until.IsZero() {
		text += "; --for leaves " + max(0, c.Until.Sub(v.Now)).Round(time.Second).String()
	}
	return []string{v.Screen.Faint(v.Screen.Fit(text, 0))}
}
