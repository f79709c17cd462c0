package plan

import "time"

// AddSteps asks to append steps to the active plan (WINK: planning_add_step).
type AddSteps struct {
	Steps []NewStep
}

// Name is the action's word in the log.
func (AddSteps) Name() string { return "add_steps" }

func (a AddSteps) clean(c *cleaner) Action {
	c.steps(&a.Steps, "steps")
	return a
}

func (a AddSteps) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be added")
	if err != nil {
		return nil, err
	}
	if err := withinLimit(p.Steps.Len()+len(a.Steps), f.Limits); err != nil {
		return nil, err
	}
	steps, err := mint(p.Steps, a.Steps, "/steps")
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	added := StepsAdded{Steps: steps, At: f.Now}
	after := Apply(State{Plan: p}, added).Plan.Steps
	return append([]Event{added}, completion(p.Status, after.tally(), f.Now)...), nil
}

// StepsAdded appends steps to the current plan.
type StepsAdded struct {
	Steps []*Step   `json:"steps"`
	At    time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (StepsAdded) Kind() string { return "steps_added" }

func (e StepsAdded) apply(s State) State {
	return s.withSteps(e.At, func(edit *stepsEdit) { edit.add(e.Steps) })
}

// withSteps returns s with the steps of its plan edited by f.
func (s State) withSteps(at time.Time, f func(*stepsEdit)) State {
	if s.Plan == nil {
		return s
	}
	edit := s.Plan.Steps.edit()
	f(edit)
	p := *s.Plan
	p.Steps, p.UpdatedAt = edit.done(), at
	s.Plan = &p
	return s
}

// withStep returns s with one step of its plan changed by f, which gets a copy.
func (s State) withStep(id StepID, at time.Time, f func(*Step)) State {
	if s.Plan == nil {
		return s
	}
	old, ok := s.Plan.Steps.Get(id)
	if !ok {
		return s
	}
	step := *old
	f(&step)
	return s.withSteps(at, func(edit *stepsEdit) { edit.replace(&step) })
}
