// Package resources renders a state for reading: as JSON and YAML for programs, as Markdown and Mermaid for people, and
// as a bounded page for models. It knows the plan, but no stores, protocols or commands; every function is pure.
package resources

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

// Document is the current plan for JSON and YAML. Everything except the plan's own fields is derived, and ignored by an
// import.
type Document struct {
	Revision plan.Revision `json:"revision"`
	Phase    plan.Phase    `json:"phase"`
	Plan     *PlanDocument `json:"plan"` // null without a plan
	Counts   Counts        `json:"counts,omitzero"`
	Progress Progress      `json:"progress,omitzero"`
	NextStep plan.StepID   `json:"next_step,omitzero"`
	Draft    *Head         `json:"draft,omitempty"` // waiting next to the current plan
}

// PlanDocument is a plan with its steps: the fields of plan.Body.
type PlanDocument struct {
	plan.Plan
	Steps   []StepDocument `json:"steps"`
	Highest plan.StepID    `json:"highest_step,omitzero"`
}

// StepDocument is a step with the facts derived from its position in the plan.
type StepDocument struct {
	plan.Step
	Ready      bool          `json:"ready,omitzero"`
	WaitingOn  []plan.StepID `json:"waiting_on,omitempty"`
	Dependents []plan.StepID `json:"dependents,omitempty"` // only in the document of a single step
}

// Counts counts steps by status. Ready steps are pending, too.
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

// Progress is the number of done steps, and of all steps.
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

func newDocument(s plan.State) Document {
	d := Document{Revision: s.Revision, Phase: s.PhaseNow()}
	if s.Draft != nil {
		d.Draft = new(headOf(s.Draft))
	}
	if s.Plan == nil {
		return d
	}
	body, steps := s.Plan.Body(), s.Plan.Steps
	d.Plan = &PlanDocument{Plan: body.Plan, Highest: body.Highest, Steps: make([]StepDocument, len(body.Steps))}
	for i, step := range body.Steps {
		d.Plan.Steps[i] = stepDocument(s.Plan, step)
	}
	d.Progress = progressOf(steps)
	d.Counts = Counts{Total: steps.Len(), Ready: steps.ReadyCount(), Pending: steps.Count(plan.Pending),
		InProgress: steps.Count(plan.InProgress), Blocked: steps.Count(plan.Blocked), Done: steps.Count(plan.Done),
		Failed: steps.Count(plan.Failed), Skipped: steps.Count(plan.Skipped), Cancelled: steps.Count(plan.Cancelled)}
	if next := steps.Next(); next != nil {
		d.NextStep = next.ID
	}
	return d
}

func stepDocument(p *plan.Plan, step *plan.Step) StepDocument {
	d := StepDocument{Step: *step, Ready: p.Steps.IsReady(step.ID)}
	if !step.Status.IsFinished() {
		d.WaitingOn = p.Steps.UnmetDependencies(step.ID)
	}
	return d
}

func progressOf(s plan.Steps) Progress { return Progress{Done: s.Count(plan.Done), Total: s.Len()} }

func headOf(p *plan.Plan) Head {
	return Head{ID: p.ID, Objective: p.Objective, Status: p.Status, Version: p.Version, Steps: p.Steps.Len(),
		Done: p.Steps.Count(plan.Done)}
}

// JSON returns the current plan with derived facts, see Document.
func JSON(s plan.State) ([]byte, error) { return encode(newDocument(s)) }

// Step returns one step of the current plan, with the steps that depend on it.
// The error is a *plan.ValidationError of kind NotFound.
func Step(s plan.State, id plan.StepID) ([]byte, error) {
	if s.Plan == nil {
		return nil, plan.Refuse(plan.NotFound, "", "no plan exists yet", "set one up first")
	}
	step, ok := s.Plan.Steps.Get(id)
	if !ok {
		return nil, plan.Refuse(plan.NotFound, "", "step "+id.String()+" does not exist", "read the plan for its steps")
	}
	d := stepDocument(s.Plan, step)
	d.Dependents = s.Plan.Steps.Dependents(id)
	return encode(struct {
		PlanID string `json:"plan_id"`
		StepDocument
	}{s.Plan.ID, d})
}

// maxPlans is the most plans in the list; older ones are counted.
const maxPlans = 200

// listedPlan is a plan in the list of plans.
type listedPlan struct {
	Head
	Current    bool          `json:"current,omitzero"`
	CreatedAt  time.Time     `json:"created_at"`
	ArchivedAt time.Time     `json:"archived_at,omitzero"`
	Revision   plan.Revision `json:"revision,omitzero"` // its last revision as the current plan
	Reason     string        `json:"reason,omitempty"`
}

// Plans lists the current plan and the former ones, newest first.
func Plans(s plan.State) ([]byte, error) {
	former := s.FormerPlans()
	list := make([]listedPlan, 0, len(former)+1)
	if p := s.Plan; p != nil && !p.IsCleared() {
		list = append(list, listedPlan{Head: headOf(p), Current: true, CreatedAt: p.CreatedAt})
	}
	for _, p := range former {
		list = append(list, listedPlan{
			Head:      Head{ID: p.ID, Objective: p.Objective, Status: p.Status, Version: p.Version, Steps: p.Steps, Done: p.Done},
			CreatedAt: p.CreatedAt, ArchivedAt: p.ArchivedAt, Revision: p.Revision, Reason: p.Reason,
		})
	}
	older := max(0, len(list)-maxPlans)
	return encode(struct {
		Plans []listedPlan `json:"plans"`
		Older int          `json:"older,omitzero"`
	}{list[:len(list)-older], older})
}

// encode writes v compactly. The plan's tags were made for encoding/json, where omitempty drops false and 0, too.
// Content of a log is written even if it would not be accepted today.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, jsonv1.OmitEmptyWithLegacySemantics(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Event returns an event as one JSON object.
func Event(e history.Event) ([]byte, error) { return encode(e) }

// maxEvents limits the number of events; maxEventBytes limits their total size, but the newest is always shown.
const (
	maxEvents     = 50
	maxEventBytes = 256 << 10
)

// Events returns the newest of the given events as JSON; they are ordered oldest first. fromFirst says that events
// starts with the first event of the log.
func Events(revision plan.Revision, events []history.Event, fromFirst bool) ([]byte, error) {
	d := struct {
		Revision plan.Revision    `json:"revision"`
		Events   []jsontext.Value `json:"events"`
		Note     string           `json:"note,omitempty"` // set if older ones exist
	}{Revision: revision, Events: []jsontext.Value{}}
	from, size := len(events), 0
	for from > 0 && len(events)-from < maxEvents {
		line, err := Event(events[from-1])
		if err != nil {
			return nil, err
		}
		if size += len(line); size > maxEventBytes && len(d.Events) > 0 {
			break
		}
		d.Events = append([]jsontext.Value{line}, d.Events...)
		from--
	}
	if from > 0 || !fromFirst {
		d.Note = "Older events are not shown: planloop log --events prints them all, and those after revision N with --since N."
	}
	return encode(d)
}
