package exchange_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestExecutionExample imports the specification's example exactly as printed, including the comment (Execution
// Context).
func TestExecutionExample(t *testing.T) {
	example := testdata(t, "execution-example.json")
	got := testenv.Must(exchange.Import(example, exchange.Execution, exchange.ImportOptions{Name: "process-data.json"}))(t)
	if got.Action.Objective != "process-data" || len(got.Notes) > 0 {
		t.Errorf("objective %q, notes %q", got.Action.Objective, got.Notes)
	}
	text, _ := export(t, exchange.Execution, setUp(t, got.Action))
	golden(t, "execution-example.golden.json", text)
}

// TestExecutionPlan: a plan with every field of the execution specification survives byte for byte (E01-E08).
func TestExecutionPlan(t *testing.T) {
	text := string(testdata(t, "execution.json"))
	again, _ := reexported(t, text)
	if diff := cmp.Diff(text, again); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// reexported imports an exported plan and exports it again.
func reexported(t fatal, text string) (string, plan.State) {
	t.Helper()
	got, err := exchange.Import([]byte(text), exchange.Execution, exchange.ImportOptions{Objective: "o"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := setUp(t, got.Action)
	again, _ := export(t, exchange.Execution, s)
	return again, s
}

func TestExecutionRoundTripProperty(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		first, _ := export(t, exchange.Execution, setUp(t, setUpAction(t)))
		second, _ := reexported(t, first)
		third, _ := reexported(t, second)
		if diff := cmp.Diff(second, third); diff != "" { // only first may differ in blocked and skipped steps
			t.Fatalf("(-second +third):\n%s", diff)
		}
	})
}

// TestExecutionStatuses: while a plan runs, ready and blocked follow from the dependencies.
func TestExecutionStatuses(t *testing.T) {
	step := func(status plan.StepStatus, after ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: "t", DependsOn: after}, Progress: plan.Progress{Status: status}}
	}
	a := plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{
		step(plan.Done), step("", 1), step("", 2), step(plan.Blocked, 1),
		step(plan.InProgress), step(plan.Failed), step(plan.Skipped), step(plan.Cancelled)}}
	for draft, want := range map[bool]string{false: "completed ready blocked blocked running failed skipped skipped",
		true: "completed pending pending blocked running failed skipped skipped"} {
		a.Draft = draft
		s := setUp(t, a)
		var words []string
		for step := range s.Plan.Steps.All() {
			words = append(words, s.Plan.ExecutionStatus(step))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("draft %v: %s, want %s", draft, got, want)
		}
	}
}

// TestExecutionExtensions imports the fields that plan_with_tools adds to the specification.
func TestExecutionExtensions(t *testing.T) {
	got, err := exchange.Import([]byte(`{"summary":"Count lines.","reasoning":"They may be many.","constraints":["No network"],"steps":[
		{"id":"step_1","tool":"glob","args":{"pattern":"*.txt"},"idempotent":true,"timeout":30},
		{"id":"step_2","tool":"bash_execute","args":{"command":"wc -l \"$FILE\"","env":{"FILE":"$item"}},"for_each":["a.txt", "b.txt"],
		 "requires_approval":true,"pause":"Shall I?","when":"steps.step_1.ok"},
		{"id":"step_3","tool":"read_file","args":{"path":"$item"},"for_each":"$step_1.paths"}]}`),
		exchange.Execution, exchange.ImportOptions{Objective: "o"})
	if err != nil || len(got.Notes) > 0 {
		t.Fatalf("%v, %q", err, got.Notes)
	}
	a, steps := got.Action, got.Action.Steps
	if a.Summary != "Count lines." || a.Reasoning != "They may be many." || !slices.Equal(a.Metadata.Constraints, []string{"No network"}) {
		t.Errorf("%+v", a.Outline)
	}
	if one := steps[0]; !one.Idempotent || one.Timeout != 30 {
		t.Errorf("%+v", one.Spec)
	}
	if two := steps[1]; two.ForEach != `["a.txt", "b.txt"]` || !two.RequiresApproval || two.Pause != "Shall I?" || two.When == "" {
		t.Errorf("%+v", two.Spec)
	}
	if three := steps[2]; three.ForEach != "$S001.paths" {
		t.Errorf("%+v", three.Spec)
	}
}

// TestExecutionNames: steps may have any names, which messages then use.
func TestExecutionNames(t *testing.T) {
	got := testenv.Must(exchange.Import([]byte(`{"steps":[
		{"id":"fetch","tool":"bash_execute","args":{"command":"curl x"}},
		{"id":"step_9","tool":"str_replace","args":{"path":"a.go","$fetch":"$fetch",
		 "deep":["$fetch.lines[0]","$fetching","$HOME","$$fetch",1.50]},
		 "dependsOn":["fetch"]},
		{"id":"c","order":3,"dependsOn":["step_9"],"description":"Look"}],"owner":"x"}`),
		exchange.Execution, exchange.ImportOptions{Objective: "o"}))(t)
	steps := got.Action.Steps
	if steps[0].Title != "Bash execute curl x" || steps[1].Title != "Str replace a.go" || steps[2].DependsOn[0] != 2 {
		t.Errorf("steps %+v", steps)
	}
	want := `{"path":"a.go","$fetch":"$S001","deep":["$S001.lines[0]","$fetching","$HOME","$$fetch",1.50]}`
	if string(steps[1].Args) != want {
		t.Errorf("args %s, want %s", steps[1].Args, want)
	}
	if notes := strings.Join(got.Notes, "\n"); notes != "Unknown fields were left out: owner." {
		t.Errorf("notes %q", notes)
	}
}

// TestExecutionOrder: the field order decides the order of the steps.
func TestExecutionOrder(t *testing.T) {
	got := testenv.Must(exchange.Import([]byte(`{"id":"p-v3","taskId":"p","createdAt":"2026-01-23T10:00:00Z","steps":[
		{"id":"2","order":2,"description":"b"},{"id":"1","order":1,"description":"a"}]}`),
		exchange.Execution, exchange.ImportOptions{Objective: "o"}))(t)
	p := setUp(t, got.Action).Plan
	if p.Steps.At(0).Title != "a" || p.ID != "p-v3" || p.Version != 3 || p.Root() != "p" || !p.CreatedAt.Equal(start) {
		t.Errorf("got %+v", p)
	}
}

// TestExecutionSeveralFaults: all errors are reported at once, in the names of the file.
func TestExecutionSeveralFaults(t *testing.T) {
	_, err := exchange.Import([]byte(`{"steps":[{"id":"step_1","tool":"view","args":{},"dependsOn":["step_7"],"status":"done"},
		{"id":"step_2","depends_on":["step_1"]}]}`), exchange.Execution, exchange.ImportOptions{Objective: "o"})
	want := "/steps/0/status: \"done\" is not known; use one of pending, running, blocked, completed, failed, skipped, ready; also " +
		"Unknown dependency: step_7 (/steps/0/dependsOn/0); name a step of the plan; also " +
		"/steps/1/depends_on: the field \"depends_on\" is not known; did you mean dependsOn?"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = exchange.Import([]byte(`{"steps":[{"id":"a","dependsOn":["b"],"description":"x"},
		{"id":"b","dependsOn":["a"],"description":"y"}]}`),
		exchange.Execution, exchange.ImportOptions{Objective: "o"})
	if want := "Plan contains circular dependencies: a -> b -> a (/steps/0/dependsOn); " +
		"drop one of them"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestExecutionResults: the value of a step without a tool becomes its output.
func TestExecutionResults(t *testing.T) {
	_, s := reexported(t, `{"steps":[
		{"id":"1","description":"a","status":"completed",
		 "result":{"ok":true,"value":"told","duration":1500,"timestamp":"2026-01-23T10:00:00Z"}},
		{"id":"2","tool":"view","status":"skipped","result":{"ok":false,"error":"User denied approval"}},
		{"id":"3","tool":"view","args":null,"status":"failed",
		 "result":{"ok":false,"error":"gone","value":null,"duration":1e300,"timestamp":"2026-01-23T10:00:00Z"}}]}`)
	first, second, third := s.Plan.Steps.At(0), s.Plan.Steps.At(1), s.Plan.Steps.At(2)
	if first.Output != "told" || first.Result != nil || !first.CompletedAt.Equal(start) ||
		!first.StartedAt.Equal(start.Add(-1500*time.Millisecond)) {
		t.Errorf("the agent's %+v", first.Progress)
	}
	if second.Result == nil || second.Result.Error != "User denied approval" || second.Title != "View" {
		t.Errorf("the denied one %+v", second.Progress)
	}
	if third.Result == nil || third.Result.Duration <= 0 || third.StartedAt.IsZero() || third.Error != "gone" {
		t.Errorf("the failed one %+v", third.Progress)
	}
}
