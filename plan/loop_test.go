package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestConditionsNameSteps(t *testing.T) {
	for _, c := range []struct{ when, want string }{
		{`steps.step_1.ok`, `steps.S001.ok`},
		{`steps.S1.value.count > 3 && !steps.task_2.ok`, `steps.S001.value.count > 3 && !steps.S002.ok`},
		{`steps["s001"].status == 'done'`, `steps["S001"].status == 'done'`},
		{`steps [ 'S2' ] ?. ok`, `steps [ 'S002' ] ?. ok`},
		{`steps?.S1.ok and steps?.["S3"].ok`, `steps?.S001.ok and steps?.["S003"].ok`},
		{`1..steps.S1.value == [1]`, `1..steps.S001.value == [1]`},
		{`steps.schema.ok || steps["schema"].ok`, `steps.S007.ok || steps["S007"].ok`},
		{"steps.S1.value in [\"steps.S2.ok\", 'it\\'s steps.S3', `steps.S4`] // steps.S5",
			"steps.S001.value in [\"steps.S2.ok\", 'it\\'s steps.S3', `steps.S4`] // steps.S5"},
		{`/* steps.S5 */ item.steps.S2 == 1`, `/* steps.S5 */ item.steps.S2 == 1`},
		{`item . steps.S2`, `item . steps.S2`}, {`mysteps.S1.ok`, `mysteps.S1.ok`}, {`steps`, `steps`}, {`steps.`, `steps.`},
		{`steps[`, `steps[`},
		{`steps["`, `steps["`}, {`steps[""]`, `steps[""]`}, {`steps[x]`, `steps[x]`}, {`"steps`, `"steps`}, {``, ``},
	} {
		spec := plan.Spec{When: c.when}.LinkReferences(func(name string) (plan.StepID, bool) {
			return 7,
				name == "schema"
		}).LinkReferences(nil)
		if spec.When != c.want {
			t.Errorf("%s became %s, want %s", c.when, spec.When, c.want)
		}
	}
	sources := plan.Spec{
		When: `steps.S003.ok && steps["S1"].ok && "steps.S9"`, ForEach: "$S004.files", DependsOn: []plan.StepID{2},
		Args: json.RawMessage(`{"a":"$S002","b":"$S005","c":"$item"}`),
	}.LinkReferences(nil)
	if got := plan.ListIDs(sources.DependsOn); got != "S002, S005, S003, S001, S004" {
		t.Errorf("depends on %s", got)
	}
}

func TestCallingStepsByOtherNames(t *testing.T) {
	spec := plan.Spec{Args: json.RawMessage(`{"a":"$S001.x","b":"$$S001","c":["$item","$HOME","$S002"]}`),
		When: `steps.S001.ok && steps["S2"].ok`, ForEach: "$S001.files"}.LinkReferences(nil)
	called := spec.RenameReferences(func(id plan.StepID) string { return "draft_" + id.String() })
	if want := `{"a":"$draft_S001.x","b":"$$S001","c":["$item","$HOME","$draft_S002"]}`; string(called.Args) != want ||
		called.When != `steps.draft_S001.ok && steps["draft_S002"].ok` || called.ForEach != "$draft_S001.files" {
		t.Errorf("got %s %s %s", called.Args, called.When, called.ForEach)
	}
	back := called.LinkReferences(func(name string) (plan.StepID, bool) {
		word, named := strings.CutPrefix(name, "draft_")
		id, err := plan.ParseStepID(word)
		return id, named && err == nil
	})
	if string(back.Args) != string(spec.Args) || back.When != spec.When || back.ForEach != spec.ForEach {
		t.Errorf("got back %s %s %s", back.Args, back.When, back.ForEach)
	}
}

func TestParseForEach(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // the kind and its content, or the fault
	}{
		{`["a", "b"]`, `list ["a" "b"]`}, {` [1,{"x":[]}] `, `list [1 {"x":[]}]`}, {`[]`, `list []`}, {`["$S001"]`, `list ["$S001"]`},
		{"$S001.files", "from S001"}, {"$step_2", "from S002"}, {"*.txt", "glob *.txt"}, {"src/**/*.go", "glob src/**/*.go"},
		{"[ab]*.txt", "glob [ab]*.txt"}, {"$$HOME/*", "glob $HOME/*"}, {"{a,b}.md", "glob {a,b}.md"}, {"src", "glob src"},
		{`["a", "b"`, "is not a valid JSON list"}, {`["a" "b"]`, "is not a valid JSON list"}, {"", "is blank"}, {"  ", "is blank"},
		{"$item", "refers to a loop entry"}, {"$files", "does not name a step"}, {"$S001.", "where a field"}, {"S001.files",
			"is a step without $"},
		{"../*.txt", "leaves the workspace"}, {"/etc/*", "is absolute"}, {"~/x", "home directory"}, {`a\b`, "backslash"},
		{"a/../../b", "leaves the workspace"}, {"[" + strings.Repeat("1,", 1_000) + "1]", "has 1001 entries"},
	} {
		each, err := plan.ParseForEach(c.text)
		got := ""
		switch {
		case err != nil:
			var refused *plan.ValidationError
			if !errors.As(err, &refused) || refused.Fix == "" {
				t.Errorf("%s: refused with %#v", c.text, err)
			}
			got = err.Error()
		case each.Items != nil:
			got = "list " + fmt.Sprintf("%s", each.Items)
		case each.From.Text != "":
			got = "from " + each.From.Step.String()
		default:
			got = "glob " + each.Glob
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s is %s, want %s", c.text, got, c.want)
		}
	}
}

func TestItemsOf(t *testing.T) {
	for list, want := range map[string]int{`[]`: 0, `["a",null]`: 2, `{}`: -1, `"a"`: -1, `null`: -1, ``: -1, `[1`: -1} {
		items, err := plan.ParseItems(json.RawMessage(list))
		if (err != nil) != (want < 0) || err == nil && len(items) != want {
			t.Errorf("%s: %q, %v", list, items, err)
		}
	}
}

// withArgs returns a step with arguments for its tool.
func withArgs(title, args string, deps ...plan.StepID) plan.NewStep {
	step := titled(title, deps...)
	step.Tool, step.Args = "write_file", json.RawMessage(args)
	return step
}

func TestReferencesAreDependencies(t *testing.T) {
	w := withPlan(t, titled("a"))
	loop := titled("c")
	loop.When, loop.ForEach = "steps.s2.ok", "$task_1.files"
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{withArgs("b", `{"content":"$step_1","to":"$S4"}`), loop, titled("d")}})
	if step := w.step(2); string(step.Args) != `{"content":"$S001","to":"$S004"}` || !slices.Equal(step.DependsOn, []plan.StepID{1, 4}) {
		t.Errorf("S002 has %s and depends on %v", step.Args, step.DependsOn)
	}
	if step := w.step(3); step.When != "steps.S002.ok" || step.ForEach != "$S001.files" || !slices.Equal(step.DependsOn,
		[]plan.StepID{2, 1}) {
		t.Errorf("S003 has %q %q and depends on %v", step.When, step.ForEach, step.DependsOn)
	}
	args, none, when := json.RawMessage(`{"a":"$s1"}`), []plan.StepID{}, "steps.S1.ok"
	w.do(ann, plan.UpdateStep{Step: 4, Patch: plan.Patch{When: &when}})
	w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{Args: &args, DependsOn: &none}})
	w.unchanged(ann, plan.UpdateStep{Step: 3, Patch: plan.Patch{DependsOn: &none}}) // references stay dependencies
	for id, want := range map[plan.StepID][]plan.StepID{2: {1}, 3: {2, 1}, 4: {1}} {
		if got := w.step(id).DependsOn; !slices.Equal(got, want) {
			t.Errorf("%s depends on %v, want %v", id, got, want)
		}
	}
}

func TestReferencesThatCannotBe(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"))
	patch := func(args, when, each string) plan.Patch {
		raw := json.RawMessage(args)
		p := plan.Patch{}
		if args != "" {
			p.Args = &raw
		}
		if when != "" {
			p.When = &when
		}
		if each != "" {
			p.ForEach = &each
		}
		return p
	}
	for _, c := range []struct {
		patch plan.Patch
		want  string
	}{
		{patch(`{"a":["$S099"]}`, "", ""), `/args/a/0: "$S099" refers to a step that does not exist`},
		{patch(`{"a":"$s2.x"}`, "", ""), "circle: S002 -> S002"},
		{patch("", "steps.S002.ok", ""), "circle: S002 -> S002"},
		{patch("", "steps.S9.ok", ""), `/when: "steps.S9" refers to a step that does not exist; name a step of the plan`},
		{patch("", "", "$S9"), `/for_each: "$S9" refers to a step that does not exist`},
		{patch(`{"a":"$S001."}`, "", ""), `/args/a: "$S001." has "." where a field`},
		{patch(`{"a":"$S000"}`, "", ""), `write "$$S000" for the text itself`},
	} {
		if err := w.refused(ann, plan.UpdateStep{Step: 2, Patch: c.patch}); !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		step := titled("c")
		step.Spec = c.patch.Apply(step.Spec)
		want := strings.NewReplacer("/args", "/steps/0/args", "/when", "/steps/0/when", "/for_each", "/steps/0/for_each").Replace(c.want)
		if strings.Contains(want, "circle") {
			continue
		}
		if err := w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{step}}); !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	err := w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{withArgs("c", `{"a":"$S4"}`), withArgs("d", `{"a":"$S3"}`)}})
	if !strings.Contains(err.Error(), "circle: S003 -> S004 -> S003") {
		t.Error(err)
	}
}
