package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// SubmitPlan asks for a person's decision about a plan (chorus: Plan Creation). It
// stands beside the current plan until then; a former submission gives way.
type SubmitPlan struct {
	Outline
	Steps []NewStep
}

// Name is the action's word in the log.
func (SubmitPlan) Name() string { return "submit_plan" }

func (a SubmitPlan) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "steps")
	return a
}

func (a SubmitPlan) decide(s State, f Facts) ([]Event, error) {
	if len(a.Steps) == 0 {
		return nil, &ValidationError{Kind: InvalidInput, Field: "/steps", Problem: "is empty", Fix: "give at least one step"}
	}
	if err := withinLimit(len(a.Steps), f.Limits); err != nil {
		return nil, err
	}
	steps, err := mint(Steps{}, a.Steps, "/steps")
	if err != nil {
		return nil, err
	}
	return []Event{submitted(s, Body{Plan: Plan{
		ID: newPlanID(s, a.Objective, f.Now), Outline: a.Outline, Status: StatusDraft, Version: 1,
		CreatedAt: f.Now, UpdatedAt: f.Now, CreatedBy: f.Actor.Name,
	}, Steps: steps}, f)}, nil
}

// submitted returns the event that asks for a decision about a draft.
func submitted(s State, draft Body, f Facts) PlanSubmitted {
	request := Request{
		ID: fmt.Sprintf("R%d", s.Revision+1), Plan: draft.ID, Digest: Digest(draft.Build()), By: f.Actor.Name, At: f.Now,
		Limit: Limit(f.Limits.ApprovalTimeout),
	}
	if s.Plan != nil && s.Plan.ID == draft.ID {
		request.Base = Digest(s.Plan)
	}
	return PlanSubmitted{Plan: draft, Request: request}
}

// ShownBefore returns the head of the draft that the present one took the place of while
// the same planning went on: it was put before a person, who may want to see what differs.
func (s State) ShownBefore() (PastPlan, bool) {
	if s.Draft == nil || s.past.len() == 0 || !s.PhaseNow().Restricted() {
		return PastPlan{}, false
	}
	last := s.past.at(s.past.len() - 1)
	return last, last.Reason == superseded && last.ArchivedAt.Equal(s.Draft.CreatedAt) && !last.CreatedAt.Before(s.ModeNow().Since)
}

// PlanSubmitted puts a draft beside the current plan and asks for a decision.
type PlanSubmitted struct {
	Plan    Body    `json:"plan"`
	Request Request `json:"request"`
}

// Kind is the event's word in the log.
func (PlanSubmitted) Kind() string { return "plan_submitted" }

func (e PlanSubmitted) apply(s State) State {
	s.Draft = e.Plan.Build()
	from := s.PhaseNow()
	return s.inMode(PhaseSubmitted, func(m *Mode) {
		if !from.Restricted() { // submitted without entering
			*m = Mode{By: e.Request.By, Since: e.Request.At, Approved: m.Approved, Resume: from == PhaseExecuting}
		}
		m.Request = &e.Request
	})
}

// Digest identifies what a person is shown of a plan: the objective, the summary
// and the steps in order with all they ask for. Progress, notes and signals do not
// touch it.
func Digest(p *Plan) string {
	type shown struct {
		ID StepID `json:"id"`
		Spec
	}
	form := struct {
		Objective, Summary string
		Steps              []shown
	}{Objective: p.Objective, Summary: p.Summary}
	for step := range p.Steps.All() {
		form.Steps = append(form.Steps, shown{step.ID, step.Spec})
	}
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(form); err != nil {
		return "" // arguments that are no JSON: equal to nothing, so never approved
	}
	return hex.EncodeToString(hash.Sum(nil))
}
