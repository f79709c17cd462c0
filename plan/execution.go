package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Execution is what has become of a step in runs: of one that planloop carries out
// itself, and of every step that is conditional, is a loop or asks a person.
type Execution struct {
	Of        StepID          `json:"of,omitzero"` // the loop it is an instance of
	Item      json.RawMessage `json:"item,omitempty"`
	Instances []StepID        `json:"instances,omitempty"` // of a loop
	Expanded  bool            `json:"expanded,omitempty"`  // the loop's list is known

	Unmet bool `json:"unmet,omitempty"` // skipped by its own false condition
	Met   bool `json:"met,omitempty"`   // its condition was true

	Started bool   `json:"started,omitempty"` // by an engine, and not ended
	Safe    bool   `json:"safe,omitempty"`    // the attempt can be repeated
	Digest  string `json:"digest,omitempty"`  // of what the attempt runs: see StartDigest
	Retries int    `json:"retries,omitempty"` // attempts that failed for a passing reason, in a row

	Agent   string       `json:"agent,omitempty"`   // that planloop started for the attempt
	Writes  bool         `json:"writes,omitempty"`  // the attempt may change files
	Report  *AgentReport `json:"report,omitempty"`  // of the agent
	Outside []string     `json:"outside,omitempty"` // files the last agent changed that the step does not name
	Moved   bool         `json:"moved,omitempty"`   // the last agent left the work tree at another commit
	Unseen  bool         `json:"unseen,omitempty"`  // what the last agent changed could not be told
	Silent  int          `json:"silent,omitempty"`  // attempts in a row whose agents ended within seconds and said nothing

	Ask      *Ask   `json:"ask,omitempty"`
	Grant    *Grant `json:"grant,omitempty"`
	Answered bool   `json:"answered,omitempty"` // what it asks before it starts has been answered
}

// AskKind says what a step asks for.
type AskKind string

// What a step can ask for.
const (
	AskApproval AskKind = "approval" // may it run with these arguments?
	AskPause    AskKind = "pause"    // its own question to a person
	AskUnknown  AskKind = "unknown"  // it was started, and nobody knows what came of it
)

// Values lists the kinds.
func (AskKind) Values() []string { return []string{"approval", "pause", "unknown"} }

// Ask is an open question about a step.
type Ask struct {
	Kind    AskKind         `json:"kind"`
	Attempt int             `json:"attempt"`          // the one that is asked about
	Digest  string          `json:"digest,omitempty"` // of what an approval covers
	Args    json.RawMessage `json:"args,omitempty"`   // that it would run with, as far as they can be shown
	Text    string          `json:"text,omitempty"`
	At      time.Time       `json:"at"`

	Definition string `json:"definition,omitempty"` // of the tool, where it is another server's
}

// Choices lists the answers that a question takes.
func (k AskKind) Choices() []Choice {
	switch k {
	case AskApproval:
		return []Choice{Approve, Deny, Skip}
	case AskPause:
		return []Choice{Reply, Skip}
	case AskUnknown:
		return []Choice{Retry, Happened, Skip, Abort}
	}
	return nil
}

// Grant is a person's leave to run a step once, with the arguments that were shown or
// that the person put in their place.
type Grant struct {
	Digest string          `json:"digest"`
	Args   json.RawMessage `json:"args,omitempty"` // in the place of the step's own; none: those
	By     string          `json:"by"`
	Way    Way             `json:"way"`
	At     time.Time       `json:"at"`
}

// covers reports whether the grant is for what has that digest.
func (g *Grant) covers(digest string) bool { return g != nil && g.Digest == digest }

// execution returns what has become of the step in runs; the zero value for one that no
// run has touched.
func (step *Step) execution() Execution {
	if step.Execution == nil {
		return Execution{}
	}
	return *step.Execution
}

// execute changes what has become of the step in runs, in a copy.
func (step *Step) execute(f func(*Execution)) {
	e := step.execution()
	e.Instances = slices.Clip(e.Instances)
	f(&e)
	step.Execution = &e
}

// Loop returns the loop that the step is an instance of, 0 for none.
func (step *Step) Loop() StepID { return step.execution().Of }

// Looping reports whether the step is a loop whose instances are being carried out.
func (step *Step) Looping() bool { return step.Status == InProgress && step.execution().Expanded }

// Expanded reports whether the step is a loop whose list is known: it ends with its instances.
func (step *Step) Expanded() bool { return step.execution().Expanded }

// Instances lists the steps that carry a loop out.
func (step *Step) Instances() []StepID { return step.execution().Instances }

// Granted reports whether a person has agreed to the step's next attempt.
func (step *Step) Granted() bool { return step.execution().Grant != nil }

// Running reports whether an engine carries the step out.
func (step *Step) Running() bool { return step.Status == InProgress && step.execution().Started }

// Asking returns the step's open question, nil when it has none.
func (step *Step) Asking() *Ask { return step.execution().Ask }

// WantsReply reports whether the step asks a person its own question before anything is done, or will
// once a run comes to it.
func (step *Step) WantsReply() bool {
	if ask := step.Asking(); ask != nil {
		return ask.Kind == AskPause
	}
	return step.Pause != "" && step.Loop() == 0 && step.Status == Pending && !step.execution().Answered
}

// WantsWord reports whether somebody has said that the step is blocked, and it can be tried again once a person
// has said what is to be done about that.
func (step *Step) WantsWord() bool {
	return step.Status == Blocked && step.Asking() == nil && !step.Expanded()
}

// WantsApproval reports whether the step asks a person before it runs, or will once a run comes to it.
func (step *Step) WantsApproval() bool {
	if ask := step.Asking(); ask != nil {
		return ask.Kind == AskApproval
	}
	return step.RequiresApproval && step.Status == Pending && step.execution().Grant == nil
}

// Unknown reports whether the step was started and nobody knows what came of it.
func (step *Step) Unknown() bool { ask := step.Asking(); return ask != nil && ask.Kind == AskUnknown }

// satisfies reports whether what depends on the step may go on: it is done, or its own
// condition was false. The one predicate for it.
func (step *Step) satisfies() bool {
	return step.Status == Done || step.Status == Skipped && step.execution().Unmet
}

// StartDigest identifies what an attempt runs: the tool, how it is defined where it is another
// server's, its arguments with everything they refer to, and the command it is verified by.
func StartDigest(step *Step, args json.RawMessage, definition string) string {
	parts := []string{step.Tool, string(args), step.Verify, step.Title, step.Details}
	if definition != "" {
		parts = append(parts, definition)
	}
	form, err := json.Marshal(parts)
	if err != nil {
		return "" // equal to nothing
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}
