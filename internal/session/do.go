package session

import (
	"context"
	"errors"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Outcome is what became of an action. Both states are the same, and there are no
// events, when everything was already as asked.
type Outcome struct {
	Before plan.State
	After  plan.State
	Events []plan.Event
}

// Do decides about a in the state as it is on disk, and records it. When it
// returns without an error, the change is on disk. A refusal is a
// *plan.ValidationError; it changed nothing. Other errors come from the store.
// Facts that only the caller knows come with prepare, which may be nil; it must be
// quick, and is called again when the state has moved on meanwhile.
func (s *Session) Do(ctx context.Context, by plan.Actor, a plan.Action, prepare func(plan.State, *plan.Facts) error) (Outcome, error) {
	if err := s.takeTurn(ctx); err != nil {
		return Outcome{}, err
	}
	defer s.giveTurn()
	if err := s.refuseEarly(ctx, by, a, prepare); err != nil {
		return Outcome{}, err
	}
	unlock, err := s.log.Lock(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	for attempt := 0; ; attempt++ {
		outcome, err := s.try(ctx, by, a, prepare)
		if errors.Is(err, store.ErrConflict) && attempt < 3 {
			continue // somebody appended without the lock; look again
		}
		return outcome, err
	}
}

// refuseEarly refuses what an empty log does not allow before the lock is taken:
// locking would create the workspace's folder, for nothing. The turn is held.
func (s *Session) refuseEarly(ctx context.Context, by plan.Actor, a plan.Action, prepare func(plan.State, *plan.Facts) error) error {
	if s.read && s.head.Seq > 0 {
		return nil
	}
	if err := s.catchUp(ctx); err != nil || s.head.Seq > 0 {
		return err
	}
	_, err := s.judge(by, a, prepare)
	return err
}

// try is one round of Do. The turn and the lock are held.
func (s *Session) try(ctx context.Context, by plan.Actor, a plan.Action, prepare func(plan.State, *plan.Facts) error) (Outcome, error) {
	if err := s.catchUp(ctx); err != nil {
		return Outcome{}, err
	}
	before := s.now
	record, err := s.judge(by, a, prepare)
	if err != nil {
		return Outcome{}, err
	}
	if len(record.Events) == 0 {
		return Outcome{Before: before, After: before}, nil
	}
	after := plan.Fold(before, record)
	record.Phase = after.PhaseNow()
	head, err := s.log.Append(ctx, record)
	if err != nil {
		return Outcome{}, err
	}
	s.now, s.head = after, head
	s.snapshotIfDue()
	return Outcome{Before: before, After: after, Events: record.Events}, nil
}

// judge returns the record that a leads to in the present state, without events
// when it changes nothing.
func (s *Session) judge(by plan.Actor, a plan.Action, prepare func(plan.State, *plan.Facts) error) (plan.Record, error) {
	now := s.opts.Now().UTC().Truncate(time.Millisecond)
	facts := plan.Facts{Now: now, Actor: by, Limits: s.opts.Limits, Seen: s.seen(s.now, a)}
	if s.opts.Presence != nil && s.now.PhaseNow() == plan.PhaseGathering {
		facts.LastActivity = s.opts.Presence.LastActivity()
	}
	if prepare != nil {
		if err := prepare(s.now, &facts); err != nil {
			return plan.Record{}, err
		}
	}
	events, err := plan.Decide(s.now, a, facts)
	return plan.Record{Seq: s.now.Revision + 1, Action: plan.WordOf(a), Actor: by, Time: now, Events: events}, err
}

func (s *Session) seen(state plan.State, a plan.Action) map[string]plan.Sighting {
	if s.opts.Presence == nil {
		return nil
	}
	owners := plan.Owners(state, a)
	if len(owners) == 0 {
		return nil
	}
	seen := make(map[string]plan.Sighting, len(owners))
	for _, name := range owners {
		seen[name] = s.opts.Presence.Seen(name)
	}
	return seen
}
