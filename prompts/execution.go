package prompts

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/safetext"
)

// PlanWithToolsData is the data of the prompt plan_with_tools (Execution: LLM Prompt). All text is quoted as data;
// empty fields are left out.
type PlanWithToolsData struct {
	Request     string
	Tree        string     // summary of the files in the workspace
	Tools       []string   // each ends with its arguments, in short
	Code        []Document // relevant existing code
	Memories    []string
	Constraints []string
	Submit      string // the call that submits the plan
}

// PlanWithTools returns the prompt that turns a request into steps for tools.
func PlanWithTools(d PlanWithToolsData) string { return mustRender("plan_with_tools", d) }

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

	Said []string // on the whole plan: constraints, reasoning, people's comments

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

// ApprovedPlan returns the plan as guidance for its agents, with the exact texts, escaped by safetext.EscapeTags.
func ApprovedPlan(d ApprovedPlanData) string { return mustRender("approved_plan", d) }

// tagged returns text for a section between tags, which it cannot end; its further lines are marked.
func tagged(text string) string { return safetext.AfterLabel(safetext.EscapeTags(text)) }

// WorkData is the data for an agent that planloop starts for one step. The caller limits the texts, which are quoted;
// empty fields are left out.
type WorkData struct {
	ArbiterData
	Agent string // its configured name
	Step  string // id of the step
	Task  string // its number in the calls that report
	Nonce string // of the attempt

	Whole       string   // the fields of the step that the arbiter's text does not have
	Constraints []string // of the plan
	Said        []string // by the user since the plan began, the newest last
	Needed      []string // the outcomes of the steps it depends on
	Done        []string // the outcomes of other steps of the run, the newest last

	Attempt int    // from 1; Error, Output and Changed are from the previous one
	Error   string // why it ended
	Output  string // its last output
	Changed []string

	Verified bool // a command of the step verifies it once it is reported as done
}

// WorkOnStep returns everything an agent needs to do one step in a context of its own. The first line is the id of the
// step.
func WorkOnStep(d WorkData) string {
	nonce, _ := json.Marshal(oneLine(d.Nonce, maxItem)) // a string can always be encoded
	return mustRender("work_on_step", struct {
		WorkData
		Token string
	}{d, string(nonce)})
}

// formerReport matches the rest of a line from a report, or an example of one, also within a JSON string.
var formerReport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{?[ \t]*\\*"planloop\\*"[ \t]*:[ \t]*\\*"[0-9A-Z]{8,}.*`)
})

// withoutReports removes the nonces of other attempts, since a report with one of them would not count.
func withoutReports(text string) string { return formerReport().ReplaceAllLiteralString(text, "…") }

// itemLines returns the texts as list items, otherwise unchanged.
func itemLines(items []string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("- " + indented(item) + "\n")
	}
	return b.String()
}

// ArbiterData is the context for choosing an agent (rawko: ArbiterContext).
type ArbiterData struct {
	Task string
	Plan *ArbiterPlan // nil: no plan
}

// ArbiterPlan is a plan as the arbiter sees it.
type ArbiterPlan struct {
	Status      string // in rawko's words
	Done, Total int
	Current     *ArbiterStep // nil if no step is left
	Remaining   []ArbiterStep
	Left        int // remaining steps that are not shown
}

// ArbiterStep is a step by its position in the plan, from 1.
type ArbiterStep struct {
	Number             int
	Description        string
	SuggestedAgent     string
	AcceptanceCriteria []string
}

// Arbiter returns the task and its plan with rawko's headings and lines (rawko: buildArbiterPrompt). Each text takes
// one line, so that it cannot imitate a heading.
func (d ArbiterData) Arbiter() string { return mustRender("arbiter", d) }

// inLine returns text on one line, otherwise unchanged.
func inLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(quotable(text)), "\n", " ")
}

// plainLine is inLine for a line of its own: it escapes the beginning of a heading, a fence or HTML.
func plainLine(text string) string {
	line := inLine(text)
	if line != "" && strings.Contains("#`~<", line[:1]) {
		return `\` + line
	}
	return line
}

// SelectAgentData is the data of the prompt select_agent. The texts after the arbiter's are quoted as data; empty
// fields are left out.
type SelectAgentData struct {
	ArbiterData
	History   []string // the steps done, with agent and outcome, the newest last
	LastError string
	Agents    []string // named in the plan

	Step          string // id of the current step; "" if no step is left
	Choose, Begin string // the calls that record the choice and begin the step
}

// SelectAgent returns the prompt that asks for the agent for the current step.
func SelectAgent(d SelectAgentData) string { return mustRender("select_agent", d) }
