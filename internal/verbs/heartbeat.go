package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Heartbeat ends every reply: the plan's progress, and the one thing to do next, which names the current step or its
// obstacle. It costs a model at most 40 tokens.
type Heartbeat struct {
	Progress   string `json:"progress,omitempty"`
	Track      string `json:"track,omitempty" jsonschema:"-"` // that the call has begun
	NextAction string `json:"next_action"`
}

func (s *Service) heartbeat(state plan.State, c Caller) Heartbeat {
	return s.view(state, c, Rules{}).nextAction().heartbeat(state, c)
}

// heartbeat adds the progress of the plan that the next action is about; a waiting draft has none.
func (n NextAction) heartbeat(state plan.State, c Caller) Heartbeat {
	h := Heartbeat{NextAction: n.For(c), Track: c.began}
	if c.scoped() { // the plan's progress does not concern it
		return h
	}
	if p := n.about(state); p == state.Plan || p != nil && state.Plan != nil && p.ID == state.Plan.ID {
		h.Progress = progress(state.Plan)
	}
	return h
}

// about returns the plan that the next action is about, or nil: planning, or a new plan, is not about a
// plan that is over.
func (n NextAction) about(state plan.State) *plan.Plan {
	switch {
	case n.Reason == AwaitingApproval && state.Draft != nil:
		return state.Draft
	case (n.Reason == Gathering || n.Reason == NoPlan) && isOver(state.Plan):
		return nil
	}
	return state.Plan
}

// ending returns the heartbeat as the last lines of a reply's text, with lines before the next action.
func (h Heartbeat) ending(lines ...string) string {
	return h.sofar() + "." + strings.Join(lines, "") + "\nNext: " + h.NextAction
}

// under appends the heartbeat to a message.
func (h Heartbeat) under(message string) string {
	return message + prefixed("\nTrack: ", h.Track) + prefixed("\nProgress: ", h.Progress) + "\nNext: " + h.NextAction
}

// sofar returns the progress in brackets, to follow the name of its subject.
func (h Heartbeat) sofar() string {
	return inBrackets(h.Progress) + prefixed(" on the new track ", h.Track)
}

// inBrackets returns a text to follow another in brackets, and "" for "".
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// progress returns the plan's progress: "1/3 done", "" without steps.
func progress(p *plan.Plan) string {
	if p == nil || p.Steps.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d done", p.Steps.Count(plan.Done), p.Steps.Len())
}

// Headline describes the current work in a sentence or two, for a person.
func (s *Service) Headline(state plan.State, c Caller) string {
	if state.PhaseNow().IsRestricted() {
		return modeMessage(state)
	}
	n := s.view(state, c, Rules{}).nextAction()
	if n.Reason == PlanCompleted {
		return "All steps are done; the agent's summary is missing."
	}
	if n.step == nil {
		return n.message
	}
	named := func(step *plan.Step) string { return step.ID.String() + " " + plan.Quote(step.Title) }
	switch n.Reason {
	case ReadyForTask, WaitingOnAgent, ReadyToRun, Running:
		for step := range state.Plan.Steps.Running() {
			if by := Carrier(step); by != "" && !s.Lapsed(step) {
				return by + " is working on " + named(step) + "."
			}
		}
		if n.step.Status == plan.InProgress {
			return named(n.step) + " was begun, and has no owner now."
		}
		return "Next is " + named(n.step) + "."
	}
	text := strings.Replace(n.message, n.step.ID.String(), named(n.step), 1) // people know a step by its title
	return strings.TrimPrefix(text, "Step ")
}

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
