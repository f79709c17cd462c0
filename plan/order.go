package plan

import (
	"fmt"
	"slices"
	"time"
)

// MoveStep asks to move a step after another; with After 0, to the front.
type MoveStep struct {
	Step, After StepID
}

func (a MoveStep) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be moved", true)
	if err != nil {
		return nil, err
	}
	moved, err := a.decideOn(p, f)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return []Event{moved[0]}, nil
}

// decideOn returns the move within a plan, nil if the step is there already. Only a person is held to the
// dependencies; an agent's order just lists its intentions.
func (a MoveStep) decideOn(p *Plan, f Facts) ([]StepMoved, error) {
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
			to++ // the gap left by the step moves later places up by one
		}
	}
	switch {
	case a.After == a.Step:
		return nil, Refuse(InvalidInput, "/after", a.Step.String()+" cannot be moved after itself",
			"name another step, or 0 for the first place")
	case to == at:
		return nil, nil // it is there already
	case f.Actor.Way() != "":
		if err := p.Steps.checkPosition(step, to); err != nil {
			return nil, err
		}
	}
	return []StepMoved{{Step: a.Step, After: a.After, At: f.Now}}, nil
}

// checkPosition refuses a position that the dependencies of the steps rule out.
func (s Steps) checkPosition(step *Step, to int) error {
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

// StepMoved moves a step of the current plan after another, or to the front.
type StepMoved struct {
	Step  StepID    `json:"step_id"`
	After StepID    `json:"after,omitzero"`
	At    time.Time `json:"at"`
}

func (e StepMoved) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) {
		p.Steps = p.Steps.move(e.Step, e.After)
	})
}

// move returns the steps with one moved after another, or to the front.
func (s Steps) move(id, after StepID) Steps {
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

// firstReordered returns the first step that comes before one it followed in the approved plan, 0 if
// there is none.
func firstReordered(approved, now *Plan) StepID {
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
