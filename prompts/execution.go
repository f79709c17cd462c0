package prompts

import (
	"cmp"
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
		Material []material
		HasTools bool
	}{
		PlanWithToolsData: d, HasTools: len(d.Tools) > 0,
		Material: present(
			section("User's request", "", quote("", "text", d.Request, linesLimit)),
			section("Workspace contents", "", quote("", "text", d.Tree, maxTree)),
			section("Available tools", "Behind each stands what it takes: what has a question mark may be left out, and what names no "+
				"type is text.", quoteList(tools, maxTools)),
			documents("Existing code", "", d.Code, maxCode),
			section("Memories", "What earlier work taught; it may be out of date.", quoteList(d.Memories, maxMemories)),
			section("Constraints", "The plan keeps to these.", quoteList(d.Constraints, maxConstraints)),
		),
	})
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
func Recover(d RecoverData) string {
	title := "Step failed"
	if d.Happened != "" {
		title = "Step of which nobody knows"
	}
	return mustRender("recover_step", struct {
		RecoverData
		Material []material
		HasTool  bool
	}{
		RecoverData: d, HasTool: d.Tool != "",
		Material: present(
			section(title, "", quote("", "text", d.Step, maxItem)),
			section("Error", "", quote("", "text", cmp.Or(d.Error, "(none was recorded)"), maxDocument)),
			section("What was run", "", quote("", "text", d.Tool, maxItem), quote("Its args:", "json", d.Args, maxDocument)),
			section("What earlier attempts left", "", quoteList(d.Notes, maxFindings), quote("Output:", "text", d.Output, maxDocument)),
		),
	})
}

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
func Replan(d ReplanData) string {
	return mustRender("replan", struct {
		ReplanData
		Material []material
	}{
		ReplanData: d,
		Material: present(
			section("Goal", "", quote("", "text", d.Goal, goalLimit)),
			section("Original plan", "", quote("", "text", d.Steps, maxJudgedTasks)),
			section("Step that failed", "", quote("", "text", d.Failed, maxItem)),
			section("Error", "", quote("", "text", d.Error, maxDocument)),
			section("Discoveries", "", quoteList(d.Discoveries, maxFindings)),
			section("Constraints", "The new plan keeps to these.", quoteList(d.Constraints, maxConstraints)),
		),
	})
}
