package plan

import (
	"bytes"
	"encoding/json"
	"time"
)

// needsApproval reports whether a person has to approve the step before it starts.
func needsApproval(s State, step *Step, r Resolution, l Limits) bool {
	switch {
	case ToolChanged(s, step, r.Definition) != "":
		return true
	case l.NeverAsk:
		return false
	case step.RequiresApproval:
		return true
	case !r.IsDestructive && step.Verify == "":
		return false
	}
	return !isCoveredByPlan(s, step, l)
}

// ToolChanged says that a step's tool has changed since the plan being carried out was approved; "" if it has
// not, or if there is no approved plan. definition is the tool's current one, "" for a tool of planloop.
func ToolChanged(s State, step *Step, definition string) string {
	if definition == "" || s.PhaseNow() != PhaseExecuting || !s.executesApprovedPlan() || s.Plan.Approval.Tools[step.Tool] == definition {
		return ""
	}
	return "the server's description of " + step.Tool + " has changed since the plan was approved"
}

// isCoveredByPlan reports whether the approval of the plan being carried out showed everything the step will
// do: its arguments refer to nothing but the entries of a literal list.
func isCoveredByPlan(s State, step *Step, l Limits) bool {
	approval := s.Plan.Approval
	if step.Result != nil && step.Result.OK { // it was agreed to for one run
		return false
	}
	if s.PhaseNow() != PhaseExecuting || !s.executesApprovedPlan() || l.PersonOnly && approval.Way != string(WayPerson) ||
		UsesSteps(step.Args) {
		return false
	}
	shown := step
	if loop := step.Loop(); loop != 0 {
		parent, ok := s.Plan.Steps.Get(loop)
		if !ok || !step.matchesLoop(parent) {
			return false
		}
		shown = parent
	}
	if approval.UnseenNote(shown.ID) != "" {
		return false
	}
	return shown.ForEach == "" || json.Valid([]byte(shown.ForEach)) // a literal list
}

// matchesLoop reports whether an instance has the same tool, verification and arguments as its loop.
func (step *Step) matchesLoop(loop *Step) bool {
	return loop.Tool == step.Tool && loop.Verify == step.Verify && bytes.Equal(loop.Args, step.Args)
}

// isApproved reports whether a person approved exactly this, for the step or for its loop.
func isApproved(s State, step *Step, r Resolution) bool {
	if step.execution().Approval.covers(r.Digest) {
		return true
	}
	loop, ok := s.Plan.Steps.Get(step.Loop())
	if !ok || step.Attempts > 0 || !step.matchesLoop(loop) { // the loop's grant does not cover it
		return false
	}
	return loop.execution().Approval.covers(r.LoopDigest)
}

// ExpectedQuestion is a question that a step will ask a person before it starts.
type ExpectedQuestion struct {
	Step    *Step
	Kind    AskKind
	IsKnown bool // the subject of the approval is known now: it depends neither on values of other steps nor on a list yet to be computed

	Definition string // of its tool, if another server provides it
	Reason     string // why an earlier agreement does not count; see ToolChanged
}

// ExpectedQuestions lists the questions to come, as far as they can be foreseen. about reports whether a tool
// may do something irreversible and, if another server provides it, its definition.
func ExpectedQuestions(s State, about func(tool string) (destructive bool, definition string), l Limits) []ExpectedQuestion {
	if s.Plan == nil {
		return nil
	}
	var list []ExpectedQuestion
	for step := range s.Plan.Steps.All() {
		x := step.execution()
		loop, _ := s.Plan.Steps.Get(x.Loop)
		if step.Status != Pending || x.Ask != nil && x.Ask.Kind == AskUnknown {
			continue
		}
		if step.Pause != "" && !x.IsAnswered && x.Loop == 0 {
			list = append(list, ExpectedQuestion{Step: step, Kind: AskPause})
		}
		agreed := x.Approval != nil || loop != nil && loop.execution().Approval != nil && step.Attempts == 0
		r := Resolution{}
		r.IsDestructive, r.Definition = about(step.Tool)
		if !agreed && needsApproval(s, step, r, l) {
			known := !UsesSteps(step.Args) && (step.ForEach == "" || json.Valid([]byte(step.ForEach)))
			list = append(list, ExpectedQuestion{Step: step, Kind: AskApproval, IsKnown: known, Definition: r.Definition,
				Reason: ToolChanged(s, step, r.Definition)})
		}
	}
	return list
}

// StepApproval is a person's permission to run a step once, with the arguments shown or with those the
// person gave instead.
type StepApproval struct {
	Digest string          `json:"digest"`
	Args   json.RawMessage `json:"args,omitempty"` // replace the step's own; empty keeps those
	By     string          `json:"by"`
	Way    Way             `json:"way"`
	At     time.Time       `json:"at"`
}

func (g *StepApproval) covers(digest string) bool { return g != nil && g.Digest == digest }
