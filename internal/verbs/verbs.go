// Package verbs holds everything that can be done with a plan, once: for each
// verb one input struct, one output struct and one method of Service. A tool, a
// command or a button is a face of a verb: it decodes the input, calls the
// method and shows the output. The package decides what an input means and what to do next;
// it must not know a protocol, a host or a terminal.
package verbs

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// Service carries out verbs on one workspace.
type Service struct {
	session *session.Session
	opts    Options
	told    told
}

// Options configures a Service. The zero value is usable.
type Options struct {
	Unicode  bool             // lifts the ASCII rule of the six planning_* tools
	Presence Presence         // nil: signs of life are not kept
	Lease    time.Duration    // 0: plan.DefaultLease
	Now      func() time.Time // nil: time.Now
}

// Presence keeps signs of life.
type Presence interface {
	Touch(name string)
	Join(name string) (leave func())
	Seen(name string) plan.Sighting
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
}

// State returns the state as it is on disk now.
func (s *Service) State(ctx context.Context) (plan.State, error) { return s.session.State(ctx) }

// Watch returns a channel that receives after the state has changed; see session.Session.Watch.
func (s *Service) Watch(ctx context.Context) (<-chan struct{}, error) { return s.session.Watch(ctx) }

// do records an action and notes the caller's sign of life, whatever came of it.
func (s *Service) do(ctx context.Context, c Caller, a plan.Action) (session.Outcome, error) {
	outcome, err := s.session.Do(ctx, c.Actor, a, func(state plan.State, _ *plan.Facts) error {
		if _, begins := a.(plan.SetUp); begins {
			return nil
		}
		return s.told.check(c, state)
	})
	s.touch(c)
	if err == nil {
		s.told.know(c, outcome.After)
	}
	return outcome, err
}

// Join notes that the connection an actor's name stands for lives until leave
// is called.
func (s *Service) Join(name string) (leave func()) {
	if s.opts.Presence == nil {
		return func() {}
	}
	return s.opts.Presence.Join(name)
}

func (s *Service) touch(c Caller) {
	if s.opts.Presence != nil {
		s.opts.Presence.Touch(c.Actor.Name)
	}
}
