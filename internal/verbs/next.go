package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// titleShown bounds what a reply repeats of a title.
const titleShown = 60

// NextAction says in one sentence what the caller is to do next.
func (s *Service) NextAction(ctx context.Context, c Caller) (string, error) {
	state, err := s.State(ctx)
	if err != nil {
		return "", err
	}
	return s.NextActionIn(state, c), nil
}

// NextActionIn says in one sentence what the caller is to do next in a state that
// was read already, and names the tool or command for it. It is never empty.
func (s *Service) NextActionIn(state plan.State, c Caller) string {
	return s.view(state, c, Rules{}).now().next
}

// view is the state as the caller sees it. Rules that are out of sync come before
// the plan; only a status looks at them.
func (s *Service) view(state plan.State, c Caller, rules Rules) view {
	return view{state: state, who: c.Actor.Name, words: s.words(c), left: s.left, rules: rules}
}

// left reports whether nobody works on a step in progress: no one has claimed it,
// or the claim has passed over.
func (s *Service) left(step *plan.Step) bool { return step.ClaimedBy == "" || s.Lapsed(step) }

// Lapsed reports whether the claim on a step has passed over: its owner is gone
// or has been silent for a lease, and anybody may go on with the step.
func (s *Service) Lapsed(step *plan.Step) bool {
	if step.ClaimedBy == "" {
		return false
	}
	var seen plan.Sighting
	if s.opts.Presence != nil {
		seen = s.opts.Presence.Seen(step.ClaimedBy)
	}
	return plan.Lapsed(step, seen, s.opts.Now(), s.opts.Lease)
}
