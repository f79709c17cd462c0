package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func checkDependencies(p *Plan, step *Step, to StepStatus) error {
	if to != InProgress && to != Done {
		return nil
	}
	waiting := p.Steps.UnmetDependencies(step.ID)
	if len(waiting) == 0 || step.Status == to {
		return nil
	}
	fix := "finish the dependency first"
	for _, id := range waiting {
		if dep, ok := p.Steps.Get(id); ok && dep.Status.IsFinished() {
			fix = fmt.Sprintf("%s was %s: reopen it, or remove the dependency", id, dep.Status)
			break
		}
	}
	return conflict(fmt.Sprintf("%s waits for %s", step.ID, IDs(waiting)), fix)
}

// UnmetDependencies lists the dependencies of a step that are not met.
func (s Steps) UnmetDependencies(id StepID) []StepID {
	slot := s.find(id)
	if slot.unmet == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(slot.step.DependsOn), func(dep StepID) bool { return s.isMet(slot.step, dep) })
}

// Dependents lists the steps that depend on a step.
func (s Steps) Dependents(id StepID) []StepID { return slices.Clone(s.find(id).dependents) }

// IsReady reports whether the step is pending with all dependencies met.
func (s Steps) IsReady(id StepID) bool {
	slot := s.find(id)
	return slot.step != nil && s.isReady(slot)
}

// isMet reports whether a dependency of the step exists and is met.
func (s Steps) isMet(step *Step, dep StepID) bool {
	other, ok := s.Get(dep)
	return ok && step.isMetBy(other)
}

// checkNewDependencies checks that the step's dependencies may become deps.
func checkNewDependencies(p *Plan, step *Step, deps []StepID) error {
	var unmet []StepID
	for i, dep := range deps {
		other, err := findStep(p, dep, fmt.Sprintf("/depends_on/%d", i))
		if err != nil {
			return err
		}
		if other.Loop() != 0 {
			return loopInstanceError(fmt.Sprintf("/depends_on/%d", i), other)
		}
		if !step.isMetBy(other) {
			unmet = append(unmet, dep)
		}
	}
	follow := func(id StepID) []StepID {
		if id == step.ID {
			return deps
		}
		return cmp.Or(p.Steps.find(id).step, &Step{}).DependsOn
	}
	if cycle := Cycle([]StepID{step.ID}, follow); cycle != nil {
		return cycleError("/depends_on", cycle)
	}
	if len(unmet) > 0 && (step.Status == InProgress || step.Status == Done) && !slices.Equal(deps, step.DependsOn) {
		return conflict(fmt.Sprintf("%s is %s and can no longer wait for %s", step.ID, step.Status, IDs(unmet)),
			"mark it pending first")
	}
	return nil
}

// loopInstanceError refuses a dependency on an instance of a loop.
func loopInstanceError(field string, instance *Step) error {
	return Refuse(InvalidInput, field, fmt.Sprintf("%s is an instance of the loop %s; other steps cannot depend on it",
		instance.ID, instance.Loop()), "depend on "+instance.Loop().String())
}

// Cycle returns a dependency cycle reachable from start, as the ids along it with the first
// repeated at the end, or nil. deps returns the dependencies of a step.
func Cycle(start []StepID, deps func(StepID) []StepID) []StepID {
	var path []StepID
	open := map[StepID]bool{} // true for those in path, false for those that lead to no cycle
	var visit func(StepID) []StepID
	visit = func(id StepID) []StepID {
		if on, seen := open[id]; on {
			return append(slices.Clone(path[slices.Index(path, id):]), id)
		} else if seen {
			return nil
		}
		open[id] = true
		path = append(path, id)
		for _, dep := range deps(id) {
			if cycle := visit(dep); cycle != nil {
				return cycle
			}
		}
		open[id] = false
		path = path[:len(path)-1]
		return nil
	}
	for _, id := range start {
		if cycle := visit(id); cycle != nil {
			return cycle
		}
	}
	return nil
}

func words(ids []StepID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// ListIDs returns all ids, separated by commas.
func ListIDs(ids []StepID) string { return strings.Join(words(ids), ", ") }

// IDs writes step ids for a message: "S001", "S001 and S002", "S001, S002 and 3 more".
func IDs(ids []StepID) string {
	const shown = 5
	if len(ids) > shown {
		return fmt.Sprintf("%s and %d more", ListIDs(ids[:shown]), len(ids)-shown)
	}
	return Enumerate(words(ids))
}

// Enumerate joins words: "title, risk and details".
func Enumerate(words []string) string { return enumerate(words, "and") }

func enumerate(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// cycleError refuses a cycle and shows it: S001 -> S002 -> S001.
func cycleError(field string, cycle []StepID) error {
	path := words(cycle)
	if len(path) > 12 {
		path = slices.Concat(path[:8], []string{"…"}, path[len(path)-3:])
	}
	return Refuse(InvalidInput, field, "the dependencies form a circle: "+strings.Join(path, " -> "), "drop one of them")
}
