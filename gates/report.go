package gates

import (
	"slices"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Finding is one fault of a candidate.
type Finding struct {
	Gate     string      `json:"gate"`
	Level    Level       `json:"level"`
	Task     string      `json:"task,omitempty"`   // its title, printable; "" if it has no title, and for the plan as a whole
	Step     plan.StepID `json:"step_id,omitzero"` // its future id; 0 for the plan as a whole
	Message  string      `json:"message"`          // a sentence, safe to print
	Fix      string      `json:"fix,omitempty"`    // the fix, a sentence without capital and full stop; "" if Message has it
	Index    int         `json:"-"`                // position of the task among the new ones, with Step
	Field    string      `json:"-"`                // of the task that the gate looks at first; "" for the plan as a whole
	Says     string      `json:"-"`                // the message without its task; "" for the plan as a whole
	verbatim bool
}

// Report holds the findings of the gates, in the order of the tasks.
type Report struct {
	Findings []Finding `json:"findings"`
	Score    int       `json:"score"`  // 0 to 100
	Digest   string    `json:"digest"` // of the checked candidate
	JudgeErr error     `json:"-"`      // why the judge could not be asked, or gave no verdict
}

// Errors lists the findings that refuse the candidate.
func (r Report) Errors() []Finding { return r.of(Error) }

// Warnings lists the findings that are only shown.
func (r Report) Warnings() []Finding { return r.of(Warning) }

// OK reports whether no finding refuses the candidate.
func (r Report) OK() bool { return len(r.Errors()) == 0 }

// Details lists the findings that refuse the candidate as sentences, using the specification's wording where it exists,
// each with its fix unless that is obvious.
func (r Report) Details() []string {
	var details []string
	for _, f := range r.Errors() {
		if f.Fix != "" && !f.verbatim {
			f.Message += " To fix it, " + f.Fix + "."
		}
		details = append(details, f.Message)
	}
	return details
}

func (r Report) of(level Level) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Level != level })
}

// Points that a finding takes from its task.
const (
	taskPoints    = 10
	errorPoints   = 5
	warningPoints = 1
)

// score rates a candidate, to compare one draft with the next. Every task is worth ten points. An error costs five of
// them, a warning one, down to zero; findings about the plan as a whole cost every task. The score is the remaining
// share in percent, rounded down: 100 means no findings, and another finding never raises it.
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

// Characters of a text that a message shows.
const (
	titleShown = 80
	pathShown  = 200
	hintShown  = 80
)

// excerpt returns text on one line and shortened to n characters, with terminal controls and invisible characters
// escaped.
func excerpt(text string, n int) string { return safetext.EscapeLine(plan.Shorten(text, n)) }

func code(text string) string { return "`" + excerpt(text, pathShown) + "`" }
