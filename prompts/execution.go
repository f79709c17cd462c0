package prompts

import (
	"cmp"
	"strings"
)

// ToolLine is a tool that steps of a plan can use.
type ToolLine struct {
	Name        string
	Description string
	Takes       string // its arguments, in short
}

// PlanWithToolsData is what the prompt plan_with_tools tells (Execution: LLM Prompt). All
// text is quoted as data; empty fields are left out.
type PlanWithToolsData struct {
	Request     string
	Tree        string // summary of the files in the workspace
	Tools       []ToolLine
	Code        []Document // existing code that matters
	Memories    []string
	Constraints []string
	Submit      string // the call that hands the plan in
}

// PlanWithTools returns the prompt that turns a request into steps that tools carry out.
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

// RecoverData is what the prompt recover_step tells (Execution: Ask LLM). The caller
// bounds the texts, which are quoted as data; empty fields are left out.
type RecoverData struct {
	Step   string // id and description
	Error  string
	Tool   string // with Args, JSON: what was run; "" for an agent's step
	Args   string
	Notes  []string // what earlier attempts left
	Output string

	Retry, Skip, Insert, Abort string // the calls that choose
	Happened                   string // the call that says that the work is done; "" where it is known that the step failed
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

// ReplanData is what the prompt replan tells (rawko: ReplanInput). The caller bounds the
// texts, which are quoted as data; empty fields are left out.
type ReplanData struct {
	Goal        string
	Steps       string // the original plan: each step with its status and what came of it
	Failed      string // id and description of the step that failed
	Error       string
	Discoveries []string
	Constraints []string
	Submit      string // the call that hands the new plan in
	Version     int    // that it becomes
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
