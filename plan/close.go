package plan

import "time"

// Close asks to close the completed plan with a final summary
// (planloop: API Contract, Response D).
type Close struct {
	Summary string
}

// Name is the action's word in the log.
func (Close) Name() string { return "close_plan" }

func (a Close) clean(c *cleaner) Action {
	c.text(&a.Summary, "summary", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a Close) decide(s State, f Facts) ([]Event, error) {
	p, err := livePlan(s)
	if err != nil {
		return nil, err
	}
	switch {
	case p.FinalSummary == a.Summary:
		return nil, nil
	case p.FinalSummary != "":
		return nil, conflict("the plan is closed with its final summary already", "set up a new plan for further work")
	case p.Status != StatusCompleted:
		return nil, conflict("the plan is "+string(p.Status)+", not completed: "+unfinished(p), "finish the plan first, then give the summary")
	}
	return []Event{PlanClosed{Summary: a.Summary, By: f.Actor.Name, At: f.Now}}, nil
}

// unfinished names the steps that are left for a message.
func unfinished(p *Plan) string {
	var left []StepID
	for step := range p.Steps.All() {
		if !step.Status.Finished() {
			left = append(left, step.ID)
		}
	}
	switch len(left) {
	case 0:
		return "nothing was done"
	case 1:
		return IDs(left) + " is left"
	}
	return IDs(left) + " are left"
}

// PlanClosed keeps the final summary; nothing is marked any more.
type PlanClosed struct {
	Summary string    `json:"summary"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanClosed) Kind() string { return "plan_closed" }

func (e PlanClosed) apply(s State) State {
	if s.Plan == nil {
		return s
	}
	p := *s.Plan
	p.FinalSummary, p.UpdatedAt = e.Summary, e.At
	s.Plan = &p
	return s
}
