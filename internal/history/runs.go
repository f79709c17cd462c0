package history

import (
	"time"

	"github.com/planloop/planloop/plan"
)

// RunSummary is one run of a plan, as the log tells it.
type RunSummary struct {
	ID     string          `json:"id"`
	Plan   string          `json:"plan"` // root of the plan
	By     string          `json:"by"`
	Since  time.Time       `json:"since"`
	Ended  time.Time       `json:"ended,omitzero"`   // or paused
	Result plan.StopReason `json:"result,omitempty"` // "" while it continues
	Took   int64           `json:"duration"`         // milliseconds from its begin to its end
	Steps  int             `json:"steps"`
	Done   int             `json:"done"`
	Failed int             `json:"failed"`

	isCounted bool // the run is over, and what happens to its steps from now on is no longer its result
}

// Runs collects the runs of a log, oldest first.
type Runs []RunSummary

// Add takes a record and the state before it.
func (r *Runs) Add(before plan.State, record plan.Record) {
	r.count(before)
	for _, e := range record.Events {
		if begun, ok := e.(plan.RunBegun); ok {
			*r = append(*r, RunSummary{ID: begun.ID, Plan: begun.Plan, By: begun.By, Since: begun.At})
		}
		if len(*r) == 0 {
			continue
		}
		last := &(*r)[len(*r)-1]
		switch e := e.(type) {
		case plan.RunPaused:
			last.end(e.Reason, e.At)
		case plan.RunEnded:
			last.end(e.Reason, e.At)
		case plan.RunResumed:
			last.end("", time.Time{})
		}
	}
}

// Finish takes the state after the last record.
func (r *Runs) Finish(state plan.State) { r.count(state) }

func (r *RunSummary) end(reason plan.StopReason, at time.Time) {
	r.isCounted = false
	if r.Result, r.Ended, r.Took = reason, at, 0; reason != "" {
		r.Took = at.Sub(r.Since).Milliseconds()
	}
}

// count counts the steps for the latest run.
func (r *Runs) count(s plan.State) {
	if len(*r) == 0 || s.Plan == nil || s.Run == nil {
		return
	}
	if last := &(*r)[len(*r)-1]; last.ID == s.Run.ID && last.Plan == s.Plan.Root() && !last.isCounted {
		last.Steps, last.Done, last.Failed = s.Plan.Steps.Len(), s.Plan.Steps.Count(plan.Done), s.Plan.Steps.Count(plan.Failed)
		last.isCounted = last.Result != "" && plan.First(s.Plan.Steps.Executing(), nil) == nil
	}
}
