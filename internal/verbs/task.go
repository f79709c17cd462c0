package verbs

import (
	"encoding/json"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// TaskStatus is a status in the words of planloop's JSON contract.
type TaskStatus string

// Words of the contract that are named here.
const (
	Doing    TaskStatus = "IN_PROGRESS"
	Complete TaskStatus = "DONE"
)

// Values lists the statuses in order.
func (TaskStatus) Values() []string { return plan.TaskStatuses() }

// Read returns the contract's word for a status in any vocabulary and spelling, ours
// where the contract has none.
func (TaskStatus) Read(word string) string {
	status := plan.ReadStatus(word)
	if task := status.Words().Task; plan.StatusOfTask(task) == status {
		return task
	}
	return string(status)
}

// taskStatus returns the contract's word for a step's status.
func taskStatus(status plan.StepStatus) TaskStatus { return TaskStatus(status.Words().Task) }

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
	tokens                  int // over all texts of the task; 0: no bound
}

// wholeTask bounds a task on the command line, briefTask one that a model is shown.
func wholeTask() bounds {
	return bounds{list: plan.MaxList, line: plan.MaxLongLine, text: plan.MaxLongText, notes: 3}
}

func briefTask() bounds { return bounds{list: 4, line: 90, text: 160, notes: 1, tokens: 84} }

// task returns a step of a plan in the contract's shape. Where room is scarce, what
// the work cannot do without comes first.
func task(p *plan.Plan, step *plan.Step, b bounds) Task {
	r := tokenBudget{bounds: b, left: b.tokens}
	t := Task{ID: int(step.ID), Type: step.Type, Status: taskStatus(step.Status), Risk: step.Risk}
	t.Title = r.line(step.Title, 34)
	t.Error = r.line(step.Error, 16)
	t.ContextHints = r.lines(step.ContextHints)
	t.RelevantFilePaths = r.lines(step.RelevantFilePaths)
	t.Creates = r.lines(step.Creates)
	t.Verify = r.line(step.Verify, 16)
	t.Details = r.line(step.Details, 24)
	t.AcceptanceCriteria = r.lines(step.AcceptanceCriteria)
	t.Notes = r.lines(step.Notes[max(0, len(step.Notes)-b.notes):])
	t.SuggestedAgent = r.line(step.SuggestedAgent, nameTokens)
	t.ClaimedBy = r.line(step.ClaimedBy, nameTokens)
	t.Dependencies = r.ids(step.DependsOn)
	if plan.StatusOfTask(string(t.Status)) != step.Status {
		t.State = step.Status
	}
	if !step.Status.Finished() {
		t.WaitingOn = r.ids(p.Steps.WaitingOn(step.ID))
	}
	if r.cut {
		t.More = "shortened; whole at plan://steps/" + step.ID.String()
	}
	return t
}

// tokenBudget is what is left for the texts of a task while they are shortened one after
// the other.
type tokenBudget struct {
	bounds
	left int  // tokens, where they are bounded
	cut  bool // something was shortened or left out
}

// keyTokens is what naming one more field costs, and lineTokens the least that a
// text is worth showing in.
const (
	keyTokens  = 5
	lineTokens = 4
)

// line returns a text within its share of the room, in tokens.
func (r *tokenBudget) line(text string, tokens int) string {
	if text == "" {
		return ""
	}
	if r.tokens == 0 {
		return r.shown(text, plan.Shorten(text, r.text))
	}
	if r.left -= keyTokens; r.left < lineTokens {
		r.cut = true
		return ""
	}
	return r.spent(text, min(tokens, r.left), r.text)
}

// lines returns the first lines of a list, each within its share.
func (r *tokenBudget) lines(in []string) []string {
	out := make([]string, 0, min(len(in), r.list))
	if len(in) == 0 {
		return out
	}
	r.left -= keyTokens
	share := r.left / 2 // what comes after needs some, too
	for _, line := range in[:min(len(in), r.list)] {
		switch {
		case r.tokens == 0:
			out = append(out, r.shown(line, plan.Shorten(line, r.bounds.line)))
			continue
		case share < lineTokens && len(out) > 0, r.left < lineTokens:
			r.cut = true
			return out
		}
		before := r.left
		out = append(out, r.spent(line, min(max(share, lineTokens), r.left), r.bounds.line))
		share -= before - r.left
	}
	r.cut = r.cut || len(in) > len(out)
	return out
}

// ids returns the first of a list of steps.
func (r *tokenBudget) ids(in []plan.StepID) []int {
	if r.tokens > 0 && len(in) > 2*r.list {
		in, r.cut = in[:2*r.list], true
	}
	out := make([]int, len(in))
	for i, id := range in {
		out[i] = int(id)
	}
	return out
}

func (r *tokenBudget) spent(text string, share, length int) string {
	short := tokens.Shorten(text, share, length)
	r.left -= tokens.Count(short) + 1
	return r.shown(text, short)
}

func (r *tokenBudget) shown(text, short string) string {
	r.cut = r.cut || short != text
	return short
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

// TaskID is a step as the JSON contract names it: by its number. S002 is
// understood as well.
type TaskID int

// UnmarshalText accepts what plan.ParseStepID accepts.
func (id *TaskID) UnmarshalText(text []byte) error {
	parsed, err := plan.ParseStepID(string(text))
	if err != nil {
		return err
	}
	*id = TaskID(parsed)
	return nil
}

// TaskRef names a task of the plan by its id, or one that is added in the same
// call by its ref.
type TaskRef string

// UnmarshalText accepts any text; numbers come as their digits.
func (r *TaskRef) UnmarshalText(text []byte) error {
	*r = TaskRef(text)
	return nil
}

// TaskFields are the fields of a task that can be written: those of the contract
// and our additions. What a model seldom needs is taken but not listed in the
// tool's schema, which is paid for in every conversation. They are those of a
// plan.Patch, but for the dependencies: what these mean depends on the plan.
type TaskFields struct {
	Title              *string          `json:"title,omitempty"`
	Details            *string          `json:"details,omitempty"`
	Type               *plan.StepType   `json:"type,omitempty"`
	DependsOn          *[]plan.StepID   `json:"-"`
	ContextHints       *[]string        `json:"context_hints,omitempty"`
	RelevantFilePaths  *[]string        `json:"relevant_file_paths,omitempty"`
	Creates            *[]string        `json:"creates,omitempty"`
	AcceptanceCriteria *[]string        `json:"acceptance_criteria,omitempty"`
	Verify             *string          `json:"verify,omitempty"`
	Risk               *plan.Risk       `json:"risk,omitempty"`
	SuggestedAgent     *string          `json:"suggested_agent,omitempty" jsonschema:"-"`
	Critical           *bool            `json:"critical,omitempty" jsonschema:"-"`
	Tools              *[]string        `json:"tools,omitempty"`
	Tool               *string          `json:"tool,omitempty" jsonschema:"-"`
	Args               *json.RawMessage `json:"args,omitempty" jsonschema:"-"`
	Idempotent         *bool            `json:"idempotent,omitempty" jsonschema:"-"`
	RequiresApproval   *bool            `json:"requires_approval,omitempty" jsonschema:"-"`
	Timeout            *int             `json:"timeout,omitempty" jsonschema:"-"`
	Pause              *string          `json:"pause,omitempty" jsonschema:"-"`
	When               *string          `json:"when,omitempty" jsonschema:"-"`
	ForEach            *string          `json:"for_each,omitempty" jsonschema:"-"`
}

// patch returns the fields that were given, cleaned, without the dependencies. field is
// the JSON pointer of the task.
func (t TaskFields) patch(field string) (plan.Patch, error) {
	return plan.CleanPatch(field, plan.Patch(t))
}
