package plan

import "time"

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
const FoldVersion = 1

// Fold returns the state after r.
func Fold(s State, r Record) State {
	for _, e := range r.Events {
		s = Apply(s, e)
	}
	s.Revision, s.UpdatedAt = r.Seq, r.Time
	return s
}
