package plan

import (
	"slices"
	"time"
)

// MoveStep asks to put a step behind another, or before all with After 0.
type MoveStep struct {
	Step, After StepID
}

func (a MoveStep) clean(*cleaner) Action { return a }

func (a MoveStep) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be moved", true)
	if err != nil {
		return nil, err
	}
	if _, err := findStep(p, a.Step, "/step_id"); err != nil {
		return nil, err
	}
	if a.After != 0 {
		if _, err := findStep(p, a.After, "/after"); err != nil {
			return nil, err
		}
	}
	switch at := p.Steps.Position(a.Step); {
	case a.After == a.Step:
		return nil, Refuse(InvalidInput, "/after", a.Step.String()+" cannot stand behind itself",
			"name another step, or 0 for the first place")
	case a.After == 0 && at == 0, a.After != 0 && p.Steps.Position(a.After) == at-1:
		return nil, nil // it stands there
	}
	return []Event{StepMoved{Step: a.Step, After: a.After, At: f.Now}}, nil
}

// StepMoved puts a step of the current plan behind another, or before all.
type StepMoved struct {
	Step  StepID    `json:"step_id"`
	After StepID    `json:"after,omitzero"`
	At    time.Time `json:"at"`
}

func (e StepMoved) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) {
		moved, ok := p.Steps.Get(e.Step)
		if !ok {
			return
		}
		rest := slices.DeleteFunc(p.Steps.List(), func(step *Step) bool { return step.ID == e.Step })
		at := 1 + slices.IndexFunc(rest, func(step *Step) bool { return step.ID == e.After })
		highest := p.Steps.highest
		p.Steps = NewSteps(slices.Insert(rest, at, moved))
		p.Steps.highest = max(p.Steps.highest, highest)
	})
}

// reordered names the first step of a plan that stands before one which it stood behind
// in the approved plan, 0 when there is none.
func reordered(approved, now *Plan) StepID {
	last := -1
	for step := range now.Steps.All() {
		at := approved.Steps.Position(step.ID)
		if at < 0 {
			continue
		}
		if at < last {
			return step.ID
		}
		last = at
	}
	return 0
}
