package prompts

import (
	"fmt"
	"slices"
	"strings"
)

// Section returns the planning section for a strategy: Markdown under a single second-level heading, without a trailing
// newline, for use next to other sections. Strategies differ only in the closing mindset.
func Section(s Strategy) string {
	mindset := mustRender("mindset_"+string(s.orDefault()), nil)
	return mustRender("section", struct{ Mindset string }{mindset})
}

// Instructions returns a server's instructions for its client: a first line that says when to use planloop, for hosts
// that load only tool names and instructions, and a digest of the [Section] and of the rules for agents. They have at
// most 400 tokens and 2,000 bytes. They name only tools of the offered toolsets, and recommend planning mode if "mode"
// is one of them; nil means planning, loop and mode.
func Instructions(s Strategy, toolsets []string) string {
	offered := func(toolset string) bool { return toolsets == nil || slices.Contains(toolsets, toolset) }
	return mustRender("instructions", struct {
		Planning, Loop, Mode bool
		Mindset              string
	}{offered("planning"), offered("loop"), offered("mode"), mustRender("mindset_"+string(s.orDefault()), nil)})
}

// ApprovedPlanData is an approved plan for execution.
type ApprovedPlanData struct {
	Steps []ApprovedStep
	Done  int // finished steps not shown
	Left  int // further steps not shown

	Said []string // people's comments on the whole plan

	ReadOn string // the call that shows the rest of steps shown by title only; "" if all are whole
}

// ApprovedStep is a step of an approved plan.
type ApprovedStep struct {
	Number int
	Title  string
	Tools  []string
	Remark string   // about the step, such as that the approver has not seen it; may be empty
	Lines  []string // its other fields, if the plan is shown whole
}

// ApprovedPlan returns the plan as guidance for its agents. Text of the plan cannot end the section.
func ApprovedPlan(d ApprovedPlanData) string {
	var lines []string
	for _, step := range d.Steps {
		line := fmt.Sprintf("%d. %s", step.Number, inert(step.Title))
		if len(step.Tools) > 0 {
			line += " (tools: " + inert(strings.Join(step.Tools, ", ")) + ")"
		}
		if step.Remark != "" {
			line += " (" + step.Remark + ")"
		}
		lines = append(lines, line)
		for _, more := range step.Lines {
			lines = append(lines, "   "+inert(more))
		}
	}
	said := make([]string, len(d.Said))
	for i, text := range d.Said {
		said[i] = inert(text)
	}
	return mustRender("approved_plan", struct {
		Lines, Said []string
		Done, Left  int
		ReadOn      string
	}{lines, said, d.Done, d.Left, d.ReadOn})
}

// inert returns text on one line without tags.
func inert(text string) string {
	return strings.NewReplacer("<", "(", ">", ")").Replace(strings.Join(strings.Fields(text), " "))
}
