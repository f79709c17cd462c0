package verbs

import (
	"encoding/json"

	"github.com/planloop/planloop/plan"
)

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
