// Package session is the one way a workspace's state changes: load, decide,
// append, fold, tell. It keeps the folded state of one log in step with what
// any process appends to it, reads history, and tells watchers. It must not know what
// an action is for, nor who asked over which protocol.
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

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Options configures a Session. The zero value is usable.
type Options struct {
	Limits   plan.Limits
	Presence Presence         // nil: nobody is ever seen
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: discards
}

// Presence knows when an actor was last seen, and when anybody was.
type Presence interface {
	Seen(name string) plan.Sighting
	LastActivity() time.Time
}

// Session is a handle on one workspace's state. It opens its log when it is
// first used. All methods may be called from several goroutines.
type Session struct {
	log  store.Log
	opts Options

	turn chan struct{} // held while the state is brought up to date or changed
	head store.Head
	now  plan.State
	read bool // now has been folded from the log

	background sync.WaitGroup // snapshot writers
	saving     atomic.Bool
}

// New returns a session on log, which it owns from then on.
func New(log store.Log, opts Options) *Session {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Session{log: log, opts: opts, turn: make(chan struct{}, 1)}
}

// Close waits for a snapshot being written and closes the log, which ends all watching.
func (s *Session) Close() error {
	s.background.Wait()
	return s.log.Close()
}

// State returns the state as it is on disk now, whoever wrote it.
func (s *Session) State(ctx context.Context) (plan.State, error) {
	if err := s.takeTurn(ctx); err != nil {
		return plan.State{}, err
	}
	defer s.giveTurn()
	if err := s.catchUp(ctx); err != nil {
		return plan.State{}, err
	}
	return s.now, nil
}

// Watch returns a channel that receives after the state has changed, whichever
// process changed it; several changes may arrive as one. It is closed when ctx
// ends or the session is closed. Whoever receives calls State.
func (s *Session) Watch(ctx context.Context) (<-chan struct{}, error) { return s.log.Watch(ctx) }

// Glance returns where the log ends and the phase then, without folding or opening
// it; see store.Log.
func (s *Session) Glance(ctx context.Context) (store.Head, error) { return s.log.Glance(ctx) }

// Head returns where the log ends and the phase then, read from the log itself, without folding it.
func (s *Session) Head(ctx context.Context) (store.Head, error) { return s.log.Head(ctx) }

// PutValue keeps a value that is too large for the log; see store.Log.
func (s *Session) PutValue(ctx context.Context, value []byte) (name string, err error) {
	return s.log.PutValue(ctx, value)
}

// Value returns what PutValue has kept under a name.
func (s *Session) Value(ctx context.Context, name string) ([]byte, error) {
	return s.log.Value(ctx, name)
}

func (s *Session) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the workspace: %w", ctx.Err())
	}
}

func (s *Session) giveTurn() { <-s.turn }

// catchUp folds what has been appended since the last look. The turn is held.
func (s *Session) catchUp(ctx context.Context) error {
	head, records, err := s.log.Since(ctx, s.head)
	if err != nil {
		return err
	}
	if s.read && head == s.head {
		return nil
	}
	if s.read && head.Chain == s.head.Chain && head.Seq <= s.head.Seq {
		return fmt.Errorf("%w: it ends at %d where %d was read before; run `planloop doctor`", store.ErrDamaged, head.Seq, s.head.Seq)
	}
	if !s.read || head.Chain != s.head.Chain {
		return s.load(ctx, head)
	}
	state := s.now
	for _, record := range records {
		state = plan.Fold(state, record)
	}
	if state, err = s.fold(ctx, state, head.Seq); err != nil {
		return err
	}
	s.now, s.head = state, head
	return nil
}

// load folds the log from its newest snapshot.
func (s *Session) load(ctx context.Context, head store.Head) error {
	state, from, err := s.stateAt(ctx, 0, head.Seq)
	if err != nil {
		return err
	}
	s.now, s.head, s.read = state, head, true
	if head.Seq-from > maxTail {
		s.snapshot()
	}
	return nil
}

// stateAt folds the log up to seq, beginning with the newest snapshot at or
// below limit (0: the newest of all). It also returns where it began.
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

// Outcome is what became of an action. Both states are the same, and there are no
// events, when everything was already as asked.
type Outcome struct {
	Before plan.State
	After  plan.State
	Events []plan.Event
}

// Prepare adds facts that only the caller knows about a state, or refuses; nil adds
// none. It must be quick, and is called again when the state has moved on meanwhile.
type Prepare func(plan.State, *plan.Facts) error

// Do decides about a in the state as it is on disk, and records it. When it
// returns without an error, the change is on disk. A refusal is a
// *plan.ValidationError; it changed nothing. Other errors come from the store.
func (s *Session) Do(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare) (Outcome, error) {
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
func (s *Session) refuseEarly(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare) error {
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
func (s *Session) try(ctx context.Context, by plan.Actor, a plan.Action, prepare Prepare) (Outcome, error) {
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
func (s *Session) judge(by plan.Actor, a plan.Action, prepare Prepare) (plan.Record, error) {
	now := s.now.TimeOfNext(s.opts.Now())
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
	seen := map[string]plan.Sighting{}
	for _, name := range plan.Owners(state, a) {
		seen[name] = s.opts.Presence.Seen(name)
	}
	return seen
}

const (
	// snapshotEvery is the distance between snapshots in records, and
	// snapshotOften that of a plan whose snapshot costs little: the tail is
	// folded again by every command. Whoever appends the record that completes
	// the distance writes the snapshot, so that processes do not do it twice.
	snapshotEvery = 512
	snapshotOften = 128
	smallPlan     = 1_000 // steps
	// maxTail is the tail that makes the process that read it write a snapshot:
	// the one whose turn it was has not.
	maxTail = 768
	// snapshotBound ends the writing of a snapshot that does not get on.
	snapshotBound = time.Minute
)

func (s *Session) snapshotIfDue() {
	every := plan.Revision(snapshotEvery)
	if s.now.Plan == nil || s.now.Plan.Steps.Len() <= smallPlan {
		every = snapshotOften
	}
	if s.head.Seq%every == 0 {
		s.snapshot()
	}
}

// snapshot writes the current state in the background, unless one is being
// written. Close waits for it. The turn is held. A snapshot is only a cache:
// a failure is logged.
func (s *Session) snapshot() {
	if !s.saving.CompareAndSwap(false, true) {
		return
	}
	snapshot := store.Snapshot{Head: s.head, State: s.now}
	s.background.Go(func() {
		defer s.saving.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), snapshotBound)
		defer cancel()
		if err := s.log.SaveSnapshot(ctx, snapshot); err != nil {
			s.opts.Logger.Warn("snapshot not written", "error", err)
		}
	})
}
