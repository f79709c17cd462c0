package prompts

import (
	"fmt"
	"strings"
)

// ApprovedPlanData is an approved plan to be carried out.
type ApprovedPlanData struct {
	Steps []ApprovedStep
	Done  int // steps that are done and not shown
	Left  int // further steps that are not shown
}

// ApprovedStep is a step of an approved plan.
type ApprovedStep struct {
	Number int
	Title  string
	Tools  []string
}

// ApprovedPlan returns the plan as guidance for whoever carries it out, in the words
// of the specification (chorus: Plan injection during execution). Nothing in a title
// can end the section.
func ApprovedPlan(d ApprovedPlanData) string {
	var lines []string
	for _, step := range d.Steps {
		line := fmt.Sprintf("%d. %s", step.Number, inert(step.Title))
		if len(step.Tools) > 0 {
			line += " (tools: " + inert(strings.Join(step.Tools, ", ")) + ")"
		}
		lines = append(lines, line)
	}
	return mustRender("approved_plan", struct {
		Lines      []string
		Done, Left int
	}{lines, d.Done, d.Left})
}

// inert is text on one line that opens and closes no tag.
func inert(text string) string {
	return strings.NewReplacer("<", "(", ">", ")").Replace(strings.Join(strings.Fields(text), " "))
}
