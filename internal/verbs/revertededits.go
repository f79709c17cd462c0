package verbs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// People's edits of a draft may be lost when its agent submits again. Neither the agent nor the deciding person
// should have to find that out by comparing.

// draftsBefore is the most replaced drafts with edits that are read from the log, so that the cost of a submission does
// not grow with the number of former ones.
const draftsBefore = 4

// revertedEdits lists people's edits of the replaced drafts that a submission takes back.
func (s *Service) revertedEdits(ctx context.Context, state plan.State, a plan.SubmitPlan) ([]string, error) {
	if state.Draft == nil || !state.PhaseNow().IsRestricted() {
		return nil, nil
	}
	drafts := []*plan.Plan{state.Draft}
	before := slices.DeleteFunc(state.SupersededDrafts(), func(head plan.PastPlan) bool { return !head.Edited })
	for _, head := range before[:min(len(before), draftsBefore)] {
		former, err := s.session.PlanBody(ctx, head.ID)
		if err != nil {
			return nil, fmt.Errorf("look for people's earlier changes: %w", err)
		}
		drafts = append(drafts, former)
	}
	steps := make([]*plan.Step, len(a.Steps))
	for i, step := range a.Steps {
		steps[i] = &plan.Step{ID: plan.StepID(i + 1), Spec: step.Spec}
	}
	now := &plan.Plan{Steps: plan.NewSteps(steps)}
	var all []string
	for _, edited := range drafts {
		submitted, err := s.session.SubmittedVersion(ctx, edited)
		if err != nil {
			return nil, fmt.Errorf("look for the earlier submission: %w", err)
		}
		if submitted == nil {
			continue
		}
		for _, what := range findReverted(submitted, edited, now) {
			if what += " by " + strings.Join(edited.Edits.By, " and "); !slices.Contains(all, what) {
				all = append(all, what)
			}
		}
	}
	return all[:min(len(all), plan.MaxList)], nil
}

// findReverted lists the edits that now, a plan, takes back: parts that are again as submitted: `the title of S002 "Use it", changed`.
func findReverted(submitted, edited, now *plan.Plan) []string {
	was := matchSteps(now, submitted)
	again := formerIDs(was)
	titled := func(p *plan.Plan, title string) *plan.Step {
		for step := range p.Steps.All() {
			if step.Title == title {
				return step
			}
		}
		return nil
	}
	named := func(step *plan.Step) string {
		return step.ID.String() + " " + plan.Quote(plan.Shorten(step.Title, titleShown))
	}
	moved := movedSteps(submitted, now, was)
	var all []string
	for _, change := range Compare(submitted, edited).Steps {
		step, kept := now.Steps.Get(again[change.StepID])
		old, _ := submitted.Steps.Get(change.StepID)
		switch {
		case change.Change == stepAdded:
			if lost, _ := edited.Steps.Get(change.StepID); titled(now, lost.Title) == nil {
				all = append(all, named(lost)+", added")
			}
			continue
		case change.Change == stepRemoved:
			if back := titled(now, old.Title); back != nil {
				all = append(all, named(back)+", removed")
			}
			continue
		case !kept:
			continue
		}
		for _, f := range comparedFields() {
			_, differed := change.Fields[f.Name]
			if differed && f.Name != status && slices.Equal(f.Texts(renumbered(old, again)), f.Texts(step)) {
				all = append(all, "the "+f.Words+" of "+named(step)+", changed")
			}
		}
		if _, elsewhere := change.Fields[place]; elsewhere && !moved[step.ID] {
			all = append(all, "the place of "+named(step)+", moved")
		}
	}
	return all
}

// revertedText lists for the deciding person the edits that a submission takes back; it may return "".
func revertedText(request *plan.Request) string {
	if request == nil || len(request.Undoes) == 0 {
		return ""
	}
	return "It reverts people's earlier changes to the plan: " + strings.Join(request.Undoes, "; ") + "."
}
