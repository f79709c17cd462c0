package resources

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/plan"
)

// JSON returns the current plan with what is derived from it, see Document.
func JSON(s plan.State) ([]byte, error) { return encode(NewDocument(s)) }

// Step returns one step of the current plan, with the steps that depend on it.
// The error is a *plan.ValidationError of kind NotFound.
func Step(s plan.State, id plan.StepID) ([]byte, error) {
	if s.Plan == nil {
		return nil, notFound("there is no plan yet", "set one up first")
	}
	step, ok := s.Plan.Steps.Get(id)
	if !ok {
		return nil, notFound("there is no step "+id.String(), "read the plan to see which steps there are")
	}
	d := stepDocument(s.Plan, step)
	d.Dependents = s.Plan.Steps.Dependents(id)
	return encode(struct {
		PlanID string `json:"plan_id"`
		StepDocument
	}{s.Plan.ID, d})
}

// maxPlans bounds the list of plans; the older ones are counted.
const maxPlans = 200

// listedPlan is a plan in the list of plans.
type listedPlan struct {
	Head
	Current    bool          `json:"current,omitzero"`
	CreatedAt  time.Time     `json:"created_at"`
	ArchivedAt time.Time     `json:"archived_at,omitzero"`
	Revision   plan.Revision `json:"revision,omitzero"` // at which it was last the current plan
	Reason     string        `json:"reason,omitempty"`
}

// Plans lists the current plan and the former ones, newest first.
func Plans(s plan.State) ([]byte, error) {
	former := s.Former()
	list := make([]listedPlan, 0, len(former)+1)
	if p := s.Plan; p != nil && !p.Cleared() {
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

func notFound(problem, fix string) error {
	return &plan.ValidationError{Kind: plan.NotFound, Problem: problem, Fix: fix}
}

// encode writes v compactly. The plan's tags were made for encoding/json, where
// omitempty drops false and 0 too. What stands in a log is shown even if it would
// not be accepted today.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, jsonv1.OmitEmptyWithLegacySemantics(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
