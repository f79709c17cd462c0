package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
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
}

// Lines returns the state of the mode, the open questions, and the next action.
func (v ModeView) Lines() []string {
	var lines []string
	switch v.State.PhaseNow() {
	case plan.PhaseGathering:
		lines = v.gathering()
	case plan.PhaseSubmitted:
		lines = v.submitted()
	case plan.PhaseExecuting:
		lines = v.executing()
	default:
		lines = v.inactive()
	}
	if v.Hooks != "" {
		lines = append(lines, v.Screen.coloured(v.Screen.Plain, v.Hooks)...)
	}
	for _, q := range v.State.OpenQuestions() {
		lines = append(lines, v.Screen.coloured(v.Screen.Waiting, fmt.Sprintf("Question %s of %s: %s", q.ID, q.By, q.Text))...)
		lines = append(lines, v.Screen.coloured(v.Screen.Plain, "  Answer it: planloop answer --id "+q.ID+" TEXT")...)
	}
	return append(append(lines, ""), v.Screen.Next(v.Next)...)
}

// head returns the first line: the phase and its details.
func (v ModeView) head(look Style, phase, about string) []string {
	line := v.Screen.Bold("Planning mode: ") + look(phase)
	if about != "" {
		line += ", " + safetext.EscapeLine(about)
	}
	return v.Screen.wrap(line, 0)
}

func (v ModeView) gathering() []string {
	mode := v.State.ModeNow()
	lines := v.head(v.Screen.Busy, "gathering", "entered by "+mode.By+", since "+clock(mode.Since, v.Now))
	if about := mode.About(); about != "" {
		lines = append(lines, v.Screen.coloured(v.Screen.Plain, "About: "+about)...)
	}
	if d := mode.Decision; d != nil && d.Outcome == plan.Returned {
		lines = append(lines, v.Screen.coloured(v.Screen.Plain, "Returned by "+d.Way.Decider(d.By)+" for changes"+colon(d.Comment))...)
	}
	rule := "Agents read and ask; nothing can be changed until a plan is approved."
	if limit := v.State.LimitsInForce(v.Limits).GatheringTimeout; limit > 0 {
		rule += " It ends after " + span(limit) + " without activity."
	}
	return append(lines, v.Screen.coloured(v.Screen.Faint, rule)...)
}

func (v ModeView) submitted() []string {
	request, draft := v.State.ModeNow().Request, v.State.Draft
	if request == nil || draft == nil {
		return v.head(v.Screen.Waiting, "submitted", "")
	}
	about := "by " + request.By + " at " + clock(request.At, v.Now)
	if at, limit := plan.ExpiresAt(v.State, v.Limits, v.Now); limit > 0 {
		about += ", expires at " + clock(at, v.Now)
	}
	lines := v.head(v.Screen.Waiting, "submitted", about)
	text := fmt.Sprintf("%s, %s, plan %s", plan.Quote(draft.Objective), plan.Pluralize(draft.Steps.Len(), "step"),
		history.ShortDigest(request.Digest))
	if draft.Changes != "" {
		text += "\nIt changes the approved plan: " + draft.Changes
	}
	return append(lines, v.Screen.coloured(v.Screen.Plain, text)...)
}

func (v ModeView) executing() []string {
	p := v.State.Plan
	lines := v.head(v.Screen.Good, "executing", "")
	text := plan.Quote(p.Objective)
	if n := p.Steps.Len(); n > 0 {
		text += fmt.Sprintf(", %d of %d done", p.Steps.Count(plan.Done), n)
	}
	lines = append(lines, v.Screen.coloured(v.Screen.Plain, text)...)
	if v.State.Draft != nil {
		lines = append(lines, v.Screen.coloured(v.Screen.Waiting, waitingDraft(v.State))...)
	}
	if p.Approval == nil {
		return lines
	}
	lines = append(lines, v.Screen.coloured(v.Screen.Plain, approvalText(*p.Approval, v.Now))...)
	if n := len(p.Approval.Deviations); n > 0 {
		lines = append(lines, v.Screen.coloured(v.Screen.Waiting, plan.Pluralize(n, "small change")+" since then: planloop show")...)
	}
	return lines
}

// inactive returns the lines for a mode that is off, with its last end.
func (v ModeView) inactive() []string {
	lines := v.head(v.Screen.Plain, "off", "")
	d := v.State.ModeNow().Decision
	if v.State.Draft != nil {
		lines = append(lines, v.Screen.coloured(v.Screen.Waiting, waitingDraft(v.State))...)
	} else if d == nil {
		lines = append(lines, v.Screen.coloured(v.Screen.Faint, "Enter it: planloop plan start TASK")...)
	}
	if d == nil {
		return lines
	}
	text := string(d.Outcome)
	switch d.Outcome {
	case plan.CalledOff, plan.Rejected, plan.Approved:
		text += " by " + d.Way.Decider(d.By)
	}
	text = "Last time: " + text + " at " + clock(d.At, v.Now) + colon(d.Comment)
	return append(lines, v.Screen.coloured(v.Screen.Plain, text)...)
}

// approvalText returns the approver of a plan, the way and time of the approval, and the comment.
func approvalText(a plan.Approval, now time.Time) string {
	return "Approved by " + plan.Way(a.Way).Decider(a.By) + " at " + clock(a.At, now) + " (plan " + history.ShortDigest(a.Digest) + ")" +
		colon(a.Edits.String()) + colon(a.Comment)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
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

// deviationLines is the most changes since the approval that are shown.
const deviationLines = 3

// approval returns the lines about the plan's approval, and about later changes that needed no new one.
func (v PlanView) approval() []string {
	a := v.State.Plan.Approval
	if a == nil {
		return nil
	}
	lines := v.block(approvalText(*a, v.Now), 0, noteLines)
	shown := a.Deviations
	if left := len(shown) - deviationLines; left > 0 && !v.All {
		shown = shown[left:]
		lines = append(lines, v.Screen.Faint(v.Screen.Fit(fmt.Sprintf("%s since: planloop show --all",
			plan.Pluralize(left, "earlier change")), 0)))
	}
	for _, what := range shown {
		lines = append(lines, v.block("changed since: "+what, 0, noteLines)...)
	}
	return lines
}

// mode returns the lines about planning mode: a draft that needs a decision, or that nothing may be changed, and
// questions to answer.
func (v PlanView) mode() []string {
	var lines []string
	say := func(text string) {
		lines = append(lines, v.Screen.Hang("", v.Screen.Waiting, safetext.EscapeLine(text))...)
	}
	if text := waitingDraft(v.State); text != "" {
		say(text)
	} else if v.State.PhaseNow() == plan.PhaseGathering {
		say("Planning mode is gathering" + quoted(v.State.ModeNow().About()) + ": nothing can be changed until a plan is approved.")
	}
	if v.Hooks != "" {
		say(v.Hooks)
	}
	switch open := v.State.CurrentQuestions(); len(open) {
	case 0:
	case 1:
		say(fmt.Sprintf("%s asks: %s Answer: planloop answer TEXT", open[0].By, sentenceEnd(open[0].Text)))
	default:
		say(fmt.Sprintf("%d questions are open: planloop answer lists them", len(open)))
	}
	return lines
}

// quoted returns the subject of a phase, to follow its name.
func quoted(about string) string {
	if about == "" {
		return ""
	}
	return " (" + plan.Quote(about) + ")"
}

// sentenceEnd adds a full stop unless the text ends a sentence.
func sentenceEnd(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

const lookAndDecide = ". Review it: planloop approve, or planloop review in a browser"

// waitingDraft describes the draft that waits for a decision, and how to decide, in one line; "" without a draft.
func waitingDraft(state plan.State) string {
	draft := state.Draft
	if draft == nil {
		return ""
	}
	what := fmt.Sprintf("%s, %s", plan.Quote(draft.Objective), plan.Pluralize(draft.Steps.Len(), "step"))
	if draft.HostList != nil {
		what += ", from the list of " + draft.HostList.Host
	}
	switch {
	case state.PhaseNow() == plan.PhaseGathering:
		return "Changes were requested for a plan: " + what + ". Read it: planloop show --draft"
	case state.PhaseNow() != plan.PhaseSubmitted && state.Plan == nil:
		return "A draft is waiting: " + what + lookAndDecide
	case state.PhaseNow() != plan.PhaseSubmitted:
		return "A draft is waiting: " + what + lookAndDecide
	case state.Plan != nil && state.Plan.ID == draft.ID:
		return "A change to this plan is waiting for your decision: " + draft.Changes + lookAndDecide
	}
	return "A plan is waiting for your decision: " + what + lookAndDecide
}

// stepLine matches the first line of a step in a review.
var stepLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-+ ]?)(\d+\. )(\[(?:HIGH RISK|medium risk|low risk)\])?( ?.*)$`)
})

// Draft adds styles to the text of a review: to titles, risks and differences. It cuts nothing. Long lines continue
// after a bar, with which none of our own lines begins, so that text of a plan cannot imitate them.
func (s Screen) Draft(text string) []string {
	var laid []string
	diff := false
	for line := range strings.SplitSeq(strings.TrimSuffix(safetext.Escape(text), "\n"), "\n") {
		sign, look := "", s.draftStep
		switch {
		case line == "Changes since the last review:":
			diff, look = true, s.Bold
		case diff && line == "The whole plan:":
			diff, look = false, s.Bold
		case diff && strings.HasPrefix(line, "+"):
			sign, look = "+", s.Good
		case diff && strings.HasPrefix(line, "-"):
			sign, look = "-", s.Wrong
		case diff:
			sign, look = " ", s.Faint
		case strings.HasPrefix(line, "Plan: "):
			look = s.Bold
		}
		for i, row := range s.wrap(line, len(sign+verbs.ContinuationPrefix)) {
			if i > 0 {
				row = sign + verbs.ContinuationPrefix + row
			}
			laid = append(laid, look(row))
		}
	}
	return laid
}

// Comparison lays out the differences between two plans, with old and new text in their colours.
func (s Screen) Comparison(text string) []string {
	var laid []string
	for line := range strings.SplitSeq(safetext.Escape(text), "\n") {
		look := s.Plain
		switch sign := strings.TrimLeft(strings.TrimPrefix(line, verbs.ContinuationPrefix), " "); {
		case strings.HasPrefix(sign, "+"):
			look = s.Good
		case strings.HasPrefix(sign, "-"):
			look = s.Wrong
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			look = s.Bold
		}
		for i, row := range s.wrap(line, len(verbs.ContinuationPrefix)) {
			if i > 0 {
				row = verbs.ContinuationPrefix + row
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
	look := s.Waiting
	switch parts[3] {
	case "[HIGH RISK]":
		look = s.Wrong
	case "[low risk]":
		look = s.Good
	case "":
		look = s.Plain
	}
	return parts[1] + parts[2] + look(parts[3]) + s.Bold(parts[4])
}
