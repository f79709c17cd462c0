package plan

import (
	"strings"
	"time"
)

// Expiry returns the event that ends planning mode when its time is up, else nil. There is no
// clock: expiry follows from stored times, and the first action to notice it records it (chorus:
// Planning mode timeout). seen is the last sign of life of any actor.
func Expiry(s State, now time.Time, l Limits, seen time.Time) Event {
	at, limit := ExpiresAt(s, l, seen)
	if limit <= 0 || latest(now, s.UpdatedAt).Before(at) { // a clock that was set back must not reopen the mode
		return nil
	}
	e := ModeExpired{Phase: s.Phase, Limit: limit.String(), At: at.UTC().Truncate(time.Millisecond)}
	span := strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(limit.String())
	if e.Why = "not decided within " + span; e.Phase == PhaseGathering {
		e.Why = "no activity for " + span
	}
	return e
}

// LimitsInForce returns the limits that apply in s: in planning mode, the stricter of those
// recorded at its beginning and the configured ones; for time-outs, the longer. A limit set for one
// command or server must not loosen the mode of others.
func (s State) LimitsInForce(configured Limits) Limits {
	l, mode := configured.withDefaults(), s.ModeNow()
	if s.PhaseNow() != PhaseInactive {
		l.GatheringTimeout = longer(mode.IdleTimeout, l.GatheringTimeout)
		l.ApprovalTimeout = longer(mode.ApprovalTimeout, l.ApprovalTimeout)
		l.PersonOnly = l.PersonOnly || mode.PersonOnly
	}
	if mode.Request != nil {
		l.ApprovalTimeout = longer(mode.Request.Limit, l.ApprovalTimeout)
		l.PersonOnly = l.PersonOnly || mode.Request.PersonOnly
	}
	return l
}

// ExpiresAt returns when planning mode will expire if nothing happens, and by which limit; a limit
// of 0 means never. Gathering expires only if IsAgentsOwn: silence must not end a mode that a person wanted.
func ExpiresAt(s State, configured Limits, seen time.Time) (time.Time, time.Duration) {
	l, mode := s.LimitsInForce(configured), s.ModeNow()
	limit, from := time.Duration(0), time.Time{}
	switch {
	case s.PhaseNow() == PhaseGathering && mode.IsAgentsOwn:
		limit, from = l.GatheringTimeout, latest(mode.Since, s.UpdatedAt, seen)
	case mode.Request != nil:
		limit, from = l.ApprovalTimeout, mode.Request.At
	}
	if limit <= 0 {
		return time.Time{}, 0
	}
	return from.Add(limit), limit
}

// longer returns the longer of two limits; negative means unlimited.
func longer(stored Limit, configured time.Duration) time.Duration {
	if stored < 0 || configured < 0 {
		return -1
	}
	return max(time.Duration(stored), configured)
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

// ExpireMode asks to record that planning mode has expired, and does nothing else: Decide records
// it before any action.
type ExpireMode struct{}

func (ExpireMode) decide(State, Facts) ([]Event, error) { return nil, nil }

// ModeExpired ends planning mode: there was no decision, or no sign of life, in time. A submitted plan counts as
// rejected; a draft beside a mode that only gathered is kept.
type ModeExpired struct {
	Phase Phase     `json:"phase"`         // that took too long
	Limit string    `json:"limit"`         // in force, such as 30m0s
	Why   string    `json:"why,omitempty"` // "" in old logs, in which gathering dropped the draft too
	At    time.Time `json:"at"`
}

func (e ModeExpired) apply(s State) State {
	if s.HasProposal() {
		return s.withoutProposal(Decision{Outcome: Expired, By: string(Planloop), Comment: e.Why, Change: s.changesApproved(), At: e.At})
	}
	kept, why, gathered, change := s.Draft, e.Why, e.Phase == PhaseGathering, e.Why != "" && s.isRevision()
	s, phase := s.withoutDraft()
	switch {
	case e.Why != "" && gathered:
		s.Draft = kept
	case e.Why == "" && gathered:
		why = "nothing was heard for " + e.Limit
	case e.Why == "":
		why = "nobody decided within " + e.Limit
	}
	return s.withDecision(phase, Decision{Outcome: Expired, By: string(Planloop), Comment: why, Change: change,
		Draft: gathered && e.Why != "", At: e.At})
}

// ModeTouched records that a person acted in a planning mode that an agent had entered by itself.
type ModeTouched struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (e ModeTouched) apply(s State) State {
	return s.withMode(s.Phase, func(m *Mode) { m.IsAgentsOwn = false })
}
