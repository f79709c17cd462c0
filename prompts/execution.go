package prompts

import (
	"fmt"
	"strings"
)

// ToolLine is a tool for steps of a plan.
type ToolLine struct {
	Name        string
	Description string
	Takes       string // its arguments, in short
}

// PlanWithToolsData is the data of the prompt plan_with_tools (Execution: LLM Prompt). All text is quoted as data;
// empty fields are left out.
type PlanWithToolsData struct {
	Request     string
	Tree        string // summary of the files in the workspace
	Tools       []ToolLine
	Code        []Document // relevant existing code
	Memories    []string
	Constraints []string
	Submit      string // the call that submits the plan
}

// PlanWithTools returns the prompt that turns a request into steps for tools.
func PlanWithTools(d PlanWithToolsData) string {
	tools := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		tools[i] = strings.TrimSpace(t.Name + ": " + t.Description + " " + t.Takes)
	}
	return mustRender("plan_with_tools", struct {
		PlanWithToolsData
		ToolLines []string
	}{d, tools})
}

// RecoverData is the data of the prompt recover_step (Execution: Ask LLM). The caller limits the texts, which are
// quoted as data; empty fields are left out.
type RecoverData struct {
	Step   string // id and description
	Error  string
	Tool   string // the tool that ran, with Args as JSON; "" for an agent's step
	Args   string
	Notes  []string // from earlier attempts
	Output string

	Retry, Skip, Insert, Abort string // the calls for each choice
	Happened                   string // the call that reports the work as done; "" if the step is known to have failed
	Waiting                    string // ids of the steps that wait for this one
}

// Recover returns the prompt that asks what to do about a failed step.
func Recover(d RecoverData) string { return mustRender("recover_step", d) }

// ReplanData is the data of the prompt replan (rawko: ReplanInput). The caller limits the texts, which are quoted as
// data; empty fields are left out.
type ReplanData struct {
	Goal        string
	Steps       string // the original plan: each step with status and result
	Failed      string // id and description of the failed step
	Error       string
	Discoveries []string
	Constraints []string
	Submit      string // the call that submits the new plan
	Version     int    // of the new plan
}

// Replan returns the prompt that asks for the next version of a plan.
func Replan(d ReplanData) string { return mustRender("replan", d) }

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
