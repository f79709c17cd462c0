package resources_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testenv.Check(t, os.WriteFile(path, got, 0o600))
	}
	want := testenv.Must(os.ReadFile(path))(t)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var start = time.Date(2026, 1, 23, 10, 0, 0, 0, time.UTC)

// history folds actions, one a minute, into a state.
type history struct {
	t     *testing.T
	state plan.State
}

func (h *history) do(a plan.Action) {
	h.t.Helper()
	facts := plan.Facts{
		Now:   start.Add(time.Duration(h.state.Revision) * time.Minute),
		Actor: plan.Actor{Kind: plan.Agent, Name: "developer"},
	}
	facts.Limits.MaxSteps = 10_000
	events, err := plan.Decide(h.state, a, facts)
	testenv.Check(h.t, err)
	h.state = plan.Fold(h.state, plan.Record{Seq: h.state.Revision + 1, Action: plan.ActionWord(a), Time: facts.Now, Events: events})
}

// sample returns a plan of six steps in which every field is used somewhere, after another one that it replaced.
func sample(t *testing.T) plan.State {
	t.Helper()
	h := &history{t: t}
	h.do(plan.SetUp{Outline: plan.Outline{Objective: "An earlier plan"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Only step"}}}})
	h.do(plan.SetUp{Outline: sampleOutline(), Steps: sampleSteps()})
	h.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
	h.do(plan.MarkStep{Step: 1, Status: plan.Done, Note: "The patterns stand in src/auth/.\nNothing else uses them."})
	h.do(plan.MarkStep{Step: 2, Status: plan.InProgress, Note: "Started"})
	h.do(plan.MarkStep{Step: 4, Status: plan.Blocked, Note: "The reviewer is away"})
	h.do(plan.MarkStep{Step: 6, Status: plan.Cancelled})
	h.do(plan.SetUp{Outline: plan.Outline{Objective: "A draft"}, Draft: true})
	return h.state
}

func sampleOutline() plan.Outline {
	return plan.Outline{
		Objective:    "Implement user authentication with JWT & <b>care</b>",
		Summary:      "Adds a login endpoint.\nSessions go.",
		ContextNotes: "- The code base uses *chi*\n# not gin",
		Questions:    []string{"Which key length?"},
		Reasoning:    "Small steps, each with a test.",
		Metadata: plan.Metadata{
			Complexity: 5, Tags: []string{"auth", "jwt"}, Constraints: []string{"Use the existing JWT library"},
			InformedBy: []string{"memory/42"},
		},
		EstimatedDuration: 5400,
	}
}

func sampleSteps() []plan.NewStep {
	exit := 0
	at := start.Add(-time.Hour)
	return []plan.NewStep{
		{Spec: plan.Spec{
			Title: "Analyze the auth patterns", Details: "Read `src/auth`.\n\n1. list the callers\n2. list the tests",
			Type: plan.Chore, ContextHints: []string{"Look at `src/auth/jwt.go`"}, RelevantFilePaths: []string{"src/auth/jwt.go"},
			SuggestedAgent: "planner", Risk: plan.LowRisk, Tools: []string{"grep", "view"}, Idempotent: true,
		}},
		{Spec: plan.Spec{
			Title: "Implement the middleware", Type: plan.Feature, DependsOn: []plan.StepID{1}, Creates: []string{"src/auth/middleware.go"},
			AcceptanceCriteria: []string{"Validates JWT tokens", "Returns 401 on an invalid token"},
			Critical:           true, Timeout: 600, Verify: "go test ./src/auth/...", Risk: plan.HighRisk,
		}, Progress: plan.Progress{Evidence: []plan.Evidence{
			{Criterion: "Validates JWT tokens", Command: "go test ./src/auth", ExitCode: &exit, Output: "ok", Note: "first half",
				By: "developer", At: at},
		}}},
		{Spec: plan.Spec{
			Title: "Read the configuration", Tool: "view", Args: json.RawMessage(`{"path":"config.yaml","lines":[1,20]}`),
			RequiresApproval: true, Pause: "Is the key in place?", When: "steps.S001.ok", ForEach: "$S001.files",
		}, Progress: plan.Progress{
			Status: plan.Failed, Error: "no such file", Attempts: 2, ExecutedBy: "engine", StartedAt: at, CompletedAt: at.Add(time.Second),
			Result: &plan.Result{Error: "no such file", Duration: 12, Timestamp: at, Value: json.RawMessage(`null`)},
		}},
		{Spec: plan.Spec{Title: "[x] Review `<script>alert(1)</script>` #1", DependsOn: []plan.StepID{2, 3}, Type: plan.Test}},
		{Spec: plan.Spec{Title: "Take notes"}, Progress: plan.Progress{
			Status: plan.Skipped, Notes: []string{"one", "two", "three", "four"}, Output: "line 1\n  line 2",
			AffectedFiles: []string{"NOTES.md"},
		}},
		{Spec: plan.Spec{Title: "Tidy up"}},
	}
}

// long returns a plan of n steps with titles of 160 characters, the first done of them done. Every third of the others
// waits for the one before.
func long(t *testing.T, n, done int, word string) *plan.Plan {
	t.Helper()
	steps := make([]plan.NewStep, n)
	title := string([]rune(strings.Repeat(word+" ", plan.MaxTitle))[:plan.MaxTitle-1]) + "x"
	for i := range steps {
		steps[i].Title = title
		steps[i].Details = title + title
		steps[i].Notes = []string{title}
		if i < done {
			steps[i].Status = plan.Done
		} else if i%3 == 0 && i > 0 {
			steps[i].DependsOn = []plan.StepID{plan.StepID(i)}
		}
	}
	h := &history{t: t}
	h.do(plan.SetUp{Outline: plan.Outline{Objective: title}, Steps: steps})
	return h.state.Plan
}
