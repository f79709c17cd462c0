package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// looped returns a plan with the marks of the loop: evidence, signals and a verdict.
func looped(t *testing.T) *story {
	s := &story{t: t, by: "codex"}
	failed, passed := 1, 0
	schema := plan.Spec{Title: "Set up database schema", Type: plan.Feature, Risk: "medium",
		Details: "Follow the specification to the letter.",
		ContextHints: []string{"Read the 'Database Schema' section in `spec.md`.",
			"Review existing models in `src/models/` for conventions."},
		RelevantFilePaths: []string{"spec.md", "src/models/user.py"}, AcceptanceCriteria: []string{"The table users exists"},
		Verify: "pytest -k schema"}
	endpoint := plan.Spec{Title: "Create login endpoint", DependsOn: []plan.StepID{1}}
	s.do(plan.SetUp{Outline: plan.Outline{Objective: "Implement user authentication"}, Steps: []plan.NewStep{{Spec: schema},
		{Spec: endpoint}}})
	s.do(plan.Judge{Approved: true, Feedback: "Small steps in a sensible order.", Way: "gpt-4o-mini"})
	s.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
	s.do(plan.ReportStep{Step: 1, Note: "migration written", Output: "1 table", AffectedFiles: []string{"migrations/001.sql"},
		Evidence: []plan.Evidence{
			{Command: "pytest -k schema", ExitCode: &failed, Output: "E   no such table: users\n1 failed", Recorded: true},
			{Criterion: "The table users exists", Note: "seen in sqlite3"},
			{Command: "pytest -k schema", ExitCode: &passed, Output: "1 passed", Recorded: true},
		}})
	s.do(plan.RaiseSignal{ID: "flaky", Level: plan.Info, Message: "test_login is slow"})
	s.do(plan.RaiseSignal{ID: "lint", Level: plan.Warning, Message: "3 findings"})
	s.do(plan.RaiseSignal{ID: "test_failure", Level: plan.Blocker, Step: 1, Output: "FAILED test_user_creation",
		Message: "Tests failed: test_user_creation returned non-zero exit code, " +
			"and so did all those that need a user to exist before they can begin."})
	s.do(plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "The runner is gone."})
	return s
}

func TestPlanViewOfTheLoop(t *testing.T) {
	state := looped(t).state
	screen := screenOf(80, map[string]string{"NO_COLOR": "1"})
	next := `Blocked by signal "test_failure": fix what it reports, then planloop alert --clear --id test_failure.`
	goldenView(t, "loop.txt", PlanView{Screen: screen, State: state, Next: next})
	goldenView(t, "loop_all.txt", PlanView{Screen: screen, State: state, Next: next, All: true})
}

// The final summary of a closed plan is shown, and a former plan shows no signals of today.
func TestPlanViewOfAClosedPlan(t *testing.T) {
	s := looped(t)
	s.do(plan.Judge{Feedback: "Nothing says how a login is limited.", Way: plan.WayAgent})
	for _, blocker := range []string{"test_failure", "ci"} {
		s.do(plan.ClearSignal{ID: blocker})
	}
	for _, id := range []plan.StepID{1, 2} {
		s.do(plan.MarkStep{Step: id, Status: plan.Done})
	}
	s.do(plan.Close{Summary: "Login works.\nAll tests pass."})
	s.do(plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "The runner is gone."})
	past := plan.PastPlan{ID: s.state.Plan.ID, Reason: "replaced", ArchivedAt: morning}
	goldenView(t, "closed.txt", PlanView{Screen: screenOf(80, map[string]string{"NO_COLOR": "1"}), State: s.state, Former: &past})
}

func TestStepView(t *testing.T) {
	v := PlanView{Screen: screenOf(80, map[string]string{"NO_COLOR": "1"}), State: looped(t).state, All: true, Now: morning.Add(time.Hour)}
	step, _ := v.State.Plan.Steps.Get(1)
	golden(t, "step.txt", Page{body: v.Step(step)})
}

// The loop's lines fit any width, too.
func TestLoopLinesFit(t *testing.T) {
	state := looped(t).state
	step, _ := state.Plan.Steps.Get(1)
	for width := narrowest; width <= 100; width++ {
		v := PlanView{Screen: screenOf(width, nil), State: state, Next: "Do S002.", Now: morning}
		for _, all := range []bool{false, true} {
			v.All = all
			for line := range strings.SplitSeq(strings.Join(append(v.Page().Lines(), v.Step(step)...), "\n"), "\n") {
				if w := ansi.StringWidth(line); w > width {
					t.Fatalf("in %d columns a line is %d wide: %q", width, w, ansi.Strip(line))
				}
			}
		}
	}
}
