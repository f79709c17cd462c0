package verbs

import (
	"context"
	"time"

	"github.com/planloop/planloop/plan"
)

// changed returns the state once it differs from what the caller was last told, or
// the rule book on disk has changed, or the time is over.
func (s *Service) changed(ctx context.Context, c Caller, state plan.State, wait time.Duration) (plan.State, error) {
	since, known := s.seen.since(c)
	if known && since != state.Revision {
		return state, nil // it changed before the caller began to wait
	}
	since = state.Revision
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	grown, err := s.session.Watch(ctx)
	if err != nil {
		return plan.State{}, err
	}
	var rules <-chan struct{}
	if s.opts.RuleBook != nil {
		rules = s.opts.RuleBook.Changed(ctx)
	}
	c.yield()
	for {
		state, err := s.State(context.WithoutCancel(ctx))
		if err != nil || state.Revision != since {
			return state, err
		}
		select {
		case _, open := <-grown:
			if !open {
				return s.State(context.WithoutCancel(ctx))
			}
		case _, open := <-rules:
			if !open {
				rules = nil
				continue
			}
			return s.State(context.WithoutCancel(ctx))
		case <-ctx.Done():
			return s.State(context.WithoutCancel(ctx))
		}
	}
}
