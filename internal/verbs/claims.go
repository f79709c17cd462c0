package verbs

import (
	"cmp"

	"github.com/planloop/planloop/plan"
)

// isUnowned reports whether a step in progress has no active owner: it is unclaimed, or the claim has lapsed.
func (s *Service) isUnowned(step *plan.Step) bool { return step.ClaimedBy == "" || s.Lapsed(step) }

// Lapsed reports whether the claim on a step has lapsed: its owner is gone or was silent for a lease, so that any agent
// may take the step over.
func (s *Service) Lapsed(step *plan.Step) bool {
	if step.ClaimedBy == "" {
		return false
	}
	return plan.IsLeaseExpired(step, s.seenLast(step.ClaimedBy), s.opts.Now(), s.opts.Lease)
}

// seenLast returns the last sign of life of an actor, the zero value if there is no record of any.
func (s *Service) seenLast(name string) plan.Sighting {
	if s.opts.Presence == nil {
		return plan.Sighting{}
	}
	return s.opts.Presence.Seen(name)
}

func (s *Service) engineGone(step *plan.Step) bool {
	return s.seenLast(step.ClaimedBy).IsGone
}

// hasEngine reports whether an engine takes part in the run of the plan.
func (s *Service) hasEngine(state plan.State) bool {
	if !state.HasActiveRun() {
		return false
	}
	lives := func(step *plan.Step) bool { return !s.engineGone(step) }
	return plan.Exists(state.Plan.Steps.Executing(), lives) || s.opts.Engines != nil && s.opts.Engines.Lives()
}

// Carrier returns the name people know for the owner of a step: for a running step the agent started for it, else
// planloop, not its engine's name; for any other step its claimant, "" if unclaimed.
func Carrier(step *plan.Step) string {
	if !step.IsRunning() && !step.IsUnknown() {
		return step.ClaimedBy
	}
	return cmp.Or(step.ActiveAgent(), string(plan.Planloop))
}
