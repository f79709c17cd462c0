package plan

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// PastPlan is the head of a plan that is not the current one any more. Its body
// stands in the log, in the state at Revision: see Body.
type PastPlan struct {
	ID         string     `json:"id"`
	Objective  string     `json:"objective"`
	Status     PlanStatus `json:"status"` // as it was; of one that was cleared, abandoned
	Version    int        `json:"version"`
	Steps      int        `json:"steps"`
	Done       int        `json:"done"`
	Highest    StepID     `json:"highest_step,omitzero"` // the highest id ever minted, when it is not the number of steps
	Attempts   int        `json:"attempts,omitzero"`     // the most that engines made at a step of it
	CreatedAt  time.Time  `json:"created_at"`
	ArchivedAt time.Time  `json:"archived_at"`
	Revision   Revision   `json:"revision"`
	// replaced, replanned, cleared, restored_over; of a draft superseded, rejected, cancelled, expired or ended
	Reason string `json:"reason"`
	From   string `json:"from,omitempty"`   // the session of a host whose list it was made of: see Adopted.From
	Edited bool   `json:"edited,omitempty"` // a draft that people changed
}

// Body returns the plan that the head stands for in the state at its revision, nil when
// it is not there. A revision that waits beside the plan has the same id: the plan comes
// first, and a draft is a former plan only where it is one of its own.
func (p PastPlan) Body(then State) *Plan {
	for _, body := range []*Plan{then.Plan, then.Draft} {
		if body != nil && body.ID == p.ID {
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

// Former lists the heads of the plans that can be restored, the one archived last
// first: all but the current plan, unless that was cleared.
func (s State) Former() []PastPlan {
	var former []PastPlan
	for _, head := range s.Past {
		if s.Plan == nil || s.Plan.ID != head.ID || s.Plan.Cleared() {
			former = append(former, head)
		}
	}
	slices.Reverse(former)
	slices.SortStableFunc(former, func(a, b PastPlan) int { return cmp.Compare(b.Revision, a.Revision) })
	return former
}

// Root returns the id of the first version of the plan, which does not change with replans.
func (p PastPlan) Root() string { return (&Plan{ID: p.ID, Version: p.Version}).Root() }

// GaveWay reports whether the work on it went on in another draft or version.
func (p PastPlan) GaveWay() bool { return p.Reason == superseded || p.Reason == replanned }

// Versions yields the heads of the former versions of a plan.
func (s State) Versions(root string) iter.Seq[PastPlan] {
	return func(yield func(PastPlan) bool) {
		for _, head := range s.Past {
			if head.Root() == root && !yield(head) {
				return
			}
		}
	}
}

// Forms lists the ids of a plan in all its forms: its own, its versions, and the drafts that
// gave way one after the other until it was submitted.
func (s State) Forms(p *Plan) []string {
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

// highestOf returns the highest id that any version of a plan has minted: none is used again.
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

// attemptsOf returns the most attempts that a step had in another version of a plan: a result
// that is still to come of one must not be taken for that of an attempt to come.
func (s State) attemptsOf(p *Plan) int {
	most := 0
	if s.Plan != nil && s.Plan.Root() == p.Root() && s.Plan.ID != p.ID {
		most = attempts(s.Plan.Steps)
	}
	for head := range s.Versions(p.Root()) {
		if head.ID != p.ID {
			most = max(most, head.Attempts)
		}
	}
	return most
}

// attempts returns the most attempts at a step that a run has touched.
func attempts(steps Steps) int {
	most := 0
	for step := range steps.All() {
		if step.Execution != nil {
			most = max(most, step.Attempts)
		}
	}
	return most
}

func (step *Step) triedBefore(times int) *Step {
	if step.Attempts >= times {
		return step
	}
	tried := *step
	tried.Attempts = times
	return &tried
}

// unusual is the highest id that was minted, 0 when that is the number of steps.
func unusual(steps Steps) StepID {
	if steps.Highest() == StepID(steps.Len()) {
		return 0
	}
	return steps.Highest()
}

func (s State) pastIndex(id string) int {
	return slices.IndexFunc(s.Past, func(p PastPlan) bool { return p.ID == id })
}

// PlanArchived keeps the head of the current plan, which is about to be
// replaced or cleared.
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

// archive returns the event that keeps the head of the current plan, none when
// there is nothing to keep: no plan, or one that was cleared and stands in the
// archive already.
func archive(s State, reason string, now time.Time) []Event {
	p := s.Plan
	if p == nil || p.Cleared() && s.pastIndex(p.ID) >= 0 {
		return nil
	}
	return []Event{PlanArchived{head(p, s.Revision, reason, now)}}
}

func head(p *Plan, at Revision, reason string, now time.Time) PastPlan {
	status := p.Status
	if reason == cleared {
		status = StatusAbandoned // as the plan is from now on
	}
	return PastPlan{
		ID: p.ID, Objective: p.Objective, Status: status, Version: p.Version,
		Steps: p.Steps.Len(), Done: p.Steps.Count(Done), Highest: unusual(p.Steps), Attempts: attempts(p.Steps),
		CreatedAt: p.CreatedAt, ArchivedAt: now, Revision: at, Reason: reason, From: p.Adopted.From(),
		Edited: p.Edits != nil,
	}
}

// Why a plan is kept: it was cleared; a draft gave way to another; a version to the next.
const (
	cleared    = "cleared"
	superseded = "superseded"
	replanned  = "replanned" // a new version took its place
)

// keptDraft returns the event that keeps the head of a draft which is dropped or
// gives way to another: nothing that was put before a person is lost. A revision is
// no plan of its own.
func keptDraft(before, after State, now time.Time) []Event {
	draft := before.Draft
	is := func(p *Plan) bool { return p != nil && p.ID == draft.ID }
	if draft == nil || before.revises() || is(after.Draft) || is(after.Plan) {
		return nil
	}
	reason := superseded
	if d := after.ModeNow().Decision; after.Draft == nil && d != nil {
		reason = string(d.Outcome)
	}
	return []Event{PlanArchived{head(draft, before.Revision, reason, now)}}
}

// Clear asks to abandon the current plan (WINK: planning_clear_plan). It stays
// in the archive and can be restored.
type Clear struct{}

func (a Clear) clean(*cleaner) Action { return a }

func (Clear) decide(s State, f Facts) ([]Event, error) {
	p, err := livePlan(s)
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

// Purge asks to delete the whole history and to begin a new one.
type Purge struct {
	Records Revision // how many the former log has
}

func (a Purge) clean(*cleaner) Action { return a }

func (a Purge) decide(_ State, f Facts) ([]Event, error) {
	return []Event{HistoryPurged{Records: a.Records, At: f.Now}}, nil
}

// HistoryPurged begins a log anew, after a person had the former one deleted.
type HistoryPurged struct {
	Records Revision  `json:"records"` // how many the former log had
	At      time.Time `json:"at"`
}

func (HistoryPurged) apply(s State) State { return s }

// Restore asks to make a former plan the current one again. Facts.Past brings
// its body.
type Restore struct {
	PlanID string
}

func (a Restore) clean(*cleaner) Action { return a }

func (a Restore) decide(s State, f Facts) ([]Event, error) {
	if s.Plan != nil && s.Plan.ID == a.PlanID && !s.Plan.Cleared() {
		return nil, conflict("the plan "+Quote(a.PlanID)+" is the current one", "nothing needs restoring")
	}
	if _, ok := s.PastPlan(a.PlanID); !ok || f.Past == nil || f.Past.ID != a.PlanID {
		return nil, Refuse(NotFound, "/plan_id", "there is no former plan "+Quote(a.PlanID), "list the former plans to find its id")
	}
	if err := withinLimit(f.Past.Steps.Len(), f.Limits); err != nil {
		return nil, err
	}
	if err := s.atRest(f.Past.Root()); err != nil {
		return nil, err
	}
	body, err := restorable(f.Past)
	if err != nil {
		return nil, err
	}
	body.UpdatedAt = f.Now
	if !f.Actor.Present() { // an approval is for what was decided last, and not brought back by others
		body.Approval = nil
	}
	body.Highest = max(f.Past.Steps.Highest(), s.highestOf(f.Past.Root()))
	tried := s.attemptsOf(f.Past)
	if body.Status == StatusDraft {
		body.Status = StatusActive // nobody approved it: it is a plan like any other
	}
	for i, step := range body.Steps {
		body.Steps[i] = step.unclaimed().triedBefore(tried)
	}
	return append(archive(s, "restored_over", f.Now), PlanRestored{Plan: body, At: f.Now}), nil
}

// restorable returns the body of a former plan, cleaned like whatever else comes in:
// the log may have been written before its texts were checked.
func restorable(past *Plan) (Body, error) {
	c, b := cleaner{}, past.Body()
	b.Edits = nil // they were for whoever decided then
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
		c.oneOf("approval/way", approval.Way, ByPerson.Values())
		c.line(&approval.Digest, "approval/digest", MaxHint)
		c.block(&approval.Comment, "approval/comment")
		c.list(&approval.Deviations, "approval/deviations", LinesField, MaxLongText, maxDeviations)
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
		return Body{}, conflict("the plan cannot be restored as it is, "+c.Err().Error(), "export it, mend it, and import it")
	}
	return b, nil
}

// unclaimed returns the step without its claim. What an engine was at is lost to a plan that was
// put away meanwhile.
func (step *Step) unclaimed() *Step {
	if step.ClaimedBy == "" {
		return step
	}
	free := *step
	if step.Running() {
		free.lose(StepLost{Step: step.ID, Attempt: step.Attempts, Unknown: !step.execution().Safe, At: step.StartedAt})
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
