package plan

import "time"

// EnterMode asks for planning mode: from then on nothing is changed until a plan
// is approved (chorus: Entering Planning Mode).
type EnterMode struct {
	Task   string // what to plan for; may be empty
	Reason string // why an agent enters; may be empty
}

// Name is the action's word in the log.
func (EnterMode) Name() string { return "enter_plan_mode" }

func (a EnterMode) clean(c *cleaner) Action {
	c.line(&a.Task, "task", MaxLongLine)
	c.line(&a.Reason, "reason", MaxLongLine)
	return a
}

func (a EnterMode) decide(s State, f Facts) ([]Event, error) {
	if s.PhaseNow() != PhaseInactive {
		return nil, nil
	}
	return []Event{ModeEntered{Task: a.Task, Reason: a.Reason, By: f.Actor.Name, At: f.Now, IdleTimeout: Limit(f.Limits.GatheringTimeout)}}, nil
}

// ModeEntered begins planning mode.
type ModeEntered struct {
	Task        string    `json:"task,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	By          string    `json:"by"`
	At          time.Time `json:"at"`
	IdleTimeout Limit     `json:"quiet"` // how long it may go without a sign of life
}

// Kind is the event's word in the log.
func (ModeEntered) Kind() string { return "mode_entered" }

func (e ModeEntered) apply(s State) State {
	return s.inMode(PhaseGathering, func(m *Mode) {
		*m = Mode{Task: e.Task, Reason: e.Reason, By: e.By, Since: e.At, IdleTimeout: e.IdleTimeout, Approved: m.Approved}
	})
}

// CancelMode asks to leave planning mode without a plan. Only a person may.
type CancelMode struct{}

// Name is the action's word in the log.
func (CancelMode) Name() string { return "cancel_plan_mode" }

func (a CancelMode) clean(*cleaner) Action { return a }

func (CancelMode) decide(s State, f Facts) ([]Event, error) {
	if s.PhaseNow() == PhaseInactive {
		return nil, conflict("planning mode is not on", "there is nothing to cancel")
	}
	return []Event{ModeCancelled{By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}, nil
}

// ModeCancelled ends planning mode; a draft is dropped. An approved plan that was being
// carried out when the draft came goes on.
type ModeCancelled struct {
	By  string    `json:"by"`
	Way Way       `json:"way"`
	At  time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (ModeCancelled) Kind() string { return "mode_cancelled" }

func (e ModeCancelled) apply(s State) State {
	phase := PhaseInactive
	if s.PhaseNow().Restricted() {
		s, phase = s.withoutDraft()
	}
	s.Draft = nil
	return s.decided(phase, Decision{Outcome: CalledOff, By: e.By, Way: e.Way, At: e.At})
}

// EndMode says that what was approved is done.
type EndMode struct{}

// Name is the action's word in the log.
func (EndMode) Name() string { return "end_plan_mode" }

func (a EndMode) clean(*cleaner) Action { return a }

func (EndMode) decide(s State, f Facts) ([]Event, error) {
	switch phase := s.PhaseNow(); phase {
	case PhaseExecuting:
		return []Event{ModeEnded{By: f.Actor.Name, Why: "said to be done", At: f.Now}}, nil
	case PhaseInactive:
		return nil, nil
	default:
		return nil, conflict("planning mode is "+string(phase)+", and only a person may cancel it", "ask the user")
	}
}

// ModeEnded ends planning mode after an approved plan was carried out, or is no
// more.
type ModeEnded struct {
	By  string    `json:"by"`
	Why string    `json:"why"`
	At  time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (ModeEnded) Kind() string { return "mode_ended" }

func (e ModeEnded) apply(s State) State {
	if s.PhaseNow().Restricted() {
		s.Draft = nil
	}
	return s.decided(PhaseInactive, Decision{Outcome: Ended, By: e.By, Comment: e.Why, At: e.At})
}

// ending returns the event that ends the mode because the approved plan is not
// being carried out any more.
func ending(s State, f Facts) []Event {
	if s.PhaseNow() == PhaseSubmitted && (s.revises() && s.Plan.Cleared() || !s.revises() && s.ModeNow().Request.Base != "") {
		return []Event{ModeEnded{By: string(Planloop), Why: "the plan to be revised was replaced", At: f.Now}}
	}
	if s.PhaseNow() != PhaseExecuting {
		return nil
	}
	why := ""
	switch p := s.Plan; {
	case !s.carriesOut():
		why = "the plan was replaced"
	case p.Status == StatusCompleted:
		why = "the plan is completed"
	case p.Status == StatusAbandoned:
		why = "the plan was abandoned"
	case p.Status == StatusFailed:
		why = "the plan failed"
	}
	if why == "" {
		return nil
	}
	return []Event{ModeEnded{By: string(Planloop), Why: why, At: f.Now}}
}
