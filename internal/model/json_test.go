package model_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/rapidtest"
)

const verdict = `{"is_approved": false, "feedback": "a { b } \" c [1] ` + "```" + `"}`

// TestObjectsThatAreFound covers the ways in which models wrap one object.
func TestObjectsThatAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"bare":                        verdict,
		"with space":                  "\n\t " + verdict + "\r\n",
		"with a byte order mark":      "\ufeff" + verdict,
		"in a fence":                  "```json\n" + verdict + "\n```",
		"in a fence without language": "```\n" + verdict + "\n```",
		"in tildes":                   "~~~ JSON\n" + verdict + "\n~~~",
		"after prose":                 "Certainly! Here you are:\n\n" + verdict,
		"before prose":                verdict + "\n\nLet me know {if} you need [more](https://x.test).",
		"fenced, between prose":       "Sure, as {asked}:\n```json\n" + verdict + "\n```\nThat is all [1].",
		"in a sentence":               "The verdict (" + verdict + ") stands.",
		"twice the same":              "I say " + verdict + ", that is:\n```json\n" + strings.ReplaceAll(verdict, `": `, `":`) + "\n```",
		"after thoughts":              "<think>maybe {\"is_approved\": true}</think>" + verdict,
		"beside an empty one":         "Not {} but " + verdict,
		"after an empty one":          verdict + ", not {}",
		"beside a template":           "Fill {{name}} and {x, y} and { \"a\" } in: " + verdict,
		"beside code":                 "func f() { return }\nif (x) {\n\ty[0] = [1, 2]\n}\n" + verdict,
		"beside a box":                "- [ ] open\n- [x] done\n[see below] [] [1,2]\n" + verdict,
		"in brackets of prose":        "[my verdict: " + verdict + "]",
		"in a string of prose":        "it's '" + verdict + "'",
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := model.Object(text)
			if !ok || !bytes.Equal(squeezed(got), squeezed([]byte(verdict))) {
				t.Errorf("%s", got)
			}
		})
	}
	for _, text := range []string{"nothing to do: {}", "{} or { }"} {
		if got, ok := model.Object(text); !ok || string(got) != "{}" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestObjectsThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                      "",
		"prose":                        "I would rather not.",
		"a number":                     "7",
		"a string of it":               `"{\"a\": 1}"`,
		"only in thoughts":             "<think>" + verdict + "</think>no",
		"thoughts without end":         "<think>" + verdict,
		"two that differ":              "Before: {\"is_approved\": true}\nAfter: " + verdict,
		"one in a fence, one not":      "{\"a\":1}\n```json\n{\"a\":2}\n```",
		"a list of one":                `[{"a": 1}]`,
		"a list of two":                `Here: [{"a": 1}, {"a": 2}]`,
		"an object deep in a list":     `[1, [2, {"a": 1}]]`,
		"broken off":                   `{"is_approved": false, "feedback": "as`,
		"broken off within":            `{"is_approved": false, "was": {"is_approved": true}`,
		"broken off after another":     `Example: {"is_approved": true}. Verdict: {"is_app`,
		"broken off at once":           `Example: {"is_approved": true}. Verdict: {`,
		"broken off in a list":         `[{"is_approved": true}, {"is_appr`,
		"broken off after a list item": `[{"is_approved": true},`,
		"wrong outside, right inside":  `{"is_approved": no, "was": {"is_approved": true}}`,
		"a comma too many":             `{"a": 1,}`,
		"a comment":                    "{\"a\": 1, // one\n\"b\": 2}",
		"a line end in a text":         "{\"a\": \"x\ny\"}",
		"invalid UTF-8":                "{\"a\": \"\xff\"}",
		"single quotes":                `{'a': 1}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := model.Object(text); ok || got != nil {
				t.Errorf("got %s", got)
			}
		})
	}
	if got, ok := model.Object(`{"a":"` + strings.Repeat("x", model.MaxAnswer) + `"}`); ok || got != nil {
		t.Error("an answer that is too long was read")
	}
}

func TestDepthThatMayStand(t *testing.T) {
	text := strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32)
	if got, ok := model.Object(text); !ok || string(got) != text {
		t.Errorf("got %s", got)
	}
}

// TestAnyObjectIsFoundInAnyProse puts a random object into random prose.
func TestAnyObjectIsFoundInAnyProse(t *testing.T) {
	prose := rapid.StringOfN(rapid.SampledFrom([]rune("ab .,:;!?()<>'\"\\`#*-\n\tß}]")), 0, 60, -1)
	rapidtest.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(rapid.String(),
			rapid.OneOf(rapid.Int().AsAny(), rapid.String().AsAny(), rapid.SliceOfN(rapid.Int(), 0, 3).AsAny()), 1, 4).Draw(t, "fields")
		want, err := json.MarshalIndent(fields, "", rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		before, after := prose.Draw(t, "before"), prose.Draw(t, "after")
		if got, ok := model.Object(before + string(want) + after); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%s\nwant %s", got, want)
		}
	})
}

// TestNoBeginningIsTakenForTheWhole checks that an answer cut off anywhere is refused.
func TestNoBeginningIsTakenForTheWhole(t *testing.T) {
	for _, answer := range []string{
		verdict,
		`{"a": {"b": {"c": 1}}, "d": [{"e": 2}], "f": "{\"g\": 3}"}`,
		"```json\n{\"a\": {\"is_approved\": true}, \"is_approved\": false}\n```",
	} {
		end := strings.LastIndexByte(answer, '}')
		for i := range end {
			if got, ok := model.Object(answer[:i]); ok {
				t.Fatalf("%q gave %s", answer[:i], got)
			}
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		verdict, "```json\n" + verdict + "\n```", "<think>{}</think>" + verdict, `[{"a":1}]`, `{"a":1} {"a":2}`, `{"a":1,}`,
		`{"a":{"b":1}`, "{}", "[[{", "\xff{",
		strings.Repeat(`{"a":`, 40), "{ \"a\" : 1 }", `{"a":"\ud800"}`, `[1, {"a":1} x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := model.Object(text)
		if !ok {
			if got != nil {
				t.Fatalf("refused, but returned %s", got)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal(got, &object); err != nil {
			t.Fatalf("%q gave %q: %v", text, got, err)
		}
		if !strings.Contains(text, string(got)) || !utf8.Valid(got) {
			t.Fatalf("%q gave %q", text, got)
		}
		if again, ok := model.Object(string(got)); !ok || !bytes.Equal(again, got) {
			t.Fatalf("%q gave %q, and that %q", text, got, again)
		}
	})
}

func squeezed(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}
