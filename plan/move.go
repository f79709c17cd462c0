package plan

import (
	"fmt"
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
	moved, err := a.on(p, f)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return []Event{moved[0]}, nil
}

// on returns the move within a plan, none where the step stands there already. A person is held to
// what the dependencies allow; an agent's order is a list of what it means to do.
func (a MoveStep) on(p *Plan, f Facts) ([]StepMoved, error) {
	step, err := findStep(p, a.Step, "/step_id")
	if err != nil {
		return nil, err
	}
	if a.After != 0 {
		if _, err := findStep(p, a.After, "/after"); err != nil {
			return nil, err
		}
	}
	at, to := p.Steps.Position(a.Step), 0
	if a.After != 0 {
		if to = p.Steps.Position(a.After); to < at {
			to++ // it makes room behind itself, else it moves up
		}
	}
	switch {
	case a.After == a.Step:
		return nil, Refuse(InvalidInput, "/after", a.Step.String()+" cannot stand behind itself",
			"name another step, or 0 for the first place")
	case to == at:
		return nil, nil // it stands there
	case f.Actor.Way() != "":
		if err := p.Steps.inTheWay(step, to); err != nil {
			return nil, err
		}
	}
	return []StepMoved{{Step: a.Step, After: a.After, At: f.Now}}, nil
}

// Places returns the first and the last place, counted from 0, at which a step can stand: behind
// what it waits for and before what waits for it, as far as it stands so now.
func (s Steps) Places(id StepID) (first, last int) {
	at := s.Position(id)
	if at < 0 {
		return 0, -1
	}
	last = s.Len() - 1
	for _, dep := range s.At(at).DependsOn {
		if place := s.Position(dep); place >= 0 && place < at {
			first = max(first, place+1)
		}
	}
	for _, dependent := range s.slot(at).dependents {
		if place := s.Position(dependent); place > at {
			last = min(last, place-1)
		}
	}
	return first, last
}

// inTheWay refuses a place that the dependencies do not leave to a step.
func (s Steps) inTheWay(step *Step, to int) error {
	at := s.Position(step.ID)
	between := func(id StepID) bool { return s.Position(id) >= min(at, to) && s.Position(id) <= max(at, to) }
	waits, of := step.DependsOn, "needs %s and has to come later"
	if to > at {
		waits, of = s.Dependents(step.ID), "is needed by %s and has to come earlier"
	}
	ids := slices.DeleteFunc(slices.Clone(waits), func(id StepID) bool { return !between(id) })
	if len(ids) == 0 {
		return nil
	}
	return conflict(fmt.Sprintf("%s "+of, step.ID, IDs(ids)), "give it another place, or drop the dependency first")
}

// StepMoved puts a step of the current plan behind another, or before all.
type StepMoved struct {
	Step  StepID    `json:"step_id"`
	After StepID    `json:"after,omitzero"`
	At    time.Time `json:"at"`
}

func (e StepMoved) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) {
		p.Steps = p.Steps.moved(e.Step, e.After)
	})
}

// moved returns the steps with one behind another, or before all.
func (s Steps) moved(id, after StepID) Steps {
	step, ok := s.Get(id)
	if !ok {
		return s
	}
	rest := slices.DeleteFunc(s.List(), func(step *Step) bool { return step.ID == id })
	at := 1 + slices.IndexFunc(rest, func(step *Step) bool { return step.ID == after })
	moved := NewSteps(slices.Insert(rest, at, step))
	moved.highest = max(moved.highest, s.highest)
	return moved
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
