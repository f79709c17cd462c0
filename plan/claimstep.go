package plan

import "time"

// ClaimStep asks to take a step that is in progress over, or to renew the own
// claim on it.
type ClaimStep struct {
	Step  StepID
	Force bool // a person takes over another actor's claim
}

// Name is the action's word in the log.
func (ClaimStep) Name() string { return "claim_step" }

func (a ClaimStep) clean(*cleaner) Action { return a }

func (a ClaimStep) decide(s State, f Facts) ([]Event, error) {
	_, step, err := markable(s, a.Step)
	if err != nil {
		return nil, err
	}
	if step.Status != InProgress {
		return nil, conflict(step.ID.String()+" is "+string(step.Status)+" and has no claim", "mark it in_progress, that claims it")
	}
	if err := claimable(step, a.Force, f); err != nil {
		return nil, err
	}
	return []Event{StepClaimed{Step: a.Step, By: f.Actor.Name, At: f.Now, LeaseUntil: f.Now.Add(f.Limits.Lease)}}, nil
}

// StepClaimed gives a step in progress to an actor until the lease ends.
type StepClaimed struct {
	Step       StepID    `json:"step_id"`
	By         string    `json:"by"`
	At         time.Time `json:"at"`
	LeaseUntil time.Time `json:"lease_until"`
}

// Kind is the event's word in the log.
func (StepClaimed) Kind() string { return "step_claimed" }

func (e StepClaimed) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.ClaimedBy, step.LeaseUntil = e.By, e.LeaseUntil })
}
