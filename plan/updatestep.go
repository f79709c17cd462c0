package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Patch changes fields of a step's Spec. A nil field stays as it is; a pointer
// to an empty value erases.
type Patch struct {
	Title              *string          `json:"title,omitempty"`
	Details            *string          `json:"details,omitempty"`
	Type               *StepType        `json:"type,omitempty"`
	DependsOn          *[]StepID        `json:"depends_on,omitempty"`
	ContextHints       *[]string        `json:"context_hints,omitempty"`
	RelevantFilePaths  *[]string        `json:"relevant_file_paths,omitempty"`
	Creates            *[]string        `json:"creates,omitempty"`
	AcceptanceCriteria *[]string        `json:"acceptance_criteria,omitempty"`
	Verify             *string          `json:"verify,omitempty"`
	Risk               *Risk            `json:"risk,omitempty"`
	SuggestedAgent     *string          `json:"suggested_agent,omitempty"`
	Critical           *bool            `json:"critical,omitempty"`
	Tools              *[]string        `json:"tools,omitempty"`
	Tool               *string          `json:"tool,omitempty"`
	Args               *json.RawMessage `json:"args,omitempty"`
	Idempotent         *bool            `json:"idempotent,omitempty"`
	RequiresApproval   *bool            `json:"requires_approval,omitempty"`
	Timeout            *int             `json:"timeout,omitempty"`
	Pause              *string          `json:"pause,omitempty"`
	When               *string          `json:"when,omitempty"`
	ForEach            *string          `json:"for_each,omitempty"`
}

// IsZero reports whether the patch changes nothing.
func (p Patch) IsZero() bool { return p == Patch{} }

// UpdateStep asks to edit a step of the active plan (WINK: planning_update_step).
type UpdateStep struct {
	Step  StepID
	Patch Patch
}

// Name is the action's word in the log.
func (UpdateStep) Name() string { return "update_step" }

func (a UpdateStep) clean(c *cleaner) Action {
	patch, err := CleanPatch("", a.Patch)
	c.keep(err)
	a.Patch = patch
	return a
}

func (a UpdateStep) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be edited")
	if err != nil {
		return nil, err
	}
	step, err := findStep(p, a.Step, "/step_id")
	if err != nil {
		return nil, err
	}
	if a.Patch.DependsOn != nil {
		deps := dedupe(*a.Patch.DependsOn)
		if err := newDependencies(p, step, deps); err != nil {
			return nil, err
		}
		a.Patch.DependsOn = &deps
	}
	if a.Patch.IsZero() {
		return nil, nil
	}
	if err := keepsProof(step, a.Patch, f); err != nil {
		return nil, err
	}
	return []Event{StepUpdated{Step: a.Step, Patch: a.Patch, At: f.Now}}, nil
}

// newDependencies checks that step may depend on deps from now on.
func newDependencies(p *Plan, step *Step, deps []StepID) error {
	var unmet []StepID
	for i, dep := range deps {
		other, err := findStep(p, dep, fmt.Sprintf("/depends_on/%d", i))
		if err != nil {
			return err
		}
		if other.Status != Done {
			unmet = append(unmet, dep)
		}
	}
	follow := func(id StepID) []StepID {
		if id == step.ID {
			return deps
		}
		if other, ok := p.Steps.Get(id); ok {
			return other.DependsOn
		}
		return nil
	}
	if cycle := Cycle([]StepID{step.ID}, follow); cycle != nil {
		return cycleError("/depends_on", cycle)
	}
	if len(unmet) > 0 && (step.Status == InProgress || step.Status == Done) && !slices.Equal(deps, step.DependsOn) {
		return conflict(fmt.Sprintf("%s is %s and cannot wait for %s any more", step.ID, step.Status, IDs(unmet)),
			"mark it pending first")
	}
	return nil
}

// StepUpdated edits a step of the current plan.
type StepUpdated struct {
	Step  StepID    `json:"step_id"`
	Patch Patch     `json:"patch"`
	At    time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (StepUpdated) Kind() string { return "step_updated" }

func (e StepUpdated) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.Spec = e.Patch.On(step.Spec) })
}
