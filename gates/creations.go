package gates

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/plan"
)

// creations holds the paths that the tasks of a plan will create.
type creations struct {
	graph   graph
	exact   map[string][]int // path, and every directory above it → its creators
	inside  map[string][]int // created directory → its creators, for paths in it
	created []creation
	before  reach
	left    int // comparisons still allowed

	patterns []creation // the patterns among created
}

type creation struct {
	path string
	by   int
	glob bool
}

// maxComparisons bounds the work on plans in which everything creates everything.
const maxComparisons = 5_000_000

func newCreations(c Candidate, g graph) *creations {
	m := &creations{graph: g, exact: map[string][]int{}, inside: map[string][]int{}, left: maxComparisons,
		before: reach{mark: make([]int, len(g.deps))}}
	for i, t := range c.New {
		m.add(i, t.Creates)
	}
	for i := range c.Have.Len() {
		if step := c.Have.At(i); step.Status != plan.Skipped && step.Status != plan.Cancelled {
			m.add(g.tasks+i, step.Creates)
		}
	}
	return m
}

func (m *creations) add(by int, paths []string) {
	for _, given := range paths {
		p, fault := locate(given)
		if fault != "" || p == "." {
			continue
		}
		c := creation{p, by, isGlob(p) && simple(p)}
		m.created = append(m.created, c)
		if c.glob {
			m.patterns = append(m.patterns, c)
		}
		for up := p; up != "."; up = path.Dir(up) {
			m.exact[up] = with(m.exact[up], by)
		}
		if path.Ext(p) == "" || strings.HasSuffix(strings.TrimSpace(given), "/") {
			m.inside[p] = with(m.inside[p], by)
		}
	}
}

func with(list []int, by int) []int {
	if n := len(list); n > 0 && list[n-1] == by {
		return list
	}
	return append(list, by)
}

// covers reports whether a path is created by the task, or by one it depends on, directly or through others.
func (m *creations) covers(task int, p string) bool {
	if len(m.created) == 0 {
		return false
	}
	m.before.from(task, m.graph)
	if m.among(m.exact[p]) {
		return true
	}
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		if m.among(m.inside[up]) {
			return true
		}
	}
	return m.matches(p)
}

func (m *creations) among(creators []int) bool {
	for _, by := range creators {
		if m.left--; m.left < 0 {
			return false
		}
		if m.before.has(by) {
			return true
		}
	}
	return false
}

// matches reports whether a path and a created path match as patterns.
func (m *creations) matches(p string) bool {
	wanted, list := isGlob(p) && simple(p), m.patterns
	if wanted {
		list = m.created
	}
	for _, c := range list {
		if m.left--; m.left < 0 {
			return false
		}
		if !m.before.has(c.by) {
			continue
		}
		if c.glob && doublestar.MatchUnvalidated(c.path, p) || wanted && doublestar.MatchUnvalidated(p, c.path) {
			return true
		}
	}
	return false
}

// reach is the set of a task and everything before it, cached for the last task asked about, because tasks are checked
// one after another.
type reach struct {
	task int // counted from 1, which is also the mark of its members
	mark []int
}

func (r *reach) from(task int, g graph) {
	if r.task == task+1 {
		return
	}
	r.task = task + 1
	r.mark[task] = r.task
	for open := []int{task}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		for _, dep := range g.deps[next] {
			if r.mark[dep] != r.task {
				r.mark[dep] = r.task
				open = append(open, dep)
			}
		}
	}
}

func (r *reach) has(node int) bool { return r.mark[node] == r.task }
