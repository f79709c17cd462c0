package plan_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestCleanStepRefuses(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n+1) }
	many := func(n int) []string { return strings.Split(strings.Repeat("a,", n)+"a", ",") }
	for field, change := range map[string]func(*plan.NewStep){
		"title":                 func(n *plan.NewStep) { n.Title = long(plan.MaxLongLine) },
		"details":               func(n *plan.NewStep) { n.Details = long(plan.MaxLongText) },
		"type":                  func(n *plan.NewStep) { n.Type = "epic" },
		"risk":                  func(n *plan.NewStep) { n.Risk = "none" },
		"status":                func(n *plan.NewStep) { n.Status = "ready" },
		"depends_on/1":          func(n *plan.NewStep) { n.DependsOn = []plan.StepID{1, 0} },
		"context_hints":         func(n *plan.NewStep) { n.ContextHints = many(plan.MaxList) },
		"context_hints/0":       func(n *plan.NewStep) { n.ContextHints = []string{long(plan.MaxHint)} },
		"relevant_file_paths/0": func(n *plan.NewStep) { n.RelevantFilePaths = []string{long(plan.MaxPath)} },
		"creates/1":             func(n *plan.NewStep) { n.Creates = []string{"a", " "} },
		"acceptance_criteria/0": func(n *plan.NewStep) { n.AcceptanceCriteria = []string{"a\nb"} },
		"suggested_agent":       func(n *plan.NewStep) { n.SuggestedAgent = "a\x1b[0m" },
		"tools/0":               func(n *plan.NewStep) { n.Tools = []string{""} },
		"tool":                  func(n *plan.NewStep) { n.Tool = long(plan.MaxHint) },
		"args":                  func(n *plan.NewStep) { n.Args = json.RawMessage(`"text"`) },
		"args/a":                func(n *plan.NewStep) { n.Args = json.RawMessage(`{"a":1,"a":2}`) },
		"timeout":               func(n *plan.NewStep) { n.Timeout = -1 },
		"cwd":                   func(n *plan.NewStep) { n.Cwd = "../x" },
		"lock":                  func(n *plan.NewStep) { n.Lock = "a/b" },
		"output_file":           func(n *plan.NewStep) { n.OutputFile = "/etc/passwd" },
		"retry/wait":            func(n *plan.NewStep) { n.Retry = json.RawMessage(`{"wait":"5"}`) },
		"pause":                 func(n *plan.NewStep) { n.Pause = "\u200b" },
		"when":                  func(n *plan.NewStep) { n.When = "a\nb" },
		"for_each":              func(n *plan.NewStep) { n.ForEach = long(plan.MaxLongText) },
		"verify":                func(n *plan.NewStep) { n.Verify = "\xff" },
		"notes/1":               func(n *plan.NewStep) { n.Notes = []string{"a", ""} },
		"notes":                 func(n *plan.NewStep) { n.Notes = many(plan.MaxNotes) },
		"evidence/0/command":    func(n *plan.NewStep) { n.Evidence = []plan.Evidence{{Command: "\x00"}} },
		"result/value":          func(n *plan.NewStep) { n.Result = &plan.Result{Value: json.RawMessage(`{`)} },
		"result/duration":       func(n *plan.NewStep) { n.Result = &plan.Result{Duration: -1} },
		"output":                func(n *plan.NewStep) { n.Output = "\u202e" },
		"error":                 func(n *plan.NewStep) { n.Error = long(plan.MaxLongText) },
		"affected_files/0":      func(n *plan.NewStep) { n.AffectedFiles = []string{"a\nb"} },
		"attempts":              func(n *plan.NewStep) { n.Attempts = -1 },
		"claimed_by":            func(n *plan.NewStep) { n.ClaimedBy = "a\nb" },
		"executed_by":           func(n *plan.NewStep) { n.ExecutedBy = "a\nb" },
		"started_at":            func(n *plan.NewStep) { n.StartedAt = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)) },
	} {
		n := plan.NewStep{Spec: plan.Spec{Title: "t"}}
		change(&n)
		_, err := plan.CleanStep("/steps/4", n)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) || refusal.Kind != plan.InvalidInput || refusal.Field != "/steps/4/"+field || refusal.Fix == "" {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// TestCleanStepKnowsEveryField fails if a new field is not cleaned: each text gets a value that
// cleaning would change or refuse.
func TestCleanStepKnowsEveryField(t *testing.T) {
	var n plan.NewStep
	n.Title = "t"
	check := func(name string) {
		got, err := plan.CleanStep("", n)
		if err == nil && cmp.Equal(got, n) {
			t.Errorf("%s is not cleaned", name)
		}
	}
	for _, part := range []reflect.Value{reflect.ValueOf(&n.Spec).Elem(), reflect.ValueOf(&n.Progress).Elem()} {
		for i := range part.NumField() {
			f, name := part.Field(i), part.Type().Field(i).Name
			before := reflect.New(f.Type()).Elem()
			before.Set(f)
			switch {
			case f.Kind() == reflect.String:
				f.SetString(" \x07 ")
			case f.Kind() == reflect.Int:
				f.SetInt(-1)
			case f.Kind() == reflect.Bool:
				continue
			case f.Type() == reflect.TypeFor[[]string]():
				f.Set(reflect.ValueOf([]string{"\x07"}))
			case f.Type() == reflect.TypeFor[json.RawMessage]():
				f.SetBytes([]byte(`{ "a" :1}`))
			case f.Type() == reflect.TypeFor[time.Time]():
				f.Set(reflect.ValueOf(time.Unix(0, 1).UTC()))
			case f.Type() == reflect.TypeFor[[]plan.StepID]():
				f.Set(reflect.ValueOf([]plan.StepID{-1}))
			case f.Type() == reflect.TypeFor[[]plan.Evidence]():
				f.Set(reflect.ValueOf([]plan.Evidence{{Note: "\x07"}}))
			case f.Type() == reflect.TypeFor[*plan.Result]():
				f.Set(reflect.ValueOf(&plan.Result{Error: "\x07"}))
			default:
				t.Fatalf("%s: a kind of field this test does not know", name)
			}
			check(name)
			f.Set(before)
		}
	}
}

func TestCleanStepNormalises(t *testing.T) {
	in := plan.NewStep{
		Spec: plan.Spec{Title: " e\u0301 ", Details: "a\r\nb ", DependsOn: []plan.StepID{2, 1, 2}, ContextHints: []string{},
			RelevantFilePaths: []string{" src/ "},
			Args:              json.RawMessage("{\n \"a\": 1 }")},
		Progress: plan.Progress{StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))},
	}
	got := testenv.Must(plan.CleanStep("", in))(t)
	want := plan.NewStep{
		Spec: plan.Spec{Title: "é", Details: "a\nb", DependsOn: []plan.StepID{2, 1}, RelevantFilePaths: []string{"src/"},
			Args: json.RawMessage(`{"a":1}`)},
		Progress: plan.Progress{StartedAt: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.RelevantFilePaths[0] != " src/ " {
		t.Error("the argument was changed")
	}
	again, err := plan.CleanStep("", got)
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Errorf("cleaning twice: %v\n%s", err, diff)
	}
}

func TestPaths(t *testing.T) {
	for path, ok := range map[string]bool{
		"src/a.go": true, "./a": true, "a/../b": true, "docs/**/*.md": true, "..a": true, "a..": true, "...": true, "dir/": true,
		"c++/x":       true,
		"/etc/passwd": false, "//host/x": false, "~": false, "~/x": false, "~root/x": false, "..": false, "../x": false, "a/../../x": false,
		`a\b`: false, `\\host\x`: false, "C:": false, "c:/x": false, "a\x00b": false, "a\nb": false, "./../x": false, "*/../../x": false,
	} {
		n := plan.NewStep{Spec: plan.Spec{Title: "t", RelevantFilePaths: []string{path}}}
		if _, err := plan.CleanStep("", n); (err == nil) != ok {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

func TestCleanOutlineRefuses(t *testing.T) {
	for field, change := range map[string]func(*plan.Outline){
		"objective":              func(o *plan.Outline) { o.Objective = " " },
		"summary":                func(o *plan.Outline) { o.Summary = strings.Repeat("a", plan.MaxSummary+1) },
		"context_notes":          func(o *plan.Outline) { o.ContextNotes = "\x07" },
		"questions/0":            func(o *plan.Outline) { o.Questions = []string{""} },
		"reasoning":              func(o *plan.Outline) { o.Reasoning = "\x07" },
		"metadata/complexity":    func(o *plan.Outline) { o.Metadata.Complexity = 11 },
		"metadata/tags/0":        func(o *plan.Outline) { o.Metadata.Tags = []string{"a\nb"} },
		"metadata/constraints/0": func(o *plan.Outline) { o.Metadata.Constraints = []string{""} },
		"metadata/informed_by/0": func(o *plan.Outline) { o.Metadata.InformedBy = []string{""} },
		"estimated_duration":     func(o *plan.Outline) { o.EstimatedDuration = -1 },
	} {
		o := plan.Outline{Objective: "o"}
		change(&o)
		_, err := plan.CleanOutline("/plan", o)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) || refusal.Field != "/plan/"+field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", ` [1, "a", {"b": [null]}] `: "", `{"a":{"k":1},"b":{"k":1}}`: "", `[[],[]]`: "", `"\ud83d\ude00 \\ud800"`: "",
		``: "not valid JSON in line 1", "{\n\"a\":\n}": "not valid JSON in line 3", `{} {}`: "after top-level value",
		`[1,]`:          "not valid JSON",
		`{"a":1,"a":2}`: "/a is a duplicate key", `[{"~/":{"k":1,"k":2}}]`: "/0/~0~1/k is a duplicate key",
		`{"a":1,"\u0061":2}`: "/a is a duplicate key",
		`[[[[1]]]]`:          "/0/0/0 is nested more than 3 levels deep", `[[[{}]]]`: "/0/0/0 is nested more than 3 levels deep",
		`"\ud800"`: "half of a surrogate pair", `"\ude00\ud83d"`: "half of a surrogate pair", `"\ud83dx"`: "half of a surrogate pair",
		`{"\ud83d\n":1}`: "half of a surrogate pair", "\"\xff\"": "not valid UTF-8",
	} {
		pointer, problem := plan.CheckJSON([]byte(text), 3)
		if got := strings.TrimSpace(pointer + " " + problem); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
