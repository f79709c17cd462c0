package plan

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// PastPlan is the head of a plan that is no longer the current one. Its body is in the log, in the
// state at Revision: see Body.
type PastPlan struct {
	ID         string     `json:"id"`
	Objective  string     `json:"objective"`
	Status     PlanStatus `json:"status"` // at that time; abandoned if the plan was cleared
	Version    int        `json:"version"`
	Steps      int        `json:"steps"`
	Done       int        `json:"done"`
	Highest    StepID     `json:"highest_step,omitzero"` // highest id ever minted, if it is not the number of steps
	Attempts   int        `json:"attempts,omitzero"`     // the most that engines made at one step
	CreatedAt  time.Time  `json:"created_at"`
	ArchivedAt time.Time  `json:"archived_at"`
	Revision   Revision   `json:"revision"`
	// replaced, replanned, cleared, restored_over; for a draft superseded, rejected, cancelled, expired or ended
	Reason      string `json:"reason"`
	HostSession string `json:"from,omitempty"`   // the host session it was adopted from: see Adopted.From
	Edited      bool   `json:"edited,omitempty"` // a draft changed by people

	Decided    PastDecision `json:"decided,omitzero"`     // the last decision about it; zero in old logs
	Unfinished int          `json:"unfinished,omitempty"` // steps of an approved plan; 0 in old logs
}

// PastDecision is a decision about a plan that is no longer the current one.
type PastDecision struct {
	Outcome Outcome   `json:"outcome"`
	By      string    `json:"by"`
	Way     Way       `json:"way,omitempty"`
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at"`
}

// WasInForce reports whether the plan was a current plan, not only a draft.
func (p PastPlan) WasInForce() bool {
	return slices.Contains([]string{"replaced", "restored_over", cleared, replanned}, p.Reason)
}

// EarlierPlan returns the head that a restored plan or draft comes from, with what was decided about it then.
func (s State) EarlierPlan(p *Plan) (PastPlan, bool) {
	if p == nil || p.IsCleared() {
		return PastPlan{}, false
	}
	head, ok := s.PastPlan(p.ID)
	if !ok && p.Version == 1 && p.PreviousPlanID != "" { // restored under a new id
		return s.PastPlan(p.PreviousPlanID)
	}
	return head, ok
}

// Body returns the plan with this head from the state at its revision, nil if it is not there. A
// waiting revision has the same id as its plan; the plan comes first, since only a draft that is a
// plan of its own gets archived.
func (p PastPlan) Body(then State) *Plan {
	for _, body := range []*Plan{then.Plan, then.Draft} {
		if body != nil && body.ID == p.ID {
			if p.Decided.Way == WayBefore {
				return body.beforeSharing()
			}
			return body
		}
	}
	return nil
}

// PastPlan returns the head of the former plan with that id.
func (s State) PastPlan(id string) (PastPlan, bool) {
	if i := s.pastIndex(id); i >= 0 {
		return s.Past[i], true
	}
	return PastPlan{}, false
}

// FormerPlans lists the heads of the plans that can be restored, last archived first: all but the
// current plan, unless that was cleared, and a restored draft.
func (s State) FormerPlans() []PastPlan {
	var former []PastPlan
	for _, head := range s.Past {
		if (s.Plan == nil || s.Plan.ID != head.ID || s.Plan.IsCleared()) && (s.Draft == nil || s.Draft.ID != head.ID) {
			former = append(former, head)
		}
	}
	slices.Reverse(former)
	slices.SortStableFunc(former, func(a, b PastPlan) int { return cmp.Compare(b.Revision, a.Revision) })
	return former
}

// Root returns the id of the plan's first version, which replans do not change.
func (p PastPlan) Root() string { return (&Plan{ID: p.ID, Version: p.Version}).Root() }

// WasSuperseded reports whether work continued in another draft or version.
func (p PastPlan) WasSuperseded() bool { return p.Reason == superseded || p.Reason == replanned }

// Versions yields the heads of a plan's former versions.
func (s State) Versions(root string) iter.Seq[PastPlan] {
	return func(yield func(PastPlan) bool) {
		for _, head := range s.Past {
			if head.Root() == root && !yield(head) {
				return
			}
		}
	}
}

// PlanForms lists the ids of a plan in all its forms: its own, its versions, and the drafts that
// superseded each other until it was submitted.
func (s State) PlanForms(p *Plan) []string {
	forms := []string{p.ID}
	if s.Plan != nil && s.Plan.Root() == p.Root() && s.Plan.ID != p.ID {
		forms = append(forms, s.Plan.ID)
	}
	for head := range s.Versions(p.Root()) {
		if !slices.Contains(forms, head.ID) {
			forms = append(forms, head.ID)
		}
	}
	at := p.CreatedAt
	for _, head := range slices.Backward(s.Past) { // more than one may have given way in a millisecond
		if head.Reason == superseded && head.ArchivedAt.Equal(at) && !slices.Contains(forms, head.ID) {
			forms, at = append(forms, head.ID), head.CreatedAt
		}
	}
	return forms
}

// highestOf returns the highest id minted by any version of a plan; ids are never reused.
func (s State) highestOf(root string) StepID {
	highest := StepID(0)
	if s.Plan != nil && s.Plan.Root() == root {
		highest = s.Plan.Steps.Highest()
	}
	for head := range s.Versions(root) {
		highest = max(highest, head.Highest, StepID(head.Steps))
	}
	return highest
}

// attemptsOf returns the most attempts at a step in any other version of a plan. New attempts are
// numbered above it, so that a late result cannot be taken for theirs.
func (s State) attemptsOf(p *Plan) int {
	maxAttempts := 0
	if s.Plan != nil && s.Plan.Root() == p.Root() && s.Plan.ID != p.ID {
		maxAttempts = attempts(s.Plan.Steps)
	}
	for head := range s.Versions(p.Root()) {
		if head.ID != p.ID {
			maxAttempts = max(maxAttempts, head.Attempts)
		}
	}
	return maxAttempts
}

// attempts returns the most attempts at any step that a run has touched.
func attempts(steps Steps) int {
	maxAttempts := 0
	for step := range steps.All() {
		if step.Execution != nil {
			maxAttempts = max(maxAttempts, step.Attempts)
		}
	}
	return maxAttempts
}

func (s State) pastIndex(id string) int {
	return slices.IndexFunc(s.Past, func(p PastPlan) bool { return p.ID == id })
}

// PlanArchived keeps the head of a plan that is about to be replaced or cleared, or of a dropped
// draft.
type PlanArchived struct {
	Head PastPlan `json:"head"`
}

func (e PlanArchived) apply(s State) State {
	s.Past = slices.Clone(s.Past)
	if i := s.pastIndex(e.Head.ID); i >= 0 {
		s.Past[i] = e.Head
	} else {
		s.Past = append(s.Past, e.Head)
	}
	return s
}

// archive returns the event that keeps the head of the current plan, nil without a plan or if it
// was cleared and archived already.
func archive(s State, reason string, now time.Time) []Event {
	p := s.Plan
	if p == nil || p.IsCleared() && s.pastIndex(p.ID) >= 0 {
		return nil
	}
	head := newPastPlan(p, s.Revision, reason, now)
	if former, _ := s.PastPlan(p.ID); p.Approval == nil {
		head.Decided = former.Decided
	}
	return []Event{PlanArchived{head}}
}

// checkApprovedKept refuses an agent's change that would replace, clear or archive an approved plan with unfinished
// steps or with a proposal, whatever action causes it. Only a person decides to give up what a person approved, and
// only the proposal's author or a person drops the proposal.
func checkApprovedKept(before, after State, events []Event, f Facts) error {
	p := before.Plan
	if p == nil || after.Plan == nil || f.Actor.IsPresent() && !f.Actor.IsUnconfirmed || after.Plan.ID == p.ID && !after.Plan.IsCleared() {
		return nil
	}
	for _, e := range events {
		switch e.(type) {
		case PlanApproved, PlanReplanned: // by a decision; another version of the same plan
			return nil
		}
	}
	if !p.IsBinding() {
		if f.Actor.IsPresent() {
			return nil
		}
		return before.proposalWaits()
	}
	return &ValidationError{Kind: Conflict, ApprovedPlan: p.ID, Fix: "finish it, propose a change, or ask the user",
		Problem: fmt.Sprintf("the plan %s is approved and unfinished (%d of %s finished), and only a person may replace or clear it",
			Quote(p.Objective), p.Steps.FinishedCount(), Pluralize(p.Steps.Len(), "step"))}
}

func newPastPlan(p *Plan, at Revision, reason string, now time.Time) PastPlan {
	status := p.Status
	if reason == cleared {
		status = StatusAbandoned // its status from now on
	}
	highest := p.Steps.Highest()
	if highest == StepID(p.Steps.Len()) {
		highest = 0
	}
	head := PastPlan{
		ID: p.ID, Objective: p.Objective, Status: status, Version: p.Version,
		Steps: p.Steps.Len(), Done: p.Steps.Count(Done), Highest: highest, Attempts: attempts(p.Steps),
		CreatedAt: p.CreatedAt, ArchivedAt: now, Revision: at, Reason: reason,
		HostSession: cmp.Or(p.HostList.SessionKey(), p.HostPlan.sessionKey()),
		Edited:      p.Edits != nil,
	}
	if a := p.Approval; a != nil {
		head.Decided = PastDecision{Outcome: Approved, By: a.By, Way: Way(a.Way), Comment: a.Comment, At: a.At}
		head.Unfinished = p.Steps.Len() - p.Steps.FinishedCount()
	}
	return head
}

// Reasons for archiving.
const (
	cleared    = "cleared"
	superseded = "superseded"
	replanned  = "replanned" // a new version took its place
)

// archiveDraft returns the event that keeps the head of a draft that is dropped or superseded, so that
// nothing shown to a person is lost. A revision is left out: it is not a plan of its own.
func archiveDraft(before, after State, now time.Time) []Event {
	draft := before.Draft
	is := func(p *Plan) bool { return p != nil && p.ID == draft.ID }
	if draft == nil || before.isRevision() || is(after.Draft) || is(after.Plan) {
		return nil
	}
	former, _ := before.PastPlan(draft.ID)
	reason, d := superseded, before.ModeNow().Decision
	isDecided := before.PhaseNow() == PhaseGathering && d != nil && d.Outcome == Returned
	if last := after.ModeNow().Decision; after.Draft == nil && last != nil {
		reason, d, isDecided = string(last.Outcome), last, true
	}
	head := newPastPlan(draft, before.Revision, reason, now)
	if head.Decided = former.Decided; isDecided {
		head.Decided = PastDecision{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, At: d.At}
	}
	return []Event{PlanArchived{head}}
}

// Clear asks to abandon the current plan (WINK: planning_clear_plan). It stays
// in the archive and can be restored.
type Clear struct{}

func (Clear) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	if err != nil {
		return nil, err
	}
	if p.Status == StatusAbandoned {
		return nil, conflict("the plan is already abandoned", "set up a new plan")
	}
	return append(archive(s, cleared, f.Now), PlanCleared{At: f.Now}), nil
}

// PlanCleared abandons the current plan and empties its steps.
type PlanCleared struct {
	At time.Time `json:"at"`
}

func (e PlanCleared) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) { p.Steps, p.Status = Steps{highest: p.Steps.highest}, StatusAbandoned })
}

// Purge asks to delete the whole history and begin a new log.
type Purge struct {
	Records Revision // number of records in the former log
}

func (a Purge) decide(_ State, f Facts) ([]Event, error) {
	return []Event{HistoryPurged{Records: a.Records, At: f.Now}}, nil
}

// HistoryPurged begins a new log after a person had the former one deleted.
type HistoryPurged struct {
	Records Revision  `json:"records"` // number of records in the former log
	At      time.Time `json:"at"`
}

func (HistoryPurged) apply(s State) State { return s }

// Restore asks for a former plan again: as the current one if a present person asks and the plan was once in force,
// else as a draft that a person must approve. Facts.FormerPlan holds its body.
type Restore struct {
	PlanID string
}

func (a Restore) decide(s State, f Facts) ([]Event, error) {
	if s.Plan != nil && s.Plan.ID == a.PlanID && !s.Plan.IsCleared() {
		return nil, conflict("the plan "+Quote(a.PlanID)+" is the current one", "nothing needs restoring")
	}
	head, ok := s.PastPlan(a.PlanID)
	if !ok || f.FormerPlan == nil || f.FormerPlan.ID != a.PlanID {
		return nil, Refuse(NotFound, "/plan_id", "former plan "+Quote(a.PlanID)+" does not exist", "list the former plans to find its id")
	}
	if err := withinLimit(f.FormerPlan.Steps.Len(), f.Limits); err != nil {
		return nil, err
	}
	body, err := restorable(f.FormerPlan)
	if err != nil {
		return nil, err
	}
	body.UpdatedAt = f.Now
	for i, step := range body.Steps {
		body.Steps[i] = step.withoutClaim()
	}
	if body.Highest, err = s.continueVersion(f.FormerPlan, body.Steps, f.FormerPlan.Steps.Highest()); err != nil {
		return nil, err
	}
	asCurrent := f.Actor.IsPresent() && head.WasInForce() && (f.Policy == nil || f.FormerPlan.Approval == nil)
	if s.Draft != nil && (!asCurrent || s.Draft.Root() == body.Root()) { // beside its own plan it would become a revision
		return nil, conflict("the plan "+Quote(s.Draft.Objective)+" ("+s.Draft.ID+") already waits for a decision",
			"ask the user to decide on it first")
	}
	if asCurrent {
		return append(archive(s, "restored_over", f.Now), PlanRestored{Plan: body, At: f.Now}), nil
	}
	if s.Plan != nil && s.Plan.Root() == body.Root() { // with its own id it would be a revision of the current plan
		body.PreviousPlanID, body.ID, body.Version = body.ID, newPlanID(s, body.Objective, f.Now), 1
	}
	body.Approval, body.HostList, body.HostPlan, body.FinalSummary = nil, nil, nil, ""
	return makeDraft(s, body, f)
}

// restorable returns the body of a former plan, cleaned like any input: the log may be older than
// the checks of its texts.
func restorable(past *Plan) (Body, error) {
	c, b := cleaner{}, past.Body()
	b.Edits = nil // made for a decision that is past
	c.Add(clean("", PlanFields(), &b.Plan))
	c.text(&b.ID, "id", Text{Max: MaxHint}, true)
	c.line(&b.PreviousPlanID, "previous_plan_id", MaxHint)
	c.oneOf("status", string(b.Status), b.Status.Values())
	c.count(b.Version, "version", maxSeconds)
	c.count(b.Replans, "replans", maxSeconds)
	c.count(int(b.Highest), "highest_step", int(MaxStepID))
	c.line(&b.CreatedBy, "created_by", MaxHint)
	if b.Approval != nil {
		approval := *b.Approval
		approval.Edits = nil
		c.line(&approval.By, "approval/by", MaxHint)
		c.oneOf("approval/way", approval.Way, WayPerson.Values())
		c.line(&approval.Digest, "approval/digest", MaxHint)
		c.block(&approval.Comment, "approval/comment")
		c.list(&approval.Earlier, "approval/earlier", BlocksField, 2*MaxLongText, maxKept) // comments with their authors
		c.list(&approval.Deviations, "approval/deviations", LinesField, MaxLongText, maxKept)
		b.Approval = &approval
	}
	if b.Verdict != nil {
		verdict := *b.Verdict
		c.line(&verdict.By, "verdict/by", MaxHint)
		c.line(&verdict.Way, "verdict/way", MaxHint)
		c.block(&verdict.Feedback, "verdict/feedback")
		b.Verdict = &verdict
	}
	for i, step := range b.Steps {
		clean, err := CleanStep(fmt.Sprintf("/steps/%d", i), NewStep{Spec: step.Spec, Progress: step.Progress})
		c.Add(err)
		b.Steps[i] = &Step{ID: step.ID, Spec: clean.Spec, Progress: clean.Progress, Execution: step.Execution}
	}
	if c.Err() != nil {
		return Body{}, conflict("the plan cannot be restored: "+c.Err().Error(), "export it, fix it, and import it")
	}
	return b, nil
}

// withoutClaim returns the step without its claim. If an engine was running it, the attempt is lost:
// the plan was archived while it ran.
func (step *Step) withoutClaim() *Step {
	if step.ClaimedBy == "" {
		return step
	}
	free := *step
	if step.IsRunning() {
		free.lose(StepLost{Step: step.ID, Attempt: step.Attempts, Unknown: !step.execution().IsRepeatable,
			AttemptEnd: AttemptEnd{At: step.StartedAt}})
	}
	free.ClaimedBy, free.LeaseUntil = "", time.Time{}
	return &free
}

// PlanRestored makes a former plan the current one.
type PlanRestored struct {
	Plan Body      `json:"plan"`
	At   time.Time `json:"at"`
}

func (e PlanRestored) apply(s State) State {
	s.Plan = e.Plan.Build()
	return s
}
