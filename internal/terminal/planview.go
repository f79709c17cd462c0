package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const (
	shortPlan     = 20 // largest plan that is shown without folds
	shortestFold  = 3
	detailLines   = 3
	noteLines     = 2
	messageLines  = 2
	signalsListed = 3 // open signals to show, unless All is set
)

// PlanView lays out a state for a person.
type PlanView struct {
	Screen  Screen
	State   plan.State
	Where   string         // describes the workspace, for a state without a plan
	Former  *plan.PastPlan // set when the plan is not the current one
	All     bool           // do not fold or shorten anything
	Hooks   string         // how far planning mode is enforced; "" if unknown
	Next    string         // the next action, or ""
	Account plan.Account   // of the finished work
	Now     time.Time
	OnPage  bool                  // people decide on a team's page, and not here
	Lapsed  func(*plan.Step) bool // whether a claim has lapsed; nil: none have

	Remarks      []verbs.PlacedComment    // the comments on the plan
	StepProgress map[plan.StepID]Progress // progress of the steps that engines carry out

	isBelowDraft bool // the page begins with the draft
}

// Page is a laid-out state in parts, so that the live view can fit it into a terminal: the head and the foot are
// always visible.
type Page struct {
	head, body, foot []string
	focus            int // the most important line of the body
}

// TextPage returns the page for a text that is already laid out.
func TextPage(text string) Page {
	return Page{body: strings.Split(strings.TrimRight(text, "\n"), "\n")}
}

// Lines returns all lines of the page.
func (p Page) Lines() []string { return slices.Concat(p.head, p.body, p.foot) }

// Page lays the state out, a plan that waits for a decision before the current one.
func (v PlanView) Page() Page {
	v.isBelowDraft = v.waitsFirst()
	page := v.current()
	if v.isBelowDraft {
		draft := PlanView{Screen: v.Screen, State: plan.State{Plan: v.State.Draft}, All: v.All, Now: v.Now}
		steps, _ := draft.steps()
		page.body = slices.Concat(steps, []string{"", v.Screen.Bold("The plan until then:")}, page.head, page.body)
		page.head, page.focus = append(v.waiting(), draft.head()...), 0
	}
	return page
}

func (v PlanView) waitsFirst() bool {
	draft := v.State.Draft
	return v.Former == nil && draft != nil && !v.State.IsReturned() && (v.State.Plan == nil || v.State.Plan.ID != draft.ID)
}

// current lays out the plan of the state.
func (v PlanView) current() Page {
	if v.State.Plan == nil {
		return v.withoutPlan()
	}
	body, focus := v.steps()
	return Page{head: v.head(), body: body, foot: v.foot(), focus: focus}
}

func (v PlanView) withoutPlan() Page {
	first := "No plan yet " + safetext.EscapeLine(v.Where) + "."
	if v.State.Draft != nil || v.State.PhaseNow() != plan.PhaseInactive {
		return Page{body: append([]string{first}, v.mode()...), foot: append([]string{""}, v.Screen.Next(v.Next)...)}
	}
	bold := v.Screen.Bold
	return Page{body: []string{
		first,
		"",
		bold("Set one up: ") + `planloop start "Fix the login bug" --step "Write a failing test"`,
		bold("Import one: ") + "planloop import FILE",
		bold("Let an agent set one up: ") + "run planloop without a command to see how to connect it",
	}}
}

func (v PlanView) head() []string {
	summary := v.block(0, detailLines, prefixed("Summary: ", v.State.Plan.Summary))
	terms := v.block(0, detailLines, verbs.Terms(v.State.Plan)...)
	checked := v.block(0, detailLines, v.Account.Checked())
	return slices.Concat(v.Screen.coloured(v.Screen.Bold, v.State.Plan.Objective), v.status(), checked, summary, terms,
		v.verdict(), v.approval(), []string{""})
}

func (v PlanView) status() []string {
	p, s := v.State.Plan, v.Screen
	word := string(p.Status)
	if p.IsCleared() {
		word = "cleared"
	}
	line := s.planStyle(p.Status)(word)
	if p.Version > 1 {
		line += fmt.Sprintf(", version %d", p.Version)
	}
	if p.Steps.Len() == 0 {
		return []string{line + s.Faint(", no steps")}
	}
	line += fmt.Sprintf("  %s  %d of %d done", s.bar(p.Steps, len(v.Account.Unverified)), p.Steps.Count(plan.Done), p.Steps.Len())
	line = s.Fit(line, 0)
	counts := v.counts()
	switch {
	case counts == "":
		return []string{line}
	case s.width == 0 || ansi.StringWidth(line)+2+ansi.StringWidth(counts) <= s.width:
		return []string{line + ", " + counts}
	}
	return []string{line, s.Fit(counts, 0)}
}

func (v PlanView) counts() string {
	s := v.Screen
	var counts []string
	for _, part := range []struct {
		status plan.StepStatus
		word   string
		style  Style
	}{
		{plan.Failed, "failed", s.Wrong}, {plan.Blocked, "blocked", s.Waiting}, {plan.InProgress, "in progress", s.Busy},
		{plan.Skipped, "skipped", s.Faint}, {plan.Cancelled, "cancelled", s.Faint},
	} {
		if n := v.State.Plan.Steps.Count(part.status); n > 0 {
			counts = append(counts, part.style(fmt.Sprintf("%d %s", n, part.word)))
		}
	}
	return strings.Join(counts, ", ")
}

// steps lays out the steps and returns the line of the one to work on.
func (v PlanView) steps() (lines []string, focus int) {
	steps := v.State.Plan.Steps
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
func (v PlanView) foldable(i int) int {
	steps := v.State.Plan.Steps
	if v.All || steps.Len() <= shortPlan {
		return 0
	}
	n := 0
	for i+n < steps.Len() && steps.At(i+n).Status.IsFinished() {
		n++
	}
	if n < shortestFold {
		return 0
	}
	return n
}

func (v PlanView) fold(i, n int) string {
	steps := v.State.Plan.Steps
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
	return "  " + v.Screen.Good(v.Screen.marks.done) + " " + v.Screen.Faint(v.Screen.Fit(text, 4))
}

// block lays out faint texts with a margin, each in at most most lines, and skips empty ones.
func (v PlanView) block(margin, most int, texts ...string) []string {
	blank := strings.Repeat(" ", margin)
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, v.shortened(most, v.Screen.Faint, v.Screen.barred(blank, Pad(blank, 2), safetext.Escape(text)))...)
		}
	}
	return all
}

// shortened returns the first lines, all with All, in a style.
func (v PlanView) shortened(most int, look Style, lines []string) []string {
	if !v.All {
		lines = v.Screen.atMost(most, lines, 0)
	}
	for i, line := range lines {
		lines[i] = look(line)
	}
	return lines
}

func (v PlanView) foot() []string {
	var lines []string
	if v.State.Plan.Steps.Len() > 0 {
		lines = append(lines, "")
	}
	if final := v.State.Plan.FinalSummary; final != "" {
		lines = append(append(lines, v.block(0, detailLines, "Final summary: "+final)...), "")
	}
	if p := v.State.Plan; p.Status == plan.StatusAbandoned && p.Steps.Len() == 0 {
		text := "Restore its steps: planloop plan restore " + p.ID
		lines = append(lines, v.Screen.Hang("", v.Screen.Faint, safetext.EscapeLine(text))...)
	}
	for _, r := range v.Remarks {
		if r.Now == 0 && !r.IsResolved {
			lines = append(lines, v.block(0, noteLines, r.Lines(true)...)...)
		}
	}
	if v.Former != nil {
		text := fmt.Sprintf("A former plan, %s on %s. Restore it: planloop plan restore %s",
			verbs.PastReason(v.State, *v.Former), v.Former.ArchivedAt.Local().Format(dateAndTime), v.Former.ID)
		return append(lines, v.Screen.Hang("", v.Screen.Faint, safetext.EscapeLine(text))...)
	}
	if earlier := verbs.EarlierDecision(v.State, v.State.Plan); earlier != "" {
		lines = append(lines, v.Screen.Hang("", v.Screen.Waiting, safetext.EscapeLine("Restored; earlier decision: "+earlier))...)
	}
	lines = append(lines, v.mode()...)
	lines = append(lines, v.signals()...)
	return append(lines, v.Screen.Next(v.Next)...)
}

func (v PlanView) signals() []string {
	var open []plan.Signal
	for _, level := range []plan.SignalLevel{plan.Blocker, plan.Warning, plan.Info} {
		open = append(open, v.State.OpenSignals(level)...)
	}
	var lines []string
	for i, signal := range open {
		if i == signalsListed && !v.All {
			text := fmt.Sprintf("and %d more: planloop show --all", len(open)-i)
			lines = append(lines, v.Screen.Faint(v.Screen.Fit(text, 0)))
			break
		}
		lines = append(lines, v.signal(signal)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

func (v PlanView) signal(signal plan.Signal) []string {
	look := map[plan.SignalLevel]Style{plan.Blocker: v.Screen.Wrong, plan.Warning: v.Screen.Waiting}[signal.Level]
	if look == nil {
		look = v.Screen.Plain
	}
	label := string(signal.Level) + " " + plan.Quote(signal.ID)
	if id := v.State.SignalStep(signal); id != 0 {
		label += " on " + id.String()
	}
	label += ": "
	lines := v.shortened(messageLines, look, v.Screen.barred("", "  ", safetext.Escape(label+signal.Message)))
	if v.All {
		lines = append(lines, v.block(2, 0, signal.Output)...)
	}
	return lines
}

func (v PlanView) verdict() []string {
	verdict := v.State.Plan.Verdict
	if verdict == nil {
		return nil
	}
	text := "Judged not good enough"
	if verdict.Approved {
		text = "Judged good"
	}
	if verdict.Way == plan.WayAgent {
		text += " by " + verdict.By
	} else {
		text += " by the model " + verdict.Way
	}
	return v.block(0, messageLines, text+prefixed(": ", verdict.Feedback))
}

// PlanRow is a row in the list of plans.
type PlanRow struct {
	ID, Objective string
	status        string
	current, past bool
	done, steps   int
	when          time.Time
}

// PlanRows returns the plans of a state: the current one, a waiting draft, and the former ones, newest first.
func PlanRows(s plan.State) []PlanRow {
	var rows []PlanRow
	if s.Plan != nil && !s.Plan.IsCleared() {
		rows = append(rows, rowOf(s.Plan, true))
	}
	if s.Draft != nil {
		row := rowOf(s.Draft, false)
		row.status = string(plan.StatusDraft)
		if s.IsReturned() {
			row.status = string(plan.Returned)
		} else if s.ModeNow().Request != nil {
			row.status = string(plan.PhaseSubmitted)
		}
		rows = append(rows, row)
	}
	for _, head := range s.FormerPlans() {
		rows = append(rows, PlanRow{ID: head.ID, Objective: head.Objective, status: safetext.EscapeLine(verbs.PastStatus(s, head)),
			past: true, done: head.Done, steps: head.Steps, when: head.ArchivedAt})
	}
	return rows
}

func rowOf(p *plan.Plan, current bool) PlanRow {
	return PlanRow{ID: p.ID, Objective: p.Objective, current: current, status: string(p.Status), done: p.Steps.Count(plan.Done),
		steps: p.Steps.Len(), when: p.UpdatedAt}
}

// PlanTable lays out plans in columns; objectives that do not fit beside the other columns go below them.
func (s Screen) PlanTable(rows []PlanRow) []string {
	cells := [][]string{{"ID", "STATUS", "DONE", "CHANGED"}}
	for _, row := range rows {
		cells = append(cells, []string{safetext.EscapeLine(row.ID), row.status, fmt.Sprintf("%d/%d", row.done, row.steps),
			row.when.Local().Format(dateAndTime)})
	}
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	line := func(mark string, row []string, id, status Style) string {
		return mark + " " + id(Pad(row[0], widths[0])) + "  " + status(Pad(row[1], widths[1])) + "  " +
			s.Faint(Pad(row[2], widths[2])+"  "+Pad(row[3], widths[3]))
	}
	head := line(" ", cells[0], s.Faint, s.Faint)
	taken := ansi.StringWidth(head) + 2
	const readable = 24
	beside := s.width == 0 || s.width-taken >= readable
	if beside {
		head += s.Faint("  OBJECTIVE")
	}
	lines := []string{s.Fit(head, 0)}
	for i, row := range rows {
		mark, id := " ", s.Plain
		if row.current {
			mark, id = "*", s.Bold
		}
		look := s.planStyle(plan.PlanStatus(row.status))
		if row.past && row.status != string(plan.StatusCompleted) {
			look = s.Faint
		}
		left, objective := line(mark, cells[i+1], id, look), safetext.EscapeLine(row.Objective)
		if beside {
			lines = append(lines, left+"  "+s.Fit(objective, taken))
		} else {
			lines = append(lines, s.Fit(left, 0), "    "+s.Faint(s.Fit(objective, 4)))
		}
	}
	return lines
}
