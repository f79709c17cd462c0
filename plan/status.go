package plan

import (
	"slices"
	"strings"
	"sync"
)

// StepStatus is the progress of a step. A pending step with all dependencies met is ready; ready is
// derived and never stored.
type StepStatus string

// The stored statuses of a step.
const (
	Pending    StepStatus = "pending"
	InProgress StepStatus = "in_progress"
	Blocked    StepStatus = "blocked"
	Done       StepStatus = "done"
	Failed     StepStatus = "failed"
	Skipped    StepStatus = "skipped"
	Cancelled  StepStatus = "cancelled"
)

// StatusWords is a row of the table of step statuses: its word in each vocabulary that planloop
// speaks.
type StatusWords struct {
	Status    StepStatus
	Task      string // in planloop's JSON contract
	Rawko     string // in a plan file of rawko
	Execution string // in the execution specification
	Box       string // in a check list
	Synonyms  string // synonyms that people and models use
}

var statusTable = sync.OnceValue(func() []StatusWords {
	return []StatusWords{
		{Pending, "TODO", "pending", "pending", " ", "to_do not_started open planned queued"},
		{InProgress, "IN_PROGRESS", "in_progress", "running", "/", "doing started working running wip"},
		{Blocked, "TODO", "pending", "blocked", " ", "stuck on_hold"},
		{Done, "DONE", "complete", "completed", "x", "completed finished success ok x [x] ✓ ✔ ✅"},
		{Failed, "TODO", "failed", "failed", "!", "failure error"},
		{Skipped, "CANCELLED", "skipped", "skipped", "-", "skip"},
		{Cancelled, "CANCELLED", "skipped", "skipped", "-", "canceled cancel dropped"},
	}
})

const stepStatuses = 7

// Values lists the statuses in order.
func (StepStatus) Values() []string {
	return statusWords(func(w StatusWords) string { return string(w.Status) })
}

// IsFinished reports whether a step of this status leaves nothing to do for its plan to complete: it
// is done, skipped or cancelled.
func (s StepStatus) IsFinished() bool { return s == Done || s == Skipped || s == Cancelled }

// Words returns the status in all vocabularies, the zero value for an unknown one.
func (s StepStatus) Words() StatusWords {
	if i := s.ordinal(); i >= 0 {
		return statusTable()[i]
	}
	return StatusWords{}
}

// Spaced returns the status for a sentence, as in "in progress".
func (s StepStatus) Spaced() string { return strings.ReplaceAll(string(s), "_", " ") }

// Predicate returns the status as the predicate of a sentence: "is done", "failed".
func (s StepStatus) Predicate() string {
	switch s {
	case Failed:
		return "failed"
	case Skipped, Cancelled:
		return "was " + string(s)
	}
	return "is " + string(s)
}

// ordinal indexes the counts by status; -1 for an unknown status.
func (s StepStatus) ordinal() int {
	return slices.IndexFunc(statusTable(), func(w StatusWords) bool { return w.Status == s })
}

// StatusOfTask returns the status for a word of planloop's JSON contract, "" for any other word.
func StatusOfTask(word string) StepStatus {
	return statusOf(word, func(w StatusWords) string { return w.Task })
}

// ReadStatus returns the status for a word of any vocabulary, in any case and spelling: DONE,
// completed, in-progress. It is "" for any other word.
func ReadStatus(word string) StepStatus {
	word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimRight(strings.TrimSpace(word), "!.")))
	for _, w := range statusTable() {
		if word == string(w.Status) || word != "" && slices.Contains(strings.Fields(w.Synonyms), word) {
			return w.Status
		}
	}
	if status := StatusOfTask(strings.ToUpper(word)); status != "" {
		return status
	}
	return StatusOfRawko(word)
}

// StatusOfRawko returns the status for rawko's word, "" for any other word.
func StatusOfRawko(word string) StepStatus {
	return statusOf(word, func(w StatusWords) string { return w.Rawko })
}

// StatusOfBox returns the status for the mark in the box of a check list, "" for any other mark.
func StatusOfBox(mark string) StepStatus {
	return statusOf(mark, func(w StatusWords) string { return w.Box })
}

// statusOf returns the status for a word of one vocabulary. If several share the word, it is the
// one with the same name, else the first.
func statusOf(word string, in func(StatusWords) string) StepStatus {
	first := StepStatus("")
	for _, w := range statusTable() {
		switch {
		case in(w) != word:
		case strings.EqualFold(string(w.Status), word):
			return w.Status
		case first == "":
			first = w.Status
		}
	}
	return first
}

// Ready is the execution specification's word for a pending step that may start.
const Ready = "ready"

// ExecutionStatuses lists the words of the execution specification for the status of a step.
func ExecutionStatuses() []string {
	return append(statusWords(func(w StatusWords) string { return w.Execution }), Ready)
}

// StatusOfExecution returns the status for a word of the execution specification, "" for any other
// word.
func StatusOfExecution(word string) StepStatus {
	if word == Ready {
		return Pending
	}
	return statusOf(word, func(w StatusWords) string { return w.Execution })
}

// ExecutionStatus returns the execution specification's word for the status of one of p's steps.
// While p is active, a pending step is ready, or blocked by its dependencies.
func (p *Plan) ExecutionStatus(step *Step) string {
	switch {
	case step.Status != Pending || p.Status != StatusActive:
		return step.Status.Words().Execution
	case p.Steps.IsReady(step.ID):
		return Ready
	}
	return Blocked.Words().Execution
}

// TaskStatuses lists the words of planloop's JSON contract in order.
func TaskStatuses() []string { return statusWords(func(w StatusWords) string { return w.Task }) }

// RawkoStatuses lists rawko's words for the status of a step in order.
func RawkoStatuses() []string { return statusWords(func(w StatusWords) string { return w.Rawko }) }

func statusWords(in func(StatusWords) string) []string {
	var words []string
	for _, w := range statusTable() {
		if !slices.Contains(words, in(w)) {
			words = append(words, in(w))
		}
	}
	return words
}

// PlanStatus is the state of a plan.
type PlanStatus string

// The statuses of a plan.
const (
	StatusDraft      PlanStatus = "draft"
	StatusActive     PlanStatus = "active"
	StatusReplanning PlanStatus = "replanning"
	StatusCompleted  PlanStatus = "completed"
	StatusFailed     PlanStatus = "failed"
	StatusAbandoned  PlanStatus = "abandoned"
)

// Values lists the statuses in order.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "replanning", "completed", "failed", "abandoned"}
}

// Predicate returns the status as the predicate of a sentence: "is active", "has failed".
func (s PlanStatus) Predicate() string {
	switch s {
	case StatusDraft:
		return "is a draft"
	case StatusFailed:
		return "has failed"
	}
	return "is " + string(s)
}

// Rawko returns rawko's word for the status. Rawko has no word for abandoned; failed comes closest,
// since nothing more is done.
func (s PlanStatus) Rawko() string {
	switch s {
	case StatusActive:
		return "in_progress"
	case StatusCompleted:
		return "complete"
	case StatusAbandoned:
		return "failed"
	}
	return string(s) // draft, replanning and failed have the same name
}
