package plan

import "time"

// Revision numbers the accepted actions of a workspace: 1 for the first. It is
// the sequence number of the record in the log.
type Revision int64

// State is what a workspace knows now. It is an immutable value; the zero value
// is an empty workspace.
type State struct {
	Revision  Revision   `json:"revision"`
	UpdatedAt time.Time  `json:"updated_at"` // of the last record
	Plan      *Plan      `json:"-"`          // nil before the first; see StateBody
	Draft     *Plan      `json:"-"`          // a submitted or imported plan that nobody agreed to yet
	Phase     Phase      `json:"phase,omitempty"`
	Signals   []Signal   `json:"signals,omitempty"`
	Mode      *Mode      `json:"mode,omitempty"` // nil before planning mode was first entered
	Questions []Question `json:"questions,omitempty"`
	Asked     int        `json:"asked,omitempty"` // questions so far; ids are never used again
	Comments  []Comment  `json:"comments,omitempty"`
	Commented int        `json:"commented,omitempty"` // ids of comments so far; none is used again
	Run       *Run       `json:"run,omitempty"`       // open or last; nil before the first
	Past      []PastPlan `json:"past,omitempty"`      // heads of former plans, oldest first; one that was restored stays listed
}

// maxSetBack bounds how far a clock may be set back without the records saying so.
const maxSetBack = time.Minute

// TimeOfNext returns the time of the next record when a clock shows now. It is later than that of the record before, even within
// one millisecond or when the clock was set back a little, so that times tell what came first. A clock that was
// set back further is believed: it may have been wrong by years. Where more than a thousand records a second are made, times run
// ahead of the clock, and return to it once they are a minute ahead.
func (s State) TimeOfNext(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	next := s.UpdatedAt.Add(time.Millisecond)
	if late := next.Sub(now); late > 0 && late <= maxSetBack {
		return next
	}
	return now
}

// PhaseNow returns the phase, with inactive for the zero value.
func (s State) PhaseNow() Phase {
	if s.Phase == "" {
		return PhaseInactive
	}
	return s.Phase
}

// PlanIDs lists the ids of all plans: the current one and a draft first, then the
// former ones as Former does.
func (s State) PlanIDs() []string {
	var ids []string
	if s.Plan != nil {
		ids = append(ids, s.Plan.ID)
	}
	if s.Draft != nil {
		ids = append(ids, s.Draft.ID)
	}
	for _, head := range s.Former() {
		if s.Plan == nil || head.ID != s.Plan.ID {
			ids = append(ids, head.ID)
		}
	}
	return ids
}

// StateBody is a state in its written form, for snapshots.
type StateBody struct {
	State
	Plan  *Body `json:"plan,omitempty"`
	Draft *Body `json:"draft,omitempty"`
}

// Body returns the written form of s.
func (s State) Body() StateBody {
	b := StateBody{State: s}
	b.State.Plan, b.State.Draft = nil, nil
	if s.Plan != nil {
		body := s.Plan.Body()
		b.Plan = &body
	}
	if s.Draft != nil {
		body := s.Draft.Body()
		b.Draft = &body
	}
	return b
}

// Build returns the state that b writes down.
func (b StateBody) Build() State {
	s := b.State
	if b.Plan != nil {
		s.Plan = b.Plan.Build()
	}
	if b.Draft != nil {
		s.Draft = b.Draft.Build()
	}
	return s
}

// Record is one accepted action as the log keeps it. The sequence of records is
// the truth, the history and the audit trail at once.
type Record struct {
	Seq    Revision  `json:"seq"`
	Action string    `json:"action"`
	Actor  Actor     `json:"actor"`
	Time   time.Time `json:"time"`
	Phase  Phase     `json:"phase"` // after the action
	Events []Event   `json:"events"`
}

// FoldVersion changes whenever Fold makes something else of the same records.
// Snapshots of another version are ignored and rebuilt.
const FoldVersion = 5

// Fold returns the state after r.
func Fold(s State, r Record) State {
	for _, e := range r.Events {
		s = Apply(s, e)
	}
	s.Revision, s.UpdatedAt = r.Seq, r.Time
	return s
}
