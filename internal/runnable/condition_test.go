package runnable_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func sources() map[plan.StepID]runnable.ConditionSource {
	return map[plan.StepID]runnable.ConditionSource{
		1: {OK: true, Status: plan.Done, Output: "all tests pass", Value: json.RawMessage(
			`{"count":3,"files":["a.go","b.txt"],"who":{"name":"ann"},"none":null,"S002":{"ok":1},"big":12345678901,"f":1.5,"yes":true}`)},
		2: {Status: plan.Skipped},
		3: {OK: true, Status: plan.Done, Value: json.RawMessage(`"12\nFAIL: two\n"`)},
		4: {OK: true, Status: plan.Done, Value: json.RawMessage(`"{\"n\":[1,{\"to\":\"x\"}],\"text\":\"[7]\"}\n"`)},
		5: {OK: true, Status: plan.Done, Value: json.RawMessage(`{"json":{"n":5},"text":"{\"n\":6}"}`)},
	}
}

func TestConditionsThatHold(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: true, `steps.S001.ok`: true, `steps.S002.ok`: false, `!steps.S002.ok && steps.step_1.ok`: true,
		`steps.S001.value.count > 2`: true, `steps.S001.value.count == 3`: true, `steps.S001.value.count + 1 == 4`: true,
		`steps.S001.value.f * 2 == 3`: true, `steps.S001.value.big == 12345678901`: true, `steps["S001"].value["count"] in 1..5`: true,
		`steps.S001.value.files[0] == "a.go" and steps.S001.value.files[-1] == "b.txt"`: true,
		`steps.S001.value.files == ["a.go", "b.txt"]`:                                   true,
		`any(steps.S001.value.files, # endsWith ".go")`:                                 true,
		`all(steps.S001.value.files, hasSuffix(#, ".go"))`:                              false,
		`count(steps.S001.value.files, # contains "b") == 1`:                            true,
		`len(filter(steps.S001.value.files, {# matches "^a"})) == 1`:                    true,
		`"a.go" in steps.S001.value.files`:                                              true,
		`"nope" in steps.S001.value || "count" in steps.S001.value`:                     true,
		`steps.S001.value?.nope == nil`:                                                 true,
		`steps.S001.value?.who?.name == "ann"`:                                          true,
		`(steps.S001.value?.nope ?? 7) == 7`:                                            true,
		`steps.S001.value.none == null`:                                                 true,
		`steps.S001.value.yes`:                                                          true,
		`steps.S001.value.S002.ok == 1`:                                                 true,
		`steps.S001.status == "done"`:                                                   true,
		`steps.S001.status == "COMPLETED"`:                                              true,
		`"TODO" != steps.S001.status`:                                                   true,
		`steps.S002.status in ["failed", "skipped"]`:                                    true,
		`steps.S002.value == nil`:                                                       true,
		`steps.S001.output contains "pass"`:                                             true,
		`steps.S003.value matches "(?m)^FAIL"`:                                          true,
		`steps.S003.value not matches "x"`:                                              true,
		`int(steps.S003.value[0:2]) == 12`:                                              true,
		`item.path == "x" ? steps.S002.ok : true`:                                       false,
		`item["path"] startsWith lower("X")`:                                            true,
		`steps.S004.json.n[1].to == "x"`:                                                true, `steps.S004.value.json.n[0] == 1`: true,
		`steps.S004["json"].text.json[0] == 7`: true,
		`any(steps.S004.json.n, # == 1)`:       true,
		`steps.S004.json?.nope == nil`:         true,
		`steps.S005.json.n == 5`:               true, // the field of that name
		`steps.S005.value.text.json.n == 6`:    true,
		`steps.S003?.json == nil`:              true,
		`sum([1, 2]) == 3 and max(1, 2) == 2`:  true,
	} {
		c, err := runnable.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Holds(t.Context(), sources(), json.RawMessage(`{"path":"x"}`))
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
		lexical := plan.Spec{When: text}.ReferencedSteps()
		slices.Sort(lexical)
		if !slices.Equal(c.Steps(), lexical) || c.UsesItem() != strings.Contains(text, "item") {
			t.Errorf("%s is about %v and an item: %v", text, c.Steps(), c.UsesItem())
		}
	}
}

func TestConditionsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "unexpected token EOF, at character 1",
		`steps.S001.ok &&`:                     "unexpected token EOF, at character 1",
		`steps.S001.ok = true`:                 "at character 15",
		`steps.S001.output`:                    "neither true nor false but string",
		`1 + `:                                 "unexpected token EOF",
		`steps.S001.output > 3`:                "invalid operation",
		`steps.S001.stauts == "done"`:          `a step has only value, json, ok, status and output, at character 12`,
		`steps.S001[item]`:                     "a step has only value",
		`steps.schema.ok`:                      "it names no step, at character 7",
		`steps[item].ok`:                       "it names no step",
		`steps.S000.ok`:                        "it names no step",
		`steps == nil`:                         "about all steps at once",
		`len(steps) > 1`:                       "about all steps at once",
		`any(steps, .ok)`:                      "any takes only array",
		`S001.ok`:                              `it names "S001", which is unknown`,
		`$env.steps.S001.ok`:                   `it names "$env", which is unknown`,
		`$env["steps"]["S001"].ok`:             `it names "$env", which is unknown`,
		`foo(1)`:                               `it names "foo", which is unknown`,
		`item.x()`:                             "only functions of the language can be called",
		`steps.S001.value.files.len() > 1`:     "only functions of the language",
		`let steps = item; steps.S001.ok`:      "it has a variable",
		`let a = [item, item]; a == a`:         "it has a variable",
		`repeat("x", 10000000) == ""`:          `the function "repeat" is not offered`,
		`map(1..10, #) == []`:                  `the function "map" is not offered`,
		`reduce(1..40, #acc + #acc, "x") != 1`: `the function "reduce" is not offered`,
		`now() > 1`:                            `the function "now" is not offered`,
		`"x" matches item`:                     "it matches a pattern that is not written down",
		`item matches "("`:                     "missing closing )",
		`item matches "(a{1000}){1000}"`:       "invalid repeat count",
		`item matches "a{1000}b{1000}c{1000}"`: "the pattern is too large",
		`steps.S001.status == "finnished"`:     `"finnished" is not a status`,
		`steps.S001.status in ["done", "y"]`:   `"y" is not a status`,
		`steps /* */ . S001.ok`:                "refers to S001 in an unusual way",
		strings.Repeat("!", 300) + "true":      "too long",
		strings.Repeat("(", 1_900):             "unexpected token EOF",
		`"` + strings.Repeat("x", 1_990):       "literal not terminated",
		"\xff\x00":                             "cannot be read",
	} {
		_, err := runnable.Compile(text)
		var refused *plan.ValidationError
		if !errors.As(err, &refused) || refused.Fix == "" || !strings.Contains(refused.Problem, want) {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

func TestConditionsThatCannotBeEvaluated(t *testing.T) {
	for text, want := range map[string]string{
		`steps.S001.value.nope == 1`:                           `field "nope" does not exist; if it may be missing, write ?.`,
		`steps.S001.value.who.nope.x`:                          `field "nope" does not exist`,
		`steps.S001.value.files[2] == ""`:                      "entry [2] does not exist in a list of 2",
		`steps.S001.value.files[0.5] == ""`:                    "entry [0.5] does not exist in a list of 2",
		`steps.S001.value.files.x == ""`:                       "entry [x] does not exist in a list of 2",
		`steps.S001.value.count.x == 1`:                        `field "x" cannot be read from a number`,
		`steps.S002.value.x == 1`:                              `field "x" cannot be read from null`,
		`steps.S001.value.count`:                               `is neither true nor false but a number`,
		`item.x`:                                               "is neither true nor false but text",
		`steps.S001.output + "x" == ""`:                        "only numbers can be added, not text and text",
		`item + 1 == 2`:                                        "only numbers can be added, not an object and a number",
		`item matches "x"`:                                     "only text can match a pattern, not an object",
		`steps.S003.json.x == 1`:                               "the value is not JSON text: it is not valid JSON in line 2",
		`steps.S001.json.count == 1`:                           `field "json" does not exist`,
		`steps.S002.json.x == 1`:                               `field "json" cannot be read from null`,
		`steps.S009.ok`:                                        "the condition needs S009, of which nothing is known",
		`1..100000000 == []`:                                   "memory budget",
		`int("x") == 1`:                                        "cannot be evaluated",
		`any(1..99999, any(1..99999, any(1..99999, # == -1)))`: "",
		`all(1..9000, all(1..9000, len(lower(item.x)) > 0))`:   "",
	} {
		c, err := runnable.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		began := time.Now()
		got, err := c.Holds(t.Context(), sources(), json.RawMessage(`{"x":"`+strings.Repeat("x", 1000)+`"}`))
		if err == nil || got || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
		if took := time.Since(began); took > 2*time.Minute { // on a busy machine
			t.Errorf("%s took %v", text, took)
		}
	}
}

func TestConditionsAreBounded(t *testing.T) {
	holds := func(ctx context.Context, text string, value string) error {
		t.Helper()
		c, err := runnable.Compile(text)
		testenv.Check(t, err)
		_, err = c.Holds(ctx, map[plan.StepID]runnable.ConditionSource{1: {Value: json.RawMessage(value)}}, nil)
		return err
	}
	for _, c := range []struct{ text, value, want string }{
		{`steps.S001.value == ""`, `"` + strings.Repeat("x", 3<<20) + `"`, "looks at 2 MiB at most"},
		{`steps.S001.value matches "(x+x+)+y"`, `"` + strings.Repeat("x", 1<<20) + `"`, ""},
		{`steps.S001.value matches "x{500}y{500}"`, `"` + strings.Repeat("x", 1<<20) + `"`, "too long for that pattern"},
		{`steps.S001.value == steps.S001.value`, strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), ""},
		{`steps.S001.value`, `{"x`, "cannot use the value of S001"},
		{`item == 1`, `1`, "only in a loop"},
	} {
		err := holds(t.Context(), c.text, c.value)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := holds(ctx, `any(1..10, # == 11)`, `1`); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
}

func FuzzCondition(f *testing.F) {
	for _, seed := range []string{`steps.S001.ok && steps.S001.value.count > 3`, `any(item.x, .y matches "a")`,
		`steps["s1"]?.value?.x ?? 1`,
		`let a = 1; a`, `{a: 1}.a`, `[1,2][1:]`, `steps.S001.value | len > 2`, `if true { false } else { true }`, `1;2`,
		"steps.\x00", `b"x"`,
		`item not in [1]`, `#`, `.x`, `::len(item)`, `"\(item)"`, `2 ** 1000`, `1 % 0`, `1 / 0`, `-item`, `steps/**/.S1.ok`,
		`steps?.["S2"].ok`} {
		f.Add(seed, `{"count":3,"x":[{"y":"a"}]}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		if len(text) > plan.MaxLongLine {
			return
		}
		c, err := runnable.Compile(text)
		if err != nil {
			var refused *plan.ValidationError
			if !errors.As(err, &refused) || refused.Problem == "" || refused.Fix == "" {
				t.Fatalf("%q: refused with %#v", text, err)
			}
			return
		}
		known := map[plan.StepID]runnable.ConditionSource{}
		for _, id := range c.Steps() {
			known[id] = runnable.ConditionSource{Value: json.RawMessage(value), OK: true, Status: plan.Done}
			if !slices.Contains(plan.Spec{When: text}.ReferencedSteps(), id) {
				t.Fatalf("%q uses %s, which is not seen in it", text, id)
			}
		}
		first, err := c.Holds(t.Context(), known, json.RawMessage(value))
		if again, errAgain := c.Holds(t.Context(), known, json.RawMessage(value)); again != first || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q of %q is %v, %v and then %v, %v", text, value, first, err, again, errAgain)
		}
	})
}
