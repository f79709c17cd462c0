package plan

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// StepStatus says how far a step has come. A pending step whose dependencies
// are done is ready; ready is derived and never stored.
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

// StatusWords is a row of the table of a step's statuses: what each is called in the
// vocabularies that planloop speaks.
type StatusWords struct {
	Status StepStatus
	Task   string // in planloop's JSON contract
	Rawko  string // in a plan file of rawko
	E      string // in the execution specification
	Box    string // in a check list
	Also   string // other words that people and models use for it
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

// Finished reports whether nothing is left to do on a step of this status for
// its plan to complete: it is done, skipped or cancelled.
func (s StepStatus) Finished() bool { return s == Done || s == Skipped || s == Cancelled }

// Words returns the status in all vocabularies, the zero value for an unknown one.
func (s StepStatus) Words() StatusWords {
	if i := s.ordinal(); i >= 0 {
		return statusTable()[i]
	}
	return StatusWords{}
}

// Spaced returns the status as it stands in a sentence, such as "in progress".
func (s StepStatus) Spaced() string { return strings.ReplaceAll(string(s), "_", " ") }

// Is is the status as the predicate of a sentence: "is done", "failed".
func (s StepStatus) Is() string {
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

// StatusOfTask returns the status for a word of planloop's JSON contract, "" for
// another word.
func StatusOfTask(word string) StepStatus {
	return statusOf(word, func(w StatusWords) string { return w.Task })
}

// ReadStatus returns the status that a word means, whichever vocabulary it is of and in
// whatever case and spelling: DONE, completed, in-progress. It is "" for another word.
func ReadStatus(word string) StepStatus {
	word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimRight(strings.TrimSpace(word), "!.")))
	for _, w := range statusTable() {
		if word == string(w.Status) || word != "" && slices.Contains(strings.Fields(w.Also), word) {
			return w.Status
		}
	}
	if status := StatusOfTask(strings.ToUpper(word)); status != "" {
		return status
	}
	return StatusOfRawko(word)
}

// StatusOfRawko returns the status for rawko's word, "" for another word.
func StatusOfRawko(word string) StepStatus {
	return statusOf(word, func(w StatusWords) string { return w.Rawko })
}

// StatusOfBox returns the status for what stands in the box of a check list, "" for
// anything else.
func StatusOfBox(mark string) StepStatus {
	return statusOf(mark, func(w StatusWords) string { return w.Box })
}

// statusOf returns the status that a vocabulary calls so. Of several it is the one
// that we call so too, else the first.
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

// Ready is what the execution specification calls a pending step that may start.
const Ready = "ready"

// ExecutionStatuses lists the words of the execution specification for the status of a step.
func ExecutionStatuses() []string {
	return append(statusWords(func(w StatusWords) string { return w.E }), Ready)
}

// StatusOfExecution returns the status for a word of the execution specification, "" for
// another word.
func StatusOfExecution(word string) StepStatus {
	if word == Ready {
		return Pending
	}
	return statusOf(word, func(w StatusWords) string { return w.E })
}

// ExecutionStatus is the status of one of p's steps in the words of the execution
// specification: while p is active, a pending step is ready, or blocked by what it waits for.
func (p *Plan) ExecutionStatus(step *Step) string {
	switch {
	case step.Status != Pending || p.Status != StatusActive:
		return step.Status.Words().E
	case p.Steps.IsReady(step.ID):
		return Ready
	}
	return Blocked.Words().E
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

// PlanStatus says where a plan stands.
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

// Is is the status as the predicate of a sentence: "is active", "has failed".
func (s PlanStatus) Is() string {
	switch s {
	case StatusDraft:
		return "is a draft"
	case StatusFailed:
		return "has failed"
	}
	return "is " + string(s)
}

// Rawko returns rawko's word for the status. It has none for an abandoned plan;
// failed says that nothing goes on.
func (s PlanStatus) Rawko() string {
	switch s {
	case StatusActive:
		return "in_progress"
	case StatusCompleted:
		return "complete"
	case StatusAbandoned:
		return "failed"
	}
	return string(s) // draft, replanning and failed are called the same
}

// Phase is the phase of planning mode a workspace is in.
type Phase string

// The phases. The zero value means PhaseInactive wherever a phase is read.
const (
	PhaseInactive  Phase = "inactive"
	PhaseGathering Phase = "gathering"
	PhaseSubmitted Phase = "submitted"
	PhaseExecuting Phase = "executing"
)

// Values lists the phases in order.
func (Phase) Values() []string {
	return []string{"inactive", "gathering", "submitted", "executing"}
}

// StepType classifies a step.
type StepType string

// The types of a step (planloop: API Contract).
const (
	Feature StepType = "feature"
	Bugfix  StepType = "bugfix"
	Chore   StepType = "chore"
	Test    StepType = "test"
)

// Values lists the types in order.
func (StepType) Values() []string { return []string{"feature", "bugfix", "chore", "test"} }

// Read returns any word as it is: whether it is a type is judged with what else is wrong with
// a task, and not always strictly.
func (StepType) Read(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '_' && r != ' ' }) {
		return ""
	}
	return strings.TrimSpace(word)
}

// Risk says what can go wrong when a step is carried out.
type Risk string

// The risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// Values lists the risks in order.
func (Risk) Values() []string { return []string{"low", "medium", "high"} }

// SignalLevel says how much a signal matters.
type SignalLevel string

// The levels of a signal (planloop: API Contract).
const (
	Blocker SignalLevel = "blocker"
	Warning SignalLevel = "warning"
	Info    SignalLevel = "info"
)

// Values lists the levels in order.
func (SignalLevel) Values() []string { return []string{"blocker", "warning", "info"} }
