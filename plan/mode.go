package plan

import (
	"cmp"
	"slices"
	"time"
)

// Mode is the memory of planning mode (chorus: PlanningManager, planning_state). It is kept after
// the mode ends, so that its outcome can be read.
type Mode struct {
	Task     string    `json:"task,omitempty"`     // the task to plan; the draft's objective
	Reason   string    `json:"reason,omitempty"`   // why an agent entered
	By       string    `json:"by,omitempty"`       // the actor that entered
	Since    time.Time `json:"since,omitzero"`     // when
	Request  *Request  `json:"request,omitempty"`  // the open request for approval
	Returned *Request  `json:"returned,omitempty"` // the request for a proposal with requested changes
	Decision *Decision `json:"decision,omitempty"`

	// IsAgentsOwn reports whether an agent entered by itself, nothing was submitted, and no person acted in the mode.
	// Only then may it end without a person.
	IsAgentsOwn bool `json:"agents_own,omitempty"`

	// Limits in force when it began, which apply until it ends: see LimitsInForce.
	IdleTimeout     Limit `json:"quiet,omitempty"`       // longest gathering without a sign of life
	ApprovalTimeout Limit `json:"wait,omitempty"`        // how long a submitted plan may wait
	PersonOnly      bool  `json:"person_only,omitempty"` // a decision confirmed through a client does not count
	All             bool  `json:"all,omitempty"`         // it holds the sessions of all tracks
	ByPerson        bool  `json:"by_person,omitempty"`   // a person began it: it holds also sessions that are on no track yet

	Approved string `json:"approved,omitempty"` // root of the plan that is or was last carried out
	Resume   bool   `json:"resume,omitempty"`   // the approved plan continues if the draft is dropped

	Requested []string `json:"requested,omitempty"` // people's comments with requested changes, oldest first, until the next other decision

	EditedDrafts []Revision `json:"edited_drafts,omitempty"` // the states with the former drafts that people edited, oldest first
	LetGo        []string   `json:"let_go,omitempty"`        // people's edits, by key, that later drafts need not keep
}

// Limit is a time-out as it is recorded; negative for none.
type Limit time.Duration

// Request asks for a decision about a draft. A decision closes it, so it counts only once.
type Request struct {
	ID     string    `json:"id"`
	Plan   string    `json:"plan_id"`
	Digest string    `json:"digest"` // of the draft to show
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Limit  Limit     `json:"limit,omitempty"` // how long it may wait, as of its creation
	Base   string    `json:"base,omitempty"`  // digest of the plan it revises

	PersonOnly bool `json:"person_only,omitempty"` // only a person's own decision closes it

	Tools    map[string]string `json:"tools,omitempty"` // definitions of the steps' tools that other servers provide
	Findings GateFindings      `json:"found,omitzero"`  // when the request was made

	Undoes   []string `json:"undoes,omitempty"`   // in older logs: changes by people in former drafts that this draft reverts
	Replaces Revision `json:"replaces,omitempty"` // the state with the former draft, if people had edited that

	Policy  *Policy  `json:"policy,omitempty"`  // of the team, when the request was made
	Authors []string `json:"authors,omitempty"` // under a policy: of the earlier forms that the draft builds on
	Votes   []Vote   `json:"votes,omitempty"`   // for the draft as it is
}

// GateFindings are the warnings of the quality gates about a plan they let pass, for the person who decides.
type GateFindings struct {
	Score    int           `json:"score,omitempty"` // 0 to 100
	Warnings []GateWarning `json:"warnings,omitempty"`
}

// GateWarning is an objection of a gate to a plan.
type GateWarning struct {
	Gate string `json:"gate,omitempty"`   // its name; "" in old logs
	Step StepID `json:"step_id,omitzero"` // 0: the whole plan
	Text string `json:"text"`             // a predicate with the step as its subject, or a sentence if Step is 0
	Fix  string `json:"fix,omitempty"`    // how its author can fix it, without capital letter and full stop
}

// Sentence returns the warning as a sentence about its step, by the given name.
func (w GateWarning) Sentence(step string) string {
	if w.Step == 0 {
		return w.Text
	}
	return step + " " + w.Text
}

// WarningsOn returns the warnings about a step as sentences, without their fixes; with 0, those about the whole plan.
func (f GateFindings) WarningsOn(step StepID) (all []GateWarning) {
	for _, w := range f.Warnings {
		if w.Step == step {
			all = append(all, GateWarning{Gate: w.Gate, Text: w.Sentence("It")})
		}
	}
	return all
}

// Decision is the end of a request or of planning mode.
type Decision struct {
	Outcome    Outcome      `json:"outcome"`
	By         string       `json:"by"`
	Way        Way          `json:"way,omitempty"`
	Comment    string       `json:"comment,omitempty"`
	Change     bool         `json:"change,omitempty"`     // about a change to the approved plan
	Draft      bool         `json:"draft,omitempty"`      // about a draft that was never submitted, or a mode without a submission
	Edits      *Edits       `json:"edits,omitempty"`      // by people, in the submitted draft
	Unanswered []string     `json:"unanswered,omitempty"` // ids of the questions that the approval left open
	Findings   GateFindings `json:"found,omitzero"`       // in the returned draft
	At         time.Time    `json:"at"`
	Revision   Revision     `json:"revision"`
}

// IsRejection reports whether a submitted plan was rejected, or not decided in time, which counts as the same. d may be nil.
func (d *Decision) IsRejection() bool {
	return d != nil && (d.Outcome == Rejected || d.Outcome == Expired && !d.Draft)
}

// Outcome is how a request or planning mode ended.
type Outcome string

// The outcomes.
const (
	Approved  Outcome = "approved"
	Rejected  Outcome = "rejected"
	Returned  Outcome = "returned" // to be changed and submitted again
	CalledOff Outcome = "cancelled"
	Expired   Outcome = "expired"
	Ended     Outcome = "ended"
	Withdrawn Outcome = "withdrawn" // a proposal, by its author or a person

	AnsweredThere Outcome = "answered" // in the host that shows the plan
)

// IsRestricted reports whether a phase allows reading and planning only
// (chorus: Context Gathering Phase).
func (p Phase) IsRestricted() bool { return p == PhaseGathering || p == PhaseSubmitted }

// ModeNow returns the current or last planning mode, the zero value before the first.
func (s State) ModeNow() Mode { return *cmp.Or(s.Mode, &Mode{}) }

// Opened names what keeps s open: the first version of its plan, else of its draft, else the planning mode by its time; "" for
// nothing.
func (s State) Opened() string {
	switch {
	case s.Plan.IsUnfinished():
		return s.Plan.Root()
	case s.Draft != nil:
		return s.Draft.Root()
	case s.PhaseNow().IsRestricted():
		return "planning since " + s.ModeNow().Since.Format(time.RFC3339Nano)
	}
	return ""
}

// Opener returns the actor that began it, and its subject.
func (s State) Opener() (by, about string) {
	p := s.Draft
	if s.Plan.IsUnfinished() || p == nil && !s.PhaseNow().IsRestricted() {
		p = s.Plan
	}
	if p == nil {
		return s.ModeNow().By, s.ModeNow().About()
	}
	return p.CreatedBy, p.Objective
}

// DraftFindings returns the warnings about the submitted draft, or about the returned one that the
// next submission has to improve on.
func (m Mode) DraftFindings() GateFindings {
	switch {
	case m.Request != nil:
		return m.Request.Findings
	case m.Decision != nil:
		return m.Decision.Findings
	}
	return GateFindings{}
}

// About returns the subject of the mode: its task, or the reason an agent entered.
func (m Mode) About() string { return m.Task + m.Reason }

// withMode returns s in a phase, with the mode changed by f.
func (s State) withMode(phase Phase, f func(*Mode)) State {
	mode := s.ModeNow()
	f(&mode)
	s.Phase, s.Mode = phase, &mode
	return s
}

// withDecision returns s in a phase after a decision that closes the request.
func (s State) withDecision(phase Phase, d Decision) State {
	d.Revision = s.Revision + 1
	return s.withMode(phase, func(m *Mode) {
		m.Request, m.Returned, m.Decision = nil, nil, &d
		m.Resume = m.Resume && phase.IsRestricted()
		if d.Outcome != Returned {
			m.EditedDrafts, m.LetGo, m.Requested = nil, nil, nil
		} else if d.Comment != "" {
			m.Requested = newest(append(slices.Clone(m.Requested), "changes requested by "+d.Way.Decider(d.By)+": "+d.Comment))
		}
	})
}

// isRevision reports whether the draft is another form of the current plan, not a plan of its own.
func (s State) isRevision() bool {
	return s.Draft != nil && s.Plan != nil && s.Draft.Root() == s.Plan.Root()
}

// withoutDraft drops the draft and returns the next phase: executing if a plan was being carried
// out when the draft came, else inactive.
func (s State) withoutDraft() (State, Phase) {
	phase := PhaseInactive
	if (s.PhaseNow() == PhaseExecuting || s.ModeNow().Resume) && s.executesApprovedPlan() {
		phase = PhaseExecuting
	}
	s.Draft = nil
	return s, phase
}

func (s State) executesApprovedPlan() bool {
	return s.Plan != nil && s.Plan.Approval != nil && s.Plan.Root() == s.ModeNow().Approved
}

// ReadOnly ends the refusal of every call that planning mode does not allow.
const ReadOnly = "Planning mode is read-only. Put this into the plan: planning_submit_plan."

// checkPhase refuses changes while the phase is read-only. Exceptions: a person who is present,
// signals from CI, and results from the actor at work on a step, which would be lost otherwise.
func checkPhase(s State, a Action, t traits, f Facts) error {
	if !s.PhaseNow().IsRestricted() || t.isPlanning || f.Actor.IsPresent() || f.Actor.Kind == CI && t.isSignal || s.reportsOwnWork(a, f) {
		return nil
	}
	refusal := &ValidationError{Kind: Conflict, Phase: s.Phase,
		Problem: "nothing can be changed until a plan is approved", Fix: ReadOnly}
	if s.Phase == PhaseSubmitted {
		refusal.Problem = "a submitted plan waits for a person's decision, and nothing can be changed until then"
		refusal.Fix = "wait for the decision"
	}
	return refusal
}

// EnterMode asks for planning mode: nothing changes until a plan is approved (chorus: Entering
// Planning Mode).
type EnterMode struct {
	Task   string // the task to plan; may be empty
	Reason string // why an agent enters; may be empty
	All    bool   // for the sessions of all tracks; only a person may ask for that, on the track main
}

func (a EnterMode) clean(c *cleaner) Action {
	c.line(&a.Task, "task", MaxLongLine)
	c.line(&a.Reason, "reason", MaxLongLine)
	return a
}

func (a EnterMode) decide(s State, f Facts) ([]Event, error) {
	if s.PhaseNow() != PhaseInactive {
		return nil, nil
	}
	if a.All && f.Actor.Kind == Agent {
		return nil, conflict("only a person can hold the sessions of all tracks", "leave out all")
	}
	if err := cmp.Or(checkNotRunning(s, f, "enter planning mode"), s.proposalWaits()); err != nil {
		return nil, err
	}
	var dropped []Event
	if s.HasHostProposal() {
		if !f.Actor.IsPresent() {
			return nil, conflict("a plan of "+s.Draft.HostPlan.Title+" waits for the user's decision",
				"ask the user to decide first: planloop approve, or planloop reject")
		}
		dropped = append(dropped, withdrawal(s, f))
	}
	return append(dropped, ModeEntered{Task: a.Task, Reason: a.Reason, By: f.Actor.Name, At: f.Now, All: a.All,
		IsAgentsOwn: f.Actor.Kind == Agent && f.Actor.Way() == "",
		IdleTimeout: Limit(f.Limits.GatheringTimeout), ApprovalTimeout: Limit(f.Limits.ApprovalTimeout),
		PersonOnly: f.Limits.PersonOnly}), nil
}

// ModeEntered begins planning mode.
type ModeEntered struct {
	Task   string    `json:"task,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`

	IsAgentsOwn bool `json:"agents_own,omitempty"` // no person asked for it; absent in old logs

	IdleTimeout     Limit `json:"quiet"` // longest gathering without a sign of life
	ApprovalTimeout Limit `json:"wait,omitempty"`
	PersonOnly      bool  `json:"person_only,omitempty"`
	All             bool  `json:"all,omitempty"` // it holds the sessions of all tracks
}

func (e ModeEntered) apply(s State) State {
	return s.withMode(PhaseGathering, func(m *Mode) {
		*m = Mode{Task: e.Task, Reason: e.Reason, By: e.By, Since: e.At, Approved: m.Approved, IsAgentsOwn: e.IsAgentsOwn,
			IdleTimeout: e.IdleTimeout, ApprovalTimeout: e.ApprovalTimeout, PersonOnly: e.PersonOnly,
			All: e.All, ByPerson: !e.IsAgentsOwn}
	})
}

// CancelMode asks to leave planning mode without a plan. Only a person may.
type CancelMode struct{}

func (CancelMode) decide(s State, f Facts) ([]Event, error) {
	switch {
	case s.HasProposal():
		return []Event{withdrawal(s, f)}, nil
	case s.PhaseNow() == PhaseInactive:
		return nil, conflict("planning mode is not on", "there is nothing to cancel")
	}
	cancelled := []Event{ModeCancelled{By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}
	if s.PhaseNow() == PhaseExecuting && s.OpenRun() != nil {
		cancelled = append(s.stopAll(f), append(cancelled, s.end(f))...)
	}
	return cancelled, nil
}

// ModeCancelled ends planning mode and drops its draft. An approved plan that was being carried out
// when the draft came continues.
type ModeCancelled struct {
	By  string    `json:"by"`
	Way Way       `json:"way"`
	At  time.Time `json:"at"`
}

func (e ModeCancelled) apply(s State) State {
	phase, change := PhaseInactive, s.isRevision()
	if s.PhaseNow().IsRestricted() {
		s, phase = s.withoutDraft()
	}
	s.Draft = nil
	return s.withDecision(phase, Decision{Outcome: CalledOff, By: e.By, Way: e.Way, Change: change, At: e.At})
}

// EndMode asks to end the executing phase, since the approved plan is done, or to leave a planning mode that its
// agent entered by itself, before it submits and before a person acts in it.
type EndMode struct {
	Leaves bool // only the latter
}

func (a EndMode) decide(s State, f Facts) ([]Event, error) {
	by := s.ModeNow().By
	switch phase := s.PhaseNow(); {
	case phase == PhaseInactive, phase == PhaseExecuting && a.Leaves:
		return nil, nil
	case phase == PhaseExecuting:
		return []Event{ModeEnded{By: f.Actor.Name, Why: "reported as done", At: f.Now}}, s.proposalWaits()
	case phase == PhaseSubmitted:
		return nil, conflict("the plan is waiting for the user's decision", "only the user can cancel planning mode")
	case !s.ModeNow().IsAgentsOwn, by != f.Actor.Name && !f.Sightings[by].IsGone:
		return nil, conflict("a person or another agent takes part in this planning", "only the user can cancel planning mode")
	}
	return []Event{ModeEnded{By: f.Actor.Name, Why: "its agent left it without a plan", KeepsDraft: true, At: f.Now}}, nil
}

// ModeEnded ends planning mode: the approved plan was carried out, replaced or given up, or its agent left.
type ModeEnded struct {
	By  string    `json:"by"`
	Why string    `json:"why"`
	At  time.Time `json:"at"`

	KeepsDraft bool `json:"keeps_draft,omitempty"` // a draft from elsewhere; absent in old logs
}

func (e ModeEnded) apply(s State) State {
	if s.PhaseNow().IsRestricted() && !e.KeepsDraft {
		s.Draft = nil
	}
	return s.withDecision(PhaseInactive, Decision{Outcome: Ended, By: e.By, Comment: e.Why, At: e.At})
}

// endMode returns the event that ends the mode if the approved plan is no longer being carried out.
func endMode(s State, f Facts) []Event {
	if s.PhaseNow() == PhaseSubmitted && (s.isRevision() && s.Plan.IsCleared() || !s.isRevision() && s.ModeNow().Request.Base != "") {
		return []Event{ModeEnded{By: string(Planloop), Why: "the plan it would revise was replaced", At: f.Now}}
	}
	if s.HasProposal() {
		if s.HasHostProposal() {
			return nil
		}
		if s.Plan != nil && !s.Plan.IsCleared() && (s.isRevision() || s.executesApprovedPlan()) {
			return nil
		}
		dropped := withdrawal(s, f) // the actor has replaced or cleared its plan
		return append([]Event{dropped}, endMode(Apply(s, dropped), f)...)
	}
	why := "the plan was replaced"
	if s.executesApprovedPlan() {
		why = map[PlanStatus]string{StatusCompleted: "the plan is completed", StatusAbandoned: "the plan was abandoned",
			StatusFailed: "the plan failed"}[s.Plan.Status]
	}
	if s.PhaseNow() != PhaseExecuting || why == "" {
		return nil
	}
	return []Event{ModeEnded{By: string(Planloop), Why: why, At: f.Now}}
}

// ModeRestored restores planning mode, questions and comments after the repair of a log.
type ModeRestored struct {
	Phase         Phase      `json:"phase"`
	Mode          *Mode      `json:"mode,omitempty"`
	Questions     []Question `json:"questions,omitempty"`
	QuestionCount int        `json:"asked,omitempty"`
	Comments      []Comment  `json:"comments,omitempty"`
	CommentCount  int        `json:"commented,omitempty"`
}

func (e ModeRestored) apply(s State) State {
	s.Phase, s.Mode, s.Questions, s.QuestionCount = e.Phase, e.Mode, e.Questions, e.QuestionCount
	s.Comments, s.CommentCount = e.Comments, e.CommentCount
	return s
}

// Phase is a workspace's phase of planning mode.
type Phase string

// The phases. Read the zero value as PhaseInactive.
const (
	PhaseInactive  Phase = "inactive"
	PhaseGathering Phase = "gathering"
	PhaseSubmitted Phase = "submitted"
	PhaseExecuting Phase = "executing"
)

// Values lists the phases in order.
func (Phase) Values() []string {
	return []string{"inactive", "gathering", "submitted", "executing"}
}
