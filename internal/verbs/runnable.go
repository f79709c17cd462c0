package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/plan"
)

// checkRunnable returns the errors in the steps an action adds or changes that would prevent a run from carrying them out
// (execution: Plan Validation). have are the steps they join; tasks are the added steps as given, and may be nil. The
// error is a *plan.ValidationError.
func (s *Service) checkRunnable(have plan.Steps, a plan.Action, tasks []gates.Task) error {
	j := addedSteps{Candidate: runnable.Candidate{Have: have}, unknown: map[plan.StepID][]string{}}
	for _, task := range tasks {
		j.unknown[task.ID] = task.Unknown
	}
	if j.take(a, ""); len(j.Steps) == 0 {
		return nil
	}
	if wrong := runnable.Check(j.Candidate, s.opts.StepTools); wrong != nil {
		return wrong
	}
	return nil
}

// ToolsToCome are tools, some of which may only become known after a wait.
type ToolsToCome interface {
	// Await waits a limited time for tools that are not known yet.
	Await(ctx context.Context)
}

// awaitTools waits for named tools that are not known yet. That may take a while, so callers do it before they take the
// workspace's lock.
func (s *Service) awaitTools(ctx context.Context, names []string) {
	tools, some := s.opts.StepTools.(ToolsToCome)
	if some && slices.ContainsFunc(names, func(name string) bool { _, known := s.opts.StepTools.Tool(name); return !known }) {
		tools.Await(ctx)
	}
}

func toolsOf(a plan.Action) (names []string) {
	j := addedSteps{ofAnyPlan: true}
	j.take(a, "")
	for _, step := range j.Steps {
		if step.Tool != "" {
			names = append(names, step.Tool)
		}
	}
	return names
}

// addedSteps collects an action's steps as they will be.
type addedSteps struct {
	runnable.Candidate
	unknown   map[plan.StepID][]string // dependencies of added steps that name no step
	ofAnyPlan bool                     // edited steps need not be known, and only their edits count
}

func (j *addedSteps) take(a plan.Action, field string) {
	switch a := a.(type) {
	case plan.Batch:
		j.Dependencies = "dependencies"
		for _, part := range a.Parts {
			j.take(part.Action, part.Field)
		}
	case plan.SetUp:
		j.Have = plan.Steps{}
		j.add(a.Steps, cmp.Or(field, "/steps"))
	case plan.SubmitPlan:
		j.Have = plan.Steps{}
		j.add(a.Steps, cmp.Or(field, "/steps"))
	case plan.AddSteps:
		if len(a.Steps) > 1 {
			field = cmp.Or(field, "/steps")
		}
		j.add(a.Steps, field)
	case plan.EditDraft:
		j.take(a.Change, field)
		if edit, is := a.Change.(plan.UpdateStep); is && len(j.Steps) > 0 {
			j.using(edit.Step)
		}
	case plan.UpdateStep:
		j.edit(a, field)
	case plan.AnswerStep:
		j.add(a.Steps, cmp.Or(field, "/steps"))
		if len(a.Args) > 0 {
			j.edit(plan.UpdateStep{Step: a.Step, Patch: plan.Patch{Args: &a.Args}}, field)
		}
	}
}

// add takes steps that get the next ids or have their own. Finished steps are not judged.
func (j *addedSteps) add(steps []plan.NewStep, field string) {
	next := j.Have.Highest() + 1 + plan.StepID(len(j.Steps)+len(j.Also))
	for i, n := range steps {
		step := runnable.Step{ID: next + plan.StepID(i), Spec: n.Spec, Name: n.Name, Unknown: j.unknown[next+plan.StepID(i)]}
		if n.ID != 0 && j.Have.Len() == 0 {
			step.ID = n.ID
		}
		step.Instance = n.Execution != nil && n.Execution.Loop != 0
		if field != "" {
			step.Field = fmt.Sprintf("%s/%d", field, i)
		}
		if n.Status.IsFinished() {
			j.Also = append(j.Also, step)
		} else {
			j.Steps = append(j.Steps, step)
		}
	}
}

// edit takes a changed step as it will be, if the change affects how it runs.
func (j *addedSteps) edit(a plan.UpdateStep, field string) {
	was, known := j.Have.Get(a.Step)
	was = cmp.Or(was, &plan.Step{})
	p := a.Patch
	repeats := p.Retry != nil || p.Idempotent != nil && len(was.Retry) > 0
	if !known && !j.ofAnyPlan || p.Tool == nil && p.Args == nil && p.When == nil && p.ForEach == nil && !repeats {
		return
	}
	j.Steps = append(j.Steps, runnable.Step{ID: a.Step, Spec: a.Patch.Apply(was.Spec), Field: field, Instance: was.Loop() != 0})
}

// using takes the steps that refer to a changed step.
func (j *addedSteps) using(id plan.StepID) {
	for _, dependent := range j.Have.Dependents(id) {
		if step, _ := j.Have.Get(dependent); slices.Contains(step.ReferencedSteps(), id) {
			j.Steps = append(j.Steps, runnable.Step{ID: dependent, Spec: step.Spec, Instance: step.Loop() != 0})
		}
	}
}
