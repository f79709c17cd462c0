package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// expandLoop returns the event that adds the instances of a loop to the plan.
func expandLoop(p *Plan, loop *Step, items []json.RawMessage, at time.Time) Event {
	e := LoopExpanded{Step: loop.ID, At: at}
	next := p.Steps.Highest() + 1
	for i, item := range items[:min(len(items), MaxItems)] {
		spec := loop.Spec
		spec.ForEach, spec.Pause, spec.Critical = "", "", false
		spec.RequiresApproval = loop.RequiresApproval && loop.execution().Approval == nil
		if title, err := (Text{Max: MaxLongLine}).Clean(loop.Title + ": " + Shorten(itemText(item), 80)); err == nil {
			spec.Title = title // else that of the loop
		}
		e.Instances = append(e.Instances, &Step{ID: next + StepID(i), Spec: spec, Progress: Progress{Status: Pending},
			Execution: &Execution{Loop: loop.ID, Item: item}})
	}
	return e
}

// LoopExpanded begins a loop: its list is known, and each entry gets a step.
type LoopExpanded struct {
	Step      StepID    `json:"step_id"`
	Instances []*Step   `json:"instances,omitempty"`
	At        time.Time `json:"at"`
}

func (e LoopExpanded) marks() StepID { return e.Step }

func (e LoopExpanded) apply(s State) State {
	if _, ok := s.step(e.Step); !ok {
		return s
	}
	ids := make([]StepID, len(e.Instances))
	for i, step := range e.Instances {
		ids[i] = step.ID
	}
	s = s.withSteps(e.At, func(edit *stepsEdit) { edit.add(e.Instances) })
	return s.withStep(e.Step, e.At, func(step *Step) {
		grant := step.execution().Approval // it covers each instance
		step.become(StepMarked{Step: e.Step, Status: InProgress, At: e.At})
		step.execute(func(x *Execution) { x.IsExpanded, x.Instances, x.Approval = true, ids, grant })
	})
}

// settleLoop returns the event that settles a loop after a change of an instance or of the loop
// itself; nil if its status stays the same.
func settleLoop(s State, id StepID) *LoopSettled {
	step, ok := s.step(id)
	if ok && step.Loop() != 0 {
		step, ok = s.Plan.Steps.Get(step.Loop())
	}
	if !ok || !step.execution().IsExpanded || step.Status != InProgress && step.Status != Done && step.Status != Failed {
		return nil
	}
	e := LoopSettled{Step: step.ID, Status: Done, At: s.Plan.UpdatedAt}
	for _, id := range step.execution().Instances {
		instance, ok := s.Plan.Steps.Get(id)
		switch {
		case !ok || instance.Status.IsFinished():
		case instance.Status == Failed:
			e.Failed = append(e.Failed, id)
		default:
			e.Status = InProgress
		}
	}
	if e.Status == Done && len(e.Failed) > 0 {
		e.Status = Failed
	}
	if e.Status == step.Status {
		return nil
	}
	return &e
}

// LoopSettled sets a loop's status from its instances: done or failed when all have ended, in
// progress when one is taken up again.
type LoopSettled struct {
	Step   StepID     `json:"step_id"`
	Status StepStatus `json:"status"`
	Failed []StepID   `json:"failed,omitempty"`
	At     time.Time  `json:"at"`
}

func (e LoopSettled) marks() StepID { return e.Step }

func (e LoopSettled) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: e.Status, At: e.At})
		step.Result, step.Error = nil, ""
		if e.Status == InProgress {
			return
		}
		if e.Status == Failed {
			step.Error = IDs(e.Failed) + " failed"
		}
		step.Result = &Result{OK: e.Status == Done, Error: step.Error, Timestamp: e.At}
	})
}

// MaxItems bounds the instances of a loop.
const MaxItems = 1_000

// ForEach is the source of a loop's entries: a literal list, a referenced value, or the workspace
// files that match a pattern, in order.
type ForEach struct {
	Items []json.RawMessage // nil unless it is a literal list
	From  Reference         // the list; empty Text unless it is a reference
	Glob  string            // with slashes; "" unless it is a pattern
}

// ParseForEach reads a step's for_each. The error is a *ValidationError without a field.
func ParseForEach(text string) (ForEach, error) {
	refuse := func(problem, fix string) (ForEach, error) {
		return ForEach{}, Refuse(InvalidInput, "", Quote(text)+" "+problem, fix)
	}
	text = strings.TrimSpace(text)
	var items []json.RawMessage
	switch err := json.Unmarshal([]byte(text), &items); {
	case err == nil && items != nil:
		return ForEach{Items: items}, withinItems(len(items))
	case json.Valid([]byte(text)), strings.HasPrefix(text, "[") && strings.Contains(text, `"`):
		return refuse("is not a valid JSON list", `give a list such as ["a","b"]`)
	}
	if ref, ok := ParseReference(text); ok {
		if ref.Problem != "" {
			return refuse(ref.Problem, "refer to a list such as $S001.files")
		} else if ref.Step == 0 {
			return refuse("refers to a loop entry outside of a loop", "refer to a list such as $S001.files")
		}
		return ForEach{From: ref}, nil
	}
	glob, escaped := strings.CutPrefix(text, "$$")
	if escaped {
		glob = "$" + glob
	}
	_, _, dollar := splitReference(text)
	name, _, _ := splitReference("$" + text)
	switch problem := PathProblem(glob); {
	case text == "":
		return refuse("is blank", `give a list such as ["a","b"], a reference such as $S001.files, or a pattern such as *.txt`)
	case dollar:
		return refuse("does not name a step", "refer to a list such as $S001.files, or begin a file name with $$ if it begins with $")
	case stepWord().MatchString(name):
		return refuse("is a step without $", "write $"+text)
	case problem != PathOK:
		return refuse(string(problem), "give a pattern of paths relative to the workspace, such as *.txt")
	}
	return ForEach{Glob: glob}, nil
}

// withinItems refuses a list that is too long for a loop.
func withinItems(n int) error {
	if n <= MaxItems {
		return nil
	}
	return Refuse(InvalidInput, "", fmt.Sprintf("has %d entries", n), fmt.Sprintf("give at most %d", MaxItems))
}

// ParseItems returns the entries of a loop's list.
func ParseItems(list json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil || items == nil {
		return nil, Refuse(InvalidInput, "", "is not a list", "refer to a list")
	}
	return items, withinItems(len(items))
}
