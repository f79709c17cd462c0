package plan

import (
	"encoding/json"
	"time"
)

// Spec is what a step asks for. Everything but the title is optional. The first
// two fields are WINK's; the rest enter through the other tools, the command
// line and imports.
type Spec struct {
	Title              string          `json:"title"`
	Details            string          `json:"details,omitempty"`
	Type               StepType        `json:"type,omitempty"`
	DependsOn          []StepID        `json:"depends_on,omitempty"`
	ContextHints       []string        `json:"context_hints,omitempty"`
	RelevantFilePaths  []string        `json:"relevant_file_paths,omitempty"`
	Creates            []string        `json:"creates,omitempty"` // paths the step brings into being
	AcceptanceCriteria []string        `json:"acceptance_criteria,omitempty"`
	SuggestedAgent     string          `json:"suggested_agent,omitempty"`
	Risk               Risk            `json:"risk,omitempty"`
	Tools              []string        `json:"tools,omitempty"`
	Tool               string          `json:"tool,omitempty"` // with Args: an executable step
	Args               json.RawMessage `json:"args,omitempty"` // a JSON object
	Critical           bool            `json:"critical,omitempty"`
	Idempotent         bool            `json:"idempotent,omitempty"`
	RequiresApproval   bool            `json:"requires_approval,omitempty"`
	Timeout            int             `json:"timeout,omitempty"` // seconds
	Pause              string          `json:"pause,omitempty"`   // what to ask a person before it starts
	When               string          `json:"when,omitempty"`
	ForEach            string          `json:"for_each,omitempty"`
	Verify             string          `json:"verify,omitempty"` // a command
}

// Progress is what has become of a step.
type Progress struct {
	Status        StepStatus `json:"status"`
	Notes         []string   `json:"notes,omitempty"`
	Evidence      []Evidence `json:"evidence,omitempty"`
	Result        *Result    `json:"result,omitempty"`
	Output        string     `json:"output,omitempty"`
	Error         string     `json:"error,omitempty"`
	AffectedFiles []string   `json:"affected_files,omitempty"`
	Attempts      int        `json:"attempts,omitempty"`
	ClaimedBy     string     `json:"claimed_by,omitempty"`
	LeaseUntil    time.Time  `json:"lease_until,omitzero"`
	ExecutedBy    string     `json:"executed_by,omitempty"`
	StartedAt     time.Time  `json:"started_at,omitzero"`
	CompletedAt   time.Time  `json:"completed_at,omitzero"`
}

// Step is one piece of work of a plan. A *Step is never changed once it is
// part of a state.
type Step struct {
	ID StepID `json:"step_id"`
	Spec
	Progress
}

// Evidence supports the claim that a step is done: a command's outcome, or a
// note for a criterion.
type Evidence struct {
	Criterion string    `json:"criterion,omitempty"`
	Command   string    `json:"command,omitempty"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Output    string    `json:"output,omitempty"` // the tail
	Note      string    `json:"note,omitempty"`
	Recorded  bool      `json:"recorded,omitempty"` // planloop ran the command itself
	Stale     bool      `json:"stale,omitempty"`    // of an earlier try
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

// Result is the outcome of running a step's tool (Execution: StepResult).
type Result struct {
	OK        bool            `json:"ok"`
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	Duration  int64           `json:"duration"` // milliseconds
	Timestamp time.Time       `json:"timestamp"`
}
