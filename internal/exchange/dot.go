package exchange

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/plan"
)

// maxDOTTitle bounds a title in a graph.
const maxDOTTitle = 60

// dotGraph draws a plan for Graphviz: an edge leads from a step to those that wait for it.
func dotGraph(p *plan.Plan) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph plan {\n  label=%s;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n", dotText(p.Objective))
	colours := map[plan.StepStatus]string{plan.InProgress: "#dbeafe", plan.Blocked: "#fef3c7", plan.Done: "#dcfce7",
		plan.Failed: "#fee2e2", plan.Skipped: "#e5e5e5", plan.Cancelled: "#e5e5e5"}
	for step := range p.Steps.All() {
		fmt.Fprintf(&b, "  %s [label=%s", step.ID, dotText(step.ID.String()+" "+plan.Shorten(step.Title, maxDOTTitle)))
		if colour := colours[step.Status]; colour != "" {
			fmt.Fprintf(&b, ", fillcolor=%q, tooltip=%q", colour, step.Status.Spaced())
		}
		b.WriteString("];\n")
	}
	for step := range p.Steps.All() {
		for _, dep := range step.DependsOn {
			fmt.Fprintf(&b, "  %s -> %s;\n", dep, step.ID)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// dotText is a text as a quoted string of DOT, in which a backslash leads an escape and an ampersand an entity.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`).Replace(text) + `"`
}
