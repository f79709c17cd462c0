package resources

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/planloop/planloop/plan"
)

// Limits of a graph. Mermaid itself refuses more than 500 edges or 50,000 characters.
const (
	maxNodes     = 500
	maxEdges     = 500
	maxLabel     = 40
	maxGraphText = 48_000
)

// Mermaid returns the steps of the current plan and their dependencies as a flowchart, with statuses as classes. Of a
// plan that is too large it leaves out finished steps first and says how many are missing.
func Mermaid(s plan.State) []byte {
	g := &graph{}
	g.line("flowchart TD")
	if s.Plan == nil || s.Plan.Steps.Len() == 0 {
		g.line(`  none["No steps yet"]`)
	} else {
		g.draw(s.Plan.Steps)
	}
	return []byte(g.out.String())
}

type graph struct{ out strings.Builder }

func (g *graph) line(text string) { g.out.WriteString(text + "\n") }

func (g *graph) draw(steps plan.Steps) {
	nodes, shown := g.nodes(steps)
	if left := steps.Len() - len(nodes); left > 0 {
		g.line(fmt.Sprintf(`  more["%d more steps are not shown"]`, left))
	}
	edges, hidden := 0, 0
	for _, step := range nodes {
		if loop := step.Loop(); shown[loop] && edges < maxEdges {
			g.line("  " + loop.String() + " -.- " + step.ID.String())
			edges++
		}
		for _, dep := range step.DependsOn {
			switch {
			case !shown[dep], step.Loop() != 0: // an instance's dependencies are drawn for its loop
			case edges == maxEdges || g.out.Len() > maxGraphText:
				hidden++
			default:
				g.line("  " + dep.String() + " --> " + step.ID.String())
				edges++
			}
		}
	}
	if hidden > 0 {
		g.line(fmt.Sprintf(`  edges["%d more dependencies are not shown"]`, hidden))
	}
	for _, class := range []string{
		"pending fill:#f5f5f5,stroke:#777,color:#111",
		"in_progress fill:#dbeafe,stroke:#1d4ed8,color:#111",
		"blocked fill:#fef3c7,stroke:#b45309,color:#111",
		"done fill:#dcfce7,stroke:#15803d,color:#111",
		"failed fill:#fee2e2,stroke:#b91c1c,color:#111",
		"skipped fill:#e5e5e5,stroke:#999,color:#555,stroke-dasharray:4",
		"cancelled fill:#e5e5e5,stroke:#999,color:#555,stroke-dasharray:4",
	} {
		g.line("  classDef " + class)
	}
}

// nodes writes the steps that fit and returns them. It uses two thirds of the text and leaves the rest to their
// dependencies.
func (g *graph) nodes(steps plan.Steps) ([]*plan.Step, map[plan.StepID]bool) {
	leaveOut := steps.Len() - maxNodes
	var nodes []*plan.Step
	shown := map[plan.StepID]bool{}
	for step := range steps.All() {
		if leaveOut > 0 && step.Status.IsFinished() {
			leaveOut--
			continue
		}
		if len(nodes) == maxNodes || g.out.Len() > maxGraphText*2/3 {
			break
		}
		g.line(fmt.Sprintf(`  %s["%s %s"]:::%s`, step.ID, step.ID, label(step.Title), step.Status))
		nodes, shown[step.ID] = append(nodes, step), true
	}
	return nodes, shown
}

// label returns text for a quoted label. Everything except letters, digits and harmless punctuation is written as
// Mermaid's character code, so that text cannot end the label, open markup or be a directive.
func label(text string) string {
	var b strings.Builder
	for _, r := range plan.Shorten(text, maxLabel) {
		word := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
		if word && !plan.IsInvisible(r) || strings.ContainsRune(" .,-_/'?…", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
