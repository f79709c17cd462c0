package main

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/plan"
)

const (
	signalsListed = 3 // of the open signals, unless all is shown
	messageLines  = 2
)

// signals lists what is open, the most serious first.
func (v planView) signals() []string {
	var open []plan.Signal
	for _, level := range []plan.SignalLevel{plan.Blocker, plan.Warning, plan.Info} {
		open = append(open, v.state.OpenSignals(level)...)
	}
	var lines []string
	for i, signal := range open {
		if i == signalsListed && !v.all {
			text := fmt.Sprintf("and %d more: planloop show --all", len(open)-i)
			lines = append(lines, v.screen.faint(v.screen.fit(text, 0)))
			break
		}
		lines = append(lines, v.signal(signal)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// signal lays out one signal: its level, its name, what it concerns and what it says.
func (v planView) signal(signal plan.Signal) []string {
	look := map[plan.SignalLevel]style{plan.Blocker: v.screen.wrong, plan.Warning: v.screen.waiting}[signal.Level]
	if look == nil {
		look = v.screen.plain
	}
	label := string(signal.Level) + " " + plan.Quote(signal.ID)
	if id := v.state.Concerns(signal); id != 0 {
		label += " on " + id.String()
	}
	label += ": "
	texts := v.screen.wrap(printable(label+signal.Message), 2)
	if !v.all {
		texts = v.screen.atMost(messageLines, texts, 2)
	}
	var lines []string
	for i, text := range texts {
		if i > 0 {
			text = "  " + text
		}
		lines = append(lines, look(strings.TrimRight(text, " ")))
	}
	if signal.Output != "" && v.all {
		lines = append(lines, v.block(signal.Output, 2, 0)...)
	}
	return lines
}

// verdict says in a line or two what a judge thought of the plan.
func (v planView) verdict() []string {
	verdict := v.state.Plan.Verdict
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
	if verdict.Feedback != "" {
		text += ": " + verdict.Feedback
	}
	return v.block(text, 0, messageLines)
}
