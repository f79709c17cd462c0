package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// modeView lays out for a person where planning mode stands.
type modeView struct {
	screen screen
	state  plan.State
	config workspace.Config // the time-outs
	next   string
	now    time.Time
}

// planModeStatus says where planning mode stands, once more or after a change.
func (a *app) planModeStatus(opened *opened, reply verbs.ModeReply, state plan.State) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	v := modeView{screen: a.screen(), state: state, config: opened.config, next: reply.NextAction, now: time.Now()}
	return a.print(joined(v.lines()))
}

func (v modeView) lines() []string {
	var lines []string
	switch v.state.PhaseNow() {
	case plan.PhaseGathering:
		lines = v.gathering()
	case plan.PhaseSubmitted:
		lines = v.submitted()
	case plan.PhaseExecuting:
		lines = v.executing()
	default:
		lines = v.inactive()
	}
	for _, q := range v.state.OpenQuestions() {
		lines = append(lines, v.coloured(v.screen.waiting, fmt.Sprintf("Question %s of %s: %s", q.ID, q.By, q.Text))...)
		lines = append(lines, v.coloured(v.screen.plain, "  Answer it: planloop answer --id "+q.ID+" TEXT")...)
	}
	return append(append(lines, ""), v.screen.nextLines(v.next)...)
}

// head is the first line: the phase and what there is to say of it.
func (v modeView) head(look style, phase, about string) []string {
	line := v.screen.bold("Planning mode: ") + look(phase)
	if about != "" {
		line += ", " + printableLine(about)
	}
	return v.screen.wrap(line, 0)
}

func (v modeView) gathering() []string {
	mode := v.state.ModeNow()
	lines := v.head(v.screen.busy, "gathering", "entered by "+mode.By+", since "+clock(mode.Since, v.now))
	if about := mode.Task + mode.Reason; about != "" {
		lines = append(lines, v.coloured(v.screen.plain, "About: "+about)...)
	}
	if d := mode.Decision; d != nil && d.Outcome == plan.Returned {
		lines = append(lines, v.coloured(v.screen.plain, "Returned by "+decider(*d)+" to be edited"+colon(d.Comment))...)
	}
	rule := "Agents look and ask; nothing is changed until a plan is approved."
	if limit := v.config.GatheringTimeout; limit > 0 {
		rule += " It ends by itself after " + span(limit) + " of silence."
	}
	return append(lines, v.coloured(v.screen.faint, rule)...)
}

func (v modeView) submitted() []string {
	request, draft := v.state.ModeNow().Request, v.state.Draft
	if request == nil || draft == nil {
		return v.head(v.screen.waiting, "submitted", "")
	}
	about := "by " + request.By + " at " + clock(request.At, v.now)
	if limit := v.config.ApprovalTimeout; limit > 0 {
		about += ", expires at " + clock(request.At.Add(limit), v.now)
	}
	lines := v.head(v.screen.waiting, "submitted", about)
	text := fmt.Sprintf("%s, %s, plan %s", plan.Quote(draft.Objective), count(draft.Steps.Len(), "step"), short(request.Digest))
	if draft.Changes != "" {
		text += "\nIt changes what was approved: " + draft.Changes
	}
	return append(lines, v.coloured(v.screen.plain, text)...)
}

func (v modeView) executing() []string {
	p := v.state.Plan
	lines := v.head(v.screen.good, "executing", "")
	text := plan.Quote(p.Objective)
	if n := p.Steps.Len(); n > 0 {
		text += fmt.Sprintf(", %d of %d done", p.Steps.Count(plan.Done), n)
	}
	lines = append(lines, v.coloured(v.screen.plain, text)...)
	if p.Approval == nil {
		return lines
	}
	lines = append(lines, v.coloured(v.screen.plain, approvalText(*p.Approval, v.now))...)
	if n := len(p.Approval.Deviations); n > 0 {
		lines = append(lines, v.coloured(v.screen.waiting, count(n, "small change")+" since then: planloop show")...)
	}
	return lines
}

// inactive says how the mode ended, if it was ever on.
func (v modeView) inactive() []string {
	lines := v.head(v.screen.plain, "off", "")
	d := v.state.ModeNow().Decision
	if d == nil {
		return append(lines, v.coloured(v.screen.faint, "Enter it: planloop plan start TASK")...)
	}
	text := string(d.Outcome)
	switch d.Outcome {
	case plan.CalledOff, plan.Rejected, plan.Approved:
		text += " by " + decider(*d)
	}
	text = "Last time: " + text + " at " + clock(d.At, v.now) + colon(d.Comment)
	return append(lines, v.coloured(v.screen.plain, text)...)
}

// coloured wraps a text and puts a style on each of its lines.
func (v modeView) coloured(look style, text string) []string {
	lines := v.screen.wrap(printable(text), 0)
	for i, line := range lines {
		lines[i] = look(line)
	}
	return lines
}

// approvalText says who approved a plan, by which way, when, and with which words.
func approvalText(a plan.Approval, now time.Time) string {
	who := a.By
	if a.Way == string(plan.ByClient) {
		who = "the user of " + a.By + " through the client"
	}
	return "Approved by " + who + " at " + clock(a.At, now) + " (plan " + short(a.Digest) + ")" + colon(a.Comment)
}

func decider(d plan.Decision) string {
	if d.Way == plan.ByClient {
		return "the user of " + d.By + " through the client"
	}
	return d.By
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// clock writes a time as a person reads it today.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// span writes a duration without parts that are zero: 30m, 1h.
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

// nextLines lays out what to do next; nothing for "".
func (s screen) nextLines(next string) []string {
	if next == "" {
		return nil
	}
	const label = "Next: "
	var lines []string
	for i, line := range s.wrap(printableLine(next), len(label)) {
		if i == 0 {
			lines = append(lines, s.bold(label)+line)
		} else {
			lines = append(lines, strings.Repeat(" ", len(label))+line)
		}
	}
	return lines
}

// waitingDraft says in a line what waits for a decision, and how to decide; "" when
// nothing does.
func waitingDraft(state plan.State) string {
	draft := state.Draft
	if draft == nil {
		return ""
	}
	what := fmt.Sprintf("%s, %s", plan.Quote(draft.Objective), count(draft.Steps.Len(), "step"))
	switch {
	case state.PhaseNow() == plan.PhaseGathering:
		return "A plan was returned to be edited: " + what + ". Look at it: planloop show --draft"
	case state.PhaseNow() != plan.PhaseSubmitted:
		return "A draft waits beside it: " + what + ". Look at it and decide: planloop approve"
	case state.Plan != nil && state.Plan.ID == draft.ID:
		return "A change of it waits for your decision: " + draft.Changes + ". Look at it and decide: planloop approve"
	}
	return "A plan waits for your decision: " + what + ". Look at it and decide: planloop approve"
}
