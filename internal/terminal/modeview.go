package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// ModeView shows a person the state of planning mode.
type ModeView struct {
	Screen Screen
	State  plan.State
	Limits plan.Limits // as configured
	Hooks  string      // how far planning mode is enforced; "" if unknown
	Next   string
	Now    time.Time
	OnPage bool // people decide on a team's page, and not here
}

type styledText struct {
	look Style
	text string
}

// Lines returns the state of the mode, the open questions, and the next action.
func (v ModeView) Lines() []string {
	s := v.Screen
	phase, look, about, rows := v.phase()
	rows = append(rows, styledText{s.Waiting, waitingSince(v.State, v.Now, v.OnPage)}, styledText{s.Plain, v.Hooks})
	for _, q := range v.State.OpenQuestions() {
		rows = append(rows, styledText{s.Waiting, fmt.Sprintf("Question %s of %s: %s", q.ID, q.By, q.Text)},
			styledText{s.Plain, "  Answer it: planloop answer --id " + q.ID + " TEXT"})
	}
	lines := s.wrap(s.Bold("Planning mode: ")+look(phase)+prefixed(", ", safetext.EscapeLine(about)), 0)
	for _, row := range rows {
		if row.text != "" {
			lines = append(lines, s.coloured(row.look, row.text)...)
		}
	}
	return append(append(lines, ""), s.Next(v.Next)...)
}

// Phase returns the phase with its author and time.
func (v ModeView) Phase() string {
	phase, _, about, _ := v.phase()
	if phase == off {
		phase = "planning mode is off"
	}
	return phase + prefixed(", ", about)
}

// off is the name of the phase inactive for people.
const off = "off"

// phase returns the phase with its style, its details for the first line, and the rows below it.
func (v ModeView) phase() (phase string, look Style, about string, rows []styledText) {
	s := v.Screen
	phase, look = string(v.State.PhaseNow()), s.Plain
	switch v.State.PhaseNow() {
	case plan.PhaseGathering:
		look = s.Busy
		about, rows = v.gathering()
	case plan.PhaseSubmitted:
		look = s.Waiting
		about, rows = v.submitted()
	case plan.PhaseExecuting:
		look, rows = s.Good, v.executing()
	default:
		phase, rows = off, v.inactive()
	}
	return phase, look, about, rows
}

// gathering returns the details of the phase for the first line, and the rows below it.
func (v ModeView) gathering() (about string, rows []styledText) {
	s, mode := v.Screen, v.State.ModeNow()
	returned, rule := "", "Agents read and ask; nothing can be changed until a plan is approved."
	if d := mode.Decision; d != nil && d.Outcome == plan.Returned {
		returned = "Returned by " + d.Way.Decider(d.By) + " for changes" + prefixed(": ", d.Comment)
	}
	if _, limit := plan.ExpiresAt(v.State, v.Limits, v.Now); limit > 0 {
		rule += " It ends after " + span(limit) + " without activity."
	}
	return "entered by " + mode.By + ", since " + clock(mode.Since, v.Now),
		[]styledText{{s.Plain, prefixed("About: ", mode.About())}, {s.Plain, returned}, {s.Faint, rule}}
}

func (v ModeView) submitted() (about string, rows []styledText) {
	request, draft := v.State.ModeNow().Request, v.State.Draft
	if request == nil || draft == nil {
		return "", nil
	}
	about = "by " + request.By + " at " + clock(request.At, v.Now)
	if at, limit := plan.ExpiresAt(v.State, v.Limits, v.Now); limit > 0 {
		about += ", ends at " + clock(at, v.Now) + ": counts as rejected"
	}
	return about, []styledText{{v.Screen.Plain, fmt.Sprintf("%s, %s, plan %s", plan.Quote(draft.Objective),
		plan.Pluralize(draft.Steps.Len(), "step"), history.ShortDigest(request.Digest)) +
		prefixed("\nIt changes the approved plan: ", draft.Changes)}}
}

func (v ModeView) executing() []styledText {
	s, p := v.Screen, v.State.Plan
	text := plan.Quote(p.Objective)
	if n := p.Steps.Len(); n > 0 {
		text += fmt.Sprintf(", %d of %d done", p.Steps.Count(plan.Done), n)
	}
	rows := append([]styledText{{s.Plain, text}}, v.proposal()...)
	if p.Approval == nil {
		return rows
	}
	rows = append(rows, styledText{s.Plain, approvalText(*p.Approval, v.Now)})
	if n := len(p.Approval.Deviations); n > 0 {
		rows = append(rows, styledText{s.Waiting, plan.Pluralize(n, "small change") + " since then: planloop show"})
	}
	return rows
}

// proposal returns the rows about a draft that waits without restricting anything.
func (v ModeView) proposal() []styledText {
	since, _ := v.submitted()
	return []styledText{{v.Screen.Waiting, waitingDraft(v.State, v.OnPage)}, {v.Screen.Plain, prefixed("Proposed ", since)}}
}

// inactive returns the rows for a mode that is off, with its last end.
func (v ModeView) inactive() []styledText {
	s, d := v.Screen, v.State.ModeNow().Decision
	rows := v.proposal()
	switch {
	case d == nil && v.State.Draft == nil:
		return []styledText{{s.Faint, "Enter it: planloop plan start TASK"}}
	case d == nil:
		return rows
	}
	text := string(d.Outcome)
	switch d.Outcome {
	case plan.CalledOff, plan.Rejected, plan.Approved:
		text += " by " + d.Way.Decider(d.By)
	}
	return append(rows, styledText{s.Plain, "Last time: " + text + " at " + clock(d.At, v.Now) + prefixed(": ", d.Comment)})
}

func approvalText(a plan.Approval, now time.Time) string {
	return "Approved by " + a.Deciders() + " at " + clock(a.At, now) + " (plan " + history.ShortDigest(a.Digest) + ")" +
		prefixed(": ", a.Edits.String()) + prefixed(": ", a.Comment)
}

// prefixed returns a text after a prefix; "" for no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// span formats a duration without zero parts: 30m, 1h.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

const deviationLines = 3 // changes since the approval to show

// approval returns the lines about the plan's approval, and about later changes that needed no new one.
func (v PlanView) approval() []string {
	a := v.State.Plan.Approval
	if a == nil {
		return nil
	}
	lines := v.block(0, noteLines, approvalText(*a, v.Now))
	shown := a.Deviations
	if left := len(shown) - deviationLines; left > 0 && !v.All {
		shown = shown[left:]
		lines = append(lines, v.Screen.Faint(v.Screen.Fit(fmt.Sprintf("%s since: planloop show --all",
			plan.Pluralize(left, "earlier change")), 0)))
	}
	for _, what := range shown {
		lines = append(lines, v.block(0, noteLines, "changed since: "+what)...)
	}
	return lines
}

// mode returns the lines about planning mode: a draft that needs a decision, or the read-only phase; and questions.
func (v PlanView) mode() []string {
	var lines []string
	say := func(text string) { lines = append(lines, v.waitingLine(text)...) }
	if v.State.Draft != nil {
		if !v.isBelowDraft {
			lines = v.waiting()
		}
	} else if v.State.PhaseNow() == plan.PhaseGathering {
		about := ""
		if topic := v.State.ModeNow().About(); topic != "" {
			about = " (" + plan.Quote(topic) + ")"
		}
		say("Planning mode is gathering" + about + ": nothing can be changed until a plan is approved.")
	}
	if v.Hooks != "" {
		say(v.Hooks)
	}
	switch open := v.State.CurrentQuestions(); len(open) {
	case 0:
	case 1:
		say(fmt.Sprintf("%s asks: %s Answer: planloop answer TEXT", open[0].By, SentenceEnd(open[0].Text)))
	default:
		say(fmt.Sprintf("%d questions are open: planloop answer lists them", len(open)))
	}
	return lines
}

// waiting returns the lines about the draft that waits.
func (v PlanView) waiting() []string {
	lines := v.waitingLine(waitingDraft(v.State, v.OnPage))
	if since := waitingSince(v.State, v.Now, v.OnPage); since != "" {
		lines = append(lines, v.waitingLine(since)...)
	}
	return lines
}

func (v PlanView) waitingLine(text string) []string {
	return v.Screen.Hang("", v.Screen.Waiting, safetext.EscapeLine(text))
}

// SentenceEnd adds a full stop unless the text ends a sentence.
func SentenceEnd(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

const lookAndDecide = ". Review it: planloop approve, or planloop review in a browser"

// waitingSince says since when a plan or a proposal waits, and how to end the wait; "" if none waits.
func waitingSince(state plan.State, now time.Time, onPage bool) string {
	request := state.ModeNow().Request
	if request == nil || state.Draft == nil {
		return ""
	}
	if onPage {
		return strings.TrimLeft(state.VotingText(nil)+" Waiting since "+clock(request.At, now)+". Decide on the team's page", " ")
	}
	return "Waiting since " + clock(request.At, now) + ". Decide: planloop approve. Let it go: planloop reject"
}

// waitingDraft describes the draft that waits for a decision, and how to decide, in one line; "" without a draft.
func waitingDraft(state plan.State, onPage bool) string {
	draft := state.Draft
	if draft == nil {
		return ""
	}
	what := fmt.Sprintf("%s, %s", plan.Quote(draft.Objective), plan.Pluralize(draft.Steps.Len(), "step"))
	if draft.HostList != nil {
		what += ", from the list of " + draft.HostList.Host
	}
	decide := lookAndDecide
	if onPage {
		decide = ". Decide on the team's page"
	}
	switch {
	case state.IsReturned():
		return "Changes were requested for a plan: " + what + ". Read it: planloop show --draft"
	case state.ModeNow().Request == nil:
		return "A draft is waiting: " + what + decide
	case state.Plan != nil && state.Plan.Root() == draft.Root():
		return "A change to this plan is waiting for your decision: " + draft.Changes + decide
	}
	return "A plan is waiting for your decision: " + what + decide
}

// stepLine matches the first line of a step in a review.
var stepLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(S\d+ )(\[(?:HIGH RISK|medium risk|low risk)\])?( ?.*)$`)
})

// Draft adds styles to the text of a review: to titles, risks and differences. It cuts nothing.
func (s Screen) Draft(text string) []string {
	diff := false
	return s.continued(strings.TrimSuffix(text, "\n"), func(line string) Style {
		switch {
		case strings.HasPrefix(line, "Changes since ") && strings.HasSuffix(line, ":"):
			diff = true
			return s.Bold
		case diff && line == "The whole plan:":
			diff = false
			return s.Bold
		case diff:
			return s.difference(line)
		case strings.HasPrefix(line, "Plan: "):
			return s.Bold
		}
		return s.draftStep
	})
}

// Comparison lays out the differences between two plans, with old and new text in their colours.
func (s Screen) Comparison(text string) []string { return s.continued(text, s.difference) }

// difference returns the style of a line of differences.
func (s Screen) difference(line string) Style {
	switch text := strings.TrimLeft(strings.TrimPrefix(line, safetext.Mark), " "); {
	case strings.HasPrefix(text, "+"):
		return s.Good
	case strings.HasPrefix(text, "-"):
		return s.Wrong
	case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
		return s.Bold
	}
	return s.Plain
}

// continued lays out each line of a text in its style. Long lines continue after a bar, with which none of our own lines
// begins, so that text of a plan cannot imitate them.
func (s Screen) continued(text string, styleOf func(line string) Style) []string {
	var laid []string
	for line := range strings.SplitSeq(safetext.Escape(text), "\n") {
		look := styleOf(line)
		for i, row := range s.wrap(line, len(safetext.Mark)) {
			if i > 0 {
				row = safetext.Mark + row
			}
			laid = append(laid, look(row))
		}
	}
	return laid
}

func (s Screen) draftStep(line string) string {
	parts := stepLine().FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	look := map[string]Style{"[HIGH RISK]": s.Wrong, "[medium risk]": s.Waiting, "[low risk]": s.Good, "": s.Plain}[parts[2]]
	return parts[1] + look(parts[2]) + s.Bold(parts[3])
}
