package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/rapidtest"
)

const verdict = `{"is_approved": false, "feedback": "a { b } \" c [1] ` + "```" + `"}`

// TestObjectsThatAreFound has the ways in which models wrap one object.
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
			got, err := llm.ExtractJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(squeezed(got), squeezed([]byte(verdict))) {
				t.Errorf("%s", got)
			}
		})
	}
	if got, err := llm.ExtractJSON("nothing to do: {}"); err != nil || string(got) != "{}" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := llm.ExtractJSON("{} or { }"); err != nil || string(got) != "{}" {
		t.Errorf("%s %v", got, err)
	}
}

func TestObjectsThatAreRefused(t *testing.T) {
	for name, row := range map[string]struct{ text, word string }{
		"nothing":                      {"", "no JSON object"},
		"prose":                        {"I would rather not.", "no JSON object"},
		"a number":                     {"7", "no JSON object"},
		"a string of it":               {`"{\"a\": 1}"`, "no JSON object"},
		"only in thoughts":             {"<think>" + verdict + "</think>no", "no JSON object"},
		"thoughts without end":         {"<think>" + verdict, "no JSON object"},
		"two that differ":              {"Before: {\"is_approved\": true}\nAfter: " + verdict, "2 JSON objects that differ"},
		"one in a fence, one not":      {"{\"a\":1}\n```json\n{\"a\":2}\n```", "2 JSON objects that differ"},
		"a list of one":                {`[{"a": 1}]`, "list"},
		"a list of two":                {`Here: [{"a": 1}, {"a": 2}]`, "list"},
		"an object deep in a list":     {`[1, [2, {"a": 1}]]`, "list"},
		"broken off":                   {`{"is_approved": false, "feedback": "as`, "cut short"},
		"broken off within":            {`{"is_approved": false, "was": {"is_approved": true}`, "cut short"},
		"broken off after another":     {`Example: {"is_approved": true}. Verdict: {"is_app`, "cut short"},
		"broken off at once":           {`Example: {"is_approved": true}. Verdict: {`, "cut short"},
		"broken off in a list":         {`[{"is_approved": true}, {"is_appr`, "cut short"},
		"broken off after a list item": {`[{"is_approved": true},`, "cut short"},
		"wrong outside, right inside":  {`{"is_approved": no, "was": {"is_approved": true}}`, "is invalid"},
		"a comma too many":             {`{"a": 1,}`, "is invalid"},
		"a comment":                    {"{\"a\": 1, // one\n\"b\": 2}", "is invalid"},
		"a line end in a text":         {"{\"a\": \"x\ny\"}", "is invalid"},
		"invalid UTF-8":                {"{\"a\": \"\xff\"}", "UTF-8"},
		"single quotes":                {`{'a': 1}`, "no JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := llm.ExtractJSON(row.text)
			if got != nil || !errors.Is(err, llm.ErrMalformed) || !strings.Contains(err.Error(), row.word) ||
				!strings.Contains(err.Error(), "ask again") {
				t.Errorf("%s, %v; want %q", got, err, row.word)
			}
		})
	}
	if got, err := llm.ExtractJSON(`{"a":"` + strings.Repeat("x", llm.MaxAnswer) + `"}`); got != nil || !errors.Is(err, llm.ErrMalformed) {
		t.Error(err)
	}
}

func TestDepthThatMayStand(t *testing.T) {
	text := strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32)
	if got, err := llm.ExtractJSON(text); err != nil || string(got) != text {
		t.Errorf("%s %v", got, err)
	}
}

// TestAnyObjectIsFoundInAnyProse: what is put in comes out.
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
		got, err := llm.ExtractJSON(before + string(want) + after)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, %v\nwant %s", got, err, want)
		}
	})
}

// TestNoBeginningIsTakenForTheWhole: an answer that cut short anywhere yields
// nothing.
func TestNoBeginningIsTakenForTheWhole(t *testing.T) {
	for _, answer := range []string{
		verdict,
		`{"a": {"b": {"c": 1}}, "d": [{"e": 2}], "f": "{\"g\": 3}"}`,
		"```json\n{\"a\": {\"is_approved\": true}, \"is_approved\": false}\n```",
	} {
		end := strings.LastIndexByte(answer, '}')
		for i := range end {
			if got, err := llm.ExtractJSON(answer[:i]); err == nil {
				t.Fatalf("%q gave %s", answer[:i], got)
			}
		}
	}
}

func FuzzExtractJSON(f *testing.F) {
	for _, seed := range []string{
		verdict, "```json\n" + verdict + "\n```", "<think>{}</think>" + verdict, `[{"a":1}]`, `{"a":1} {"a":2}`, `{"a":1,}`,
		`{"a":{"b":1}`, "{}", "[[{", "\xff{",
		strings.Repeat(`{"a":`, 40), "{ \"a\" : 1 }", `{"a":"\ud800"}`, `[1, {"a":1} x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := llm.ExtractJSON(text)
		if err != nil {
			var failure *llm.Error
			if got != nil || !errors.As(err, &failure) {
				t.Fatalf("%s, %v", got, err)
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
		again, err := llm.ExtractJSON(string(got))
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q gave %q, and that %q, %v", text, got, again, err)
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
