package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var formats = map[exchange.Format]string{
	exchange.JSON: "plan.json", exchange.YAML: "plan.yaml", exchange.Markdown: "plan.md", exchange.RawkoYAML: "rawko.yaml",
	exchange.Execution: "execution.json", exchange.Mermaid: "plan.mmd",
}

func TestExportGolden(t *testing.T) {
	s := setUp(t, sample())
	for format, name := range formats {
		text, notes := export(t, format, s)
		golden(t, name, text)
		golden(t, name+".notes", strings.Join(notes, "\n")+"\n")
	}
}

// TestOwnFormatsKeepEverything: a plan exported as JSON or YAML sets up the same plan when it is imported.
func TestOwnFormatsKeepEverything(t *testing.T) {
	s := setUp(t, sample())
	for _, format := range []exchange.Format{exchange.JSON, exchange.YAML} {
		text, notes := export(t, format, s)
		if len(notes) > 0 {
			t.Errorf("%s is not lossy, yet says %q", format, notes)
		}
		checkSame(t, text, format, s)
	}
}

// checkSame imports text and compares the plan it sets up with that of want.
func checkSame(t fatal, text string, format exchange.Format, want plan.State) {
	t.Helper()
	got, err := exchange.Import([]byte(text), format, exchange.ImportOptions{})
	if err != nil {
		t.Fatalf("import %s: %v\n%s", format, err, text)
	}
	if diff := cmp.Diff(want.Plan.Body(), setUp(t, got.Action).Plan.Body(), bodyOptions...); diff != "" {
		t.Fatalf("%s (-exported +imported):\n%s\n%s", format, diff, text)
	}
}

var bodyOptions = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.IgnoreFields(plan.Plan{}, "Steps"),
	cmpopts.IgnoreFields(plan.Progress{}, "ClaimedBy", "LeaseUntil"),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a) > 0 || len(b) > 0 }, cmp.Comparer(sameJSON)),
}

// sameJSON compares values: escapes and the order of keys may differ.
func sameJSON(a, b json.RawMessage) bool {
	x, y := jsontext.Value(slices.Clone(a)), jsontext.Value(slices.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

func TestMarkdownKeepsWhatItCan(t *testing.T) {
	got := checkMarkdown(t, setUp(t, sample()))
	if e := got.Action.Steps[1].Evidence; len(e) != 1 || !strings.Contains(e[0].Note, "go test") {
		t.Errorf("evidence is kept as text, got %+v", e)
	}
}

// checkMarkdown imports s as a check list and compares the result: a check list cannot express evidence and
// results, and it writes the dependencies of a step as a set, in the order of the ids.
func checkMarkdown(t fatal, s plan.State, options ...cmp.Option) exchange.Imported {
	t.Helper()
	text, _ := export(t, exchange.Markdown, s)
	got, err := exchange.Import([]byte(text), exchange.Markdown, exchange.ImportOptions{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	options = append(options, bodyOptions, cmpopts.IgnoreFields(plan.Progress{}, "Evidence", "Result"),
		cmpopts.SortSlices(func(a, b plan.StepID) bool { return a < b }))
	if diff := cmp.Diff(s.Plan.Body(), setUp(t, got.Action).Plan.Body(), options...); diff != "" {
		t.Fatalf("(-exported +imported):\n%s\n%s", diff, text)
	}
	return got
}

// TestMarkdownDependenciesAreASet: all of them survive, even one that a reference adds after later ones.
func TestMarkdownDependenciesAreASet(t *testing.T) {
	for name, spec := range map[string]plan.Spec{
		"in order":           {DependsOn: []plan.StepID{1, 3}},
		"turned":             {DependsOn: []plan.StepID{3, 1}},
		"added by arguments": {DependsOn: []plan.StepID{3}, Tool: "t", Args: json.RawMessage(`{"a":"$S001"}`)},
		"added by when":      {DependsOn: []plan.StepID{3}, When: "steps.S001.ok"},
	} {
		a := plan.SetUp{Outline: plan.Outline{Objective: "o"}}
		for _, title := range []string{"a", "b", "c"} {
			a.Steps = append(a.Steps, plan.NewStep{Spec: plan.Spec{Title: title}})
		}
		spec.Title = name
		a.Steps = append(a.Steps, plan.NewStep{Spec: spec})
		s := setUp(t, a)
		got := checkMarkdown(t, s)
		was, now := s.Plan.Steps.At(3), setUp(t, got.Action).Plan.Steps.At(3)
		if plan.StepDigest(was) != plan.StepDigest(now) || len(now.DependsOn) != 2 {
			t.Errorf("%s: waits for %v, and after the import for %v", name, was.DependsOn, now.DependsOn)
		}
	}
}

func TestExportWithoutPlan(t *testing.T) {
	_, _, err := exchange.Export(exchange.JSON, plan.State{})
	var refusal *plan.ValidationError
	if !errors.As(err, &refusal) || refusal.Kind != plan.NotFound {
		t.Errorf("got %v", err)
	}
}

// TestValuesThatAreKeptApart: an export contains them, or names the missing ones.
func TestValuesThatAreKeptApart(t *testing.T) {
	a := sample()
	s := setUp(t, a)
	body := s.Plan.Body()
	values := map[string]string{"v1": `{"large":[1,2]}`, "v2": `"` + strings.Repeat("x", 1<<20) + `"`, "v4": "\"\u202e\""}
	for i, name := range []string{"v1", "v2", "v3", "v4"} {
		step := *body.Steps[i]
		step.Result = &plan.Result{OK: true, StoredName: name, Duration: 1, Timestamp: start}
		body.Steps[i] = &step
	}
	s.Plan = body.Build()
	whole, notes := exchange.Inlined(s, func(name string) (json.RawMessage, error) {
		if values[name] == "" {
			return nil, errors.New("gone")
		}
		return json.RawMessage(values[name]), nil
	})
	if want := []string{
		"Values are left out that are too large to be read back, gone or secret: S002, S003, S004.",
	}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	for _, format := range []exchange.Format{exchange.JSON, exchange.YAML} {
		text, _ := export(t, format, whole)
		checkSame(t, text, format, whole)
		if !strings.Contains(text, "large") || strings.Contains(text, "kept") {
			t.Errorf("%s: %s", format, text)
		}
	}
	if s.Plan.Steps.At(0).Result.StoredName != "v1" {
		t.Error("the plan itself has changed")
	}
}

func TestDraftStaysDraft(t *testing.T) {
	a := sample()
	a.Draft = true
	s := setUp(t, a)
	for format := range formats {
		text, notes := export(t, format, s)
		told := strings.Contains(strings.Join(notes, "\n"), "a draft, which the format "+string(format)+" does not say")
		if told || format == exchange.Mermaid {
			continue // the format has no drafts
		}
		got := testenv.Must(exchange.Import([]byte(text), format, exchange.ImportOptions{}))(t)
		if !got.Action.Draft {
			t.Errorf("%s: a draft became a plan", format)
		}
	}
}

// TestStepsKeepTheirIDs: with gaps and in any order, together with all references. A step without an id gets the
// next free one.
func TestStepsKeepTheirIDs(t *testing.T) {
	got, err := exchange.Import([]byte(`{"objective":"o","highest_step":"S012","steps":[
		{"step_id":"S007","title":"b, see S003","depends_on":["S003"],"when":"steps.S003.ok","tool":"x","args":{"in":"$S003.out"}},
		{"title":"new"},{"step_id":"S003","title":"a"}]}`), exchange.JSON, exchange.ImportOptions{})
	if err != nil || len(got.Notes) > 0 {
		t.Fatal(err, got.Notes)
	}
	steps := setUp(t, got.Action).Plan.Steps
	if ids := []plan.StepID{steps.At(0).ID, steps.At(1).ID, steps.At(2).ID}; !slices.Equal(ids, []plan.StepID{7, 8, 3}) ||
		steps.Highest() != 12 {
		t.Errorf("steps %v, highest %v", ids, steps.Highest())
	}
	if step := steps.At(0); step.DependsOn[0] != 3 || step.When != "steps.S003.ok" || string(step.Args) != `{"in":"$S003.out"}` {
		t.Errorf("got %+v", step.Spec)
	}
}

func TestFormatOfAFile(t *testing.T) {
	for name, want := range map[string]exchange.Format{
		"plan.json": exchange.JSON, "plan.yaml": exchange.YAML, "a/PLAN.YML": exchange.YAML, "TODO.md": exchange.Markdown,
		"x.markdown": exchange.Markdown, "graph.mmd": exchange.Mermaid, "list.txt": exchange.JSON, "-": exchange.JSON, "": exchange.JSON,
	} {
		if got := exchange.ForFile(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestRefusals checks the fields and hints of refusals.
func TestRefusals(t *testing.T) {
	steps := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"title":"t"},`, n), ",") }
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for _, c := range []struct {
		format         exchange.Format
		text           string
		field, problem string
	}{
		{exchange.JSON, ``, "", "empty"},
		{exchange.JSON, "{\xff}", "", "UTF-8"},
		{exchange.JSON, `[]`, "", "holds no plan"},
		{exchange.JSON, `{"plan":null}`, "/plan", "no plan"},
		{exchange.JSON, `{"objective":"o"} {}`, "", "after top-level value"},
		{exchange.JSON, `{"objective":"o",}`, "", "line 1"},
		{exchange.JSON, `{"objective":"o","objective":"p"}`, "/objective", "duplicate"},
		{exchange.JSON, `{"Objective":"o"}`, "/Objective", `"Objective" is not known`},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","colour":1}]}`, "/steps/0/colour", `"colour" is not known`},
		{exchange.JSON, `{"plan":{"objective":"o","steps":[{"title":5}]}}`, "/plan/steps/0/title", "number"},
		{exchange.JSON, `{"objective":"o","steps":{}}`, "/steps", "an object"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":""}]}`, "/steps/0/title", "blank"},
		{exchange.JSON, `{"objective":"o","steps":[null]}`, "/steps/0/title", "blank"},
		{exchange.JSON, `{"steps":[]}`, "/objective", "blank"},
		{exchange.JSON, `{"objective":"o","status":"paused"}`, "/status", "not known"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","status":"TODO"}]}`, "/steps/0/status", "not known"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","depends_on":["S002"]}]}`,
			"/steps/0/depends_on/0", "step S002 does not exist"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","depends_on":["x1"]}]}`, "/steps/0/depends_on/0", "not a step id"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","depends_on":[1]}]}`, "/steps/0/depends_on", "S001 -> S001"},
		{exchange.JSON,
			`{"objective":"o","steps":[{"step_id":"S004","title":"t","depends_on":[6]},{"step_id":6,"title":"t","depends_on":[4]}]}`,
			"/steps/0/depends_on", "S004 -> S006 -> S004"},
		{exchange.JSON, `{"objective":"o","steps":[{"step_id":1,"title":"t"},{"step_id":1,"title":"t"}]}`, "/steps/1/step_id", "twice"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","started_at":"soon"}]}`, "/steps/0/started_at", ""},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","args":[1]}]}`, "/steps/0/args", "object"},
		{exchange.JSON, `{"objective":"o","steps":[{"title":"t","args":{"a":` + deep + `}}]}`, "", "levels deep"},
		{exchange.JSON, `{"objective":"o","steps":[` + steps(2001) + `]}`, "/steps", "more than 2000 steps"},
		{exchange.JSON, `{"objective":"o","steps":[{"step_id":3,"title":"t","execution":{"of":"S003"}}]}`,
			"/steps/0/execution", "does not list it"},
		{exchange.JSON, `{"plan":{"objective":"o","steps":[{"step_id":20001,"title":"t"}]}}`, "/plan/steps", "too high"},
		{exchange.JSON, `{"plan":{"objective":"o","version":-1}}`, "/plan/version", "out of range"},
		{exchange.JSON, `{"objective":"a\u202eb"}`, "/objective", "reordering"},
		{exchange.JSON, `{"objective":"o\u0000"}`, "/objective", "control"},
		{exchange.JSON, strings.Repeat(" ", 5<<20), "", "at most"},

		{exchange.YAML, "objective: [a", "", "not valid"},
		{exchange.YAML, "objective: a\nobjective: b", "", "duplicate key"},
		{exchange.YAML, "objective: a\ncolour: b", "/colour", "not known"},
		{exchange.YAML, "objective: !!binary aGk=", "", "tag"},
		{exchange.YAML, "objective: a\n---\nobjective: b", "", "several documents"},
		{exchange.YAML, "a: &a {x: 1}\nb:\n  <<: *a\n", "/b", "not a plain word"},
		{exchange.YAML, "objective: *nothing", "", "anchor"},
		{exchange.YAML, "objective: " + strings.Repeat("[", 100000), "", "max depth"},
		{exchange.YAML, strings.Repeat("- ", 100000) + "a", "", "max depth"},
		{exchange.YAML, strings.Repeat("? ", 100000) + "a", "", ""},
		{exchange.YAML, "a: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "", "levels deep"},
		{exchange.YAML, bomb(), "", "expands to too much"},
		{exchange.YAML, "a: &a [*a]", "", "levels deep"},
		{exchange.YAML, "- a\n- b", "", "holds no plan"},
		{exchange.YAML, "# nothing", "", "empty"},
		{exchange.YAML, "objective: a\nsteps:\n  - title: b\n    timeout: long\n", "/steps/0/timeout", "a string"},

		{exchange.RawkoYAML, "task: t\nstatus: active", "/status", "not known"},
		{exchange.RawkoYAML, "task: t\nstatus: draft\nsteps:\n  - description: d\n    status: done", "/steps/0/status", "not known"},
		{exchange.RawkoYAML, "task: t\nsteps:\n  - description: d\n    dependsOn: [3]",
			"/steps/0/dependsOn/0", "step index 3 does not exist"},
		{exchange.RawkoYAML, "task: t\nsteps:\n  - description: d\n    dependsOn: [-1]", "/steps/0/dependsOn/0", "not the index"},
		{exchange.RawkoYAML, "task: t\nsteps:\n  - description: d\n    dependsOn: [0]", "/steps/0/dependsOn", "index 0 -> index 0"},
		{exchange.RawkoYAML, "status: draft", "/task", "blank"},
		{exchange.RawkoYAML, "task: t\nsteps: [{instructions: i}]", "/steps/0/description", "blank"},
		{exchange.RawkoYAML, "task: t\nplanId: p\nstatus: draft", "/planId", "names a plan"},
		{exchange.RawkoYAML, "task: t\nmetadata: {complexity: 11}", "/metadata/complexity", "11"},

		{exchange.Markdown, "# t\n\n- [ ] a\n  - depends on: S009\n", "/steps/0/depends_on/0", "step S009 does not exist"},
		{exchange.Markdown, "# t\n\n- [ ]\n", "/steps/0/title", "blank"},
		{exchange.Markdown, "# t\n\n- [ ] S001 a\n- [ ] S001 b\n", "/steps/1/step_id", "twice"},
		{exchange.Markdown, "# t\n\n- [ ] a\n  - path: ../x\n", "/steps/0/relevant_file_paths/0", "leaves"},
		{exchange.Markdown, "# t\n\n- [ ] a\n  - args: [1\n", "/steps/0/args", "not valid JSON"},
		{exchange.JSON, `{"steps":[{"id":"step_1"}]}`, "/steps/0/id", "--format md, rawko-yaml or execution"},
		{exchange.YAML, "task: t\n", "/task", "--format md, rawko-yaml or execution"},
		{"toml", "a = 1", "/format", "cannot be imported"},
		{exchange.Mermaid, "flowchart TD", "/format", "cannot be imported"},
		{"", "a", "/format", "cannot be imported"},
	} {
		_, err := exchange.Import([]byte(c.text), c.format, exchange.ImportOptions{Guessed: true})
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) {
			t.Errorf("%s %.60q: %v is no refusal", c.format, c.text, err)
			continue
		}
		if c.field != "" && refusal.Field != c.field || !strings.Contains(refusal.Error(), c.problem) || refusal.Fix == "" {
			t.Errorf("%s %.80q:\n got %v\nwant %s: %s", c.format, c.text, err, c.field, c.problem)
		}
	}
}

// bomb returns a YAML text of a few lines that expands to a billion words.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for c := 'b'; c < 'k'; c++ {
		alias := "*" + string(c-1)
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat(alias+", ", 9) + alias + "]\n")
	}
	return b.String()
}

func TestMarkdownLineIsNamed(t *testing.T) {
	_, err := exchange.Import([]byte("# t\n\n- [ ] fine\n- [ ] a\u202eb\n"), exchange.Markdown, exchange.ImportOptions{})
	if err == nil || !strings.HasPrefix(err.Error(), "line 4: /steps/1/title: ") {
		t.Errorf("got %v", err)
	}
}

func TestLimits(t *testing.T) {
	steps := strings.Repeat(`{"title":"a"},`, plan.DefaultMaxSteps)
	for limit, text := range map[string]string{
		"there are more than 2000 steps": `{"objective":"o","steps":[` + steps + `{"title":"b"}]}`,
		"at most 4194304 are read":       `{"objective":"o"}` + strings.Repeat(" ", 4<<20),
	} {
		_, err := exchange.Import([]byte(text), exchange.JSON, exchange.ImportOptions{})
		if err == nil || !strings.Contains(err.Error(), limit) {
			t.Errorf("got %v, want it to say that %s", err, limit)
		}
	}
}

// TestWhatIsNotTakenOver: the approval, the final summary and claims are dropped with notes. The plan's history is
// kept.
func TestWhatIsNotTakenOver(t *testing.T) {
	got := testenv.Must(exchange.Import([]byte(`{"plan":{"id":"p-1-v2","objective":"o","status":"replanning",
		"version":2,"previous_plan_id":"p-1","changes":"c",
		"final_summary":"f","approval":{"by":"me","way":"person","digest":"d","at":"2026-01-01T00:00:00Z"},
		"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","created_by":"a","highest_step":"S009",
		"steps":[{"step_id":"S001","title":"t","status":"in_progress",
			"claimed_by":"a","lease_until":"2026-01-01T00:00:00Z","ready":false}]},
		"counts":{"total":1,"done":0},"revision":7,"phase":"executing","next_step":"S001"}`), exchange.JSON, exchange.ImportOptions{}))(t)
	golden(t, "nottakenover.notes", strings.Join(got.Notes, "\n")+"\n")
	s := setUp(t, got.Action)
	if s.Plan.Approval != nil || s.Plan.FinalSummary != "" {
		t.Errorf("taken over: %+v", s.Plan)
	}
	at := start.AddDate(0, 0, -22).Truncate(24 * time.Hour)
	want := plan.Plan{ID: "p-1-v2", Outline: plan.Outline{Objective: "o"}, Status: plan.StatusReplanning, Version: 2,
		PreviousPlanID: "p-1", Changes: "c", CreatedAt: at, UpdatedAt: at, CreatedBy: "a"}
	if diff := cmp.Diff(want, *s.Plan, bodyOptions...); diff != "" || s.Plan.Steps.Highest() != 9 || s.Plan.Root() != "p-1" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if step := got.Action.Steps[0]; step.ClaimedBy != "" || !step.LeaseUntil.IsZero() || step.Status != plan.InProgress {
		t.Errorf("step %+v", step.Progress)
	}
}
