package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// MarkStep asks to change the status of a step, with an optional note (WINK: planning_mark_step).
// Starting a step claims it for the actor.
type MarkStep struct {
	Step   StepID
	Status StepStatus
	Note   string
	Force  bool // a person takes over another actor's claim
}

func (a MarkStep) clean(c *cleaner) Action {
	c.oneOf("status", string(a.Status), a.Status.Values())
	c.report(&a.Note, "note")
	return a
}

func (a MarkStep) decide(s State, f Facts) ([]Event, error) {
	step, err := FindReportableStep(s, a.Step, f.Actor)
	if err != nil {
		return nil, err
	}
	if f.Actor.Scope.Step == a.Step {
		return a.reportAgentStep(s, step, f)
	}
	if err := cmp.Or(checkClaim(step, a.Force, f), checkReserved(step, a, f)); err != nil {
		return nil, err
	}
	if choice := a.recoveryChoice(step); choice != "" {
		return AnswerStep{Step: a.Step, Choice: choice, Text: a.Note}.decide(s, f)
	}
	err = cmp.Or(checkDependencies(s.Plan, step, a.Status), s.checkDue(step, a.Status), checkBlockers(s, step, a, f), s.checkLock(step, a),
		roomForNote(step, a.Note),
		checkEvidence(s, step, a, f)) // last: whoever is refused for it may have the command run
	if err != nil {
		return nil, err
	}
	takesOver := a.Status == InProgress && step.ClaimedBy != f.Actor.Name
	if step.Status == a.Status && a.Note == "" && !takesOver && !step.IsStale() {
		return nil, nil
	}
	marked := StepMarked{Step: a.Step, Status: a.Status, Note: a.Note, By: f.Actor.Name, At: f.Now}
	if a.Status == InProgress {
		marked.LeaseUntil = f.Now.Add(f.Limits.Lease)
	}
	return append(s.waiver(step, a, f), marked), nil
}

// checkReserved refuses a mark on a step that an engine is running, on a loop that ends with its
// instances, and the start of a step that needs a person's approval or answer first.
func checkReserved(step *Step, a MarkStep, f Facts) error {
	name, x := step.ID.String(), step.execution()
	switch {
	case x.IsExpanded && (step.IsLooping() || a.Status != Skipped && a.Status != Cancelled) && !(x.IsStale && a.Status == Done):
		return conflict(name+" is a loop and ends with its instances, "+IDs(x.Instances), "mark those")
	case step.IsRunning() && step.ClaimedBy != f.Actor.Name:
		return isRunError(step)
	case step.IsUnknown() && !f.Actor.IsPresent():
		return conflict(name+" was started, and its outcome is unknown, so it cannot be marked",
			"check its effects, then settle it: planloop step settle "+name+" --choice happened, or --choice retry")
	case a.Status != InProgress && a.Status != Done || f.Actor.IsPresent():
	case step.NeedsApproval() && !f.Limits.NeverAsk:
		return conflict(name+" waits for a person's approval before it is started", "ask the user to run `planloop approve "+name+"`")
	case step.NeedsReply():
		return conflict(name+" waits for a person's answer to "+Quote(step.Pause),
			"ask the user to run `planloop answer "+name+" TEXT`")
	}
	return nil
}

// isRunError refuses a change of a step that an engine is running.
func isRunError(step *Step) error {
	name := step.ID.String()
	return conflict(name+" is being run by planloop", "wait for its result, or stop it: planloop step stop "+name)
}

// checkLock refuses to start a step while another one has its lock.
func (s State) checkLock(step *Step, a MarkStep) error {
	if holder := s.LockHolder(step); holder != 0 && a.Status == InProgress && step.Status != InProgress {
		return conflict(fmt.Sprintf("%s needs the lock %s, which %s has", step.ID, step.Lock, holder),
			"work on another step until "+holder.String()+" has ended")
	}
	return nil
}

// recoveryChoice returns the answer that a mark gives about a step in unknown state, "" if it gives none;
// such a step cannot be taken over.
func (a MarkStep) recoveryChoice(step *Step) Choice {
	if !step.IsUnknown() {
		return ""
	}
	return map[StepStatus]Choice{Done: Happened, Pending: Retry, Skipped: Skip}[a.Status]
}

// reportsOwnWork reports whether an action only reports results of steps that its actor is working on.
func (s State) reportsOwnWork(a Action, f Facts) bool {
	switch a := a.(type) {
	case MarkStep:
		return a.Status != InProgress && s.isWorkingOn(a.Step, f.Actor)
	case ReportStep:
		return s.isWorkingOn(a.Step, f.Actor)
	case Batch:
		return len(a.Parts) > 0 && !slices.ContainsFunc(a.Parts, func(part Part) bool { return !s.reportsOwnWork(part.Action, f) })
	}
	return false
}

func (s State) isWorkingOn(id StepID, by Actor) bool {
	step, ok := s.step(id)
	return ok && step.Status == InProgress && (step.ClaimedBy == by.Name || by.Scope.RunningStep(s) == step)
}

// FindReportableStep returns a step of the current plan, or refuses if the actor may not mark it or report on it.
// Results of a step in flight, and marks of clean-up, are accepted even after the plan has failed.
func FindReportableStep(s State, id StepID, by Actor) (*Step, error) {
	p, err := currentPlan(s)
	isCleanup := func() bool { step, ok := p.Steps.Get(id); return ok && p.Steps.IsCleanup(step) }
	switch {
	case err != nil:
		return nil, err
	case p.IsCleared():
		return nil, conflict("the plan was cleared and has no steps", "set up a new plan")
	case p.FinalSummary != "":
		return nil, conflict("the plan is closed with its final summary", "set up a new plan")
	case p.Status == StatusFailed && !s.isWorkingOn(id, by) && !isCleanup(), p.Status == StatusDraft:
		return nil, conflict(fmt.Sprintf("the plan %s, so no step can be marked", p.Status.Predicate()), remedy(p))
	}
	if _, known := p.Steps.Get(id); !known && s.hasRevision() && s.Draft.Steps.Position(id) >= 0 {
		return nil, conflict(id.String()+" is proposed and not approved yet", "continue with approved steps")
	}
	return findStep(p, id, "/step_id")
}

// StepMarked sets the status of a step, and adds a note if there is one.
type StepMarked struct {
	Step       StepID     `json:"step_id"`
	Status     StepStatus `json:"status"`
	Note       string     `json:"note,omitempty"`
	By         string     `json:"by"`
	At         time.Time  `json:"at"`
	LeaseUntil time.Time  `json:"lease_until,omitzero"`
}

func (e StepMarked) marks() StepID { return e.Step }

func (e StepMarked) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		if e.Note != "" {
			step.Notes = append(slices.Clip(step.Notes), e.Note)
		}
		step.become(e)
	})
}

// become sets the step's status with everything that depends on it.
func (step *Step) become(e StepMarked) {
	if e.Status == InProgress {
		step.start(e)
	} else {
		step.stop(e)
	}
	if step.Execution != nil && (step.Status != e.Status || step.IsStale()) {
		step.execute(func(x *Execution) { x.resetAttempt(e.Status) })
	}
	step.Status = e.Status
}

// resetAttempt clears the questions and grants of an attempt that a mark has ended or begun.
func (x *Execution) resetAttempt(status StepStatus) {
	x.Ask, x.IsStarted, x.ConditionFalse, x.ConditionTrue = nil, false, false, x.ConditionTrue && status != Pending
	x.Agent, x.WritesFiles, x.Report, x.IsStale = "", false, nil, false
	if status != Pending {
		x.Approval, x.IsAnswered = nil, false
	}
	if status == Pending || status == InProgress {
		x.StoppedBy = ""
	}
	if status == Done || status == Pending {
		x.Retries, x.UnavailableAgents = 0, 0
	}
}

// retryFailed makes a failed step pending again; a loop continues with its instances.
func (step *Step) retryFailed() {
	status := Pending
	if step.execution().IsExpanded {
		status = InProgress
	}
	step.become(StepMarked{Status: status})
}

func (step *Step) start(e StepMarked) {
	if step.Status != InProgress {
		step.StartedAt = e.At
		step.Attempts++
		step.markEvidenceStale()
	}
	step.CompletedAt, step.Error = time.Time{}, ""
	step.ClaimedBy, step.LeaseUntil = e.By, e.LeaseUntil
}

func (step *Step) stop(e StepMarked) {
	step.ClaimedBy, step.LeaseUntil = "", time.Time{}
	if step.Status == Done && e.Status != Done {
		step.markEvidenceStale()
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

// MaxEvidence bounds the pieces of evidence a step keeps; the oldest go first.
const MaxEvidence = 50

// ReportStep asks to record the results of work on a step. It leaves the status alone: MarkStep
// changes that.
type ReportStep struct {
	Step          StepID
	Note          string
	Output        string // replaces the former one
	AffectedFiles []string
	Evidence      []Evidence
}

func (a ReportStep) clean(c *cleaner) Action {
	c.report(&a.Note, "note")
	c.report(&a.Output, "output")
	c.list(&a.AffectedFiles, "affected_files", LinesField, MaxPath, MaxList)
	c.evidence(&a.Evidence)
	return a
}

func (a ReportStep) decide(s State, f Facts) ([]Event, error) {
	step, err := FindReportableStep(s, a.Step, f.Actor)
	if err != nil {
		return nil, err
	}
	if a.Note != "" || a.Output != "" || len(a.AffectedFiles) > 0 { // evidence alone may come from any actor, such as CI
		if err := checkClaim(step, false, f); err != nil {
			return nil, err
		}
	}
	return a.event(s, step, f)
}

// event returns the event for a report on a step, none if it adds nothing.
func (a ReportStep) event(s State, step *Step, f Facts) (events []Event, err error) {
	if err := roomForNote(step, a.Note); err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(a.AffectedFiles), func(file string) bool { return slices.Contains(step.AffectedFiles, file) })
	if n := len(step.AffectedFiles) + len(files); n > MaxNotes {
		return nil, conflict(fmt.Sprintf("%s would list %d affected files; at most %d are kept", step.ID, n, MaxNotes),
			"name folders instead")
	}
	if a.Note == "" && (a.Output == "" || a.Output == step.Output) && len(files) == 0 && len(a.Evidence) == 0 {
		return nil, nil
	}
	e := StepReported{Step: a.Step, Note: a.Note, Output: a.Output, AffectedFiles: files, At: f.Now}
	for i, evidence := range a.Evidence {
		if evidence.Criterion, err = criterion(step, evidence.Criterion, fmt.Sprintf("/evidence/%d/criterion", i)); err != nil {
			return nil, err
		}
		evidence.By, evidence.At, evidence.Waived, evidence.Stale = f.Actor.Name, f.Now, false, false // see waiver
		e.Evidence = append(e.Evidence, s.attest(evidence, f))
	}
	return []Event{e}, nil
}

func roomForNote(step *Step, note string) error {
	if note == "" || len(step.Notes) < MaxNotes {
		return nil
	}
	return conflict(fmt.Sprintf("%s has %d notes already, which is the limit", step.ID, len(step.Notes)),
		"report without a note, or add a step for the rest")
}

// StepReported records the results of work on a step.
type StepReported struct {
	Step          StepID     `json:"step_id"`
	Note          string     `json:"note,omitempty"`
	Output        string     `json:"output,omitempty"`
	AffectedFiles []string   `json:"affected_files,omitempty"` // not listed before
	Evidence      []Evidence `json:"evidence,omitempty"`
	At            time.Time  `json:"at"`
}

func (e StepReported) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		if e.Note != "" {
			step.Notes = append(slices.Clip(step.Notes), e.Note)
		}
		if e.Output != "" {
			step.Output = e.Output
		}
		step.addAffectedFiles(e.AffectedFiles)
		step.keepEvidence(e.Evidence)
	})
}

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
	if step.IsRunning() && step.ClaimedBy != f.Actor.Name && f.Actor.Scope.Step != step.ID {
		return nil, isRunError(step)
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
