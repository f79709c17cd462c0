package prompts

import (
	"strings"
)

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
