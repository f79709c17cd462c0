package plan

import (
	"fmt"
	"time"
)

// ClaimStep asks to take over a step in progress, or to renew the actor's own claim on it.
type ClaimStep struct {
	Step  StepID
	Force bool // a person takes over another actor's claim
}

func (a ClaimStep) decide(s State, f Facts) ([]Event, error) {
	step, err := FindReportableStep(s, a.Step, f.Actor)
	if err != nil {
		return nil, err
	}
	if step.Status != InProgress {
		return nil, conflict(step.ID.String()+" is "+string(step.Status)+" and has no claim", "mark it in_progress, which claims it")
	}
	if err := checkClaim(step, a.Force, f); err != nil {
		return nil, err
	}
	return []Event{StepClaimed{Step: a.Step, By: f.Actor.Name, At: f.Now, LeaseUntil: f.Now.Add(f.Limits.Lease)}}, nil
}

// checkClaim refuses a step that another actor owns, until a lease has passed since the owner's last
// sign of life, or its connection is gone, or a person forces it.
func checkClaim(step *Step, force bool, f Facts) error {
	owner := step.ClaimedBy
	if owner == "" || owner == f.Actor.Name || f.Actor.Scope.Step == step.ID || step.Status != InProgress {
		return nil
	}
	if force && f.Actor.IsPresent() {
		return nil
	}
	seen := f.Sightings[owner]
	if IsLeaseExpired(step, seen, f.Now, f.Limits.Lease) {
		return nil
	}
	until := leaseEnd(step, seen, f.Limits.Lease)
	return &ValidationError{Kind: Conflict, ClaimedStep: step.ID, Fix: "work on another step",
		Problem: fmt.Sprintf("%s is claimed by %s until %s", step.ID, Quote(owner), until.UTC().Format("15:04 MST"))}
}

// IsLeaseExpired reports whether the claim on a step has lapsed: its owner's connection is gone, or a lease
// has passed since the owner's last sign of life.
func IsLeaseExpired(step *Step, owner Sighting, now time.Time, lease time.Duration) bool {
	return owner.IsGone || now.After(leaseEnd(step, owner, lease))
}

func leaseEnd(step *Step, owner Sighting, lease time.Duration) time.Time {
	if alive := owner.At.Add(lease); !owner.At.IsZero() && alive.After(step.LeaseUntil) {
		return alive
	}
	return step.LeaseUntil
}

// StepClaimed gives a step in progress to an actor until the lease ends.
type StepClaimed struct {
	Step       StepID    `json:"step_id"`
	By         string    `json:"by"`
	At         time.Time `json:"at"`
	LeaseUntil time.Time `json:"lease_until"`
}

func (e StepClaimed) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.ClaimedBy, step.LeaseUntil = e.By, e.LeaseUntil })
}
