package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// startable refuses to start or finish a step whose dependencies are not done.
func startable(p *Plan, step *Step, to StepStatus) error {
	if to != InProgress && to != Done {
		return nil
	}
	waiting := p.Steps.WaitingOn(step.ID)
	if len(waiting) == 0 || step.Status == to {
		return nil
	}
	return conflict(fmt.Sprintf("%s waits for %s", step.ID, IDs(waiting)), "finish what it waits for first")
}

// WaitingOn lists the dependencies of a step that are not done.
func (s Steps) WaitingOn(id StepID) []StepID {
	i := s.position(id)
	if i < 0 || s.slot(i).unmet == 0 {
		return nil
	}
	var waiting []StepID
	for _, dep := range s.slot(i).step.DependsOn {
		if !s.isDone(dep) {
			waiting = append(waiting, dep)
		}
	}
	return waiting
}

// Dependents lists the steps that depend on a step.
func (s Steps) Dependents(id StepID) []StepID {
	i := s.position(id)
	if i < 0 {
		return nil
	}
	return slices.Clone(s.slot(i).dependents)
}

// IsReady reports whether the step is pending with all dependencies done.
func (s Steps) IsReady(id StepID) bool {
	i := s.position(id)
	return i >= 0 && s.slot(i).isReady()
}

func (s Steps) isDone(id StepID) bool {
	i := s.position(id)
	return i >= 0 && s.slot(i).step.Status == Done
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

// Cycle returns a dependency cycle that can be reached from start, as the ids
// along it with the first repeated at the end, or nil. deps returns what a step
// depends on.
func Cycle(start []StepID, deps func(StepID) []StepID) []StepID {
	const (
		open   = 1
		closed = 2
	)
	seen := map[StepID]int{}
	type frame struct {
		id   StepID
		rest []StepID
	}
	for _, root := range start {
		if seen[root] != 0 {
			continue
		}
		seen[root] = open
		stack := []frame{{root, deps(root)}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.rest) == 0 {
				seen[top.id] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			next := top.rest[0]
			top.rest = top.rest[1:]
			switch seen[next] {
			case 0:
				seen[next] = open
				stack = append(stack, frame{next, deps(next)})
			case open:
				var path []StepID
				for _, f := range stack {
					if len(path) > 0 || f.id == next {
						path = append(path, f.id)
					}
				}
				return append(path, next)
			}
		}
	}
	return nil
}

// cyclePath writes a cycle for a message: S001 -> S002 -> S001.
func cyclePath(ids []StepID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	if len(words) > 12 {
		words = append(append(words[:8:8], "…"), words[len(words)-3:]...)
	}
	return strings.Join(words, " -> ")
}

// ListIDs returns all ids in a list with commas.
func ListIDs(ids []StepID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	return strings.Join(words, ", ")
}

// IDs writes step ids for a message: "S001", "S001 and S002", "S001, S002 and 3 more".
func IDs(ids []StepID) string {
	const shown = 5
	words := make([]string, 0, shown)
	for _, id := range ids[:min(len(ids), shown)] {
		words = append(words, id.String())
	}
	switch {
	case len(ids) > shown:
		return strings.Join(words, ", ") + " and " + strconv.Itoa(len(ids)-shown) + " more"
	case len(words) < 2:
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func cycleError(field string, cycle []StepID) error {
	return &ValidationError{Kind: InvalidInput, Field: field,
		Problem: "the dependencies run in a circle: " + cyclePath(cycle), Fix: "drop one of them"}
}

// dedupe returns ids without repetitions, in order.
func dedupe(ids []StepID) []StepID {
	out := ids[:0:0] // erasing all is told from naming none
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
