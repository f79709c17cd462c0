package verbs

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Texts for an agent at the beginning and end of a session or turn, which a host's hooks report.

// Briefing returns the resume if there is work to continue, else "".
func (s *Service) Briefing(state plan.State, c Caller) string {
	switch s.view(state, c, Rules{}).nextAction().Reason {
	case NoPlan, Closed, Ended:
		return ""
	}
	return s.Resume(state, c)
}

// UnfinishedWork returns the caller's unfinished business if it ends its turn now: its step in progress, an open blocker,
// or its own plan without any report. It is "" without any, and while planning mode restricts changes.
func (s *Service) UnfinishedWork(state plan.State, c Caller) string {
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().IsRestricted() {
		return ""
	}
	v := s.view(state, c, Rules{})
	if v.scoped() {
		next := v.nextAction()
		if next.Reason == Ended {
			return ""
		}
		return fmt.Sprintf("Your step %s is not reported. Next action: %s", next.step.ID, next.For(c))
	}
	var left []string
	worked := false
	for step := range p.Steps.Running() {
		if step.ClaimedBy == c.Actor.Name && !step.IsRunning() {
			left, worked = append(left, fmt.Sprintf("%s %s is in progress and not reported.", step.ID, plan.Quote(step.Title))), true
		}
	}
	mine := p.CreatedBy == c.Actor.Name
	if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 && (worked || mine) {
		left = append(left, fmt.Sprintf("The blocker %s is open: %s", plan.Quote(blockers[0].ID), plan.Quote(blockers[0].Message)))
	}
	if mine && p.Steps.Len() > 0 && p.Steps.Count(plan.Pending) == p.Steps.Len() {
		left = append(left, fmt.Sprintf("None of the plan's %d steps was begun or reported.", p.Steps.Len()))
	}
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("The plan %s is not finished. %s Next action: %s", plan.Quote(p.Objective), strings.Join(left, " "),
		v.nextAction().For(c))
}
