package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// SubmitPlan asks for a person's decision about a plan (chorus: Plan Creation). The draft waits
// alongside the current plan and replaces a former submission.
type SubmitPlan struct {
	Outline
	Steps    []NewStep
	HostPlan *HostPlan // if a host shows it to its user; nil otherwise
}

func (a SubmitPlan) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "steps")
	a.HostPlan = a.HostPlan.clean(c)
	return a
}

func (a SubmitPlan) decide(s State, f Facts) ([]Event, error) {
	if len(a.Steps) == 0 {
		return nil, Refuse(InvalidInput, "/steps", "is empty", "give at least one step")
	}
	steps, err := mint(Steps{}, a.Steps, "/steps", f.Limits)
	if err != nil {
		return nil, err
	}
	draft := Body{Plan: Plan{
		ID: newPlanID(s, a.Objective, f.Now), Outline: a.Outline, Status: StatusDraft, Version: 1,
		CreatedAt: f.Now, UpdatedAt: f.Now, CreatedBy: f.Actor.Name, HostPlan: a.HostPlan,
	}, Steps: steps}
	request := newRequest(s, draft, f)
	if a.HostPlan != nil && s.IsBesideDraft(a.HostPlan) {
		return nil, conflict("another plan waits for a decision", "decide on it first")
	}
	// A host's own plan mode holds its session, so planloop need not hold others, unless the host's answer does not count.
	besideWork := a.HostPlan != nil && s.PhaseNow() == PhaseInactive && !f.Limits.PersonOnly
	if s.PhaseNow() == PhaseExecuting || besideWork {
		return []Event{ChangeProposed{Plan: draft, Request: request}}, nil
	}
	return []Event{PlanSubmitted{Plan: draft, Request: request}}, nil
}

// newRequest returns the request for a decision about a draft.
func newRequest(s State, draft Body, f Facts) Request {
	request := Request{
		ID: fmt.Sprintf("R%d", s.Revision+1), Plan: draft.ID, Digest: Digest(draft.Build()), By: f.Actor.Name, At: f.Now,
		Limit: Limit(f.Limits.ApprovalTimeout), PersonOnly: f.Limits.PersonOnly,
		Tools: definitionsOf(draft.Steps, f.Definitions), Findings: f.findings, Policy: f.Policy,
	}
	if s.Plan != nil && s.Plan.Root() == draft.Root() {
		request.Base = Digest(s.Plan)
	}
	if s.Draft != nil && s.Draft.Edits != nil {
		request.Replaces = s.Revision
	}
	return request
}

func definitionsOf(steps []*Step, all map[string]string) map[string]string {
	var named map[string]string
	for _, step := range steps {
		if definition := all[step.Tool]; definition != "" {
			if named == nil {
				named = map[string]string{}
			}
			named[step.Tool] = definition
		}
	}
	return named
}

// PlanSubmitted puts a draft alongside the current plan and asks for a decision.
type PlanSubmitted struct {
	Plan    Body    `json:"plan"`
	Request Request `json:"request"`
}

func (e PlanSubmitted) apply(s State) State {
	s.Draft = e.Plan.Build()
	from := s.PhaseNow()
	return s.withMode(PhaseSubmitted, func(m *Mode) {
		if !from.IsRestricted() { // submitted without entering
			*m = newMode(m, from, e.Request.By, e.Request.At)
		}
		m.Request, m.PersonOnly, m.IsAgentsOwn = &e.Request, m.PersonOnly || e.Request.PersonOnly,
			m.IsAgentsOwn && e.Plan.HostPlan != nil
		m.replace(e.Request)
	})
}

// replace notes the edited draft that a request replaces.
func (m *Mode) replace(by Request) {
	if by.Replaces != 0 {
		m.EditedDrafts = append(slices.Clone(m.EditedDrafts), by.Replaces)
		m.EditedDrafts = m.EditedDrafts[max(0, len(m.EditedDrafts)-maxEditedDrafts):]
	}
}

// maxEditedDrafts bounds the former drafts whose edits are looked for in a submission: each is read from the log.
const maxEditedDrafts = 4

// LastReviewedDraft returns the head of the draft that a person last decided about within the same
// planning, else of the first submitted one. Later drafts may have gone unseen, so comparisons must
// include their changes.
func (s State) LastReviewedDraft() (shown PastPlan, ok bool) {
	if s.Draft == nil || !s.PhaseNow().IsRestricted() && (!s.HasProposal() || s.isRevision()) {
		return PastPlan{}, false
	}
	mode, next := s.ModeNow(), s.Draft.CreatedAt
	returned := mode.Decision != nil && mode.Decision.Outcome == Returned // the returned draft may be the one
	for _, head := range slices.Backward(s.Past) {                        // the drafts that superseded each other, latest first
		same := returned && head.Revision >= mode.Decision.Revision || !returned && !head.CreatedAt.Before(mode.Since)
		if !same || head.Reason != superseded || !head.ArchivedAt.Equal(next) {
			break
		}
		shown, next, ok = head, head.CreatedAt, true
	}
	if !ok {
		return s.lastInHost()
	}
	return shown, ok
}

// Verdict is a judge's opinion of a plan (planloop: Prompt Catalog, P-2). It is
// kept and shown; it approves nothing.
type Verdict struct {
	Approved bool      `json:"is_approved"`
	Feedback string    `json:"feedback,omitempty"`
	By       string    `json:"by"`
	Way      string    `json:"way"` // agent: handed in by an agent; else the name of the model asked
	At       time.Time `json:"at"`
}

// WayAgent marks a verdict handed in by an agent, possibly on its own plan.
const WayAgent = "agent"

// Judge asks to record a verdict on the draft, or without a draft on the current plan.
type Judge struct {
	Approved bool
	Feedback string
	Way      string
}

func (a Judge) clean(c *cleaner) Action {
	c.block(&a.Feedback, "feedback")
	c.text(&a.Way, "way", Text{Max: MaxHint}, true)
	return a
}

func (a Judge) decide(s State, f Facts) ([]Event, error) {
	p := cmp.Or(s.Draft, s.Plan)
	if p == nil {
		_, err := currentPlan(s)
		return nil, err
	}
	verdict := Verdict{Approved: a.Approved, Feedback: a.Feedback, By: f.Actor.Name, Way: a.Way, At: f.Now}
	return []Event{PlanJudged{Plan: p.ID, Verdict: verdict}}, nil
}

// PlanJudged records a verdict on the draft or the current plan.
type PlanJudged struct {
	Plan    string  `json:"plan_id"`
	Verdict Verdict `json:"verdict"`
}

func (e PlanJudged) apply(s State) State {
	for _, p := range []**Plan{&s.Plan, &s.Draft} {
		if *p != nil && (*p).ID == e.Plan {
			judged := **p
			judged.Verdict, judged.UpdatedAt = &e.Verdict, e.Verdict.At
			*p = &judged
		}
	}
	return s
}
