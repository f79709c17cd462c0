package verbs

import (
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// ApprovedPlan is the approved plan as guidance (chorus: Plan injection during
// execution): the current step and the next one, the rest counted; whole without a
// current step.
func ApprovedPlan(p *plan.Plan, current *plan.Step) string {
	data := prompts.ApprovedPlanData{Done: p.Steps.Count(plan.Done)}
	add := func(step *plan.Step) {
		data.Steps = append(data.Steps, prompts.ApprovedStep{Number: int(step.ID), Title: step.Title, Tools: step.Tools})
	}
	if current == nil {
		for step := range p.Steps.All() {
			add(step)
		}
		data.Done = 0
		return prompts.ApprovedPlan(data)
	}
	add(current)
	for i := p.Steps.Position(current.ID) + 1; i < p.Steps.Len() && len(data.Steps) < 2; i++ {
		if step := p.Steps.At(i); !step.Status.Finished() {
			add(step)
		}
	}
	data.Left = p.Steps.Len() - p.Steps.Finished() - len(data.Steps)
	return prompts.ApprovedPlan(data)
}

// stepNow is the step to be at, or else the first that is not finished.
func stepNow(p *plan.Plan, step *plan.Step) *plan.Step {
	if step != nil {
		return step
	}
	for step := range p.Steps.All() {
		if !step.Status.Finished() {
			return step
		}
	}
	return p.Steps.At(0)
}
