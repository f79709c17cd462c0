package plan

import (
	"cmp"
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

// Vocabulary is a set of words for the status of a step.
type Vocabulary int

// The vocabularies, in the order of a status's words in the table.
const (
	TaskWords      Vocabulary = iota // planloop's JSON contract
	RawkoWords                       // a plan file of rawko
	ExecutionWords                   // the execution specification
	BoxWords                         // the boxes of a check list
)

// Ready is the execution specification's word for a pending step that may start.
const Ready = "ready"

// statusWords is a row of the table of step statuses.
type statusWords struct {
	status   StepStatus
	words    [4]string // by Vocabulary
	synonyms string    // that people and models use
}

var statusTable = sync.OnceValue(func() []statusWords {
	return []statusWords{
		{Pending, [4]string{"TODO", "pending", "pending", " "}, "to_do not_started open planned queued backlog [_] __[_]"},
		{InProgress, [4]string{"IN_PROGRESS", "in_progress", "running", "/"},
			"doing started working running wip active in_review reopened"},
		{Blocked, [4]string{"TODO", "pending", "blocked", " "}, "stuck on_hold waiting paused"},
		{Done, [4]string{"DONE", "complete", "completed", "x"}, "completed finished success ok x [x] __[x] ✓ ✔ ✅ closed resolved merged"},
		{Failed, [4]string{"TODO", "failed", "failed", "!"}, "failure error"},
		{Skipped, [4]string{"CANCELLED", "skipped", "skipped", "-"}, "skip"},
		{Cancelled, [4]string{"CANCELLED", "skipped", "skipped", "-"}, "canceled cancel dropped wont_do won't_do wontfix not_planned"},
	}
})

const stepStatuses = 7

// Values lists the statuses in order.
func (StepStatus) Values() []string {
	return []string{"pending", "in_progress", "blocked", "done", "failed", "skipped", "cancelled"}
}

// IsFinished reports whether a step of this status leaves nothing to do for its plan to complete: it
// is done, skipped or cancelled.
func (s StepStatus) IsFinished() bool { return s == Done || s == Skipped || s == Cancelled }

// Word returns the status in a vocabulary, "" for an unknown status.
func (s StepStatus) Word(v Vocabulary) string {
	if i := s.ordinal(); i >= 0 {
		return statusTable()[i].words[v]
	}
	return ""
}

// Spaced returns the status for a sentence, as in "in progress".
func (s StepStatus) Spaced() string { return strings.ReplaceAll(string(s), "_", " ") }

// Predicate returns the status as the predicate of a sentence: "is done", "failed".
func (s StepStatus) Predicate() string {
	return cmp.Or(map[StepStatus]string{Failed: "failed", Skipped: "was skipped", Cancelled: "was cancelled"}[s], "is "+string(s))
}

// ordinal indexes the counts by status; -1 for an unknown status.
func (s StepStatus) ordinal() int {
	return slices.IndexFunc(statusTable(), func(w statusWords) bool { return w.status == s })
}

// ReadStatus returns the status for a word of any vocabulary, in any case and spelling: DONE,
// completed, in-progress. It is "" for any other word.
func ReadStatus(word string) StepStatus {
	word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimRight(strings.TrimSpace(word), "!.")))
	for _, w := range statusTable() {
		if word == string(w.status) || word != "" && slices.Contains(strings.Fields(w.synonyms), word) {
			return w.status
		}
	}
	return cmp.Or(TaskWords.Status(strings.ToUpper(word)), RawkoWords.Status(word))
}

// Status returns the status for a word, "" for an unknown word. If several share the word, it is the
// one with the same name, else the first.
func (v Vocabulary) Status(word string) StepStatus {
	first := StepStatus("")
	for _, w := range statusTable() {
		switch {
		case v == ExecutionWords && word == Ready:
			return Pending
		case w.words[v] != word:
		case strings.EqualFold(string(w.status), word):
			return w.status
		case first == "":
			first = w.status
		}
	}
	return first
}

// Words lists the words in order.
func (v Vocabulary) Words() []string {
	var words []string
	for _, w := range statusTable() {
		if !slices.Contains(words, w.words[v]) {
			words = append(words, w.words[v])
		}
	}
	if v == ExecutionWords {
		words = append(words, Ready)
	}
	return words
}

// ExecutionStatus returns the execution specification's word for the status of one of p's steps.
// While p is active, a pending step is ready, or blocked by its dependencies.
func (p *Plan) ExecutionStatus(step *Step) string {
	switch {
	case step.Status != Pending || p.Status != StatusActive:
		return step.Status.Word(ExecutionWords)
	case p.Steps.IsReady(step.ID):
		return Ready
	}
	return Blocked.Word(ExecutionWords)
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
	return cmp.Or(map[PlanStatus]string{StatusDraft: "is a draft", StatusFailed: "has failed"}[s], "is "+string(s))
}

// Rawko returns rawko's word for the status. Rawko has no word for abandoned; failed comes closest,
// since nothing more is done.
func (s PlanStatus) Rawko() string {
	other := map[PlanStatus]string{StatusActive: "in_progress", StatusCompleted: "complete", StatusAbandoned: "failed"}
	return cmp.Or(other[s], string(s)) // draft, replanning and failed have the same name
}
