package gates

import (
	"context"
	"slices"

	"github.com/planloop/planloop/plan"
)

func checkDependenciesKnown(_ context.Context, e *examination, i int) []flaw {
	task := e.New[i]
	unknown := slices.Clone(task.Unknown)
	for _, id := range task.DependsOn {
		if _, ok := e.graph.node[id]; !ok {
			unknown = append(unknown, id.String())
		}
	}
	var list []flaw
	for _, reference := range unknown {
		list = append(list, flaw{
			message: "depends on a task that does not exist: " + code(reference) + ".",
			fix:     "name a task of the plan by its id, or one that is added with it by the id it will get (" + e.idsGiven() + ") or by its `ref`",
		})
	}
	return list
}

// idsGiven says which ids the new tasks will get.
func (e *examination) idsGiven() string {
	first, last := e.New[0].ID, e.New[len(e.New)-1].ID
	if len(e.New) == 1 || first >= last {
		return plan.IDs([]plan.StepID{first})
	}
	return first.String() + " to " + last.String()
}

func checkDependenciesAcyclic(_ context.Context, e *examination, i int) []flaw {
	around, ok := e.cycles[i]
	if !ok {
		return nil
	}
	return []flaw{{message: "is part of a circular dependency: " + around + ".", fix: "remove one of these dependencies"}}
}
