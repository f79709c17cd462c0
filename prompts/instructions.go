package prompts

import (
	"fmt"
	"slices"
	"strings"
)

// Section returns the planning section in the given strategy: Markdown under a
// single second-level heading, without a trailing newline, to stand beside any
// other sections. Only the closing mindset differs between strategies.
func Section(s Strategy) string {
	mindset := mustRender("mindset_"+string(s.orDefault()), nil)
	return mustRender("section", struct{ Mindset string }{mindset})
}

// Instructions returns what a server tells its client about itself: a first line
// that says when to use planloop, for hosts that load only tool names and
// instructions, and a digest of the [Section] and of the rules that agents work by,
// at most 400 tokens and 2,000 bytes long. Only the tools of the toolsets offered are
// named, and planning mode is recommended where "mode" is among them; nil means
// planning, loop and mode.
func Instructions(s Strategy, toolsets []string) string {
	offered := func(toolset string) bool { return toolsets == nil || slices.Contains(toolsets, toolset) }
	return mustRender("instructions", struct {
		Planning, Loop, Mode bool
		Mindset              string
	}{offered("planning"), offered("loop"), offered("mode"), mustRender("mindset_"+string(s.orDefault()), nil)})
}

// ApprovedPlanData is an approved plan to be carried out.
type ApprovedPlanData struct {
	Steps []ApprovedStep
	Done  int // steps that are done and not shown
	Left  int // further steps that are not shown

	Said []string // by people, of the whole

	ReadOn string // the call that shows whole what only a title is shown of; "" where nothing is
}

// ApprovedStep is a step of an approved plan.
type ApprovedStep struct {
	Number int
	Title  string
	Tools  []string
	Remark string   // said of a step, such as that the approver has not seen it; may be empty
	Lines  []string // what else it says, where the plan is told whole
}

// ApprovedPlan returns the plan as guidance for whoever carries it out. Nothing in a
// title can end the section.
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

// inert is text on one line that opens and closes no tag.
func inert(text string) string {
	return strings.NewReplacer("<", "(", ">", ")").Replace(strings.Join(strings.Fields(text), " "))
}
