package prompts

import (
	"strings"
)

// ArbiterData is what an agent is chosen by (rawko: ArbiterContext).
type ArbiterData struct {
	Task string
	Plan *ArbiterPlan // nil: there is none
}

// ArbiterPlan is a plan as the arbiter sees it.
type ArbiterPlan struct {
	Status      string // in rawko's words
	Done, Total int
	Current     *ArbiterStep // nil when no step is left
	Remaining   []ArbiterStep
	Left        int // remaining steps that are not shown
}

// ArbiterStep is a step by its place in the plan, from 1.
type ArbiterStep struct {
	Number             int
	Description        string
	SuggestedAgent     string
	AcceptanceCriteria []string
}

// Arbiter returns the task and its plan in the headings and lines that rawko gives them
// (rawko: buildArbiterPrompt). Each text takes one line, so that none poses as a heading.
func Arbiter(d ArbiterData) string {
	d.Task = plainLine(d.Task)
	if d.Plan != nil {
		p := *d.Plan
		if p.Current != nil {
			current := p.Current.onLines()
			p.Current = &current
		}
		p.Remaining = make([]ArbiterStep, len(d.Plan.Remaining))
		for i, step := range d.Plan.Remaining {
			p.Remaining[i] = step.onLines()
		}
		d.Plan = &p
	}
	return mustRender("arbiter", d)
}

func (s ArbiterStep) onLines() ArbiterStep {
	criteria := make([]string, len(s.AcceptanceCriteria))
	for i, criterion := range s.AcceptanceCriteria {
		criteria[i] = inLine(criterion)
	}
	return ArbiterStep{s.Number, inLine(s.Description), inLine(s.SuggestedAgent), criteria}
}

// inLine returns text as it is, but on one line.
func inLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(quotable(text)), "\n", " ")
}

// plainLine is inLine for a line of its own: what Markdown would take for a heading, a
// fence or HTML is escaped.
func plainLine(text string) string {
	line := inLine(text)
	if line != "" && strings.Contains("#`~<", line[:1]) {
		return `\` + line
	}
	return line
}

// SelectAgentData is what the prompt select_agent tells. What stands beside the arbiter's
// text is quoted as data; empty fields are left out.
type SelectAgentData struct {
	ArbiterData
	History   []string // what was done, by whom and with which outcome, the newest last
	LastError string
	Agents    []string // whom the plan names

	Step          string // id of the current step; "" when there is none
	Choose, Begin string // the calls that record the choice and begin the step
}

// SelectAgent returns the prompt that asks which agent is to do the current step.
func SelectAgent(d SelectAgentData) string {
	return mustRender("select_agent", struct {
		SelectAgentData
		Arbiter  string
		HasPlan  bool
		Material []material
	}{
		SelectAgentData: d, Arbiter: Arbiter(d.ArbiterData), HasPlan: d.Plan != nil,
		Material: present(
			section("History", "The newest stands last.", quoteList(d.History, maxFindings)),
			section("Last error", "", quote("", "text", d.LastError, maxItem)),
			section("Agents that the plan names", "", quoteList(d.Agents, maxConstraints)),
		),
	})
}
