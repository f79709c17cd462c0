package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MarkStep asks to change the status of a step, with an optional note
// (WINK: planning_mark_step). Starting a step claims it for the actor.
type MarkStep struct {
	Step   StepID
	Status StepStatus
	Note   string
	Force  bool // a person takes over another actor's claim
}

// Name is the action's word in the log.
func (MarkStep) Name() string { return "mark_step" }

func (a MarkStep) clean(c *cleaner) Action {
	c.block(&a.Note, "note", MaxLongText)
	return a
}

func (a MarkStep) decide(s State, f Facts) ([]Event, error) {
	if a.Status.ordinal() < 0 {
		return nil, &ValidationError{Kind: InvalidInput, Field: "/status",
			Problem: Quote(string(a.Status)) + " is not known", Fix: "use one of " + strings.Join(a.Status.Values(), ", ")}
	}
	p, step, err := markable(s, a.Step)
	if err != nil {
		return nil, err
	}
	if err := claimable(step, a.Force, f); err != nil {
		return nil, err
	}
	if err := startable(p, step, a.Status); err != nil {
		return nil, err
	}
	if err := proven(s, step, a, f); err != nil {
		return nil, err
	}
	if a.Note != "" && len(step.Notes) >= MaxNotes {
		return nil, tooManyNotes(step)
	}
	takesOver := a.Status == InProgress && step.ClaimedBy != f.Actor.Name
	if step.Status == a.Status && a.Note == "" && !takesOver {
		return nil, nil
	}
	marked := a.marked(step, f)
	return append([]Event{marked}, consequences(p, step, marked, f)...), nil
}

// markable returns the current plan and the step of it, or says why it is not to
// be marked.
func markable(s State, id StepID) (*Plan, *Step, error) {
	p, err := livePlan(s)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case p.Cleared():
		err = conflict("the plan was cleared and has no steps", "set up a new plan")
	case p.FinalSummary != "":
		err = conflict("the plan is closed with its final summary", "set up a new plan")
	case p.Status == StatusFailed, p.Status == StatusDraft:
		err = conflict(fmt.Sprintf("the plan is %s, so no step can be marked", p.Status), wayOn(p))
	}
	if err != nil {
		return nil, nil, err
	}
	step, err := findStep(p, id, "/step_id")
	return p, step, err
}

// claimable refuses a step that another actor holds: until a lease has passed
// since the owner's last sign of life, or its connection is gone, or a person
// forces it.
func claimable(step *Step, force bool, f Facts) error {
	owner := step.ClaimedBy
	if owner == "" || owner == f.Actor.Name || step.Status != InProgress {
		return nil
	}
	if force && f.Actor.Present() {
		return nil
	}
	seen := f.Seen[owner]
	if Lapsed(step, seen, f.Now, f.Limits.Lease) {
		return nil
	}
	until := leaseEnd(step, seen, f.Limits.Lease)
	return conflict(fmt.Sprintf("%s is claimed by %s until %s", step.ID, Quote(owner), until.UTC().Format("15:04 MST")),
		"work on another step; a person can take it over")
}

// Lapsed reports whether the claim on a step has passed over: its owner's
// connection is gone, or a lease has gone by since the owner's last sign of life.
func Lapsed(step *Step, owner Sighting, now time.Time, lease time.Duration) bool {
	return owner.Gone || now.After(leaseEnd(step, owner, lease))
}

func leaseEnd(step *Step, owner Sighting, lease time.Duration) time.Time {
	if alive := owner.At.Add(lease); !owner.At.IsZero() && alive.After(step.LeaseUntil) {
		return alive
	}
	return step.LeaseUntil
}

// startable refuses to start or finish a step whose dependencies are not done.
func startable(p *Plan, step *Step, to StepStatus) error {
	if to != InProgress && to != Done {
		return nil
	}
	waiting := p.Steps.WaitingOn(step.ID)
	if len(waiting) == 0 || step.Status == to {
		return nil
	}
	return conflict(fmt.Sprintf("%s waits for %s", step.ID, IDs(waiting)), "finish what it waits for first")
}

func (a MarkStep) marked(step *Step, f Facts) StepMarked {
	e := StepMarked{Step: a.Step, Status: a.Status, Note: a.Note, By: f.Actor.Name, At: f.Now}
	if a.Status == InProgress {
		e.LeaseUntil = f.Now.Add(f.Limits.Lease)
	}
	return e
}

// StepMarked gives a step a status, and a note if there is one.
type StepMarked struct {
	Step       StepID     `json:"step_id"`
	Status     StepStatus `json:"status"`
	Note       string     `json:"note,omitempty"`
	By         string     `json:"by"`
	At         time.Time  `json:"at"`
	LeaseUntil time.Time  `json:"lease_until,omitzero"`
}

// Kind is the event's word in the log.
func (StepMarked) Kind() string { return "step_marked" }

func (e StepMarked) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		if e.Note != "" {
			step.Notes = append(slices.Clip(step.Notes), e.Note)
		}
		if e.Status == InProgress {
			step.start(e)
		} else {
			step.stop(e)
		}
		step.Status = e.Status
	})
}

func (step *Step) start(e StepMarked) {
	if step.Status != InProgress {
		step.StartedAt = e.At
		step.Attempts++
		step.outdate()
	}
	step.CompletedAt, step.Error = time.Time{}, ""
	step.ClaimedBy, step.LeaseUntil = e.By, e.LeaseUntil
}

func (step *Step) stop(e StepMarked) {
	step.ClaimedBy, step.LeaseUntil = "", time.Time{}
	if step.Status == Done && e.Status != Done {
		step.outdate()
	}
	switch e.Status {
	case Done:
		if step.Status != Done {
			step.CompletedAt, step.ExecutedBy = e.At, e.By
		}
		step.Error = ""
	case Failed:
		if step.Status != Failed {
			step.CompletedAt, step.ExecutedBy, step.Error = e.At, e.By, e.Note
		}
	case Skipped, Cancelled:
		if step.Status != e.Status {
			step.CompletedAt = e.At
		}
	default:
		step.CompletedAt, step.Error = time.Time{}, ""
	}
	if e.Status == Pending {
		step.StartedAt, step.ExecutedBy = time.Time{}, ""
	}
}
