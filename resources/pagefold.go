package resources

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// fold is a run of finished steps of one status.
type fold struct {
	first, last plan.StepID
	status      plan.StepStatus
	steps       int
}

func (f fold) String() string {
	if f.steps == 1 {
		return fmt.Sprintf("%s %s", f.first, f.status)
	}
	return fmt.Sprintf("%s-%s %s", f.first, f.last, f.status)
}

// folds returns the runs of finished steps, the longest-standing first; those
// beyond a handful are counted together.
func folds(steps plan.Steps) []string {
	var runs []fold
	open := false // the last run can be extended
	for step := range steps.All() {
		n := len(runs)
		switch {
		case !step.Status.Finished():
			open = false
		case open && runs[n-1].status == step.Status:
			runs[n-1].last = step.ID
			runs[n-1].steps++
		default:
			runs = append(runs, fold{step.ID, step.ID, step.Status, 1})
			open = true
		}
	}
	return foldTexts(runs)
}

func foldTexts(runs []fold) []string {
	var texts []string
	rest := 0
	for i, run := range runs {
		if i < pageFolds || len(runs) == pageFolds+1 {
			texts = append(texts, run.String())
		} else {
			rest += run.steps
		}
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("%d more finished between %s and %s", rest, runs[pageFolds].first, runs[len(runs)-1].last))
	}
	return texts
}
