package plan

import "time"

// Restore asks to make a former plan the current one again. Facts.Past brings
// its body.
type Restore struct {
	PlanID string
}

// Name is the action's word in the log.
func (Restore) Name() string { return "restore_plan" }

func (a Restore) decide(s State, f Facts) ([]Event, error) {
	if s.Plan != nil && s.Plan.ID == a.PlanID && !s.Plan.Cleared() {
		return nil, conflict("the plan "+Quote(a.PlanID)+" is the current one", "nothing needs restoring")
	}
	if _, ok := s.PastPlan(a.PlanID); !ok || f.Past == nil || f.Past.ID != a.PlanID {
		return nil, &ValidationError{Kind: NotFound, Field: "/plan_id",
			Problem: "there is no former plan " + Quote(a.PlanID), Fix: "list the former plans to find its id"}
	}
	body := f.Past.Body()
	body.UpdatedAt = f.Now
	if body.Status == StatusDraft {
		body.Status = StatusActive // nobody approved it: it is a plan like any other
	}
	for i, step := range body.Steps {
		body.Steps[i] = step.unclaimed()
	}
	events := append(archive(s, "restored_over", f.Now), PlanRestored{Plan: body, At: f.Now})
	if f.Past.Status == StatusDraft {
		events = append(events, completion(StatusActive, f.Past.Steps.tally(), f.Now)...)
	}
	return events, nil
}

func (step *Step) unclaimed() *Step {
	if step.ClaimedBy == "" {
		return step
	}
	free := *step
	free.ClaimedBy, free.LeaseUntil = "", time.Time{}
	return &free
}

// PlanRestored makes a former plan the current one.
type PlanRestored struct {
	Plan Body      `json:"plan"`
	At   time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanRestored) Kind() string { return "plan_restored" }

func (e PlanRestored) apply(s State) State {
	s.Plan = e.Plan.Build()
	return s
}
