// Package verbs holds everything that can be done with a plan, once: for each
// verb one input struct, one output struct and one method of Service. A tool, a
// command or a button is a face of a verb: it decodes the input, calls the
// method and shows the output. The package decides what an input means and what to do next;
// it must not know a protocol, a host or a terminal.
package verbs

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// Service carries out verbs on one workspace.
type Service struct {
	session *session.Session
	opts    Options
	seen    lastSeen
	asked   asked

	executing executing
}

// Options configures a Service. The zero value is usable.
type Options struct {
	Workspace string // where it is; "": everybody knows
	Doubt     string // what speaks against its being the right one, and the way on; "" when nothing

	Unicode  bool             // lifts the ASCII rule of the six planning_* tools
	Presence Presence         // nil: signs of life are not kept
	Lease    time.Duration    // 0: plan.DefaultLease
	Now      func() time.Time // nil: time.Now

	Gates    func(gate string) gates.Level // how strict each gate is; nil: the default profile
	GateAll  bool                          // the planning_* tools are judged by the gates too
	RuleBook RuleBook                      // nil: no rule book is kept on disk

	Unconfigured  bool              // nobody chose the gates: where there is no file to name they are lenient
	Tree          Tree              // nil: no files are seen
	Tools         func() []ToolInfo // that steps can name; nil: there are none
	StepTools     runnable.Tools    // the same, to judge steps by; nil: any is taken
	OtherTools    OtherTools        // those of them that are other servers'; nil: there are none
	Model         Model             // nil: none is configured
	Templates     Templates         // nil: there are none
	Engine        Engine            // nil: nothing carries steps out here
	Crew          Crew              // the engines there are; nil: none
	Staff         Staff             // that a run starts agents of; nil: none
	Limits        plan.Limits       // in force, to tell when planning mode is over
	Hooks         Hooks             // of the agents at work; nil: nothing is known of them
	HooksRequired bool              // planning mode is refused to agents whose hooks do not answer
	Notify        func(Notice)      // tells a person, at once; may be nil
}

// reports tells whether an action says how steps stand, and nothing else: no tool is asked about.
func reports(a plan.Action) bool {
	switch a := a.(type) {
	case plan.MarkStep, plan.ClaimStep, plan.ReportStep, plan.RaiseSignal, plan.ClearSignal:
		return true
	case plan.Batch:
		return !slices.ContainsFunc(a.Parts, func(part plan.Part) bool { return !reports(part.Action) })
	}
	return false
}

// Presence keeps signs of life.
type Presence interface {
	Touch(name string)
	Join(name string) (leave func())
	Seen(name string) plan.Sighting
	LastActivity() time.Time
}

// New returns a service on a session.
func New(s *session.Session, opts Options) *Service {
	if opts.Lease == 0 {
		opts.Lease = plan.DefaultLease
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Service{session: s, opts: opts}
}

// Caller is who calls a verb, and through which face.
type Caller struct {
	Actor plan.Actor
	Face  Face
	Of    string // id of the plan that the caller looks at, which is then the only one it speaks of; "": the one it was told of last

	Yield    func()                           // called before a long wait, so that the caller's next call can go on; may be nil
	Progress func(done, all int, what string) // told how far a long call has come; may be nil
	// Background has something go on beside the call and after it; it ends with its context. nil: nothing does.
	Background func(func(context.Context))

	wrong *plan.ValidationError // with the form of the input: the rest is judged as well, and nothing is done; nil for nothing
}

func (c Caller) yield() {
	if c.Yield != nil {
		c.Yield()
	}
}

func (c Caller) progress(done, all int, what string) {
	if c.Progress != nil {
		c.Progress(done, all, what)
	}
}

// State returns the state as it is on disk now, with planning mode over when its
// time is. Who finds that first, in whichever process, records and announces it; where
// it cannot be recorded now, the mode is over all the same.
func (s *Service) State(ctx context.Context) (plan.State, error) {
	state, err := s.session.State(ctx)
	if err != nil {
		return state, err
	}
	expired := plan.Expiry(state, s.opts.Now(), s.opts.Limits, s.lastActivity(state))
	if expired == nil {
		return state, nil
	}
	outcome, err := s.session.Do(ctx, plan.NewActor(plan.ViaEngine, string(plan.Planloop)), plan.ExpireMode{}, nil)
	if err != nil {
		return plan.Apply(state, expired), nil
	}
	s.notifyExpiry(outcome)
	return outcome.After, nil
}

// PlanState returns a state whose current plan is the one with that id, current or
// former or the draft, as it was when it last was, for whoever shows it.
func (s *Service) PlanState(ctx context.Context, id string) (plan.State, error) {
	state, err := s.State(ctx)
	if err != nil {
		return plan.State{}, err
	}
	if state.Plan != nil && state.Plan.ID == id && !state.Plan.Cleared() {
		return state, nil
	}
	body, err := s.session.PlanBody(ctx, id)
	if err != nil {
		return plan.State{}, err
	}
	then := plan.State{Revision: state.Revision, UpdatedAt: state.UpdatedAt, Phase: state.Phase, Plan: body, Past: state.Past}
	if head, ok := state.PastPlan(id); ok {
		then.Revision, then.UpdatedAt = head.Revision, head.ArchivedAt
	}
	return then, nil
}

// Records yields the log after a revision, oldest first.
func (s *Service) Records(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return s.session.Records(ctx, after)
}

// Events yields what the records after a revision tell of a plan that is carried out, oldest
// first, and with follow what is added until ctx ends; see session.Session.Changes.
func (s *Service) Events(ctx context.Context, after plan.Revision, follow bool) iter.Seq2[history.Event, error] {
	return func(yield func(history.Event, error) bool) {
		for change, err := range s.session.Changes(ctx, after, follow) {
			if err != nil {
				yield(history.Event{}, err)
				return
			}
			for _, e := range history.EventsOf(change.Before, change.Record) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Purge deletes the workspace's whole history. Only a person may ask for it.
func (s *Service) Purge(ctx context.Context, c Caller) error {
	return s.session.Purge(ctx, c.Actor)
}

// lastActivity is the last sign of life of anybody, where that matters.
func (s *Service) lastActivity(state plan.State) time.Time {
	if s.opts.Presence == nil || state.PhaseNow() != plan.PhaseGathering {
		return time.Time{}
	}
	return s.opts.Presence.LastActivity()
}

// ModeEnds returns how long planning mode goes on from now if nothing happens; false
// when it does not end by itself.
func (s *Service) ModeEnds(state plan.State) (time.Duration, bool) {
	at, limit := plan.ExpiresAt(state, s.opts.Limits, s.lastActivity(state))
	return at.Sub(s.opts.Now()), limit > 0
}

// Phase returns the phase that holds now, and the revision, 0 when there is no log. It
// does not open the log, which is enough to show what is offered; only a phase that may be
// over by its time-out needs the state. What enforces asks Restricted, which reads the log.
func (s *Service) Phase(ctx context.Context) (plan.Phase, plan.Revision, error) {
	head, err := s.session.Glance(ctx)
	if err != nil {
		return "", 0, err
	}
	if !head.Phase.Restricted() {
		return plan.State{Phase: head.Phase}.PhaseNow(), head.Seq, nil
	}
	state, err := s.State(ctx)
	return state.PhaseNow(), state.Revision, err
}

// Restricted reports whether planning mode allows only reading now. It reads the last row of the log, and
// folds it where the mode may be over by its time-out.
func (s *Service) Restricted(ctx context.Context) (bool, error) {
	head, err := s.session.Head(ctx)
	if err != nil || !head.Phase.Restricted() {
		return false, err
	}
	state, err := s.State(ctx)
	return state.PhaseNow().Restricted(), err
}

// Watch returns a channel that receives after the state has changed; see session.Session.Watch.
func (s *Service) Watch(ctx context.Context) (<-chan struct{}, error) { return s.session.Watch(ctx) }

// do records an action and notes the caller's sign of life, whatever came of it.
func (s *Service) do(ctx context.Context, c Caller, a plan.Action) (session.Outcome, error) {
	return s.doIf(ctx, c, a, func(plan.State) error { return nil })
}

// doIf is do as long as holds does not object to the state that is decided about.
func (s *Service) doIf(ctx context.Context, c Caller, a plan.Action, holds func(plan.State) error) (session.Outcome, error) {
	if c.wrong != nil {
		return session.Outcome{}, besides(c.wrong, plan.CleanAction(a))
	}
	s.awaitTools(ctx, toolsOf(a))
	outcome, err := s.session.Do(ctx, c.Actor, a, func(state plan.State, facts *plan.Facts) error {
		if !reports(a) {
			facts.Definitions = s.definitions()
		}
		if err := holds(state); err != nil {
			return err
		}
		if err := unlessUnclean(a, s.unrunnable(stepsOf(state, a), a, nil)); err != nil {
			return err
		}
		if !plan.ConcernsPlan(a) {
			return nil
		}
		return s.seen.check(c, state, c.word(Call{Act: ActRead}))
	})
	s.touch(c)
	if err != nil {
		return outcome, c.released(err)
	}
	s.seen.know(c, outcome.After)
	s.notifyExpiry(outcome)
	if asksAgain(outcome.Events) {
		reply, err := s.resubmitted(ctx, outcome, c)
		if err != nil {
			return outcome, err
		}
		return outcome, &AskedAgain{Reply: reply}
	}
	return outcome, nil
}

// Join notes that the connection an actor's name stands for lives until leave
// is called.
func (s *Service) Join(name string) (leave func()) {
	if s.opts.Presence == nil {
		return func() {}
	}
	return s.opts.Presence.Join(name)
}

// Called notes that an agent's call of a tool came in, which hooks of its host may have told of.
func (s *Service) Called(tool string) {
	if s.opts.Hooks != nil {
		s.opts.Hooks.Called(tool)
	}
}

func (s *Service) touch(c Caller) {
	if s.opts.Presence != nil {
		s.opts.Presence.Touch(c.Actor.Name)
	}
}
