package gates

import (
	"cmp"
	"context"
	"slices"
	"strings"

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
	given := e.New[0].ID.String()
	if last := e.New[len(e.New)-1].ID; last > e.New[0].ID {
		given += " to " + last.String()
	}
	var list []flaw
	for _, reference := range unknown {
		list = append(list, flaw{
			message: "depends on a task that does not exist: " + code(reference) + ".",
			fix:     "use the id of an existing task, or for a task added in this call its future id (" + given + ") or its `ref`",
		})
	}
	return list
}

func checkDependenciesAcyclic(_ context.Context, e *examination, i int) []flaw {
	around, found := e.cycles[i]
	return flawIf(found, "is part of a circular dependency: "+around+".", "remove one of these dependencies")
}

// graph holds the dependencies among the new tasks and the existing steps. A node below tasks is a new task by its
// position, the others are steps.
type graph struct {
	tasks int
	node  map[plan.StepID]int
	deps  [][]int // by node, without unknown ones
}

func newGraph(c Candidate) graph {
	n := len(c.New)
	g := graph{tasks: n, node: make(map[plan.StepID]int, n+c.Have.Len()), deps: make([][]int, n+c.Have.Len())}
	before := make([][]plan.StepID, len(g.deps))
	for i := range c.Have.Len() {
		step := c.Have.At(i)
		g.node[step.ID], before[n+i] = n+i, step.DependsOn
	}
	for i, t := range c.New {
		g.node[t.ID], before[i] = i, t.DependsOn
	}
	for i, ids := range before {
		for _, id := range ids {
			if node, ok := g.node[id]; ok {
				g.deps[i] = append(g.deps[i], node)
			}
		}
	}
	return g
}

// cycles returns the circular dependencies among the new tasks, each listed under its first task. The first task of a
// found cycle then counts as free of dependencies, so that the next cycle is found.
func (g graph) cycles(c Candidate) map[int]string {
	found := map[int]string{}
	ids := make([]plan.StepID, g.tasks)
	for i, t := range c.New {
		ids[i] = t.ID
	}
	deps := func(id plan.StepID) []plan.StepID {
		i, ok := g.node[id]
		if !ok || i >= g.tasks || found[i] != "" {
			return nil
		}
		return c.New[i].DependsOn
	}
	for len(found) < maxCycles {
		cycle := plan.Cycle(ids, deps)
		if cycle == nil {
			break
		}
		first, written := g.write(cycle[1:])
		found[first] = written
	}
	return found
}

// maxCycles bounds the circular dependencies that are reported.
const maxCycles = 50

// write returns the first task of a cycle and the way around from there.
func (g graph) write(cycle []plan.StepID) (int, string) {
	first := slices.MinFunc(cycle, func(a, b plan.StepID) int { return cmp.Compare(g.node[a], g.node[b]) })
	start := slices.Index(cycle, first)
	var names []string
	for _, id := range slices.Concat(cycle[start:], cycle[:start+1]) {
		names = append(names, id.String())
	}
	if len(names) > 12 {
		names = slices.Concat(names[:8], []string{"…"}, names[len(names)-3:])
	}
	return g.node[first], strings.Join(names, " -> ")
}
