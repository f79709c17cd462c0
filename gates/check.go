package gates

import (
	"context"
	"strings"
)

// Check asks the gates about a candidate and reports everything they find. It only
// reads, looks at each path once, and fails only when ctx ends.
func Check(ctx context.Context, c Candidate, opts Options) (Report, error) {
	report := Report{Findings: []Finding{}, Digest: c.Digest()}
	e := examine(c, opts)
	asked := e.asked(opts)
	for i, t := range c.New {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if c.isMeta(t) {
			continue // it asks for the plan that the gates are there for
		}
		for _, g := range asked {
			report.Findings = append(report.Findings, e.findings(ctx, g, i)...)
		}
	}
	if err := e.consult(ctx, opts, &report); err != nil {
		return Report{}, err
	}
	report.Score = score(c.New, report.Findings)
	return report, ctx.Err()
}

// examination is what is known of a candidate while it is checked. It belongs to
// one call of Check.
type examination struct {
	Candidate
	tree   *tree // nil without files
	made   *creations
	cycles map[int]string // by the first task of each
	twins  map[int]twin
	graph  graph
}

func examine(c Candidate, opts Options) *examination {
	e := &examination{Candidate: c, graph: newGraph(c)}
	e.cycles, e.twins = e.graph.cycles(c), twins(c)
	if opts.Files != nil {
		e.tree, e.made = newTree(opts.Files), newCreations(c, e.graph)
	}
	return e
}

// leveled is a gate that is asked, with its level.
type leveled struct {
	gate
	level Level
}

// asked lists the gates that look at single tasks and are not off.
func (e *examination) asked(opts Options) []leveled {
	var list []leveled
	for _, g := range all() {
		if level := opts.level(g.name); level != Off && g.check != nil {
			list = append(list, leveled{g, level})
		}
	}
	return list
}

func (o Options) level(gate string) Level {
	if o.Level != nil {
		if level := o.Level(gate); level.known() {
			return level
		}
	}
	return ByProfile(Default, gate)
}

func (e *examination) findings(ctx context.Context, g leveled, i int) []Finding {
	var list []Finding
	for _, f := range g.check(ctx, e, i) {
		list = append(list, Finding{
			Gate: g.name, Level: g.level,
			Task: printable(strings.TrimSpace(e.New[i].Title), titleShown), Step: e.New[i].ID,
			Message: e.label(i) + " " + f.message, Fix: f.fix, verbatim: f.verbatim,
		})
	}
	return list
}
