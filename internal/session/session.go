// Package session is the only way to change a workspace's state: load, decide, append, fold,
// notify. It keeps the folded state of one log up to date with the appends of any process, reads
// history, and notifies watchers. It must not know the purpose of an action, its author, or the
// protocol it came by.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Options configures a Session. The zero value is usable.
type Options struct {
	Limits   plan.Limits
	Presence Presence                // nil: no actor is ever seen
	Mark     Mark                    // nil: planning mode leaves no mark outside the log
	Decider  Decider                 // decides about a log that is a copy of a team's; nil: this process decides
	Facts    func(*plan.Facts) error // adds the server's facts about an action, after its Prepare; nil: none
	Main     *Session                // of the track main: its signals concern this track too; nil: this is main
	Changed  func()                  // called after each change by this session, which it must not use; nil: not called
	Now      func() time.Time        // nil: time.Now
	Logger   *slog.Logger            // nil: discards
}

// Presence knows when an actor was last seen, and when any was.
type Presence interface {
	Seen(name string) plan.Sighting
	LastActivity() time.Time
}

// Mark is a sign outside the log that planning mode restricts the workspace; see workspace.Mark.
type Mark interface {
	Mark(on bool) error
	Marked() (age time.Duration, ok bool)
	ListOpen(on bool) error // a sign that the track may be open; see workspace.OpenTracks
}

// Session is a handle on one workspace's state. It opens its log on first use. All methods may be
// called from several goroutines.
type Session struct {
	log  store.Log
	opts Options

	turn     chan struct{} // held while the state is updated or changed
	head     store.Head
	state    plan.State
	isLoaded bool // now has been folded from the log

	background sync.WaitGroup // snapshot writers
	saving     atomic.Bool
}

// New returns a session on log, which it owns from now on.
func New(log store.Log, opts Options) *Session {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Session{log: log, opts: opts, turn: make(chan struct{}, 1)}
}

// Close waits for a snapshot in progress and closes the log, which ends all watching.
func (s *Session) Close() error {
	s.background.Wait()
	return s.log.Close()
}

// State returns the state as it is on disk now, including other processes' changes.
func (s *Session) State(ctx context.Context) (plan.State, error) {
	main := s.mainState(ctx)
	if err := s.takeTurn(ctx); err != nil {
		return plan.State{}, err
	}
	defer s.releaseTurn()
	if err := s.catchUp(ctx); err != nil {
		return plan.State{}, err
	}
	return s.state.WithWorkspaceSignals(main), s.checkMark(s.head.Seq, s.head.Phase)
}

// mainState returns the state of the track main for its signals. A fault of that log must not stop the other tracks.
func (s *Session) mainState(ctx context.Context) plan.State {
	if s.opts.Main == nil {
		return plan.State{}
	}
	main, err := s.opts.Main.State(ctx)
	if err != nil {
		s.opts.Logger.Warn("the workspace's signals cannot be read", "error", err)
	}
	return main
}

// Watch returns a channel that receives after any process has changed the state; several changes
// may arrive as one. It is closed when ctx ends or the session is closed. Call State after
// receiving.
func (s *Session) Watch(ctx context.Context) (<-chan struct{}, error) {
	own, err := s.log.Watch(ctx)
	if err != nil || s.opts.Main == nil {
		return own, err
	}
	main, err := s.opts.Main.Watch(ctx)
	if err != nil {
		s.opts.Logger.Warn("the workspace's signals are not watched", "error", err)
		return own, nil
	}
	return broadcast.Merge(own, main), nil
}

// CachedHead returns the end of the log and the phase there, without folding or opening it; see
// store.Log.
func (s *Session) CachedHead(ctx context.Context) (store.Head, error) {
	head, err := s.log.CachedHead(ctx)
	if err == nil && head.Seq == 0 {
		err = s.checkMark(0, head.Phase)
	}
	return head, err
}

// Head returns the end of the log and the phase there, read from the log itself, without folding it.
func (s *Session) Head(ctx context.Context) (store.Head, error) {
	head, err := s.log.Head(ctx)
	if err != nil {
		return head, err
	}
	return head, s.checkMark(head.Seq, head.Phase)
}

// markSettles is the age after which a mark that contradicts the log is not that of a change in progress.
const markSettles = 2 * time.Second

// ErrDeleted means that there is a mark and no log.
var ErrDeleted = errors.New("the log was deleted while planning mode was on")

// checkMark makes the mark agree with the phase that was read from the log: a process may have been killed between the two.
func (s *Session) checkMark(seq plan.Revision, phase plan.Phase) error {
	if s.opts.Mark == nil {
		return nil
	}
	age, isMarked := s.opts.Mark.Marked()
	switch {
	case isMarked == phase.IsRestricted(), isMarked && age < markSettles:
	case seq == 0:
		return fmt.Errorf("%w: %w; put the folder back, or end planning mode with `planloop purge`", store.ErrDamaged, ErrDeleted)
	default:
		s.setMark(phase)
	}
	return nil
}

func (s *Session) setMark(phase plan.Phase) {
	if s.opts.Mark == nil {
		return
	}
	if err := s.opts.Mark.Mark(phase.IsRestricted()); err != nil {
		s.opts.Logger.Warn("planning mode is not marked outside the log", "error", err)
	}
}

// PutValue keeps a value that is too large for the log; see store.Log.
func (s *Session) PutValue(ctx context.Context, value []byte) (name string, err error) {
	if s.opts.Decider != nil {
		if _, err := s.opts.Decider.PutValue(ctx, value); err != nil {
			return "", err
		}
	}
	return s.log.PutValue(ctx, value)
}

// Value returns the value that PutValue has kept under a name.
func (s *Session) Value(ctx context.Context, name string) ([]byte, error) {
	value, err := s.log.Value(ctx, name)
	if s.opts.Decider == nil || !errors.Is(err, store.ErrNoValue) {
		return value, err
	}
	if value, err = s.opts.Decider.Value(ctx, name); err == nil {
		_, err = s.log.PutValue(ctx, value)
	}
	return value, err
}

func (s *Session) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the workspace: %w", ctx.Err())
	}
}

func (s *Session) releaseTurn() { <-s.turn }

// catchUp folds the records appended since the last call. The turn is held.
func (s *Session) catchUp(ctx context.Context) error {
	head, records, err := s.log.Since(ctx, s.head)
	if err != nil {
		return err
	}
	if s.isLoaded && head == s.head {
		return nil
	}
	if s.isLoaded && head.Chain == s.head.Chain && head.Seq <= s.head.Seq {
		return fmt.Errorf("%w: it ends at record %d, but record %d was read before; run `planloop doctor`", store.ErrDamaged, head.Seq,
			s.head.Seq)
	}
	if !s.isLoaded || head.Chain != s.head.Chain {
		return s.load(ctx, head)
	}
	state := s.state
	for _, record := range records {
		state = plan.Fold(state, record)
	}
	if state, err = s.fold(ctx, state, head.Seq); err != nil {
		return err
	}
	s.state, s.head = state, head
	return nil
}

// load folds the log from its newest snapshot.
func (s *Session) load(ctx context.Context, head store.Head) error {
	state, from, err := s.stateAt(ctx, 0, head.Seq)
	if err != nil {
		return err
	}
	s.state, s.head, s.isLoaded = state, head, true
	if head.Seq-from > maxTail {
		s.snapshot()
	}
	return nil
}

// stateAt folds the log up to seq, starting from the newest snapshot at or below limit (0: the
// newest of all). It also returns the revision it started from.
func (s *Session) stateAt(ctx context.Context, limit, seq plan.Revision) (plan.State, plan.Revision, error) {
	var state plan.State
	snapshot, err := s.log.Snapshot(ctx, limit)
	if err != nil {
		return plan.State{}, 0, err
	}
	if snapshot != nil {
		state = snapshot.State
	}
	from := state.Revision
	state, err = s.fold(ctx, state, seq)
	return state, from, err
}

// fold applies the records after state up to seq.
func (s *Session) fold(ctx context.Context, state plan.State, seq plan.Revision) (plan.State, error) {
	if state.Revision >= seq {
		return state, nil
	}
	for record, err := range s.log.Read(ctx, state.Revision) {
		if err != nil {
			return plan.State{}, err
		}
		state = plan.Fold(state, record)
		if state.Revision >= seq {
			break
		}
	}
	if state.Revision < seq {
		return plan.State{}, fmt.Errorf("%w: record %d is missing; run `planloop doctor`", store.ErrDamaged, state.Revision+1)
	}
	return state, nil
}

// Outcome is the effect of an action. If everything was already as asked, both states are the same
// and Events is empty.
type Outcome struct {
	Before plan.State
	After  plan.State
	Events []plan.Event
}

// Prepare adds facts that only the caller knows about a state, or refuses the action; nil adds
// none. It must be quick, and is called again if the state has changed in between.
type Prepare func(plan.State, *plan.Facts) error

// Do decides about a in the state as it is on disk, and records it. If it returns without an error,
// the change is on disk. A refusal is a *plan.ValidationError and changed nothing. Other errors
// come from the store.
func (s *Session) Do(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare) (Outcome, error) {
	main := s.mainState(ctx)
	if s.opts.Decider != nil {
		return s.doShared(ctx, by, a, prepare, main)
	}
	if err := s.takeTurn(ctx); err != nil {
		return Outcome{}, err
	}
	defer s.releaseTurn()
	if err := s.refuseEarly(ctx, by, a, prepare); err != nil {
		return Outcome{}, err
	}
	unlock, err := s.log.Lock(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	for attempt := 0; ; attempt++ {
		outcome, err := s.try(ctx, by, a, prepare, main)
		if errors.Is(err, store.ErrConflict) && attempt < 3 {
			continue // another process appended without the lock; look again
		}
		outcome.Before, outcome.After = outcome.Before.WithWorkspaceSignals(main), outcome.After.WithWorkspaceSignals(main)
		return outcome, err
	}
}

// refuseEarly refuses actions that an empty log does not allow before the lock is taken: locking
// would needlessly create the workspace's folder. The turn is held.
func (s *Session) refuseEarly(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare) error {
	if s.isLoaded && s.head.Seq > 0 {
		return nil
	}
	if err := s.catchUp(ctx); err != nil || s.head.Seq > 0 {
		return err
	}
	if err := s.checkMark(0, ""); err != nil {
		return err
	}
	_, err := s.decide(by, a, prepare, plan.State{})
	return err
}

// try is one round of Do. The turn and the lock are held.
func (s *Session) try(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare, main plan.State) (Outcome, error) {
	if err := s.catchUp(ctx); err != nil {
		return Outcome{}, err
	}
	before := s.state
	record, err := s.decide(by, a, prepare, main)
	if err != nil {
		return Outcome{}, err
	}
	if len(record.Events) == 0 {
		return Outcome{Before: before, After: before}, nil
	}
	after := plan.Fold(before, record)
	record.Phase, record.IsOpen = after.PhaseNow(), after.IsOpen()
	record.Opens = record.IsOpen && !before.IsOpen()
	head, err := s.append(ctx, record)
	if err != nil {
		return Outcome{}, err
	}
	s.state, s.head = after, head
	s.setMark(record.Phase) // before the change is answered; a process killed until then is mended by the next one
	s.snapshotIfDue()
	s.opts.Changed()
	return Outcome{Before: before, After: after, Events: record.Events}, nil
}

// append writes a record. An open track is listed before, so that every open track always is.
func (s *Session) append(ctx context.Context, r plan.Record) (store.Head, error) {
	if r.IsOpen {
		s.listOpen(true)
	}
	head, err := s.log.Append(ctx, r)
	if err == nil && !r.IsOpen {
		s.listOpen(false)
	}
	return head, err
}

func (s *Session) listOpen(on bool) {
	if s.opts.Mark == nil {
		return
	}
	if err := s.opts.Mark.ListOpen(on); err != nil {
		s.opts.Logger.Warn("the list of open tracks is not current", "error", err)
	}
}

// decide returns the record for a in the present state, without events if it changes nothing.
func (s *Session) decide(by plan.Actor, a plan.Action, prepare Prepare, main plan.State) (plan.Record, error) {
	state := s.state.WithWorkspaceSignals(main)
	facts, err := s.facts(by, a, state, prepare)
	if err == nil && s.opts.Facts != nil {
		err = s.opts.Facts(&facts)
	}
	if err != nil {
		return plan.Record{}, err
	}
	events, err := plan.Decide(state, a, facts)
	return plan.Record{Seq: state.Revision + 1, Action: plan.ActionWord(a), Actor: by, Time: facts.Now, Events: events}, err
}

// facts returns the session's own facts about an action, and those that prepare adds.
func (s *Session) facts(by plan.Actor, a plan.Action, state plan.State, prepare Prepare) (plan.Facts, error) {
	facts := plan.Facts{Now: state.NextTime(s.opts.Now()), Actor: by, Limits: s.opts.Limits, Sightings: map[string]plan.Sighting{}}
	if s.opts.Presence != nil {
		for _, name := range plan.ClaimOwners(state, a) {
			facts.Sightings[name] = s.opts.Presence.Seen(name)
		}
		if state.PhaseNow() == plan.PhaseGathering {
			facts.LastActivity = s.opts.Presence.LastActivity()
		}
	}
	if prepare == nil {
		return facts, nil
	}
	return facts, prepare(state, &facts)
}

const (
	// snapshotEvery is the number of records between snapshots, and snapshotOften that for plans of
	// up to smallPlan steps, which have cheap snapshots: every command folds the tail again. The
	// process that appends the last record of an interval writes the snapshot, so that it is
	// written once.
	snapshotEvery = 512
	snapshotOften = 128
	smallPlan     = 1_000 // steps
	// maxTail is the tail, in records, after which a process that reads it writes a snapshot: the
	// process in charge has not done so.
	maxTail = 768
	// snapshotBound limits the writing of a snapshot.
	snapshotBound = time.Minute
)

func (s *Session) snapshotIfDue() {
	every := plan.Revision(snapshotEvery)
	if s.state.Plan == nil || s.state.Plan.Steps.Len() <= smallPlan {
		every = snapshotOften
	}
	if s.head.Seq%every == 0 {
		s.snapshot()
	}
}

// snapshot writes the current state in the background, unless another write is in progress. Close
// waits for it. The turn is held. A snapshot is only a cache, so a failure is only logged.
func (s *Session) snapshot() {
	if !s.saving.CompareAndSwap(false, true) {
		return
	}
	snapshot := store.Snapshot{Head: s.head, State: s.state}
	s.background.Go(func() {
		defer s.saving.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), snapshotBound)
		defer cancel()
		if err := s.log.SaveSnapshot(ctx, snapshot); err != nil {
			s.opts.Logger.Warn("snapshot not written", "error", err)
		}
	})
}
