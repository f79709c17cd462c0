package gates

import (
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Finding is one thing that is wrong with a candidate.
type Finding struct {
	Gate     string      `json:"gate"`
	Level    Level       `json:"level"`
	Task     string      `json:"task,omitempty"`   // its title, printable; "" for one without, and for the plan as a whole
	Step     plan.StepID `json:"step_id,omitzero"` // the id it will get; 0 for the plan as a whole
	Message  string      `json:"message"`          // a sentence, safe to print
	Fix      string      `json:"fix,omitempty"`    // what to do, a sentence without capital and full stop; "" when the message says it
	Index    int         `json:"-"`                // of the task among the new ones, with Step
	Field    string      `json:"-"`                // of the task that the gate looks at first; "" for the plan as a whole
	Says     string      `json:"-"`                // the message without its task; "" for the plan as a whole
	verbatim bool
}

// detail is the finding in one line. Where the specification fixes the sentence it
// stands alone.
func (f Finding) detail() string {
	if f.Fix == "" || f.verbatim {
		return f.Message
	}
	return f.Message + " To fix it, " + f.Fix + "."
}

// Report is what the gates found, in the order of the tasks.
type Report struct {
	Findings []Finding `json:"findings"`
	Score    int       `json:"score"`  // 0 to 100
	Digest   string    `json:"digest"` // of the candidate it is about
	JudgeErr error     `json:"-"`      // why the judge could not be asked, or gave no verdict
}

// Errors lists what refuses the candidate.
func (r Report) Errors() []Finding { return r.of(Error) }

// Warnings lists what is only shown.
func (r Report) Warnings() []Finding { return r.of(Warning) }

// OK reports whether nothing refuses the candidate.
func (r Report) OK() bool { return len(r.Errors()) == 0 }

// Details lists what refuses the candidate in sentences, those of the
// specification where it has one, each with what to do unless that is plain.
func (r Report) Details() []string {
	var details []string
	for _, f := range r.Errors() {
		details = append(details, f.detail())
	}
	return details
}

func (r Report) of(level Level) []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if f.Level == level {
			list = append(list, f)
		}
	}
	return list
}

// What a finding takes from the points of its task.
const (
	taskPoints    = 10
	errorPoints   = 5
	warningPoints = 1
)

// score tells how good a candidate is, for comparing one draft with the next.
// Every task is worth the same, ten points. An error takes five of them, a warning
// one, down to none; what is found against the plan as a whole is taken from every
// task. The score is the share that is left, in percent, rounded down: 100 means
// that nothing was found, and one finding more never raises it.
func score(tasks []Task, findings []Finding) int {
	if len(tasks) == 0 {
		return 100
	}
	lost, each := map[plan.StepID]int{}, 0
	for _, f := range findings {
		points := warningPoints
		if f.Level == Error {
			points = errorPoints
		}
		if f.Step == 0 {
			each += points
		} else {
			lost[f.Step] += points
		}
	}
	left := 0
	for _, t := range tasks {
		left += max(0, taskPoints-each-lost[t.ID])
	}
	return 100 * left / (taskPoints * len(tasks))
}

// How much of a text a message shows, in characters.
const (
	titleShown = 80
	pathShown  = 200
	hintShown  = 80
)

// excerpt returns text on one line and shortened to n characters, with
// everything that a terminal would act on, or that does not show, escaped.
func excerpt(text string, n int) string { return safetext.EscapeLine(plan.Shorten(text, n)) }

// code writes a path or an id as messages show it.
func code(text string) string { return "`" + excerpt(text, pathShown) + "`" }
