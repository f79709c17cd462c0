package verbs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Headline describes the current work in a sentence or two, for a person.
func (s *Service) Headline(state plan.State, c Caller) string {
	if state.PhaseNow().IsRestricted() {
		return strings.TrimSpace(modeMessage(state) + " " + revertedText(state.ModeNow().Request))
	}
	n := s.view(state, c, Rules{}).now()
	if n.step == nil {
		return n.message
	}
	named := func(step *plan.Step) string { return "step " + step.ID.Number() + " " + plan.Quote(step.Title) }
	switch step := named(n.step); n.reason {
	case ReadyForTask, WaitingOnAgent, ReadyToRun, Running:
		for step := range state.Plan.Steps.Running() {
			if by := Carrier(step); by != "" && !s.Lapsed(step) {
				return by + " works on " + named(step) + "."
			}
		}
		if n.step.Status == plan.InProgress {
			return step + " was begun, and nobody works on it now."
		}
		return "Next is " + step + "."
	case StepAsks:
		if ask := n.step.OpenQuestion(); ask != nil && ask.Kind == plan.AskPause {
			return step + " asks: " + ask.Text
		}
		return step + " waits for your approval."
	case StepUnknown:
		return step + " was begun, and nobody knows whether it was done."
	case RunStopped:
		return step + " was broken off: what carried it out has ended."
	case Replanning:
		return "The critical " + step + " failed: try it again, skip it, or have the plan revised."
	case Deadlocked:
		if n.step.Status == plan.Pending { // for a step that will never be done
			break
		}
		return step + " is " + string(n.step.Status) + blockedReason(n.step) + ", and nothing else can be started."
	}
	return n.message
}

// Carrier returns the name people know for the owner of a step: for a running step the agent started for it, else
// planloop, not its engine's name; for any other step its claimant, "" if unclaimed.
func Carrier(step *plan.Step) string {
	if !step.IsRunning() && !step.IsUnknown() {
		return step.ClaimedBy
	}
	return cmp.Or(step.ActiveAgent(), string(plan.Planloop))
}

// DecisionText returns a decision as a sentence with its comment.
func DecisionText(d plan.Decision) string { return decisionMessage(&d) }

// RunProgress is the run of the plan, for views.
type RunProgress struct {
	RunView
	Broken  bool          // no engine takes part, and none left in the regular way
	Running []RunningStep // steps that engines carry out
}

// Ongoing reports whether the run is being carried out now.
func (l RunProgress) Ongoing() bool { return !l.Paused && l.Reason == "" && !l.Broken }

// RunProgress returns the run of the current plan, open or over; false without a run.
func (s *Service) RunProgress(state plan.State) (RunProgress, bool) {
	view := s.runState(state).Run
	if view == nil {
		return RunProgress{}, false
	}
	look := RunProgress{RunView: *view, Broken: view.broken}
	if s.opts.Engines != nil {
		look.Running = slices.DeleteFunc(s.opts.Engines.Running(), func(running RunningStep) bool {
			step, ok := state.Plan.Steps.Get(running.Step)
			return !ok || !step.IsRunning()
		})
	}
	return look, true
}

// HasRunnableSteps reports whether a run would carry out any step of the current plan.
func (s *Service) HasRunnableSteps(state plan.State) bool {
	return state.Plan != nil && s.view(state, Caller{}, Rules{}).hasRunnableSteps()
}

// ToolDescription returns the description of a step's tool by its server, "" if it is not another server's tool. If the
// definition differs from the one shown or approved before, the text says so.
func (s *Service) ToolDescription(state plan.State, p *plan.Plan, step *plan.Step) string {
	if step.Tool == "" {
		return ""
	}
	tools := s.otherTools()
	definition := tools[step.Tool].Definition
	switch ask, request := step.OpenQuestion(), state.ModeNow().Request; {
	case ask != nil && ask.Kind == plan.AskApproval:
		definition = ask.Definition
	case p == state.Draft && request != nil:
		definition = request.Tools[step.Tool]
	case p.Approval != nil:
		definition = p.Approval.Tools[step.Tool]
	}
	text := describeTool(tools, step, definition)
	return strings.TrimSpace(strings.ReplaceAll("\n"+text, "\n   ", "\n"))
}

// StartDigest returns the digest of the call that a step with a pending approval would make, as AnswerStep takes it.
func (s *Service) StartDigest(step *plan.Step) string {
	if ask := step.OpenQuestion(); ask != nil {
		return ask.Digest
	}
	return plan.StartDigest(step, step.Args, s.otherTools()[step.Tool].Definition)
}

// Pretty returns JSON with one line per member.
func Pretty(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	return pretty(value)
}

// Now returns the service's current time.
func (s *Service) Now() time.Time { return s.opts.Now() }
