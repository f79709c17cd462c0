package plan

import "time"

// stop asks the engine that runs a step to end its processes.
func (a AnswerStep) stop(step *Step, f Facts) []Event {
	if step.execution().StoppedBy != "" {
		return nil
	}
	return []Event{StepStopRequested{Step: step.ID, Attempt: step.Attempts, By: f.Actor.Name, At: f.Now}}
}

// checkStop refuses to stop a step that no engine runs, and an agent that stops another's run.
func (s State) checkStop(step *Step, f Facts) error {
	name := step.ID.String()
	switch {
	case step.IsLooping():
		return conflict(name+" is a loop", "stop its steps, "+IDs(step.Instances())+", or pause the run")
	case step.Status == InProgress && !step.IsRunning():
		return conflict(name+" is claimed by "+Quote(step.ClaimedBy)+", and planloop stops only steps that it runs itself",
			"ask its owner, or claim it")
	case step.IsUnknown():
		return conflict(name+" is not running, and its outcome is unknown", "check its effects, then settle it")
	case !step.IsRunning():
		return conflict(name+" "+step.Status.Predicate()+" and is not running", "there is nothing to stop")
	}
	return s.checkMayStop(f)
}

// checkMayStop refuses an agent that would stop steps of a run that it did not begin.
func (s State) checkMayStop(f Facts) error {
	if f.Actor.Kind == Agent && (s.Run == nil || s.Run.By != f.Actor.Name) {
		return conflict("you did not begin this run, so you cannot stop its steps", "ask the user to stop them")
	}
	return nil
}

// stopAll returns the requests that end every running step.
func (s State) stopAll(f Facts) []Event {
	var events []Event
	for step := range s.Plan.Steps.Executing() {
		events = append(events, AnswerStep{}.stop(step, f)...)
	}
	return events
}

// WasStopped reports whether the step's last attempt was stopped on request, or is being stopped.
func (step *Step) WasStopped() bool { return step.execution().StoppedBy != "" }

// stoppedError returns the error of an attempt that was stopped on request, "" if it was not.
func (step *Step) stoppedError() string {
	if by := step.execution().StoppedBy; by != "" {
		return "stopped by " + by
	}
	return ""
}

// StepStopRequested tells the engine of an attempt to end it. The step fails, or its outcome is unknown if it cannot be repeated.
type StepStopRequested struct {
	Step    StepID    `json:"step_id"`
	Attempt int       `json:"attempt"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (e StepStopRequested) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.execute(func(x *Execution) { x.StoppedBy = e.By }) })
}
