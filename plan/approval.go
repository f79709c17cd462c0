package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// SubmitPlan asks for a person's decision about a plan (chorus: Plan Creation). It
// stands beside the current plan until then; a former submission gives way.
type SubmitPlan struct {
	Outline
	Steps []NewStep
}

func (a SubmitPlan) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "steps")
	return a
}

func (a SubmitPlan) decide(s State, f Facts) ([]Event, error) {
	if len(a.Steps) == 0 {
		return nil, Refuse(InvalidInput, "/steps", "is empty", "give at least one step")
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
		Limit: Limit(f.Limits.ApprovalTimeout), PersonOnly: f.Limits.PersonOnly,
		Tools: definitionsOf(draft.Steps, f.Definitions),
	}
	if s.Plan != nil && s.Plan.Root() == draft.Root() {
		request.Base = Digest(s.Plan)
	}
	return PlanSubmitted{Plan: draft, Request: request}
}

// definitionsOf returns how the tools are defined that steps name, of those of other servers.
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

// ShownBefore returns the head of the draft that the present one took the place of while
// the same planning went on: it was put before a person, who may want to see what differs.
func (s State) ShownBefore() (PastPlan, bool) {
	if s.Draft == nil || len(s.Past) == 0 || !s.PhaseNow().Restricted() {
		return PastPlan{}, false
	}
	last, mode := s.Past[len(s.Past)-1], s.ModeNow()
	same := !last.CreatedAt.Before(mode.Since) || mode.Decision != nil && mode.Decision.Outcome == Returned // which may begin it
	return last, same && last.Reason == superseded && last.ArchivedAt.Equal(s.Draft.CreatedAt)
}

// PlanSubmitted puts a draft beside the current plan and asks for a decision.
type PlanSubmitted struct {
	Plan    Body    `json:"plan"`
	Request Request `json:"request"`
}

func (e PlanSubmitted) apply(s State) State {
	s.Draft = e.Plan.Build()
	from := s.PhaseNow()
	return s.inMode(PhaseSubmitted, func(m *Mode) {
		if !from.Restricted() { // submitted without entering
			*m = begun(m, from, e.Request.By, e.Request.At)
		}
		m.Request, m.PersonOnly = &e.Request, m.PersonOnly || e.Request.PersonOnly
	})
}

// Digest identifies what an approval binds of a plan: the objective, the summary and, of the
// steps in their order, each field that binds. What does not bind (hints, notes, progress,
// signals) does not touch it.
func Digest(p *Plan) string {
	type bound struct {
		ID     StepID
		Fields [][]string // each by its name, with its texts
	}
	form := struct {
		Objective, Summary string
		Steps              []bound
	}{Objective: p.Objective, Summary: p.Summary}
	for step := range p.Steps.All() {
		if step.Loop() != 0 {
			continue // an instance follows from its loop
		}
		if len(step.Args) > 0 && !json.Valid(step.Args) {
			return "" // equal to nothing, so never approved
		}
		b := bound{ID: step.ID}
		for _, f := range SpecFields() {
			if texts := f.Texts(step); f.Binding != Unbound && len(texts) > 0 {
				b.Fields = append(b.Fields, slices.Concat([]string{f.Name}, texts))
			}
		}
		form.Steps = append(form.Steps, b)
	}
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(form); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Answer is a person's decision about the draft, and about what it was taken
// (chorus: Plan Approval).
type Answer struct {
	Outcome Outcome // Approved, Rejected or Returned
	Request string  // the open request it answers; may be empty for a person
	Digest  string  // of what was shown
	Comment string
}

func (a Answer) clean(c *cleaner) Action {
	c.oneOf("outcome", string(a.Outcome), []string{string(Approved), string(Rejected), string(Returned)})
	c.block(&a.Comment, "comment", MaxLongText)
	return a
}

func (a Answer) decide(s State, f Facts) ([]Event, error) {
	draft, err := a.open(s, f)
	switch {
	case err != nil:
		return nil, err
	case a.Outcome == Approved:
		return a.approve(s, f)
	case a.Outcome == Rejected:
		return []Event{PlanRejected{Plan: draft.ID, Reason: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now,
			Change: s.revises()}}, nil
	case a.Comment == "" && f.Actor.Way() != ByClient: // whose form is sent and cannot be asked again
		return nil, Refuse(InvalidInput, "/comment", "is blank", "say what is to be changed")
	}
	return []Event{PlanReturned{Plan: draft.ID, Comment: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now, Change: s.revises(),
		IdleTimeout: Limit(f.Limits.GatheringTimeout), ApprovalTimeout: Limit(f.Limits.ApprovalTimeout),
		PersonOnly: f.Limits.PersonOnly}}, nil
}

// open returns the draft, or says why it is not to be decided about.
func (a Answer) open(s State, f Facts) (*Plan, error) {
	if s.Draft == nil {
		return nil, conflict("no plan waits for a decision", "see where planning mode stands")
	}
	request, way := s.ModeNow().Request, f.Actor.Way()
	switch {
	case s.PhaseNow() == PhaseGathering && (way != ByPerson || a.Outcome != Rejected): // who returned it may drop it
		return nil, conflict("planning is still going on, and no plan has been submitted yet", "wait for the plan to be submitted")
	case way == ByClient && (request == nil || a.Request != request.ID),
		way == ByPerson && a.Request != "" && (request == nil || a.Request != request.ID):
		return nil, conflict("this request has already been decided or replaced", "look at what waits now")
	case a.Digest == "" || a.Digest != Digest(s.Draft):
		return nil, conflict("the plan has changed since it was shown", "look at it again, then decide")
	}
	return s.Draft, nil
}

// approve makes the draft the current plan, to be carried out.
func (a Answer) approve(s State, f Facts) ([]Event, error) {
	if request := s.ModeNow().Request; request != nil && request.Base != "" && request.Base != Digest(s.Plan) {
		return nil, conflict("the plan was changed while its revision waited", "reject the revision; the agent can submit it again")
	}
	var events []Event
	var tools map[string]string
	if request := s.ModeNow().Request; request != nil {
		tools = maps.Clone(request.Tools)
		maps.DeleteFunc(tools, func(tool, definition string) bool { return f.Definitions[tool] != definition }) // which was not shown
	}
	switch {
	case !s.revises():
		events = archive(s, "replaced", f.Now)
	case s.Draft.ID != s.Plan.ID:
		events = archive(s, replanned, f.Now)
	}
	events = append(events, PlanApproved{Approval: Approval{By: f.Actor.Name, Way: string(f.Actor.Way()), Digest: a.Digest,
		Comment: a.Comment, At: f.Now, Revision: s.Revision + 1, Tools: tools}})
	return events, nil
}

// PlanApproved makes the draft the current plan, to be carried out.
type PlanApproved struct {
	Approval Approval `json:"approval"`
}

func (e PlanApproved) apply(s State) State {
	if s.Draft == nil {
		return s
	}
	p, change := *s.Draft, s.revises()
	if change {
		p.Steps = p.Steps.withProgressOf(s.Plan.Steps, p.Version > s.Plan.Version)
	}
	p.Status, p.Approval, p.UpdatedAt = StatusActive, &e.Approval, e.Approval.At
	s.Plan, s.Draft = &p, nil
	s = s.inMode(PhaseExecuting, func(m *Mode) { m.Approved = p.Root() })
	return s.decided(PhaseExecuting, Decision{Outcome: Approved, By: e.Approval.By, Way: Way(e.Approval.Way),
		Comment: e.Approval.Comment, Change: change, At: e.Approval.At})
}

// withProgressOf returns s with what has become of the same steps in now: a person
// may have gone on while the revision waited. What has failed is tried anew in a new version.
func (s Steps) withProgressOf(now Steps, anew bool) Steps {
	list := s.List()
	for i, step := range list {
		merged := *step
		if current, ok := now.Get(step.ID); !ok {
			merged.Progress, merged.Execution = Progress{Status: Pending}, nil
		} else if merged.Progress, merged.Execution = current.Progress, current.Execution; anew && current.Status == Failed {
			merged.renew()
		}
		list[i] = &merged
	}
	steps := NewSteps(list)
	steps.highest = max(steps.highest, s.highest)
	return steps
}

// PlanRejected drops the draft. A plan that it was to revise goes on.
type PlanRejected struct {
	Plan   string    `json:"plan_id"`
	Change bool      `json:"change,omitempty"` // it was a change to the approved plan
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"`
	Way    Way       `json:"way"`
	At     time.Time `json:"at"`
}

func (e PlanRejected) apply(s State) State {
	change, submitted := s.revises(), s.PhaseNow().Restricted()
	s, phase := s.withoutDraft()
	return s.decided(phase, Decision{Outcome: Rejected, By: e.By, Way: e.Way, Comment: e.Reason, Change: change, Draft: !submitted,
		At: e.At})
}

// PlanReturned goes back to gathering, or begins it for a draft that nobody had submitted.
// The draft stays until the next submission.
type PlanReturned struct {
	Plan            string    `json:"plan_id"`
	Change          bool      `json:"change,omitempty"` // it was a change to the approved plan
	Comment         string    `json:"comment"`
	By              string    `json:"by"`
	Way             Way       `json:"way"`
	At              time.Time `json:"at"`
	IdleTimeout     Limit     `json:"quiet"` // how long gathering may go without a sign of life
	ApprovalTimeout Limit     `json:"wait,omitempty"`
	PersonOnly      bool      `json:"person_only,omitempty"`
}

func (e PlanReturned) apply(s State) State {
	from := s.PhaseNow()
	s = s.inMode(PhaseGathering, func(m *Mode) {
		if !from.Restricted() && s.Draft != nil { // returned without having been submitted
			*m = begun(m, from, e.By, e.At)
			m.Task = s.Draft.Objective
		}
		m.IdleTimeout, m.ApprovalTimeout, m.PersonOnly = e.IdleTimeout, e.ApprovalTimeout, m.PersonOnly || e.PersonOnly
	})
	return s.decided(PhaseGathering, Decision{Outcome: Returned, By: e.By, Way: e.Way, Comment: e.Comment, Change: s.revises(), At: e.At})
}

// begun is the mode that a decision or a submission began, and nobody had entered.
func begun(former *Mode, from Phase, by string, at time.Time) Mode {
	return Mode{By: by, Since: at, Approved: former.Approved, Resume: from == PhaseExecuting}
}

// LeaveUndecided notes that a client asked its user, or could not, and brought no
// decision. The plan stays submitted: hosts are known to decline on nobody's behalf.
type LeaveUndecided struct {
	Request string
	How     string // declined, cancelled, unsupported, timed_out, failed, or invalid: no decision is one
}

func (a LeaveUndecided) clean(c *cleaner) Action {
	c.oneOf("how", a.How, []string{"declined", "cancelled", "unsupported", "timed_out", "failed", "invalid"})
	return a
}

func (a LeaveUndecided) decide(s State, f Facts) ([]Event, error) {
	if request := s.ModeNow().Request; request == nil || request.ID != a.Request {
		return nil, nil
	}
	return []Event{LeftUndecided{Request: a.Request, How: a.How, By: f.Actor.Name, At: f.Now}}, nil
}

// LeftUndecided says that a client brought no decision. It changes nothing.
type LeftUndecided struct {
	Request string    `json:"request"`
	How     string    `json:"how"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (LeftUndecided) apply(s State) State { return s }

// Verdict is a judge's opinion of a plan (planloop: Prompt Catalog, P-2). It is
// kept and shown; it approves nothing.
type Verdict struct {
	Approved bool      `json:"is_approved"`
	Feedback string    `json:"feedback,omitempty"`
	By       string    `json:"by"`
	Way      string    `json:"way"` // agent: handed in; or the name of the model that was asked
	At       time.Time `json:"at"`
}

// WayAgent marks a verdict that an agent handed in, perhaps on its own plan.
const WayAgent = "agent"

// Judge asks to keep a verdict on the draft, or on the current plan when there is
// no draft.
type Judge struct {
	Approved bool
	Feedback string
	Way      string
}

func (a Judge) clean(c *cleaner) Action {
	c.block(&a.Feedback, "feedback", MaxLongText)
	c.text(&a.Way, "way", Text{Max: MaxHint}, true)
	return a
}

func (a Judge) decide(s State, f Facts) ([]Event, error) {
	p := s.Draft
	if p == nil {
		var err error
		if p, err = livePlan(s); err != nil {
			return nil, err
		}
	}
	verdict := Verdict{Approved: a.Approved, Feedback: a.Feedback, By: f.Actor.Name, Way: a.Way, At: f.Now}
	return []Event{PlanJudged{Plan: p.ID, Verdict: verdict}}, nil
}

// PlanJudged keeps a verdict on the draft or the current plan.
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
