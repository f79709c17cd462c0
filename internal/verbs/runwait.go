package verbs

import (
	"time"

	"github.com/planloop/planloop/plan"
)

// noticeAfter is how long a run waits before a person gets a notice.
const noticeAfter = 10 * time.Minute

// runWait reports each wait of a run to its listener, and after ten minutes to a person.
type runWait struct {
	service   *Service
	caller    Caller
	listener  RunListener // may be nil
	what      string
	since     time.Time
	isNoticed bool
}

// update is called again and again while an engine waits.
func (w *runWait) update(state plan.State, why plan.StopReason) {
	now := w.service.opts.Now()
	if what := w.service.waitsFor(state, why); what != w.what {
		w.what, w.since, w.isNoticed = what, now, false
		if w.listener != nil && what != "" {
			w.listener.Waiting(what, now)
		}
	}
	if w.what != "" && !w.isNoticed && now.Sub(w.since) >= noticeAfter {
		w.isNoticed = true
		w.service.notify(Notice{Event: "run_waits", PlanID: state.Plan.ID, Title: "The run has waited for ten minutes", Text: w.what})
	}
}

// waitsFor describes the reason of a run's wait, "" if it has none.
func (s *Service) waitsFor(state plan.State, why plan.StopReason) string {
	if state.Plan == nil {
		return ""
	}
	switch why {
	case plan.StopWaitingForPerson:
		if asks := s.Asks(state, Caller{}); len(asks) > 0 {
			return "a person: " + asks[0].text()
		}
		return "a person"
	case plan.StopWaitingForAgent:
		if ready := readyForAgents(state); len(ready) > 0 {
			return "an agent: " + idAndTitle(ready[0]) + " is ready"
		}
		for step := range state.Plan.Steps.Running() {
			return Carrier(step) + ", which works on " + idAndTitle(step)
		}
	case "":
		for step := range state.Plan.Steps.Executing() {
			return idAndTitle(step) + ", which another process runs"
		}
		if steps := plan.StartableSteps(state, 1); len(steps) > 0 && steps[0].Lock != "" {
			holder := ""
			if s.opts.LockHolder != nil {
				holder = prefixed(", held by ", s.opts.LockHolder(steps[0].Lock))
			}
			return "the lock " + steps[0].Lock + holder + ", for " + idAndTitle(steps[0])
		} else if len(steps) > 0 {
			return "the next try of " + idAndTitle(steps[0])
		}
	}
	return ""
}
