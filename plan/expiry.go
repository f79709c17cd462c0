package plan

import "time"

// Expiry returns the event that ends planning mode because its time is over, nil
// when it is not. Nothing runs a clock: it follows from stored times when anybody
// looks, and the next accepted action records it (chorus: Planning mode timeout).
// seen is the last sign of life of whoever entered.
func Expiry(s State, now time.Time, l Limits, seen time.Time) Event {
	l = l.withDefaults()
	mode := s.ModeNow()
	limit, from := time.Duration(0), time.Time{}
	switch s.PhaseNow() {
	case PhaseGathering:
		limit, from = l.GatheringTimeout, latest(mode.Since, s.UpdatedAt, seen)
	case PhaseSubmitted:
		if mode.Request == nil {
			return nil
		}
		limit, from = l.ApprovalTimeout, mode.Request.At
	}
	if limit <= 0 || latest(now, s.UpdatedAt).Sub(from) < limit { // a clock that was set back opens nothing
		return nil
	}
	return ModeExpired{Phase: s.Phase, Limit: limit.String(), At: from.Add(limit).UTC().Truncate(time.Millisecond)}
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// ModeExpired ends planning mode because nobody decided, or nothing was heard, in time.
type ModeExpired struct {
	Phase Phase     `json:"phase"` // that was too long
	Limit string    `json:"limit"` // in force, such as 30m0s
	At    time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (ModeExpired) Kind() string { return "mode_expired" }

func (e ModeExpired) apply(s State) State {
	s, phase := s.withoutDraft()
	return s.decided(phase, Decision{Outcome: Expired, By: string(Planloop), Comment: "no decision within " + e.Limit, At: e.At})
}
