package runnable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/plan"
)

// tools require exactly the arguments they name, as texts.
type tools map[string][]string

func (t tools) Tool(name string) (runnable.Tool, bool) { tool, ok := t[name]; return texts(tool), ok }

func (t tools) Names() []string { return []string{"read_file", "write_file"} }

type texts []string

func (t texts) CheckWith(args json.RawMessage, isReference func(string) bool) []*plan.ValidationError {
	var given map[string]any
	_ = json.Unmarshal(args, &given)
	var faults []*plan.ValidationError
	for _, name := range t {
		_, is := given[name].(string)
		if !is {
			faults = append(faults, &plan.ValidationError{Field: "/" + name, Problem: "is no text", Fix: "give a text"})
		}
	}
	return faults
}

// reader is a tool that is safe to repeat, unlike writer.
type reader struct{ texts }

func (reader) IsRepeatable() bool { return true }

type writer struct{ texts }

func (writer) IsRepeatable() bool { return false }

type hinted struct{}

func (hinted) Names() []string { return []string{"read", "write", "other"} }
func (hinted) Tool(name string) (runnable.Tool, bool) {
	tool, ok := map[string]runnable.Tool{"read": reader{}, "write": writer{}, "other": texts{}}[name]
	return tool, ok
}

// TestRetries: a policy needs a step that is safe to repeat, as far as is known.
func TestRetries(t *testing.T) {
	const refused = `Invalid retry in S001: the step is not marked as safe to repeat (/retry); add "idempotent": true, or leave retry out`
	for name, c := range map[string]struct {
		spec  plan.Spec
		blind bool // no tools are known
		want  string
	}{
		"a tool that only reads": {spec: plan.Spec{Tool: "read"}},
		"one that writes":        {spec: plan.Spec{Tool: "write"}, want: refused},
		"the same, idempotent":   {spec: plan.Spec{Tool: "write", Idempotent: true}},
		"a silent one":           {spec: plan.Spec{Tool: "other"}},
		"an unknown one":         {spec: plan.Spec{Tool: "write"}, blind: true},
		"an agent":               {spec: plan.Spec{}, want: refused},
		"an agent, blind":        {spec: plan.Spec{}, blind: true, want: refused},
		"an agent, idempotent":   {spec: plan.Spec{Idempotent: true}},
	} {
		var tools runnable.Tools
		if !c.blind {
			tools = hinted{}
		}
		c.spec.Title, c.spec.Retry = "x", json.RawMessage(`{}`)
		err, got := runnable.Check(runnable.Candidate{Steps: []runnable.Step{{ID: 1, Spec: c.spec}}}, tools), ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func known() tools { return tools{"read_file": {"path"}, "write_file": {"path", "content"}} }

// step returns a step of the execution specification: id, tool, args and dependencies.
func step(id int, tool, args string, deps ...plan.StepID) runnable.Step {
	spec := plan.Spec{Title: "x", Tool: tool, DependsOn: deps}
	if args != "" {
		spec.Args = json.RawMessage(args)
	}
	return runnable.Step{ID: plan.StepID(id), Name: fmt.Sprint("step_", id), Field: fmt.Sprintf("/steps/%d", id-1), Spec: spec}
}

func judge(t *testing.T, steps ...runnable.Step) []string {
	t.Helper()
	err := runnable.Check(runnable.Candidate{Steps: steps, Dependencies: "dependsOn"}, known())
	if err == nil {
		return nil
	}
	for _, one := range err.All() {
		if one.Fix == "" || one.Problem == "" || one.Kind == "" || !strings.HasPrefix(one.Field, "/steps/") {
			t.Errorf("%#v", one)
		}
	}
	return err.Details()
}

// TestExampleIsRunnable takes the execution specification's example as printed.
func TestExampleIsRunnable(t *testing.T) {
	if got := judge(t, step(1, "read_file", `{"path":"data.json"}`),
		step(2, "write_file", `{"path":"processed.json","content":"$step_1"}`)); got != nil {
		t.Error(got)
	}
}

// TestFaultsInOrder has every fault of the specification, and all are reported in its order.
func TestFaultsInOrder(t *testing.T) {
	odd := step(3, "reed_file", `{}`, 2)
	odd.Unknown = []string{"step_9", "nobody"}
	got := judge(t, step(1, "write_file", `{"path":1,"content":"$step_2.x"}`), step(2, "read_file", `{"path":"x"}`, 1), odd,
		step(4, "", `{"path":"x"}`), step(5, "shell", `{}`))
	want := []string{
		"Plan contains circular dependencies: step_1 -> step_2 -> step_1 (/steps/0/dependsOn); " +
			"remove one of these dependencies, or the reference that makes it one",
		"Invalid args for write_file in step_1: is no text (/steps/0/args/path); give a text",
		"Unknown tool: reed_file in step_3 (/steps/2/tool); did you mean read_file?",
		"Unknown dependency: step_9 in step_3 (/steps/2/dependsOn); name one of step_1, step_2, step_3, step_4, step_5",
		"Unknown dependency: nobody in step_3 (/steps/2/dependsOn); name one of step_1, step_2, step_3, step_4, step_5",
		"Args without a tool in step_4 (/steps/3/args); name the tool that takes them, or leave them out",
		"Unknown tool: shell in step_5 (/steps/4/tool); use one of read_file, write_file, or leave out tool and args " +
			"for a step that an agent does",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReferencesConditionsAndLoops(t *testing.T) {
	first := step(1, "read_file", `{"path":"x"}`)
	for _, c := range []struct {
		spec plan.Spec
		want string // "": no fault
	}{
		{plan.Spec{Args: json.RawMessage(`{"path":"$step_1.a[0]"}`)}, ""},
		{plan.Spec{Args: json.RawMessage(`{"path":"$item.x"}`), ForEach: `["a"]`}, ""},
		{plan.Spec{Args: json.RawMessage(`{"path":"$item"}`), ForEach: "$step_1.files", When: "item.x && steps.S1.ok"}, ""},
		{plan.Spec{Args: json.RawMessage(`{"path":"$HOME and $$S009"}`), ForEach: "docs/**/*.md"}, ""},
		{plan.Spec{Args: json.RawMessage(`{"path":"$step_9.x"}`)},
			`Invalid reference: "$step_9.x" in step_2: that step does not exist (/steps/1/args/path); name one ` +
				`of step_1, step_2, or write "$$step_9.x"`},
		{plan.Spec{Args: json.RawMessage(`{"path":"$S001."}`)}, `Invalid reference: "$step_1." in step_2: has "."`},
		{plan.Spec{Args: json.RawMessage(`{"path":"$item"}`)}, `Invalid reference: "$item" in step_2: item exists only in a loop`},
		{plan.Spec{Args: json.RawMessage(`{"path":"$S2"}`)}, "Plan contains circular dependencies: step_2 -> step_2 (/steps/1/dependsOn)"},
		{plan.Spec{When: "steps.S9.ok"}, `Invalid reference: "steps.S9" in step_2: that step does not exist`},
		{plan.Spec{When: "steps.S001.ok &&"}, "Invalid condition in step_2: the condition cannot be read: unexpected token"},
		{plan.Spec{When: "item == 1"}, "Invalid condition in step_2: item exists only in a loop"},
		{plan.Spec{ForEach: "[1]*"}, ""},
		{plan.Spec{ForEach: `["a"`}, `Invalid loop in step_2: "[\"a\"" is not a valid JSON list`},
		{plan.Spec{ForEach: "../*"}, "Invalid loop in step_2: "},
		{plan.Spec{ForEach: "{a"}, `Invalid loop in step_2: "{a" is not a valid pattern`},
		{plan.Spec{ForEach: "$item"}, "Invalid loop in step_2: "},
		{plan.Spec{ForEach: "$S9"}, `Invalid reference: "$S9" in step_2: that step does not exist`},
	} {
		c.spec.Title = "y"
		if c.spec.Args != nil {
			c.spec.Tool = "read_file"
		}
		got := strings.Join(judge(t, first, runnable.Step{ID: 2, Name: "step_2", Field: "/steps/1", Spec: c.spec}), "\n")
		if got == "" != (c.want == "") || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") ||
			got != "" && !strings.Contains(got, " (/steps/1/") {
			t.Errorf("%+v: got %s\nwant %s", c.spec, got, c.want)
		}
	}
}

func TestValuesOfConditionalSteps(t *testing.T) {
	maybe := step(1, "read_file", `{"path":"x"}`)
	maybe.When = "1 == 1"
	reader := step(2, "read_file", `{"path":"$step_1"}`)
	if got := judge(t, maybe, reader); len(got) != 1 || !strings.HasPrefix(got[0],
		`Invalid reference: "$step_1" in step_2: step_1 is run under a condition`) {
		t.Error(got)
	}
	reader.When = "steps.S001.ok"
	if got := judge(t, maybe, reader); got != nil {
		t.Error(got)
	}
}

// TestWholePlans judges a plan in progress: finished steps are left alone, an instance has an item.
func TestWholePlans(t *testing.T) {
	spec := func(args string) plan.Spec {
		return plan.Spec{Title: "x", Tool: "read_file", Args: json.RawMessage(args)}
	}
	steps := plan.NewSteps([]*plan.Step{
		{ID: 1, Spec: plan.Spec{Title: "x", Tool: "gone"}, Progress: plan.Progress{Status: plan.Done}},
		{ID: 2, Spec: spec(`{"path":"$item"}`), Progress: plan.Progress{Status: plan.Pending}, Execution: &plan.Execution{Loop: 1}},
		{ID: 3, Spec: spec(`{"path":"$S001"}`), Progress: plan.Progress{Status: plan.Pending}},
		{ID: 4, Spec: spec(`{}`), Progress: plan.Progress{Status: plan.Failed}},
	})
	err := runnable.Check(runnable.Of(steps), known())
	if err == nil || len(err.Others) != 0 || err.Problem != "Invalid args for read_file in S004: is no text" {
		t.Errorf("%+v", err)
	}
	if err := runnable.Check(runnable.Of(steps), nil); err != nil {
		t.Error(err)
	}
}

// TestLargeGraphs: chains and circles of 10,000 steps are judged fast, in any order.
func TestLargeGraphs(t *testing.T) {
	const n = 10_000
	for name, dep := range map[string]func(i int) []plan.StepID{
		"chain":    func(i int) []plan.StepID { return []plan.StepID{plan.StepID(max(1, i-1))}[:min(1, i-1)] },
		"backward": func(i int) []plan.StepID { return []plan.StepID{plan.StepID(min(n, i+1))}[:min(1, n-i)] },
		"circle":   func(i int) []plan.StepID { return []plan.StepID{plan.StepID(i%n + 1)} },
		"pairs":    func(i int) []plan.StepID { return []plan.StepID{plan.StepID((i - 1) ^ 1 + 1)} },
	} {
		steps := make([]runnable.Step, n)
		for i := range steps {
			steps[i] = step(i+1, "read_file", `{"path":"$item"}`, dep(i+1)...)
			steps[i].ForEach = "*.txt"
		}
		began := time.Now()
		err := runnable.Check(runnable.Candidate{Steps: steps}, known())
		if took := time.Since(began); took > 2*time.Minute { // on a busy machine
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s took %v", name, took)
		}
		if circular := name == "circle" || name == "pairs"; (err != nil) != circular || err != nil && len(err.Error()) > 3_000 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestReferencesWithinTexts: they are not replaced there, and a shell would expand them to nothing.
func TestReferencesWithinTexts(t *testing.T) {
	for args, refused := range map[string]bool{
		`{"command":"echo [$step_1]"}`:               true,
		`{"command":"wc < $S001"}`:                   true,
		`{"command":"echo $S1 $HOME $S099 $STEP_1"}`: false, // the shell's own variables
		`{"command":"$S001"}`:                        false,
		`{"command":"$S001.path[0]"}`:                false,
	} {
		got := judge(t, step(1, "view", `{"path":"a"}`), step(2, "bash_execute", args, 1))
		if told := strings.Contains(strings.Join(got, "\n"), "part of a longer text"); told != refused {
			t.Errorf("%s: %v", args, got)
		}
	}
}
