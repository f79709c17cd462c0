package verbs

import (
	"strings"

	"github.com/planloop/planloop/plan"
)

// TaskStatus is a status in the words of planloop's JSON contract.
type TaskStatus string

// The statuses of a task (planloop: API Contract).
const (
	Todo      TaskStatus = "TODO"
	Doing     TaskStatus = "IN_PROGRESS"
	Complete  TaskStatus = "DONE"
	CalledOff TaskStatus = "CANCELLED"
)

// Values lists the statuses in order.
func (TaskStatus) Values() []string { return []string{"TODO", "IN_PROGRESS", "DONE", "CANCELLED"} }

// taskStatus returns the contract's word for a step's status.
func taskStatus(status plan.StepStatus) TaskStatus {
	switch status {
	case plan.InProgress:
		return Doing
	case plan.Done:
		return Complete
	case plan.Skipped, plan.Cancelled:
		return CalledOff
	}
	return Todo
}

// stepStatus returns our word for one of the contract.
func (t TaskStatus) stepStatus() plan.StepStatus {
	switch t {
	case Doing:
		return plan.InProgress
	case Complete:
		return plan.Done
	case CalledOff:
		return plan.Cancelled
	}
	return plan.Pending
}

// Task is a step in the shape of planloop's JSON contract. The fields after the
// first seven are additions.
type Task struct {
	ID                int           `json:"id"`
	Title             string        `json:"title"`
	Type              plan.StepType `json:"type,omitempty"`
	Status            TaskStatus    `json:"status"`
	Dependencies      []int         `json:"dependencies"`
	ContextHints      []string      `json:"context_hints"`
	RelevantFilePaths []string      `json:"relevant_file_paths"`

	State              plan.StepStatus `json:"state,omitempty"` // where the contract's word does not tell it
	Details            string          `json:"details,omitempty"`
	Creates            []string        `json:"creates,omitempty"`
	AcceptanceCriteria []string        `json:"acceptance_criteria,omitempty"`
	Verify             string          `json:"verify,omitempty"`
	Risk               plan.Risk       `json:"risk,omitempty"`
	SuggestedAgent     string          `json:"suggested_agent,omitempty"`
	WaitingOn          []int           `json:"waiting_on,omitempty"`
	ClaimedBy          string          `json:"claimed_by,omitempty"`
	Notes              []string        `json:"notes,omitempty"` // the last ones
	Error              string          `json:"error,omitempty"`
	More               string          `json:"more,omitempty"` // what was left out, and where it can be read
}

// bounds say how much of a task is shown.
type bounds struct {
	list, line, text, notes int
}

// wholeTask bounds a task on the command line, briefTask one that a model is shown.
func wholeTask() bounds {
	return bounds{list: plan.MaxList, line: plan.MaxLongLine, text: plan.MaxLongText, notes: 3}
}

func briefTask() bounds { return bounds{list: 4, line: 90, text: 160, notes: 1} }

// task returns a step of a plan in the contract's shape.
func task(p *plan.Plan, step *plan.Step, b bounds) Task {
	cut := 0
	lines := func(in []string) []string {
		out := make([]string, 0, min(len(in), b.list))
		for _, line := range in[:min(len(in), b.list)] {
			short := plan.Shorten(line, b.line)
			if short != line {
				cut++
			}
			out = append(out, short)
		}
		cut += len(in) - len(out)
		return out
	}
	text := func(in string, n int) string {
		short := plan.Shorten(in, n)
		if short != in {
			cut++
		}
		return short
	}
	t := Task{
		ID: int(step.ID), Title: text(step.Title, b.text), Type: step.Type, Status: taskStatus(step.Status),
		Dependencies: numbers(step.DependsOn), ContextHints: lines(step.ContextHints), RelevantFilePaths: lines(step.RelevantFilePaths),
		Details: text(step.Details, b.text), Creates: lines(step.Creates), AcceptanceCriteria: lines(step.AcceptanceCriteria),
		Verify: text(step.Verify, b.text), Risk: step.Risk, SuggestedAgent: step.SuggestedAgent,
		ClaimedBy: step.ClaimedBy, Error: text(step.Error, b.text),
		Notes: lines(step.Notes[max(0, len(step.Notes)-b.notes):]),
	}
	if t.Status.stepStatus() != step.Status {
		t.State = step.Status
	}
	if !step.Status.Finished() {
		t.WaitingOn = numbers(p.Steps.WaitingOn(step.ID))
	}
	if len(t.WaitingOn) == 0 {
		t.WaitingOn = nil
	}
	if cut > 0 {
		t.More = "shortened; whole at plan://steps/" + step.ID.String()
	}
	return t
}

func numbers(ids []plan.StepID) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}

// lines writes what a task says beside its title, a line for each field.
func (t Task) lines() string {
	var b strings.Builder
	line := func(name string, values ...string) {
		if text := strings.Join(values, "; "); text != "" {
			b.WriteString("\n" + name + ": " + text)
		}
	}
	line("Details", t.Details)
	line("Hints", t.ContextHints...)
	line("Files", strings.Join(t.RelevantFilePaths, ", "))
	line("Creates", strings.Join(t.Creates, ", "))
	line("Criteria", t.AcceptanceCriteria...)
	line("Verify", t.Verify)
	line("Risk", string(t.Risk))
	line("Last note", t.Notes...)
	line("Error", t.Error)
	line("More", t.More)
	return b.String()
}
