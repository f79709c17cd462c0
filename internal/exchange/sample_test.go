package exchange_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testenv.Check(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want := testenv.Must(os.ReadFile(path))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	return testenv.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
}

var start = time.Date(2026, 1, 23, 10, 0, 0, 0, time.UTC)

// fatal is the common part of testing and rapid.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// setUp returns the state after a plan was set up.
func setUp(t fatal, a plan.SetUp) plan.State {
	t.Helper()
	events := testenv.Must(plan.Decide(plan.State{}, a, plan.Facts{Now: start, Actor: plan.Actor{Kind: plan.Person, Name: "me"}}))(t)
	s := plan.Fold(plan.State{}, plan.Record{Seq: 1, Action: plan.ActionWord(a), Time: start, Events: events})
	if a.Draft {
		s.Plan, s.Draft = s.Draft, nil
	}
	return s
}

func export(t fatal, format exchange.Format, s plan.State) (text string, notes []string) {
	t.Helper()
	data, notes, err := exchange.Export(format, s)
	testenv.Check(t, err)
	return string(data), notes
}

func sample() plan.SetUp {
	exit := 1
	return plan.SetUp{
		Outline: plan.Outline{
			Objective: "Ship the *new* parser", Summary: "Two lines\nof summary.", ContextNotes: "# no heading\n\n- no item",
			Questions: []string{"Who reviews?"}, Reasoning: "Because.", EstimatedDuration: 60,
			Metadata: plan.Metadata{Complexity: 3, Tags: []string{"parser"}, Constraints: []string{"No new modules"},
				InformedBy: []string{"m1"}},
		},
		Steps: []plan.NewStep{
			{Spec: plan.Spec{Title: "Write the grammar", Details: "First:\n\n1. tokens\n2. rules\n    indented", Type: plan.Feature,
				Critical:     true,
				ContextHints: []string{"See `grammar.md`"}, RelevantFilePaths: []string{"docs/*.md"}, Creates: []string{"parser/"}},
				Progress: plan.Progress{Status: plan.Done, Notes: []string{"went well", "two\n\nparts"}, StartedAt: start,
					CompletedAt: start.Add(time.Minute),
					ExecutedBy:  "dev", Attempts: 1, Output: "parser/grammar.go", AffectedFiles: []string{"parser/grammar.go"}}},
			{Spec: plan.Spec{Title: "S001 is no id here: [x] <b>", DependsOn: []plan.StepID{1}, Risk: plan.HighRisk,
				Tools:              []string{"view"},
				AcceptanceCriteria: []string{"Parses 1,000 files", "- no panic"}, Verify: "go test ./...", SuggestedAgent: "dev",
				Timeout: 90},
				Progress: plan.Progress{Status: plan.Failed, Error: "exit status 1",
					Evidence: []plan.Evidence{{Command: "go test", ExitCode: &exit, At: start}}}},
			{Spec: plan.Spec{Title: "Run it", Tool: "bash_execute",
				Args: json.RawMessage(`{"command":"echo \"$S001\"","from":"$S001","n":1.50,"deep":[{"x":null}]}`),
				When: "steps.S001.ok && steps.S002.value != 1", ForEach: "$S001.files", Pause: "Sure?", RequiresApproval: true,
				Idempotent: true,
				DependsOn:  []plan.StepID{1, 2}},
				Progress: plan.Progress{Status: plan.Blocked,
					Result: &plan.Result{OK: true, Value: json.RawMessage(`{"a":[1,2]}`), Duration: 5, Timestamp: start}}},
			{Spec: plan.Spec{Title: "Später — 計画", Always: true}, Progress: plan.Progress{Status: plan.Cancelled}},
			{Spec: plan.Spec{Title: "Skip me"}, Progress: plan.Progress{Status: plan.Skipped}},
			{Spec: plan.Spec{Title: "Under way"}, Progress: plan.Progress{Status: plan.InProgress}},
			{Spec: plan.Spec{Title: "Open"}},
		},
	}
}
