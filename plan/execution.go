package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// EnginePrefix begins the names of engines.
const EnginePrefix = "engine#"

// Execution is a step's state in runs: for steps that planloop carries out itself, and for all that
// are conditional, loop or ask a person.
type Execution struct {
	Loop       StepID          `json:"of,omitzero"` // the loop it is an instance of
	Item       json.RawMessage `json:"item,omitempty"`
	Instances  []StepID        `json:"instances,omitempty"` // of a loop
	IsExpanded bool            `json:"expanded,omitempty"`  // the loop's list is known

	ConditionFalse bool `json:"unmet,omitempty"` // skipped by its own false condition
	ConditionTrue  bool `json:"met,omitempty"`   // its condition was true

	IsStarted    bool   `json:"started,omitempty"` // by an engine, and not ended
	IsRepeatable bool   `json:"safe,omitempty"`    // the attempt can be repeated
	Digest       string `json:"digest,omitempty"`  // of the attempt: see StartDigest
	Retries      int    `json:"retries,omitempty"` // consecutive attempts that failed for a transient reason
	StoppedBy    string `json:"stop,omitempty"`    // asked to end the last attempt

	Agent             string       `json:"agent,omitempty"`   // started by planloop for the attempt
	WritesFiles       bool         `json:"writes,omitempty"`  // the attempt may change files
	Report            *AgentReport `json:"report,omitempty"`  // by the agent
	OutOfScopeFiles   []string     `json:"outside,omitempty"` // files the last agent changed that the step does not name
	CommitMoved       bool         `json:"moved,omitempty"`   // the last agent left the work tree at another commit
	ChangesUnknown    bool         `json:"unseen,omitempty"`  // the last agent's changes could not be determined
	UnavailableAgents int          `json:"silent,omitempty"`  // consecutive attempts with agents that ended within seconds without a report
	Tokens            int          `json:"tokens,omitempty"`  // that its agents say they used

	Ask        *Ask          `json:"ask,omitempty"`
	Approval   *StepApproval `json:"grant,omitempty"`
	IsAnswered bool          `json:"answered,omitempty"` // its question before the start has been answered

	IsStale bool `json:"stale,omitempty"` // done with the value of a step that was opened again
}

// execution returns the step's state in runs, the zero value if no run has touched it.
func (step *Step) execution() Execution { return *cmp.Or(step.Execution, &Execution{}) }

func (step *Step) execute(f func(*Execution)) {
	e := step.execution()
	e.Instances = slices.Clip(e.Instances)
	f(&e)
	step.Execution = &e
}

// Loop returns the loop that the step is an instance of, 0 for none.
func (step *Step) Loop() StepID { return step.execution().Loop }

// IsLooping reports whether the step is a loop with running instances.
func (step *Step) IsLooping() bool { return step.Status == InProgress && step.execution().IsExpanded }

// IsExpanded reports whether the step is a loop with a known list: it ends with its instances.
func (step *Step) IsExpanded() bool { return step.execution().IsExpanded }

// Instances lists the instances of a loop.
func (step *Step) Instances() []StepID { return step.execution().Instances }

// HasApproval reports whether a person has approved the step's next attempt.
func (step *Step) HasApproval() bool { return step.execution().Approval != nil }

// IsRunning reports whether an engine carries the step out.
func (step *Step) IsRunning() bool { return step.Status == InProgress && step.execution().IsStarted }

// OpenQuestion returns the step's open question, nil when it has none.
func (step *Step) OpenQuestion() *Ask { return step.execution().Ask }

// NeedsReply reports whether the step asks a person its own question before it starts, or will once
// a run reaches it.
func (step *Step) NeedsReply() bool {
	if ask := step.OpenQuestion(); ask != nil {
		return ask.Kind == AskPause
	}
	return step.Pause != "" && step.Loop() == 0 && step.Status == Pending && !step.execution().IsAnswered
}

// NeedsUnblocking reports whether the step was marked blocked and can be tried again after a person
// answers.
func (step *Step) NeedsUnblocking() bool {
	return step.Status == Blocked && step.OpenQuestion() == nil && !step.IsExpanded()
}

// NeedsApproval reports whether the step needs a person's approval before it runs, now or once a run reaches it.
func (step *Step) NeedsApproval() bool {
	if ask := step.OpenQuestion(); ask != nil {
		return ask.Kind == AskApproval
	}
	return step.RequiresApproval && step.Status == Pending && step.execution().Approval == nil
}

// IsUnknown reports whether the step was started and its outcome is unknown.
func (step *Step) IsUnknown() bool {
	ask := step.OpenQuestion()
	return ask != nil && ask.Kind == AskUnknown
}

// HasEnded reports whether the step is finished or has failed.
func (step *Step) HasEnded() bool { return step.Status.IsFinished() || step.Status == Failed }

// HasSucceeded reports whether the step is done, or its own condition was false.
func (step *Step) HasSucceeded() bool {
	return step.Status == Done || step.Status == Skipped && step.execution().ConditionFalse
}

// isMetBy reports whether the step need not wait for one of its dependencies. Nothing else decides this.
func (step *Step) isMetBy(dep *Step) bool {
	return dep.HasSucceeded() || dep.HasEnded() && (step.Always || step.readsEndOf(dep.ID))
}

// StartDigest identifies the contents of an attempt: the tool with its definition if another server provides
// it, its arguments with everything they refer to, the command that verifies it, title and details, its directory and
// its output file.
func StartDigest(step *Step, args json.RawMessage, definition string) string {
	parts := []string{step.Tool, string(args), step.Verify, step.Title, step.Details}
	if definition != "" {
		parts = append(parts, definition)
	}
	for _, place := range [][2]string{{"cwd", step.Cwd}, {"output_file", step.OutputFile}} {
		if place[1] != "" {
			parts = append(parts, place[0], place[1])
		}
	}
	form, _ := json.Marshal(parts) // texts can always be encoded
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}
