package verbs

import (
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Reported is what a report of finished work is answered with: what it was not shown to
// fulfil, and the blocker that comes before all other work.
type Reported struct {
	Blocker  *SignalView `json:"blocker,omitempty"`
	NotShown []string    `json:"not_shown,omitempty"`
}

// How much an answer says of all steps that were not verified, of which the first is always
// named, and of what one of them lacks.
const (
	notShownTokens = 400
	missingTokens  = 300
)

// reported looks at the steps that were reported, or at all of a plan that was closed.
func reported(state plan.State, c Caller, ids []plan.StepID) Reported {
	var r Reported
	if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 {
		signal := signalView(state, blockers[0], c, messageTokens)
		signal.Output = "" // the status shows it
		r.Blocker = &signal
	}
	closed := state.Plan != nil && state.Plan.FinalSummary != ""
	if closed {
		ids = nil
		for step := range state.Plan.Steps.All() {
			ids = append(ids, step.ID)
		}
	}
	for _, id := range ids {
		if step, ok := state.Plan.Steps.Get(id); ok && step.Status == plan.Done {
			r.NotShown = append(r.NotShown, notShown(step, c, closed)...)
		}
	}
	room := notShownTokens
	for i, line := range r.NotShown {
		if room -= tokens.CountCautiously(line); i > 0 && room < 0 {
			r.NotShown = append(r.NotShown[:i], plan.Counted(len(r.NotShown)-i, "more step"))
			break
		}
	}
	return r
}

// notShown says what a step that names how it is verified was not shown to fulfil, and
// while the plan is open, the call that shows it.
func notShown(step *plan.Step, c Caller, closed bool) []string {
	missing := plan.MissingEvidence(step)
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 || len(missing) == 0 {
		return nil
	}
	lacks := strings.Join(missing, ", and ")
	text := step.ID.String() + ": " + tokens.ShortenCautiously(lacks, missingTokens, len(lacks))
	if closed {
		return []string{text}
	}
	var calls []string
	if step.Verify != "" && !plan.Verified(step) {
		calls = append(calls, "run `"+c.word(Call{Act: ActCheck, Step: step.ID})+"`")
		missing = missing[1:]
	}
	if len(missing) > 0 {
		calls = append(calls, "report evidence: "+c.word(Call{Act: ActProve, Step: step.ID}))
	}
	return []string{text + "; " + strings.Join(calls, ", and ")}
}

// before stands before what a report is answered with, after behind it.
func (r Reported) before() string {
	if r.Blocker == nil {
		return ""
	}
	return "A blocker is open and comes first. " + r.Blocker.text() + "\n"
}

func (r Reported) after() string {
	text := ""
	for _, missing := range r.NotShown {
		text += "\nNot shown for " + missing
	}
	return text
}
