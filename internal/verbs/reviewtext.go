package verbs

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/planloop/planloop/plan"
)

// ReviewText is a plan as a person is to see it before deciding: everything the digest
// covers, nothing shortened. With a former draft, what differs comes first.
func ReviewText(p, former *plan.Plan) string {
	text := whole(p)
	if former == nil {
		return text
	}
	before := whole(former)
	if before == text {
		return text
	}
	return "What has changed since it was shown:\n" + changes(p, former) + "\nThe whole plan:\n" + text
}

// changes is what differs between two plans, step by step, in lines that begin with
// + and -.
func changes(p, former *plan.Plan) string {
	text := diff(head(former), head(p))
	for step := range p.Steps.All() {
		if old, ok := former.Steps.Get(step.ID); !ok {
			text += marked("+", wholeStep(step))
		} else if wholeStep(old) != wholeStep(step) {
			text += diff(wholeStep(old), wholeStep(step))
		}
	}
	for old := range former.Steps.All() {
		if _, ok := p.Steps.Get(old.ID); !ok {
			text += marked("-", wholeStep(old))
		}
	}
	return text + diff(tailOf(former), tailOf(p))
}

func marked(sign, text string) string {
	return sign + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+sign) + "\n"
}

// diff is the difference of two texts in lines, with one line around each change.
func diff(before, after string) string {
	if before == after {
		return ""
	}
	edits := udiff.Lines(before, after)
	unified, err := udiff.ToUnified("shown", "now", before, edits, 1)
	if err != nil {
		return "" // the whole plan follows all the same
	}
	var lines []string
	for line := range strings.Lines(unified) {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

func whole(p *plan.Plan) string {
	text := head(p)
	for step := range p.Steps.All() {
		text += wholeStep(step)
	}
	return text + tailOf(p)
}

// head is what a plan is about.
func head(p *plan.Plan) string {
	if p.Summary == "" { // a draft that was imported has an objective alone
		return "Plan: " + indented(p.Objective) + "\n"
	}
	text := "Plan: " + indented(p.Summary) + "\n"
	if p.Objective != "" && p.Objective != strings.TrimSuffix(p.Summary, ".") {
		text += "Objective: " + indented(p.Objective) + "\n"
	}
	return text
}

// tailOf is what stands behind the steps.
func tailOf(p *plan.Plan) string {
	var b strings.Builder
	for _, question := range p.Questions {
		fmt.Fprintf(&b, "Question: %s\n", indented(question))
	}
	if p.ContextNotes != "" {
		fmt.Fprintf(&b, "Findings: %s\n", indented(p.ContextNotes))
	}
	return b.String()
}

// indented keeps a text's further lines from posing as lines of the plan.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// wholeStep is a step with all its spec says, the risk in front.
func wholeStep(step *plan.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s %s%s\n", int(step.ID), riskMark(step.Risk), step.Title, toolList(step.Tools))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "   %s: %s\n", name, strings.ReplaceAll(text, "\n", "\n     "))
		}
	}
	for _, f := range plan.SpecFields() {
		switch {
		case f.Name == "title" || f.Name == "risk" || f.Name == "tools": // above
		case f.Kind == plan.FlagField && len(f.Texts(step)) > 0:
			line(f.Label, f.Help)
		default:
			for _, text := range f.Texts(step) {
				line(f.Label, text)
			}
		}
	}
	return b.String()
}

// riskMark is the risk as people see it at a glance (chorus: risk indicator).
func riskMark(r plan.Risk) string {
	switch r {
	case "":
		return "[risk not said]"
	case plan.HighRisk:
		return "[HIGH RISK]"
	}
	return "[" + string(r) + " risk]"
}

func toolList(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " (tools: " + strings.Join(tools, ", ") + ")"
}

// noticeSteps is the steps as a notice shows them.
func noticeSteps(p *plan.Plan) []NoticeStep {
	var steps []NoticeStep
	for step := range p.Steps.All() {
		steps = append(steps, NoticeStep{ID: step.ID.String(), Title: step.Title + toolList(step.Tools), Risk: step.Risk})
	}
	return steps
}
