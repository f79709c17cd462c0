package main

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// deviationLines bounds how many changes since the approval are shown.
const deviationLines = 3

// approval says who agreed to the plan, and what was changed since that needed no
// new agreement.
func (v planView) approval() []string {
	a := v.state.Plan.Approval
	if a == nil {
		return nil
	}
	lines := v.block(approvalText(*a, v.now), 0, noteLines)
	shown := a.Deviations
	if left := len(shown) - deviationLines; left > 0 && !v.all {
		shown = shown[left:]
		lines = append(lines, v.screen.faint(v.screen.fit(fmt.Sprintf("%s since: planloop show --all", count(left, "earlier change")), 0)))
	}
	for _, what := range shown {
		lines = append(lines, v.block("changed since: "+what, 0, noteLines)...)
	}
	return lines
}

// mode says what planning mode wants of whoever looks: a draft to decide about, or
// that nothing is changed for now, and questions to answer.
func (v planView) mode() []string {
	var lines []string
	say := func(text string) {
		for _, line := range v.screen.wrap(printableLine(text), 0) {
			lines = append(lines, v.screen.waiting(line))
		}
	}
	if text := waitingDraft(v.state); text != "" {
		say(text)
	} else if v.state.PhaseNow() == plan.PhaseGathering {
		say("Planning mode is gathering: nothing is changed until a plan is approved.")
	}
	switch open := v.state.OpenQuestions(); len(open) {
	case 0:
	case 1:
		say(fmt.Sprintf("%s asks: %s Answer: planloop answer TEXT", open[0].By, sentenceEnd(open[0].Text)))
	default:
		say(fmt.Sprintf("%d questions are open: planloop answer lists them", len(open)))
	}
	return lines
}

// sentenceEnd is text that a sentence can follow.
func sentenceEnd(text string) string {
	if text == "" {
		return text
	}
	switch text[len(text)-1] {
	case '.', '?', '!':
		return text
	}
	return text + "."
}
