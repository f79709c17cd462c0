package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// SelectedStep is the status of a step that a run was limited to.
type SelectedStep struct {
	StepID string          `json:"step_id"`
	Status plan.StepStatus `json:"status"`

	succeeded bool // done, or skipped by its own condition
}

// selectSteps returns the steps that the engine carries out: those named, or those from one on that have not ended;
// nil: all. It refuses steps that could not begin.
func (o EngineOptions) selectSteps(state plan.State, c Caller) ([]plan.StepID, error) {
	steps, selected := currentSteps(state), slices.Clone(o.Only)
	var faults plan.Faults
	if from := steps.Position(o.From); from >= 0 {
		selected = append(selected, o.From)
		for _, step := range steps.List()[from+1:] {
			if !step.HasEnded() {
				selected = append(selected, step.ID)
			}
		}
	} else if o.From != 0 {
		selected = append(selected, o.From)
	}
	for _, id := range selected {
		step, ok := steps.Get(id)
		if !ok {
			faults.Add(plan.Refuse(plan.NotFound, "", "step "+id.String()+" does not exist", "name a step of the plan"))
			continue
		}
		if step.HasEnded() {
			faults.Add(plan.Refuse(plan.Conflict, "", id.String()+" "+step.Status.Predicate(),
				"to do it again: "+c.word(Call{Kind: CallRecover, Step: id, Choice: plan.Retry})))
			continue
		}
		waits := slices.DeleteFunc(steps.UnmetDependencies(id), func(dep plan.StepID) bool { return slices.Contains(selected, dep) })
		if len(waits) > 0 {
			faults.Add(plan.Refuse(plan.Conflict, "", fmt.Sprintf("%s waits for %s", id, plan.IDs(waits)),
				"run that too, or run from there on with --from "+waits[0].String()))
		}
	}
	return selected, faults.Err()
}

// addSelected adds what became of the steps that the run was limited to.
func (r *RunReply) addSelected(p *plan.Plan, selected []plan.StepID) {
	for _, id := range selected {
		if step, ok := p.Steps.Get(id); ok {
			r.Selected = append(r.Selected, SelectedStep{id.String(), step.Status, step.HasSucceeded()})
		}
	}
}

// IsComplete reports whether the plan is complete, or all steps that the run was limited to are done.
func (r RunReply) IsComplete() bool {
	isOpen := func(s SelectedStep) bool { return !s.succeeded }
	return r.Reason == plan.StopCompleted || len(r.Selected) > 0 && !slices.ContainsFunc(r.Selected, isOpen)
}

// selectedText says what became of the selected steps, "" without any.
func (r RunReply) selectedText() string {
	var parts []string
	for _, status := range countedStatuses() {
		var ids []string
		for _, s := range r.Selected {
			if string(s.Status) == status {
				ids = append(ids, s.StepID)
			}
		}
		if predicate := plan.StepStatus(status).Predicate(); len(ids) > 1 {
			predicate = strings.NewReplacer("is ", "are ", "was ", "were ").Replace(predicate)
			parts = append(parts, plan.Enumerate(ids)+" "+predicate)
		} else if len(ids) == 1 {
			parts = append(parts, ids[0]+" "+predicate)
		}
	}
	return strings.Join(parts, "; ")
}
