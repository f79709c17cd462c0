package gates

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// Neither another finding nor a graver one raises the score.
func TestScoreIsMonotone(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		tasks := make([]Task, rapid.IntRange(1, 300).Draw(t, "tasks"))
		for i := range tasks {
			tasks[i].ID = plan.StepID(i + 1)
		}
		var findings []Finding
		before := score(tasks, nil)
		if before != 100 {
			t.Fatalf("%d without a finding", before)
		}
		for range rapid.IntRange(1, 20).Draw(t, "findings") {
			f := Finding{Level: Warning, Step: plan.StepID(rapid.IntRange(0, len(tasks)).Draw(t, "task"))}
			findings = append(findings, f)
			warned := score(tasks, findings)
			findings[len(findings)-1].Level = Error
			refused := score(tasks, findings)
			if warned > before || refused > warned || warned == 100 || refused < 0 {
				t.Fatalf("%d, then %d with a warning and %d with an error", before, warned, refused)
			}
			before = refused
		}
	})
}
