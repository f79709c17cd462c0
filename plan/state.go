package plan

import (
	"iter"
	"slices"
	"time"
)

// Revision numbers the accepted actions of a workspace: 1 for the first. It is
// the sequence number of the record in the log.
type Revision int64

// State is what a workspace knows now. It is an immutable value; the zero value
// is an empty workspace.
type State struct {
	Revision  Revision
	UpdatedAt time.Time // of the last record
	Plan      *Plan     // nil before the first
	Draft     *Plan     // a submitted or imported plan that nobody agreed to yet
	Phase     Phase
	Mode      *Mode // nil before planning mode was first entered
	Signals   []Signal
	Questions []Question
	Asked     int // questions so far; ids are never used again
	Comments  []Comment
	past      vector[PastPlan]
}

// PastPlan is the head of a plan that is not the current one any more. Its body
// stands in the log: it is the current plan of the state at Revision.
type PastPlan struct {
	ID         string     `json:"id"`
	Objective  string     `json:"objective"`
	Status     PlanStatus `json:"status"` // as it was
	Version    int        `json:"version"`
	Steps      int        `json:"steps"`
	Done       int        `json:"done"`
	CreatedAt  time.Time  `json:"created_at"`
	ArchivedAt time.Time  `json:"archived_at"`
	Revision   Revision   `json:"revision"`
	Reason     string     `json:"reason"` // replaced, cleared, restored_over; of a draft superseded, rejected, cancelled, expired or ended
}

// PhaseNow returns the phase, with inactive for the zero value.
func (s State) PhaseNow() Phase {
	if s.Phase == "" {
		return PhaseInactive
	}
	return s.Phase
}

// Past lists the heads of former plans, oldest first. A plan that was restored
// stays listed until it is archived again with a newer head; its place is kept.
func (s State) Past() iter.Seq[PastPlan] { return s.past.all() }

// PastPlan returns the head of the former plan with that id.
func (s State) PastPlan(id string) (PastPlan, bool) {
	if i := s.pastIndex(id); i >= 0 {
		return s.past.at(i), true
	}
	return PastPlan{}, false
}

// Former lists the heads of the plans that can be restored, the one archived last
// first: all but the current plan, unless that was cleared.
func (s State) Former() []PastPlan {
	var former []PastPlan
	for head := range s.Past() {
		if s.Plan == nil || s.Plan.ID != head.ID || s.Plan.Cleared() {
			former = append(former, head)
		}
	}
	slices.Reverse(former)
	slices.SortStableFunc(former, func(a, b PastPlan) int { return b.ArchivedAt.Compare(a.ArchivedAt) })
	return former
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

func (s State) pastIndex(id string) int {
	for i := s.past.len() - 1; i >= 0; i-- {
		if s.past.at(i).ID == id {
			return i
		}
	}
	return -1
}

// knows reports whether any plan of s has the id.
func (s State) knows(id string) bool {
	if s.Plan != nil && s.Plan.ID == id || s.Draft != nil && s.Draft.ID == id {
		return true
	}
	return s.pastIndex(id) >= 0
}

// StateBody is a state in its written form, for snapshots.
type StateBody struct {
	Revision  Revision   `json:"revision"`
	UpdatedAt time.Time  `json:"updated_at"`
	Plan      *Body      `json:"plan,omitempty"`
	Draft     *Body      `json:"draft,omitempty"`
	Phase     Phase      `json:"phase,omitempty"`
	Signals   []Signal   `json:"signals,omitempty"`
	Mode      *Mode      `json:"mode,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Asked     int        `json:"asked,omitempty"`
	Comments  []Comment  `json:"comments,omitempty"`
	Past      []PastPlan `json:"past,omitempty"`
}

// Body returns the written form of s.
func (s State) Body() StateBody {
	b := StateBody{Revision: s.Revision, UpdatedAt: s.UpdatedAt, Phase: s.Phase, Mode: s.Mode,
		Signals: s.Signals, Questions: s.Questions, Asked: s.Asked, Comments: s.Comments}
	if s.Plan != nil {
		body := s.Plan.Body()
		b.Plan = &body
	}
	if s.Draft != nil {
		body := s.Draft.Body()
		b.Draft = &body
	}
	for p := range s.Past() {
		b.Past = append(b.Past, p)
	}
	return b
}

// Build returns the state that b writes down.
func (b StateBody) Build() State {
	s := State{Revision: b.Revision, UpdatedAt: b.UpdatedAt, Phase: b.Phase, Mode: b.Mode,
		Signals: b.Signals, Questions: b.Questions, Asked: b.Asked, Comments: b.Comments}
	if b.Plan != nil {
		s.Plan = b.Plan.Build()
	}
	if b.Draft != nil {
		s.Draft = b.Draft.Build()
	}
	for _, p := range b.Past {
		s.past = s.past.append(p)
	}
	return s
}
