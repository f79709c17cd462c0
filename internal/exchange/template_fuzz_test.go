package exchange_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// FuzzRead: a text is refused with a reason, or makes from any values a plan that Decide accepts unchanged, or
// refuses the values with a reason.
func FuzzRead(f *testing.F) {
	f.Add(rich, `"$S001 {{count}}"`)
	f.Add(small, `3`)
	for _, c := range wrong() {
		if len(c.text) < 10_000 {
			f.Add(c.text, `["a","b"]`)
		}
	}
	builtIn, err := filepath.Glob("builtin/*.yaml")
	if err != nil || len(builtIn) == 0 {
		f.Fatal(err)
	}
	for _, name := range builtIn {
		text := testenv.Must(os.ReadFile(name))(f)
		f.Add(string(text), `"a.go"`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		read := exchange.ReadTemplate("x", exchange.UserTemplate, "", []byte(text))
		if read.Err != nil {
			refused(t, read.Err)
			return
		}
		values := map[string]json.RawMessage{}
		for _, p := range read.Parameters {
			if p.Default == nil || len(value)%2 == 0 {
				values[p.Name] = json.RawMessage(value)
			}
		}
		made, err := read.Make(values)
		if err != nil {
			refused(t, err)
			return
		}
		action := plan.SetUp{Outline: made.Outline, Steps: made.Steps}
		if err := plan.CleanAction(action); err != nil {
			t.Fatalf("what was made is not clean: %v", err)
		}
		if _, err := plan.Decide(plan.State{}, action, plan.Facts{Actor: plan.Actor{Kind: plan.Agent, Name: "a"}}); err != nil {
			refused(t, err) // errors about the plan as a whole
		}
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	var refusal *plan.ValidationError
	if !errors.As(err, &refusal) || refusal.Problem == "" {
		t.Fatalf("%v is no refusal", err)
	}
}

// TestTextInjectsNothing: any value stays one text in its place.
func TestTextInjectsNothing(t *testing.T) {
	recipe := read(t, "parameters: [{name: v}]\nobjective: o\nsteps:\n"+
		"  - {title: a, tool: x, args: {k: '{{v}}'}}\n  - title: '{{v}} b'\n")
	rapidtest.Check(t, func(t *rapid.T) {
		hostile := `[ -~]{0,4}(\$S001|\$\$|\$item|\{\{v\}\}|\{\{\{\{|"|\\|: |- |\x60|<x>|S002)[ -~]{0,6}`
		value := rapid.StringMatching(hostile).Draw(t, "value")
		data, _ := json.Marshal(value)
		made, err := recipe.Make(map[string]json.RawMessage{"v": data})
		if err != nil { // blank, or a list in another text
			return
		}
		want := strings.TrimSpace(value)
		if got := made.Steps[1].Title; got != strings.TrimSpace(want+" b") {
			t.Fatalf("the title is %q of %q", got, want)
		}
		resolved, err := plan.ResolveArgs(made.Steps[0].Args, func(id plan.StepID) (json.RawMessage, error) {
			return nil, fmt.Errorf("%s is referred to", id)
		}, nil)
		var args struct{ K string }
		if err != nil || json.Unmarshal(resolved, &args) != nil || args.K != want {
			t.Fatalf("%q became %q: %v", want, args.K, err)
		}
	})
}

// TestSavedPlansComeBack: a plan saved as a template makes the same plan again.
func TestSavedPlansComeBack(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z{}$][ -~]{0,12}[a-z{}]`)
		outline := plan.Outline{Objective: text.Draw(t, "objective"), Questions: rapid.SliceOfN(text, 0, 2).Draw(t, "questions")}
		outline.Metadata.Constraints = rapid.SliceOfN(text, 0, 2).Draw(t, "constraints")
		var steps []plan.Step
		var want []plan.NewStep
		for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
			spec := plan.Spec{Title: text.Draw(t, "title"), Details: text.Draw(t, "details"), Verify: text.Draw(t, "verify"), Tool: "x",
				ContextHints: rapid.SliceOfN(text, 0, 2).Draw(t, "hints")}
			spec.Args = fmt.Appendf(nil, `{"k":%q,"n":5}`, "$$"+text.Draw(t, "argument"))
			moved := spec
			if i > 0 && rapid.Bool().Draw(t, "depends") {
				on := rapid.IntRange(1, i).Draw(t, "on")
				spec.DependsOn, moved.DependsOn = []plan.StepID{plan.StepID(10 * on)}, []plan.StepID{plan.StepID(on)}
				spec.ForEach, moved.ForEach = fmt.Sprintf("$S%03d.files", 10*on), fmt.Sprintf("$S%03d.files", on)
				spec.When, moved.When = fmt.Sprintf("steps.S%03d.ok", 10*on), fmt.Sprintf("steps.S%03d.ok", on)
			}
			steps = append(steps, plan.Step{ID: plan.StepID(10 * (i + 1)), Spec: spec})
			want = append(want, plan.NewStep{Spec: moved})
		}
		written := testenv.Must(exchange.TemplateOf(outline, steps))(t)
		again := exchange.ReadTemplate("x", exchange.UserTemplate, "", written)
		made, err := again.Make(nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		for i := range made.Steps {
			if len(made.Steps[i].ContextHints) == 0 {
				made.Steps[i].ContextHints = want[i].ContextHints
			}
		}
		if diff := cmp.Diff(want, made.Steps); diff != "" {
			t.Fatalf("%s\n%s", diff, written)
		}
		if made.Outline.Objective != outline.Objective || len(made.Outline.Metadata.Constraints) != len(outline.Metadata.Constraints) {
			t.Fatalf("got %+v of\n%s", made.Outline, written)
		}
	})
}
