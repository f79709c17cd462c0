package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/plan"
)

// runningAttempt is an attempt at work in a goroutine of this run.
type runningAttempt struct {
	plan.Attempt
	agent    string        // started for it; "" if a tool carries it out
	reported chan struct{} // closed once its agent has reported to the log
	end      context.CancelCauseFunc
}

// The causes for ending an attempt early.
var (
	errPlanningMode = errors.New("planning mode began, and agents may change nothing in it")
	errPlanGone     = fmt.Errorf("its plan is gone: %w", process.ErrStopped)
)

// attendAttempts ends the attempts that were stopped on request, whose plan is gone, or whose agents may no longer change files, and
// tells agents' goroutines of reports in the log.
func (r *run) attendAttempts() {
	for _, attempt := range r.running {
		step := attempt.RunningStep(r.state)
		switch {
		case step == nil:
			attempt.end(errPlanGone)
		case step.WasStopped():
			attempt.end(process.ErrStopped)
		case attempt.agent == "":
		case r.state.PhaseNow().IsRestricted():
			attempt.end(errPlanningMode)
		case step.AgentReport() != nil:
			select {
			case <-attempt.reported:
			default:
				close(attempt.reported)
			}
		}
	}
}
