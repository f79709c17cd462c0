package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Decider decides about the actions of a log that is a copy of a team's. All methods may be called from several goroutines and
// must end in a bounded time. An error means that nothing is known to have changed.
type Decider interface {
	// Pull returns the records after the end of the copy.
	Pull(ctx context.Context, after store.Head) (Feed, error)

	// Decide decides about an action, and returns the records after the end of the copy, which then include the action's own. The
	// error wraps ErrChanged if what the action relies on has changed.
	Decide(ctx context.Context, r Request, after store.Head) (Feed, error)

	// PutValue and Value are those of store.Log.
	PutValue(ctx context.Context, value []byte) (name string, err error)
	Value(ctx context.Context, name string) ([]byte, error)
}

// ErrChanged means that the state has changed in a way that an action's checks rely on.
var ErrChanged = errors.New("the plan was changed at the same time; try again")

// Request is an action for a Decider.
type Request struct {
	By     plan.Actor
	Action plan.Action
	Facts  plan.Facts // only those that prepare has added count
	On     plan.State // that the action was prepared on
}

// Feed is an answer of a Decider: the records after a head, or from the beginning of another chain.
type Feed struct {
	Head    store.Head    // of the team's log
	Records []string      // in their written form
	More    bool          // others follow
	Own     plan.Revision // of the record of the decided action; 0 if nothing changed
}

// maxDecisions bounds the rounds of an action while its basis keeps changing.
const maxDecisions = 5

// Pull appends the team's new records to the copy. Without a Decider it does nothing.
func (s *Session) Pull(ctx context.Context) error {
	for s.opts.Decider != nil { // each feed but the last has records
		_, after, err := s.current(ctx)
		if err != nil {
			return err
		}
		feed, err := s.opts.Decider.Pull(ctx, after)
		if err == nil {
			_, err = s.adopt(ctx, after, feed)
		}
		if err != nil || !feed.More {
			return err
		}
	}
	return nil
}

// current returns the copy's state and end.
func (s *Session) current(ctx context.Context) (plan.State, store.Head, error) {
	if err := s.takeTurn(ctx); err != nil {
		return plan.State{}, store.Head{}, err
	}
	defer s.releaseTurn()
	err := s.catchUp(ctx)
	return s.state, s.head, err
}

// doShared is Do with a Decider. It holds neither turn nor lock while the Decider works.
func (s *Session) doShared(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare, main plan.State) (Outcome, error) {
	for round := 1; ; round++ {
		if err := s.Pull(ctx); err != nil {
			return Outcome{}, err
		}
		state, head, err := s.current(ctx)
		if err != nil {
			return Outcome{}, err
		}
		state = state.WithWorkspaceSignals(main)
		facts, err := s.facts(by, a, state, prepare)
		if err != nil {
			return Outcome{}, err
		}
		feed, err := s.opts.Decider.Decide(ctx, Request{By: by, Action: a, Facts: facts, On: state}, head)
		if errors.Is(err, ErrChanged) && round < maxDecisions {
			continue
		}
		if err != nil {
			return Outcome{}, err
		}
		outcome, err := s.adopt(ctx, head, feed)
		if err == nil && feed.More {
			err = s.Pull(ctx)
		}
		if err == nil && outcome.After.Revision != feed.Own && feed.Own > 0 { // in a later feed, or appended by another process before
			outcome, err = s.outcomeAt(ctx, feed.Own)
		}
		if err != nil {
			return Outcome{}, fmt.Errorf("the change was accepted, but its record cannot be read: %w", err)
		}
		if feed.Own == 0 {
			outcome = Outcome{Before: state, After: state}
		}
		outcome.Before, outcome.After = outcome.Before.WithWorkspaceSignals(main), outcome.After.WithWorkspaceSignals(main)
		return outcome, nil
	}
}

// outcomeAt returns the effect of a record.
func (s *Session) outcomeAt(ctx context.Context, seq plan.Revision) (o Outcome, err error) {
	for change, err := range s.Changes(ctx, seq-1, false) {
		return Outcome{change.Before, plan.Fold(change.Before, change.Record), change.Record.Events}, err
	}
	return o, fmt.Errorf("%w: record %d is missing", store.ErrDamaged, seq)
}

// adopt appends a feed's records, which follow from a head, to the copy, and returns the outcome of the feed's own record if it
// appended that. Records that another process has appended in the meantime are compared.
func (s *Session) adopt(ctx context.Context, after store.Head, feed Feed) (own Outcome, err error) {
	before := after
	if feed.Head.Chain != after.Chain {
		before = store.Head{Chain: feed.Head.Chain}
	}
	records, hashes, err := feed.check(before)
	if err == nil && feed.Head.Seq < min(after.Seq, 1) {
		err = shortened(after.Seq, 0)
	}
	if err != nil || len(records) == 0 {
		return own, err
	}
	if err := s.takeTurn(ctx); err != nil {
		return own, err
	}
	defer s.releaseTurn()
	unlock, err := s.log.Lock(ctx)
	if err != nil {
		return own, err
	}
	defer unlock()
	if err := s.catchUp(ctx); err != nil {
		return own, err
	}
	if s.head.Seq > 0 && s.head.Chain != before.Chain && s.head != after {
		return own, fmt.Errorf("%w: this copy was replaced at the same time; try again", store.ErrConflict)
	}
	for i, record := range records {
		if s.head.Chain == before.Chain && record.Seq <= s.head.Seq {
			if record.Seq == s.head.Seq && hashes[i] != s.head.Hash {
				return own, differs(record.Seq)
			}
			continue
		}
		outcome, err := s.adoptRecord(ctx, before.Chain, record)
		if err == nil && s.head.Hash != hashes[i] {
			err = differs(record.Seq)
		}
		if err != nil {
			return own, err
		}
		if record.Seq == feed.Own {
			own = outcome
		}
	}
	s.setMark(s.head.Phase)
	s.opts.Changed()
	return own, nil
}

// adoptRecord appends a record to the copy, or begins a chain with it. The turn and the lock are held.
func (s *Session) adoptRecord(ctx context.Context, chain string, r plan.Record) (Outcome, error) {
	before, begins := s.state, s.head.Seq == 0 || s.head.Chain != chain
	if begins {
		before = plan.State{}
	}
	after := plan.Fold(before, r)
	r.IsOpen = after.IsOpen()
	r.Opens = r.IsOpen && !before.IsOpen()
	var head store.Head
	var err error
	if !begins {
		head, err = s.append(ctx, r)
	} else {
		if s.head.Seq > 0 {
			s.opts.Logger.Info("a copy is replaced by the team's history", "chain", chain)
		}
		s.listOpen(r.IsOpen)
		head, err = s.log.Purge(ctx, chain, r)
	}
	if err != nil {
		return Outcome{}, err
	}
	s.state, s.head, s.isLoaded = after, head, true
	s.snapshotIfDue()
	return Outcome{Before: before, After: after, Events: r.Events}, nil
}

// check decodes the records of a feed that follow from a head, and checks that they lead to the feed's head.
func (f Feed) check(from store.Head) (records []plan.Record, hashes []store.Hash, err error) {
	at := from
	if f.Head.Seq < from.Seq {
		return nil, nil, shortened(from.Seq, f.Head.Seq)
	}
	for _, line := range f.Records {
		record, err := store.DecodeRecord([]byte(line))
		if err != nil {
			return nil, nil, fmt.Errorf("the server's record %d cannot be read: %w", at.Seq+1, err)
		}
		again, err := store.EncodeRecord(record)
		if record.Seq == 1 && at.Seq > 0 {
			return nil, nil, differs(f.Head.Seq)
		}
		if err != nil || string(again) != line || record.Seq != at.Seq+1 {
			return nil, nil, fmt.Errorf("%w: the server's record %d is not in this version's form; update planloop", store.ErrNewer,
				at.Seq+1)
		}
		at.Seq, at.Hash = record.Seq, at.Hash.Next(again)
		records, hashes = append(records, record), append(hashes, at.Hash)
	}
	switch {
	case f.More && len(records) > 0 && at.Seq < f.Head.Seq: // checked when the last has come
	case f.More || f.Head.Seq != at.Seq || f.Head.Hash != at.Hash:
		return nil, nil, differs(f.Head.Seq)
	}
	return records, hashes, nil
}

// renew says how to get the server's records and keep those of the copy.
const renew = "ask the team's admin whether the server was restored from a backup; to follow it and keep this copy: " +
	"`planloop team leave --keep`, `planloop team join URL`, and `planloop team pull`"

func shortened(had, has plan.Revision) error {
	return fmt.Errorf("%w: the server's log ends at record %d, but this copy has %d; %s", store.ErrDamaged, has, had, renew)
}

func differs(seq plan.Revision) error {
	return fmt.Errorf("%w: the server's records up to %d do not match this copy; %s", store.ErrDamaged, seq, renew)
}
