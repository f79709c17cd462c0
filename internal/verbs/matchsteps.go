package verbs

import (
	"cmp"
	"slices"

	"github.com/planloop/planloop/plan"
)

// matchSteps maps each step of a plan to the same step in a former form of it. A submission, and a version from
// elsewhere, renumbers its steps, so titles are matched first. The remaining steps are matched by number: their titles
// changed.
func matchSteps(p, former *plan.Plan) map[plan.StepID]*plan.Step {
	was, taken := map[plan.StepID]*plan.Step{}, map[plan.StepID]bool{}
	pair := func(find func(step *plan.Step) *plan.Step) {
		for step := range p.Steps.All() {
			if was[step.ID] != nil {
				continue
			}
			if old := find(step); old != nil && !taken[old.ID] {
				was[step.ID], taken[old.ID] = old, true
			}
		}
	}
	byID := func(step *plan.Step) *plan.Step { old, _ := former.Steps.Get(step.ID); return old }
	if p.ID != former.ID {
		titled := map[string][]*plan.Step{}
		for old := range former.Steps.All() {
			titled[old.Title] = append(titled[old.Title], old)
		}
		pair(func(step *plan.Step) *plan.Step {
			if old := byID(step); old != nil && old.Title == step.Title {
				return old
			}
			return nil
		})
		pair(func(step *plan.Step) *plan.Step {
			free := slices.DeleteFunc(titled[step.Title], func(old *plan.Step) bool { return taken[old.ID] })
			if titled[step.Title] = free; len(free) == 0 {
				return nil
			}
			return free[0]
		})
	}
	pair(byID)
	return was
}

// formerIDs maps the former id of each kept step to its current id.
func formerIDs(was map[plan.StepID]*plan.Step) map[plan.StepID]plan.StepID {
	now := map[plan.StepID]plan.StepID{}
	for id, old := range was {
		now[old.ID] = id
	}
	return now
}

// renumbered returns a copy of a former step with the current ids of the step and its dependencies.
func renumbered(old *plan.Step, now map[plan.StepID]plan.StepID) *plan.Step {
	step := *old
	step.ID, step.DependsOn = now[old.ID], slices.Clone(old.DependsOn)
	for i, id := range step.DependsOn {
		step.DependsOn[i] = cmp.Or(now[id], id)
	}
	return &step
}

// movedSteps returns the steps that moved among the steps that both plans have: all except the longest
// subsequence in the same order.
func movedSteps(from, to *plan.Plan, was map[plan.StepID]*plan.Step) map[plan.StepID]bool {
	var ids []plan.StepID
	var places []int
	for step := range to.Steps.All() {
		if old := was[step.ID]; old != nil {
			ids, places = append(ids, step.ID), append(places, from.Steps.Position(old.ID))
		}
	}
	var ends []int // index in ids of the last element of the best run of each length
	before := make([]int, len(ids))
	for i, at := range places {
		length, _ := slices.BinarySearchFunc(ends, at, func(end, at int) int { return cmp.Compare(places[end], at) })
		if before[i] = -1; length > 0 {
			before[i] = ends[length-1]
		}
		ends = append(ends, i)[:max(length+1, len(ends))]
		ends[length] = i
	}
	moved := map[plan.StepID]bool{}
	for _, id := range ids {
		moved[id] = true
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			delete(moved, ids[i])
		}
	}
	return moved
}
