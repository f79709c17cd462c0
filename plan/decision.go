package plan

import "time"

// Answer is what every decision about a draft says: who may take it, and about
// what (chorus: Plan Approval).
type Answer struct {
	Request string // the open request it answers; may be empty for a person
	Digest  string // of what was shown
	Comment string
}

// open returns the draft, or says why it is not to be decided about.
func (a Answer) open(s State, f Facts) (*Plan, error) {
	if s.Draft == nil {
		return nil, conflict("no plan waits for a decision", "look at `planloop plan status`")
	}
	request, way := s.ModeNow().Request, f.Actor.Way()
	switch {
	case s.PhaseNow() == PhaseGathering:
		return nil, conflict("planning goes on, and no plan is submitted yet", "wait for the plan to be submitted")
	case way == ByClient && (request == nil || a.Request != request.ID),
		way == ByPerson && a.Request != "" && (request == nil || a.Request != request.ID):
		return nil, conflict("this request was decided or replaced already", "look at what waits now")
	case a.Digest == "" || a.Digest != Digest(s.Draft):
		return nil, conflict("the plan has changed since it was shown", "look at it again, then decide")
	}
	return s.Draft, nil
}

// Approve asks to make the draft the current plan and to carry it out.
type Approve struct{ Answer }

// Name is the action's word in the log.
func (Approve) Name() string { return "approve_plan" }

func (a Approve) clean(c *cleaner) Action {
	c.block(&a.Comment, "comment", MaxLongText)
	return a
}

func (a Approve) decide(s State, f Facts) ([]Event, error) {
	draft, err := a.open(s, f)
	if err != nil {
		return nil, err
	}
	if request := s.ModeNow().Request; request != nil && request.Base != "" && request.Base != Digest(s.Plan) {
		return nil, conflict("the plan was changed while its revision waited", "reject the revision; the agent can submit it again")
	}
	var events []Event
	if !s.revises() {
		events = archive(s, "replaced", f.Now)
	}
	events = append(events, PlanApproved{Approval: Approval{By: f.Actor.Name, Way: string(f.Actor.Way()), Digest: a.Digest, Comment: a.Comment, At: f.Now}})
	steps := draft.Steps
	if s.revises() {
		steps = steps.withProgressOf(s.Plan.Steps)
	}
	return append(events, completion(StatusActive, steps.tally(), f.Now)...), nil
}

// PlanApproved makes the draft the current plan, to be carried out.
type PlanApproved struct {
	Approval Approval `json:"approval"`
}

// Kind is the event's word in the log.
func (PlanApproved) Kind() string { return "plan_approved" }

func (e PlanApproved) apply(s State) State {
	if s.Draft == nil {
		return s
	}
	p, change := *s.Draft, s.revises()
	if change {
		p.Steps = p.Steps.withProgressOf(s.Plan.Steps)
	}
	p.Status, p.Approval, p.UpdatedAt = StatusActive, &e.Approval, e.Approval.At
	s.Plan, s.Draft = &p, nil
	s = s.inMode(PhaseExecuting, func(m *Mode) { m.Approved = p.ID })
	return s.decided(PhaseExecuting, Decision{Outcome: Approved, By: e.Approval.By, Way: Way(e.Approval.Way), Comment: e.Approval.Comment, Change: change, At: e.Approval.At})
}

// withProgressOf returns s with what has become of the same steps in now: a person
// may have gone on while the revision waited.
func (s Steps) withProgressOf(now Steps) Steps {
	list := s.List()
	for i, step := range list {
		merged := *step
		if current, ok := now.Get(step.ID); ok {
			merged.Progress = current.Progress
		} else {
			merged.Progress = Progress{Status: Pending}
		}
		list[i] = &merged
	}
	steps := NewSteps(list)
	steps.highest = max(steps.highest, s.highest)
	return steps
}

// Reject asks to drop the draft and to end the mode.
type Reject struct{ Answer }

// Name is the action's word in the log.
func (Reject) Name() string { return "reject_plan" }

func (a Reject) clean(c *cleaner) Action {
	c.block(&a.Comment, "comment", MaxLongText)
	return a
}

func (a Reject) decide(s State, f Facts) ([]Event, error) {
	draft, err := a.open(s, f)
	if err != nil {
		return nil, err
	}
	return []Event{PlanRejected{Plan: draft.ID, Reason: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}, nil
}

// PlanRejected drops the draft. A plan that it was to revise goes on.
type PlanRejected struct {
	Plan   string    `json:"plan_id"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"`
	Way    Way       `json:"way"`
	At     time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanRejected) Kind() string { return "plan_rejected" }

func (e PlanRejected) apply(s State) State {
	change := s.revises()
	s, phase := s.withoutDraft()
	return s.decided(phase, Decision{Outcome: Rejected, By: e.By, Way: e.Way, Comment: e.Reason, Change: change, At: e.At})
}

// Return asks to have the draft edited by what the comment says, and submitted again.
type Return struct{ Answer }

// Name is the action's word in the log.
func (Return) Name() string { return "return_plan" }

func (a Return) clean(c *cleaner) Action {
	c.block(&a.Comment, "comment", MaxLongText)
	return a
}

func (a Return) decide(s State, f Facts) ([]Event, error) {
	draft, err := a.open(s, f)
	if err != nil {
		return nil, err
	}
	if a.Comment == "" {
		return nil, &ValidationError{Kind: InvalidInput, Field: "/comment", Problem: "is blank", Fix: "say what is to be changed"}
	}
	return []Event{PlanReturned{Plan: draft.ID, Comment: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now, IdleTimeout: Limit(f.Limits.GatheringTimeout)}}, nil
}

// PlanReturned goes back to gathering. The draft stays until the next submission.
type PlanReturned struct {
	Plan        string    `json:"plan_id"`
	Comment     string    `json:"comment"`
	By          string    `json:"by"`
	Way         Way       `json:"way"`
	At          time.Time `json:"at"`
	IdleTimeout Limit     `json:"quiet"` // how long gathering may go without a sign of life
}

// Kind is the event's word in the log.
func (PlanReturned) Kind() string { return "plan_returned" }

func (e PlanReturned) apply(s State) State {
	s = s.decided(PhaseGathering, Decision{Outcome: Returned, By: e.By, Way: e.Way, Comment: e.Comment, Change: s.revises(), At: e.At})
	return s.inMode(PhaseGathering, func(m *Mode) { m.IdleTimeout = e.IdleTimeout })
}

// LeaveUndecided notes that a client asked its user, or could not, and brought no
// decision. The plan stays submitted: hosts are known to decline on nobody's behalf.
type LeaveUndecided struct {
	Request string
	How     string // declined, cancelled, unsupported, timed_out or failed
}

// Name is the action's word in the log.
func (LeaveUndecided) Name() string { return "leave_undecided" }

func (a LeaveUndecided) clean(c *cleaner) Action {
	c.oneOf("how", a.How, []string{"declined", "cancelled", "unsupported", "timed_out", "failed"})
	return a
}

func (a LeaveUndecided) decide(s State, f Facts) ([]Event, error) {
	if request := s.ModeNow().Request; request == nil || request.ID != a.Request {
		return nil, nil
	}
	return []Event{LeftUndecided{Request: a.Request, How: a.How, By: f.Actor.Name, At: f.Now}}, nil
}

// LeftUndecided says that a client brought no decision. It changes nothing.
type LeftUndecided struct {
	Request string    `json:"request"`
	How     string    `json:"how"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (LeftUndecided) Kind() string { return "left_undecided" }

func (LeftUndecided) apply(s State) State { return s }
