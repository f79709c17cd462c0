package plan

import "time"

// Clear asks to abandon the current plan (WINK: planning_clear_plan). It stays
// in the archive and can be restored.
type Clear struct{}

// Name is the action's word in the log.
func (Clear) Name() string { return "clear_plan" }

func (a Clear) clean(*cleaner) Action { return a }

func (Clear) decide(s State, f Facts) ([]Event, error) {
	p, err := livePlan(s)
	if err != nil {
		return nil, err
	}
	if p.Status == StatusAbandoned {
		return nil, conflict("the plan is abandoned already", "set up a new plan")
	}
	return append(archive(s, "cleared", f.Now), PlanCleared{At: f.Now}), nil
}

// PlanCleared abandons the current plan and empties its steps.
type PlanCleared struct {
	At time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanCleared) Kind() string { return "plan_cleared" }

func (e PlanCleared) apply(s State) State {
	if s.Plan == nil {
		return s
	}
	p := *s.Plan
	p.Steps = Steps{highest: p.Steps.highest}
	p.Status, p.UpdatedAt = StatusAbandoned, e.At
	s.Plan = &p
	return s
}

// Purge asks to delete the whole history and to begin a new one.
type Purge struct {
	Records Revision // how many the former log has
}

// Name is the action's word in the log.
func (Purge) Name() string { return "purge" }

func (a Purge) clean(*cleaner) Action { return a }

func (a Purge) decide(_ State, f Facts) ([]Event, error) {
	return []Event{HistoryPurged{Records: a.Records, At: f.Now}}, nil
}

// HistoryPurged begins a log anew, after a person had the former one deleted.
type HistoryPurged struct {
	Records Revision  `json:"records"` // how many the former log had
	At      time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (HistoryPurged) Kind() string { return "history_purged" }

func (HistoryPurged) apply(s State) State { return s }
