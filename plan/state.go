package plan

import (
	"cmp"
	"time"
)

// Revision numbers the accepted actions of a workspace: 1 for the first. It is
// the sequence number of the record in the log.
type Revision int64

// State is the current knowledge of a workspace. It is an immutable value; the zero value is an
// empty workspace.
type State struct {
	Revision      Revision   `json:"revision"`
	UpdatedAt     time.Time  `json:"updated_at"` // of the last record
	Plan          *Plan      `json:"-"`          // nil before the first; see StateBody
	Draft         *Plan      `json:"-"`          // a submitted or imported plan that is not approved yet
	Phase         Phase      `json:"phase,omitempty"`
	Signals       []Signal   `json:"signals,omitempty"`
	Mode          *Mode      `json:"mode,omitempty"` // nil before the first planning mode
	Questions     []Question `json:"questions,omitempty"`
	QuestionCount int        `json:"asked,omitempty"` // questions so far; ids are never reused
	Comments      []Comment  `json:"comments,omitempty"`
	CommentCount  int        `json:"commented,omitempty"` // comment ids so far; they are never reused
	Run           *Run       `json:"run,omitempty"`       // open or last; nil before the first
	Past          []PastPlan `json:"past,omitempty"`      // heads of former plans, oldest first; a restored one stays listed
	Shared        *Shared    `json:"shared,omitempty"`    // nil for a track that no team shares
}

// maxSetBack bounds how far a clock may be set back before records follow it.
const maxSetBack = time.Minute

// NextTime returns the time of the next record for a clock that shows now. It is later than the previous
// record's, even within one millisecond or after the clock was set back a little, so times tell the order. A
// clock set back further is believed: it may have been wrong by years. At more than a thousand records per
// second, times run ahead of the clock, and return to it once they are a minute ahead.
func (s State) NextTime(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	next := s.UpdatedAt.Add(time.Millisecond)
	if late := next.Sub(now); late > 0 && late <= maxSetBack {
		return next
	}
	return now
}

// PhaseNow returns the phase, with inactive for the zero value.
func (s State) PhaseNow() Phase { return cmp.Or(s.Phase, PhaseInactive) }

// PlanIDs lists the ids of all plans: the current one, a draft, then the former ones in the order
// of Former.
func (s State) PlanIDs() []string {
	var ids []string
	if s.Plan != nil {
		ids = append(ids, s.Plan.ID)
	}
	if s.Draft != nil {
		ids = append(ids, s.Draft.ID)
	}
	for _, head := range s.FormerPlans() {
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

// Build returns the state written in b.
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

// Record is one accepted action in the log. The sequence of records is the truth, the history and
// the audit trail at once.
type Record struct {
	Seq    Revision  `json:"seq"`
	Action string    `json:"action"`
	Actor  Actor     `json:"actor"`
	Time   time.Time `json:"time"`
	Phase  Phase     `json:"phase"` // after the action
	Events []Event   `json:"events"`
	IsOpen bool      `json:"-"` // the state after the action; noted beside the log, not in it
	Opens  bool      `json:"-"` // IsOpen, and the state before was not
}

// IsOpen reports whether s has work: an unfinished plan, a draft or planning mode.
func (s State) IsOpen() bool {
	return s.Plan.IsUnfinished() || s.Draft != nil || s.PhaseNow().IsRestricted()
}

// FoldVersion changes whenever Fold gives another result for the same records. Snapshots of another
// version are ignored and rebuilt.
const FoldVersion = 9

// Fold returns the state after r.
func Fold(s State, r Record) State {
	s = Apply(s, r.Events...)
	s.Revision, s.UpdatedAt = r.Seq, r.Time
	return s
}
