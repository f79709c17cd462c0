package plan

import (
	"fmt"
	"time"
)

// Restore asks to make a former plan the current one again. Facts.Past brings
// its body.
type Restore struct {
	PlanID string
}

// Name is the action's word in the log.
func (Restore) Name() string { return "restore_plan" }

func (a Restore) clean(*cleaner) Action { return a }

func (a Restore) decide(s State, f Facts) ([]Event, error) {
	if s.Plan != nil && s.Plan.ID == a.PlanID && !s.Plan.Cleared() {
		return nil, conflict("the plan "+Quote(a.PlanID)+" is the current one", "nothing needs restoring")
	}
	if _, ok := s.PastPlan(a.PlanID); !ok || f.Past == nil || f.Past.ID != a.PlanID {
		return nil, &ValidationError{Kind: NotFound, Field: "/plan_id",
			Problem: "there is no former plan " + Quote(a.PlanID), Fix: "list the former plans to find its id"}
	}
	if err := withinLimit(f.Past.Steps.Len(), f.Limits); err != nil {
		return nil, err
	}
	body, err := restorable(f.Past)
	if err != nil {
		return nil, err
	}
	body.UpdatedAt = f.Now
	if body.Status == StatusDraft {
		body.Status = StatusActive // nobody approved it: it is a plan like any other
	}
	for i, step := range body.Steps {
		body.Steps[i] = step.unclaimed()
	}
	events := append(archive(s, "restored_over", f.Now), PlanRestored{Plan: body, At: f.Now})
	if f.Past.Status == StatusDraft {
		events = append(events, completion(StatusActive, f.Past.Steps.tally(), f.Now)...)
	}
	return events, nil
}

// restorable returns the body of a former plan, cleaned like whatever else comes in:
// the log may have been written before its texts were checked.
func restorable(past *Plan) (Body, error) {
	c, b := cleaner{}, past.Body()
	c.keep(clean("", PlanFields(), &b.Plan))
	c.text(&b.ID, "id", Text{Max: MaxHint}, true)
	c.line(&b.PreviousPlanID, "previous_plan_id", MaxHint)
	c.oneOf("status", string(b.Status), b.Status.Values())
	c.count(b.Version, "version", maxSeconds)
	c.count(int(b.Highest), "highest_step", int(MaxStepID))
	c.line(&b.CreatedBy, "created_by", MaxHint)
	if b.Approval != nil {
		approval := *b.Approval
		c.line(&approval.By, "approval/by", MaxHint)
		c.oneOf("approval/way", approval.Way, ByPerson.Values())
		c.line(&approval.Digest, "approval/digest", MaxHint)
		c.block(&approval.Comment, "approval/comment", MaxLongText)
		c.list(&approval.Deviations, "approval/deviations", LinesField, MaxLongText, maxDeviations)
		b.Approval = &approval
	}
	if b.Verdict != nil {
		verdict := *b.Verdict
		c.line(&verdict.By, "verdict/by", MaxHint)
		c.line(&verdict.Way, "verdict/way", MaxHint)
		c.block(&verdict.Feedback, "verdict/feedback", MaxLongText)
		b.Verdict = &verdict
	}
	for i, step := range b.Steps {
		clean, err := CleanStep(fmt.Sprintf("/steps/%d", i), NewStep{Spec: step.Spec, Progress: step.Progress})
		c.keep(err)
		b.Steps[i] = &Step{ID: step.ID, Spec: clean.Spec, Progress: clean.Progress}
	}
	if c.err != nil {
		return Body{}, conflict("the plan cannot be restored as it is, "+c.err.Error(), "export it, mend it, and import it")
	}
	return b, nil
}

func (step *Step) unclaimed() *Step {
	if step.ClaimedBy == "" {
		return step
	}
	free := *step
	free.ClaimedBy, free.LeaseUntil = "", time.Time{}
	return &free
}

// PlanRestored makes a former plan the current one.
type PlanRestored struct {
	Plan Body      `json:"plan"`
	At   time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanRestored) Kind() string { return "plan_restored" }

func (e PlanRestored) apply(s State) State {
	s.Plan = e.Plan.Build()
	return s
}
