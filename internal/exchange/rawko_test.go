package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// tree reads YAML with only the library.
func tree(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	testenv.Check(t, yaml.Unmarshal(text, &m))
	return m
}

// TestRawkoExample: rawko's example plan (SPEC-0010: Example Plan) survives import and export completely (R05-R28,
// R54-R57).
func TestRawkoExample(t *testing.T) {
	example := testdata(t, "rawko-example.yaml")
	got := testenv.Must(exchange.Import(example, exchange.RawkoYAML, exchange.ImportOptions{}))(t)
	for i, step := range got.Action.Steps {
		if !step.Critical {
			t.Errorf("step %d is not critical", i)
		}
	}
	s := setUp(t, got.Action)
	text, notes := export(t, exchange.RawkoYAML, s)
	if len(notes) > 0 {
		t.Errorf("nothing is lost, yet there are notes: %q", notes)
	}
	if diff := cmp.Diff(tree(t, example), tree(t, []byte(text))); diff != "" {
		t.Errorf("(-example +exported):\n%s", diff)
	}
	golden(t, "rawko-example.golden.yaml", text)
	object := testenv.Must(json.Marshal(tree(t, example)))(t) // in the form that the specification prints (R28)
	if of, err := exchange.Import(object, exchange.RawkoYAML, exchange.ImportOptions{}); err != nil || !cmp.Equal(got, of) {
		t.Errorf("the object: %v\n%s", err, cmp.Diff(got, of))
	}
	golden(t, "rawko-example.notes", strings.Join(got.Notes, "\n")+"\n")
}

func TestRawkoToleratesWhatItDoesNotKnow(t *testing.T) {
	got := testenv.Must(exchange.Import([]byte("task: t\nowner: me\nmetadata: {effort: 3}\nsteps:\n"+
		"  - description: |\n      two\n      lines\n    colour: red\n"+
		"    index: 4\n  - description: 42\n    dependsOn: [4]\n"),
		exchange.RawkoYAML, exchange.ImportOptions{}))(t)
	notes := strings.Join(got.Notes, "\n")
	if !strings.Contains(notes, "metadata.effort, owner, steps[].colour") {
		t.Errorf("notes %q", notes)
	}
	steps := got.Action.Steps
	if steps[0].Title != "two lines" || steps[1].Title != "42" || len(steps[1].DependsOn) != 1 || steps[1].DependsOn[0] != 1 {
		t.Errorf("steps %+v", steps)
	}
}

func TestRawkoStatuses(t *testing.T) {
	for _, c := range []struct {
		status plan.PlanStatus
		want   string
	}{
		{plan.StatusDraft, "draft"}, {plan.StatusActive, "in_progress"}, {plan.StatusCompleted, "complete"},
		{plan.StatusFailed, "failed"}, {plan.StatusReplanning, "replanning"}, {plan.StatusAbandoned, "failed"},
	} {
		p := plan.Plan{ID: "p", Outline: plan.Outline{Objective: "o"}, Status: c.status, Version: 2, PreviousPlanID: "q"}
		text, _ := export(t, exchange.RawkoYAML, plan.State{Plan: &p})
		if !strings.Contains(text, "\nstatus: "+c.want+"\n") || !strings.Contains(text, "\npreviousPlanId: q\n") ||
			!strings.Contains(text, "\nsteps: []\n") {
			t.Errorf("%s:\n%s", c.status, text)
		}
	}
}
