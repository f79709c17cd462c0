package verbs

import (
	"context"
	"fmt"

	"github.com/planloop/planloop/plan"
)

// titleShown bounds what a reply repeats of a title.
const titleShown = 60

// NextAction says in one sentence what the caller is to do next.
func (s *Service) NextAction(ctx context.Context, c Caller) (string, error) {
	state, err := s.session.State(ctx)
	if err != nil {
		return "", err
	}
	return s.NextActionIn(state, c), nil
}

// NextActionIn says in one sentence what the caller is to do next in a state that
// was read already, and names the tool or command for it. It is never empty.
func (s *Service) NextActionIn(state plan.State, c Caller) string {
	p := state.Plan
	switch {
	case p == nil:
		return "Set up a plan: " + c.Face.setup() + "."
	case p.Status == plan.StatusCompleted:
		return "All steps are finished: check the outcome, then report it."
	case p.Status == plan.StatusAbandoned, p.Status == plan.StatusFailed:
		return fmt.Sprintf("The plan is %s: set up a new one with %s.", p.Status, c.Face.setup())
	case p.Steps.Len() == 0:
		return "Add the first steps: " + c.Face.addStep() + "."
	}
	own := func(step *plan.Step) bool { return step.ClaimedBy != "" && step.ClaimedBy == c.Actor.Name }
	if step := begun(p, own); step != nil {
		return fmt.Sprintf("Do %s; when it is verified: %s.", named(step), c.Face.mark(step.ID, plan.Done))
	}
	if step := begun(p, s.left); step != nil { // to be claimed first: others are told of it too
		return fmt.Sprintf("Go on with %s, which nobody works on any more: %s.", named(step), c.Face.mark(step.ID, plan.InProgress))
	}
	if p.Status == plan.StatusReplanning {
		return retry(p, c)
	}
	if step := p.Steps.NextReady(); step != nil {
		return fmt.Sprintf("Start %s: %s.", named(step), c.Face.mark(step.ID, plan.InProgress))
	}
	return s.stuck(p, c)
}

func named(step *plan.Step) string {
	return step.ID.String() + " " + plan.Quote(plan.Shorten(step.Title, titleShown))
}

// begun returns the first step in progress that matches and can be finished.
func begun(p *plan.Plan, match func(*plan.Step) bool) *plan.Step {
	for step := range p.Steps.Running() {
		if len(p.Steps.WaitingOn(step.ID)) == 0 && match(step) {
			return step
		}
	}
	return nil
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

// retry is the way on after a critical step failed.
func retry(p *plan.Plan, c Caller) string {
	for step := range p.Steps.All() {
		if step.Status != plan.Failed || !step.Critical {
			continue
		}
		status := plan.InProgress
		if len(p.Steps.WaitingOn(step.ID)) > 0 {
			status = plan.Pending
		}
		return fmt.Sprintf("%s failed and is critical: try it again with %s, or set up a new plan with %s.",
			named(step), c.Face.mark(step.ID, status), c.Face.setup())
	}
	return "The plan has to be revised: set up a new one with " + c.Face.setup() + "."
}

// stuck names a way on when no step is ready and none is the caller's to finish:
// a step to take up again, another actor to wait for, or what will never be done
// although a step waits for it.
func (s *Service) stuck(p *plan.Plan, c Caller) string {
	for step := range p.Steps.All() {
		if len(p.Steps.WaitingOn(step.ID)) > 0 {
			continue
		}
		switch step.Status {
		case plan.Blocked:
			return fmt.Sprintf("%s is blocked: remove what blocks it, then %s.", named(step), c.Face.mark(step.ID, plan.InProgress))
		case plan.Failed:
			return fmt.Sprintf("%s failed: try it again with %s.", named(step), c.Face.mark(step.ID, plan.InProgress))
		}
	}
	for step := range p.Steps.Running() {
		if step.ClaimedBy != c.Actor.Name && !s.left(step) {
			return fmt.Sprintf("Wait for %s, which is working on %s; nothing else is ready.", plan.Quote(step.ClaimedBy), step.ID)
		}
	}
	return deadlock(p, c)
}

// deadlock names a step that waits for one that was given up, and how to take
// that up again.
func deadlock(p *plan.Plan, c Caller) string {
	for step := range p.Steps.All() {
		if step.Status.Finished() {
			continue
		}
		for _, id := range p.Steps.WaitingOn(step.ID) {
			if dep, ok := p.Steps.Get(id); ok && dep.Status.Finished() {
				return fmt.Sprintf("Deadlock: %s waits for %s, which was %s; take it up again with %s.",
					step.ID, id, dep.Status, c.Face.mark(id, plan.Pending))
			}
		}
	}
	return "Read the plan to see what it waits for: " + c.Face.read() + "."
}
