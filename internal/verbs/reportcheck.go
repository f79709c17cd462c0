package verbs

import (
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// ReportCheck is the answer to a report of finished work: the missing evidence, and a blocker that comes before all other
// work.
type ReportCheck struct {
	Blocker  *SignalView `json:"blocker,omitempty"`
	NotShown []string    `json:"not_shown,omitempty"`
}

// Token limits in an answer: of all unverified steps, the first of which is always named, and of one step's missing
// evidence.
const (
	notShownTokens = 400
	missingTokens  = 300
)

// checkReports checks the checkReports steps, or all steps of a closed plan.
func checkReports(state plan.State, c Caller, ids []plan.StepID) ReportCheck {
	var r ReportCheck
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
			r.NotShown = append(r.NotShown, missingEvidence(step, c, closed)...)
		}
	}
	shown := tokens.First(len(r.NotShown), notShownTokens, func(i int) int { return tokens.CountCautiously(r.NotShown[i]) })
	if more := len(r.NotShown) - shown; more > 0 {
		r.NotShown = append(r.NotShown[:shown], plan.Pluralize(more, "more step"))
	}
	return r
}

// missingEvidence lists a step's missing evidence, if the step says how to verify it, and while the plan is open the calls
// that provide it.
func missingEvidence(step *plan.Step, c Caller, closed bool) []string {
	missing := plan.MissingEvidence(step)
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 || len(missing) == 0 {
		return nil
	}
	lacks := strings.Join(missing, ", and ")
	text := step.ID.String() + " is not verified: " + tokens.ShortenCautiously(lacks, missingTokens, len(lacks))
	if closed {
		return []string{text}
	}
	var calls []string
	if step.Verify != "" && !plan.IsVerified(step) {
		calls = append(calls, "run `"+c.word(Call{Kind: CallCheck, Step: step.ID})+"`")
		missing = missing[1:]
	}
	if len(missing) > 0 {
		calls = append(calls, "report evidence: "+c.word(Call{Kind: CallProve, Step: step.ID}))
	}
	return []string{text + "; " + strings.Join(calls, ", and ")}
}

// before is the text before an answer to a report, after the text that follows it.
func (r ReportCheck) before() string {
	if r.Blocker == nil {
		return ""
	}
	return "A blocker is open and comes first. " + r.Blocker.text() + "\n"
}

func (r ReportCheck) after() string {
	text := ""
	for _, missing := range r.NotShown {
		text += "\n" + missing
	}
	return text
}
