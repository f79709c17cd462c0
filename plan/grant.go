package plan

import (
	"bytes"
	"encoding/json"
)

// needsGrant reports whether a person has to agree before the step is started.
func needsGrant(s State, step *Step, r Resolution, l Limits) bool {
	switch {
	case ToolChanged(s, step, r.Definition) != "":
		return true
	case l.NeverAsk:
		return false
	case step.RequiresApproval:
		return true
	case !r.Destructive && step.Verify == "":
		return false
	}
	return !agreed(s, step, l)
}

// ToolChanged says that the tool of a step is not what it was when the plan was approved that is being
// carried out; "" where it is, or none was. How the tool is defined now is "" where it is planloop's own.
func ToolChanged(s State, step *Step, definition string) string {
	if definition == "" || s.PhaseNow() != PhaseExecuting || !s.carriesOut() || s.Plan.Approval.Tools[step.Tool] == definition {
		return ""
	}
	return "what the server says of " + step.Tool + " is not what it said when the plan was approved"
}

// agreed reports whether the approval of the plan, which is being carried out, showed all that the
// step is going to do: its arguments refer to nothing but the entries of a list that stood there.
func agreed(s State, step *Step, l Limits) bool {
	approval := s.Plan.Approval
	if step.Result != nil && step.Result.OK { // it was agreed to once
		return false
	}
	if s.PhaseNow() != PhaseExecuting || !s.carriesOut() || l.PersonOnly && approval.Way != string(ByPerson) || UsesSteps(step.Args) {
		return false
	}
	shown := step
	if loop := step.Loop(); loop != 0 {
		parent, ok := s.Plan.Steps.Get(loop)
		if !ok || !step.asIn(parent) {
			return false
		}
		shown = parent
	}
	if approval.NotSeen(shown.ID) != "" {
		return false
	}
	return shown.ForEach == "" || json.Valid([]byte(shown.ForEach)) // a list that is written down
}

// asIn reports whether an instance does what its loop says.
func (step *Step) asIn(loop *Step) bool {
	return loop.Tool == step.Tool && loop.Verify == step.Verify && bytes.Equal(loop.Args, step.Args)
}

// granted reports whether a person agreed to just this, for the step or for the loop it is of.
func granted(s State, step *Step, r Resolution) bool {
	if step.execution().Grant.covers(r.Digest) {
		return true
	}
	loop, ok := s.Plan.Steps.Get(step.Loop())
	if !ok || step.Attempts > 0 || !step.asIn(loop) { // which the grant was not for
		return false
	}
	return loop.execution().Grant.covers(r.List)
}

// Foreseen is a question that a step is going to ask a person before it is started.
type Foreseen struct {
	Step  *Step
	Kind  AskKind
	Known bool // what would be approved: it does not depend on values of other steps, or on a list that has yet to be found

	Definition string // of its tool, where it is another server's
	Reason     string // why, where the person agreed to something else; see ToolChanged
}

// Foresee lists what is going to be asked, as far as can be told before it comes to it.
// about says of a tool whether it may do what cannot be undone, and, where it is another server's, how it is defined.
func Foresee(s State, about func(tool string) (destructive bool, definition string), l Limits) []Foreseen {
	if s.Plan == nil {
		return nil
	}
	var list []Foreseen
	for step := range s.Plan.Steps.All() {
		x := step.execution()
		loop, _ := s.Plan.Steps.Get(x.Of)
		if step.Status != Pending || x.Ask != nil && x.Ask.Kind == AskUnknown {
			continue
		}
		if step.Pause != "" && !x.Answered && x.Of == 0 {
			list = append(list, Foreseen{Step: step, Kind: AskPause})
		}
		agreed := x.Grant != nil || loop != nil && loop.execution().Grant != nil && step.Attempts == 0
		r := Resolution{}
		r.Destructive, r.Definition = about(step.Tool)
		if !agreed && needsGrant(s, step, r, l) {
			known := !UsesSteps(step.Args) && (step.ForEach == "" || json.Valid([]byte(step.ForEach)))
			list = append(list, Foreseen{Step: step, Kind: AskApproval, Known: known, Definition: r.Definition,
				Reason: ToolChanged(s, step, r.Definition)})
		}
	}
	return list
}
