// Package plan is the pure core of planloop: the types of a workspace's state, the actions that ask
// for a change, the events that record one, and the two functions that connect them.
//
//	Decide(State, Action, Facts) ([]Event, error)   judges, and alone mints step ids
//	Apply(State, ...Event) State                    folds, and never refuses
//
// A State is an immutable value: Apply returns a new one that shares the unchanged parts. Nothing
// here reads a file, a clock, a configuration or a global; outside information arrives in Facts.
// The package must not know how events are stored, which protocol an action came by, or how a plan
// is shown.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Outline is a plan without its steps.
type Outline struct {
	Objective         string   `json:"objective"`
	Summary           string   `json:"summary,omitempty"`
	ContextNotes      string   `json:"context_notes,omitempty"`
	Questions         []string `json:"questions,omitempty"`
	Reasoning         string   `json:"reasoning,omitempty"`
	Metadata          Metadata `json:"metadata,omitzero"`
	EstimatedDuration int      `json:"estimated_duration,omitempty"` // seconds
}

// Metadata classifies a plan (rawko: PlanMetadata).
type Metadata struct {
	Complexity  int      `json:"complexity,omitempty"` // 1 to 10
	Tags        []string `json:"tags,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
	InformedBy  []string `json:"informed_by,omitempty"`
}

// IsZero reports whether nothing is set.
func (m Metadata) IsZero() bool {
	return m.Complexity == 0 && len(m.Tags) == 0 && len(m.Constraints) == 0 && len(m.InformedBy) == 0
}

// Plan is an objective with ordered steps. A *Plan never changes once it is part of a state.
type Plan struct {
	ID string `json:"id"` // slug of the objective and creation time
	Outline
	Status         PlanStatus `json:"status"`
	Version        int        `json:"version"` // 1, plus one per replan
	PreviousPlanID string     `json:"previous_plan_id,omitempty"`
	Changes        string     `json:"changes,omitempty"`     // made by a replan
	Discoveries    []string   `json:"discoveries,omitempty"` // that led to a replan
	Replans        int        `json:"replans,omitempty"`     // after critical failures
	Approval       *Approval  `json:"approval,omitempty"`
	Verdict        *Verdict   `json:"verdict,omitempty"` // the latest
	FinalSummary   string     `json:"final_summary,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	CreatedBy      string     `json:"created_by"`
	HostList       *HostList  `json:"adopted,omitempty"`   // from a host's own plan; nil for a plan made here
	HostPlan       *HostPlan  `json:"host_plan,omitempty"` // in the host's own plan mode; nil for any other plan
	Edits          *Edits     `json:"edits,omitempty"`     // by people, in a draft; nil if there are none
	Steps          Steps      `json:"-"`                   // see Body
}

// Approval records a person's agreement to a plan.
type Approval struct {
	By      string    `json:"by"`
	Way     string    `json:"way"`    // as Way
	Digest  string    `json:"digest"` // of the version shown
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at"`

	Earlier []string `json:"earlier,omitempty"` // comments of earlier decisions that led to this one, oldest first: see Comments

	Revision Revision `json:"revision,omitempty"` // of the log that includes it; 0 in old logs
	Edits    *Edits   `json:"edits,omitempty"`    // by people, in the submitted draft

	Unanswered []string `json:"unanswered,omitempty"` // ids of the questions that it left open

	Deviations  []string `json:"deviations,omitempty"` // later changes that needed no new agreement
	UnseenSteps []StepID `json:"unseen,omitempty"`     // steps split off later, with text the approver has not seen

	Tools map[string]string `json:"tools,omitempty"` // definitions of the steps' tools that other servers provide

	AcceptsEdits bool `json:"accepts_edits,omitempty"` // the host that showed the plan need not ask before edits

	Votes        []Vote `json:"votes,omitempty"`         // under a policy: the approvals that made it, this one last
	EvidenceFrom string `json:"evidence_from,omitempty"` // the policy's at the submission
}

// Comments returns the comments of the approval, of the changes requested before it, and of the approvals that it changed, oldest
// first, each with its author. a may be nil.
func (a *Approval) Comments() []string {
	if a == nil {
		return nil
	}
	comments := slices.Clone(a.Earlier)
	for _, vote := range a.Votes[:max(0, len(a.Votes)-1)] {
		if vote.Comment != "" {
			comments = append(comments, "approved by "+vote.By+": "+vote.Comment)
		}
	}
	if a.Comment != "" {
		comments = append(comments, "approved by "+Way(a.Way).Decider(a.By)+": "+a.Comment)
	}
	return comments
}

// Deciders returns the authors of the approval, for display.
func (a *Approval) Deciders() string {
	by := a.By
	if len(a.Votes) > 0 {
		by = votersOf(a.Votes)
	}
	return Way(a.Way).Decider(by)
}

// UnseenNote says that the approver has not seen a step, because it was split off later; "" for every
// other step.
func (a *Approval) UnseenNote(id StepID) string {
	if a == nil || !slices.Contains(a.UnseenSteps, id) {
		return ""
	}
	return "split off since: the approver has not seen this"
}

// Remark says what an agent working on a step may not expect: the approver has not seen it, or
// people changed it before the approval. It is "" for other steps.
func (a *Approval) Remark(id StepID) string {
	if a == nil {
		return ""
	}
	return cmp.Or(a.UnseenNote(id), a.Edits.StepNote(id))
}

// HasChanged reports whether a field of a step has changed since the approval without a new agreement.
func (a *Approval) HasChanged(id StepID, field string) bool {
	return a != nil && slices.ContainsFunc(a.Deviations, func(what string) bool {
		fields, of := strings.CutPrefix(what, id.String()+": ")
		fields, changed := strings.CutSuffix(fields, " changed")
		return of && changed && slices.Contains(strings.Split(fields, ", "), field)
	})
}

// Body is a plan in its written form, with the steps as a list, for events, snapshots and
// renderings.
type Body struct {
	Plan
	Steps   []*Step `json:"steps"`
	Highest StepID  `json:"highest_step,omitzero"` // the highest id ever minted, unless the last step has it
}

// Body returns the written form of p.
func (p *Plan) Body() Body {
	b := Body{Plan: *p, Steps: p.Steps.List()}
	b.Plan.Steps = Steps{}
	if n := len(b.Steps); n == 0 || b.Steps[n-1].ID != p.Steps.Highest() {
		b.Highest = p.Steps.Highest()
	}
	return b
}

// Build returns the plan written in b.
func (b Body) Build() *Plan {
	p := b.Plan
	p.Steps = NewSteps(b.Steps)
	p.Steps.highest = max(p.Steps.highest, b.Highest)
	return &p
}

// IsCleared reports whether p is the empty shell left by clearing; its former content is a past plan.
func (p *Plan) IsCleared() bool { return p.Status == StatusAbandoned && p.Steps.Len() == 0 }

// IsOver reports whether nothing more can be done in p.
func (p *Plan) IsOver() bool {
	return p.FinalSummary != "" || p.Status == StatusAbandoned || p.Status == StatusFailed
}

// IsUnfinished reports whether p exists and has work left.
func (p *Plan) IsUnfinished() bool { return p != nil && !p.IsOver() && p.Status != StatusCompleted }

// IsBinding reports whether a person approved p and it has unfinished steps: then agents cannot replace it, even if they
// reported that it failed.
func (p *Plan) IsBinding() bool {
	return p.Approval != nil && p.FinalSummary == "" && p.Steps.FinishedCount() < p.Steps.Len()
}

// IsCompletedWithoutSummary reports whether p completed with its last step and has no final summary.
func (p *Plan) IsCompletedWithoutSummary() bool {
	return p.Status == StatusCompleted && p.FinalSummary == ""
}

// Root returns the id of p's first version, which replans do not change.
func (p *Plan) Root() string {
	if p.Version > 1 {
		return strings.TrimSuffix(p.ID, "-v"+strconv.Itoa(p.Version))
	}
	return p.ID
}

// NewStep is a step without an id. Progress comes with an imported step; the zero value means
// pending. DependsOn names ids as they will be minted: the highest so far plus one, in order.
type NewStep struct {
	Spec
	Progress
	ID        StepID     `json:"-"` // kept by a step of a new plan: see SetUp; 0: the next one
	Execution *Execution `json:"-"` // kept together with ID, see Execution.kept
	Splits    StepID     `json:"-"` // the approved step it is part of; 0: none
	Name      string     `json:"-"` // the author's name for it, for refusals; "" for its id
}

// SetUp asks for a new current plan, whatever came before (WINK: planning_setup_plan), or with
// Draft for a draft alongside it. A plan from elsewhere has an origin, and its steps may keep their
// ids, which DependsOn then names.
type SetUp struct {
	Outline
	Steps  []NewStep
	Draft  bool
	Import Import
}

func (a SetUp) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "initial_steps")
	origin, err := CleanImport("", a.Import)
	c.Add(err)
	a.Import = origin
	return a
}

func (a SetUp) decide(s State, f Facts) ([]Event, error) {
	steps, err := mint(Steps{}, a.Steps, "/initial_steps", f.Limits)
	if err != nil {
		return nil, err
	}
	p := Plan{
		ID: newPlanID(s, a.Objective, f.Now), Outline: a.Outline, Status: StatusActive, Version: 1,
		CreatedAt: f.Now, UpdatedAt: f.Now, CreatedBy: f.Actor.Name,
	}
	a.Import.applyTo(&p, s, a.Draft)
	highest, err := s.continueVersion(&p, steps, a.Import.Highest)
	if err != nil {
		return nil, err
	}
	if a.Draft {
		return makeDraft(s, Body{Plan: p, Steps: steps, Highest: highest}, f)
	}
	events := append(archive(s, "replaced", f.Now), PlanSetUp{Body{Plan: p, Steps: steps, Highest: highest}})
	return append(events, completion(p.Status, NewSteps(steps), p.UpdatedAt)...), nil // at the time given by its origin
}

// makeDraft returns the event that puts a draft alongside the current plan.
func makeDraft(s State, draft Body, f Facts) ([]Event, error) {
	if s.PhaseNow() == PhaseSubmitted || s.HasProposal() {
		return nil, conflict("another plan waits for a decision", "decide on it first")
	}
	for i, step := range draft.Steps { // a draft asks for exactly what it shows
		draft.Steps[i] = &Step{ID: step.ID, Spec: step.Spec, Progress: step.Progress}
		if f.Policy != nil { // an imported history may hold anything
			draft.Steps[i].Progress = step.Progress.withoutRuns()
		}
	}
	draft.Status = StatusDraft
	if f.Policy != nil && s.PhaseNow() == PhaseExecuting {
		return []Event{ChangeProposed{Plan: draft, Request: newRequest(s, draft, f)}}, nil
	}
	if f.Policy != nil || s.PhaseNow() == PhaseGathering { // approvals are counted in a request; gathering waits for a plan
		return []Event{PlanSubmitted{Plan: draft, Request: newRequest(s, draft, f)}}, nil
	}
	return []Event{DraftMade{draft}}, nil
}

// PlanSetUp makes a new plan the current one.
type PlanSetUp struct {
	Plan Body `json:"plan"`
}

func (e PlanSetUp) apply(s State) State {
	s.Plan = e.Plan.Build()
	return s
}

// DraftMade puts a draft alongside the current plan.
type DraftMade struct {
	Plan Body `json:"plan"`
}

func (e DraftMade) apply(s State) State {
	s.Draft = e.Plan.Build()
	return s
}

func withinLimit(n int, l Limits) error {
	if n <= l.MaxSteps {
		return nil
	}
	return conflict(fmt.Sprintf("the plan would have %d steps; at most %d are kept", n, l.MaxSteps), "group them into fewer steps")
}

// maxSlug bounds the part of a plan id taken from the objective.
const maxSlug = 40

// newPlanID returns <slug>-<unix seconds>, with the seconds raised until the id is unique in s. The slug has the
// objective's ASCII words in lower case, joined by dashes, or is "plan" if there are none.
func newPlanID(s State, objective string, now time.Time) string {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	words := strings.Join(strings.FieldsFunc(strings.ToLower(objective), other), "-")
	base := cmp.Or(strings.TrimRight(words[:min(len(words), maxSlug)], "-"), "plan")
	for second := now.Unix(); ; second++ {
		id := base + "-" + strconv.FormatInt(second, 10)
		if !slices.Contains(s.PlanIDs(), id) {
			return id
		}
	}
}

const (
	metaBefore = "Decompose the goal '"
	metaAfter  = "' into a detailed task list for planloop."
)

// MetaTitle returns the title of the task that asks for a plan for a goal (planloop: Workflow, Step
// 3). A goal too long for a title is shortened.
func MetaTitle(goal string) string {
	room := MaxLongLine - utf8.RuneCountInString(metaBefore+metaAfter)
	return metaBefore + Shorten(goal, room) + metaAfter
}

// IsMeta reports whether a title is that of a task that asks for a plan. Such a task is not part of
// the plan's work, and no gate applies to it.
func IsMeta(title string) bool {
	return strings.HasPrefix(title, metaBefore) && strings.HasSuffix(title, metaAfter)
}

// asksForPlan reports whether a step is the one that began the session and asked for the plan. A
// plan that passed the gates proves it. The title alone does not identify it.
func (s State) asksForPlan(step *Step) bool {
	return step.ID == 1 && s.Plan != nil && step.Title == MetaTitle(s.Plan.Objective)
}
