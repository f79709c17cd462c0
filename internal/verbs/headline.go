package verbs

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Headline describes the current work in a sentence or two, for a person.
func (s *Service) Headline(state plan.State, c Caller) string {
	if state.PhaseNow().IsRestricted() {
		return strings.TrimSpace(modeMessage(state) + " " + revertedText(state.ModeNow().Request))
	}
	n := s.view(state, c, Rules{}).nextAction()
	if n.step == nil {
		return n.message
	}
	named := func(step *plan.Step) string { return "step " + step.ID.Number() + " " + plan.Quote(step.Title) }
	switch step := named(n.step); n.Reason {
	case ReadyForTask, WaitingOnAgent, ReadyToRun, Running:
		for step := range state.Plan.Steps.Running() {
			if by := Carrier(step); by != "" && !s.Lapsed(step) {
				return by + " works on " + named(step) + "."
			}
		}
		if n.step.Status == plan.InProgress {
			return step + " was begun, and has no owner now."
		}
		return "Next is " + step + "."
	case StepAsks:
		if ask := n.step.OpenQuestion(); ask != nil && ask.Kind == plan.AskPause {
			return step + " asks: " + ask.Text
		}
		return step + " waits for your approval."
	case StepUnknown:
		return step + " was started, and its outcome is unknown."
	case RunStopped:
		return step + " was interrupted: its engine has ended."
	case Replanning:
		return "The critical " + step + " failed: retry it, skip it, or have the plan revised."
	case Deadlocked:
		if n.step.Status == plan.Pending { // for a step that will never be done
			break
		}
		return step + " is " + string(n.step.Status) + blockedReason(n.step) + ", and no other step can start."
	}
	return n.message
}

// DecisionText returns a decision as a sentence with its comment.
func DecisionText(d plan.Decision) string { return decisionMessage(&d) }

// Pretty returns JSON with one line per member.
func Pretty(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// Now returns the service's current time.
func (s *Service) Now() time.Time { return s.opts.Now() }
