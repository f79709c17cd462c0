package resources

import "github.com/planloop/planloop/plan"

// Document is the current plan as JSON and YAML show it. Everything beside the
// plan's own fields is derived and ignored when a document is imported.
type Document struct {
	Revision plan.Revision `json:"revision"`
	Phase    plan.Phase    `json:"phase"`
	Plan     *PlanDocument `json:"plan"` // null when there is none
	Counts   Counts        `json:"counts,omitzero"`
	Progress Progress      `json:"progress,omitzero"`
	NextStep plan.StepID   `json:"next_step,omitzero"`
	Draft    *Head         `json:"draft,omitempty"` // beside the current plan
}

// PlanDocument is a plan with its steps: the fields of plan.Body.
type PlanDocument struct {
	plan.Plan
	Steps   []StepDocument `json:"steps"`
	Highest plan.StepID    `json:"highest_step,omitzero"`
}

// StepDocument is a step with what follows from its place in the plan.
type StepDocument struct {
	plan.Step
	Ready      bool          `json:"ready,omitzero"`
	WaitingOn  []plan.StepID `json:"waiting_on,omitempty"`
	Dependents []plan.StepID `json:"dependents,omitempty"` // only where a single step is shown
}

// Counts counts steps by status. Ready ones are pending ones as well.
type Counts struct {
	Total      int `json:"total"`
	Pending    int `json:"pending,omitzero"`
	Ready      int `json:"ready,omitzero"`
	InProgress int `json:"in_progress,omitzero"`
	Blocked    int `json:"blocked,omitzero"`
	Done       int `json:"done"`
	Failed     int `json:"failed,omitzero"`
	Skipped    int `json:"skipped,omitzero"`
	Cancelled  int `json:"cancelled,omitzero"`
}

// Progress says how many of all steps are done.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Head is a plan without its body.
type Head struct {
	ID        string          `json:"id"`
	Objective string          `json:"objective"`
	Status    plan.PlanStatus `json:"status"`
	Version   int             `json:"version"`
	Steps     int             `json:"steps"`
	Done      int             `json:"done"`
}

// NewDocument returns the document of the current plan of s.
func NewDocument(s plan.State) Document {
	d := Document{Revision: s.Revision, Phase: s.PhaseNow()}
	if s.Draft != nil {
		head := headOf(s.Draft)
		d.Draft = &head
	}
	if s.Plan == nil {
		return d
	}
	d.Plan = newPlanDocument(s.Plan)
	d.Counts, d.Progress = countsOf(s.Plan.Steps), progressOf(s.Plan.Steps)
	if next := s.Plan.Steps.Next(); next != nil {
		d.NextStep = next.ID
	}
	return d
}

func newPlanDocument(p *plan.Plan) *PlanDocument {
	body := p.Body()
	d := &PlanDocument{Plan: body.Plan, Highest: body.Highest, Steps: make([]StepDocument, len(body.Steps))}
	for i, step := range body.Steps {
		d.Steps[i] = stepDocument(p, step)
	}
	return d
}

func stepDocument(p *plan.Plan, step *plan.Step) StepDocument {
	d := StepDocument{Step: *step, Ready: p.Steps.IsReady(step.ID)}
	if !step.Status.Finished() {
		d.WaitingOn = p.Steps.WaitingOn(step.ID)
	}
	return d
}

func countsOf(s plan.Steps) Counts {
	return Counts{
		Total: s.Len(), Ready: s.ReadyCount(),
		Pending: s.Count(plan.Pending), InProgress: s.Count(plan.InProgress), Blocked: s.Count(plan.Blocked),
		Done: s.Count(plan.Done), Failed: s.Count(plan.Failed), Skipped: s.Count(plan.Skipped), Cancelled: s.Count(plan.Cancelled),
	}
}

func progressOf(s plan.Steps) Progress { return Progress{Done: s.Count(plan.Done), Total: s.Len()} }

func headOf(p *plan.Plan) Head {
	return Head{ID: p.ID, Objective: p.Objective, Status: p.Status, Version: p.Version, Steps: p.Steps.Len(), Done: p.Steps.Count(plan.Done)}
}
