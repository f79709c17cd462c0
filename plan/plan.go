package plan

import "time"

// Outline is what a plan is about, apart from its steps.
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

// Plan is an objective with ordered steps. A *Plan is never changed once it is
// part of a state.
type Plan struct {
	ID string `json:"id"` // slug of the objective and creation time
	Outline
	Status         PlanStatus `json:"status"`
	Version        int        `json:"version"` // 1, and one more with every replan
	PreviousPlanID string     `json:"previous_plan_id,omitempty"`
	Changes        string     `json:"changes,omitempty"` // what a replan changed
	Approval       *Approval  `json:"approval,omitempty"`
	Verdict        *Verdict   `json:"verdict,omitempty"` // the last judge's
	FinalSummary   string     `json:"final_summary,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	CreatedBy      string     `json:"created_by"`
	Steps          Steps      `json:"-"` // see Body
}

// Approval records who agreed to a plan, by which way and to what.
type Approval struct {
	By      string    `json:"by"`
	Way     string    `json:"way"`    // person or client-confirmed
	Digest  string    `json:"digest"` // of what was shown
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at"`

	Deviations []string `json:"deviations,omitempty"` // changes since that needed no new agreement
}

// Body is a plan in its written form: the steps as a list. Events, snapshots
// and renderings use it.
type Body struct {
	Plan
	Steps   []*Step `json:"steps"`
	Highest StepID  `json:"highest_step,omitzero"` // the highest id ever minted, when no step has it
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

// Build returns the plan that b writes down.
func (b Body) Build() *Plan {
	p := b.Plan
	p.Steps = NewSteps(b.Steps)
	p.Steps.highest = max(p.Steps.highest, b.Highest)
	return &p
}

// Cleared reports whether p is the empty shell that clearing leaves of a plan: what
// it held is a former plan.
func (p *Plan) Cleared() bool { return p.Status == StatusAbandoned && p.Steps.Len() == 0 }

// Root returns the id of the first version of p, which does not change with
// replans.
func (p *Plan) Root() string {
	if p.Version > 1 {
		return rootID(p.ID, p.Version)
	}
	return p.ID
}
