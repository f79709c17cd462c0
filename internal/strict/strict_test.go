package strict_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/testenv"
)

var aliases = []strict.Synonym{{Key: "id", Field: "step_id"}, {Key: "description", Field: "title"}, {Key: "goal", Field: "objective"},
	{Key: "", Field: "objective"}}

// TestAccepts decodes each input and compares the result, encoded again.
func TestAccepts(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no bytes", ``, `{}`},
		{"blank", " \n", `{}`},
		{"null at the root", ` null `, `{}`},
		{"spaces around", " {\"force\" : true}\n", `{"force":true}`},
		{"null is absence", `{"objective":null,"steps":null,"first":null,"any":null,"raw":null,"where":null}`, `{}`},
		{"null pointers in lists and maps", `{"pointers":[null],"counts":{"a":null,"b":2}}`,
			`{"pointers":[null],"counts":{"a":null,"b":2}}`},
		{"null in any", `{"any":[null,{"a":null}],"raws":[null]}`, `{"any":[null,{"a":null}],"raws":[null]}`},
		{"embedded struct", `{"limit":5,"cursor":"x"}`, `{"limit":5,"cursor":"x"}`},
		{"embedded struct that is exported", `{"reason":"r","weight":1}`, `{"reason":"r","weight":1}`},
		{"integer in a string", `{"limit":" 5 ","small":"-128","numbers":["1",2]}`, `{"limit":5,"small":-128,"numbers":[1,2]}`},
		{"integer with an empty fraction", `{"limit":5.0}`, `{"limit":5}`},
		{"largest integer", `{"limit":9223372036854775807,"offset":255}`, `{"limit":9223372036854775807,"offset":255}`},
		{"number in a string", `{"ratio":"0.5"}`, `{"ratio":0.5}`},
		{"integer for a float", `{"ratio":2}`, `{"ratio":2}`},
		{"bool in a string", `{"force":"true"}`, `{"force":true}`},
		{"false in a string", `{"force":"false"}`, `{}`},
		{"integer for a type of its own", `{"steps":[{"title":"a","step_id":2,"depends_on":[1,"1","S001"]}]}`,
			`{"steps":[{"title":"a","step_id":"S002","depends_on":["S001","S001","S001"]}]}`},
		{"types of their own", `{"where":"1,2","points":[[1,2],"3,4"],"stream":{"title":"a"}}`,
			`{"where":[1,2],"points":[[1,2],[3,4]],"stream":{"title":"a"}}`},
		{"array in a string", `{"steps":"[{\"title\":\"a\"}]","numbers":"[1,2]"}`, `{"steps":[{"title":"a"}],"numbers":[1,2]}`},
		{"array of strings in a string", `{"statuses":" [\"done\"] ","matrix":["[\"a\"]"]}`, `{"statuses":["done"],"matrix":[["a"]]}`},
		{"empty array in a string", `{"statuses":"[]"}`, `{}`},
		{"array of own types in a string", `{"first":{"title":"a","depends_on":"[1,2]"}}`,
			`{"first":{"title":"a","depends_on":["S001","S002"]}}`},
		{"object in a string", `{"first":"{\"title\":\"a\"}","counts":"{\"a\":1}"}`, `{"first":{"title":"a"},"counts":{"a":1}}`},
		{"object in a string in an object in a string", `{"first":"{\"title\":\"a\",\"env\":\"{\\\"k\\\":\\\"v\\\"}\"}"}`,
			`{"first":{"title":"a","env":{"k":"v"}}}`},
		{"root in a string", `"{\"force\":true}"`, `{"force":true}`},
		{"one object for a list", `{"steps":{"title":"a"},"pointers":{"title":"b"}}`,
			`{"steps":[{"title":"a"}],"pointers":[{"title":"b"}]}`},
		{"one object in a string for a list", `{"steps":"{\"title\":\"a\"}"}`, `{"steps":[{"title":"a"}]}`},
		{"one string for a list", `{"statuses":"done","first":{"title":"a","paths":"{a,b}.go"}}`,
			`{"first":{"title":"a","paths":["{a,b}.go"]},"statuses":["done"]}`},
		{"one own value for a list", `{"first":{"title":"a","depends_on":2}}`, `{"first":{"title":"a","depends_on":["S002"]}}`},
		{"one own text for a list", `{"first":{"title":"a","depends_on":"2"}}`, `{"first":{"title":"a","depends_on":["S002"]}}`},
		{"JSON in a plain string stays", `{"objective":"[1]"}`, `{"objective":"[1]"}`},
		{"JSON in any stays", `{"any":"[1]","raw":"{}"}`, `{"any":"[1]","raw":"{}"}`},
		{"any JSON", `{"any":{"a":[1,"x",true]},"raw":[1, 2]}`, `{"any":{"a":[1,"x",true]},"raw":[1,2]}`},
		{"aliases", `{"goal":"g","steps":[{"description":"a","id":1}]}`, `{"objective":"g","steps":[{"title":"a","step_id":"S001"}]}`},
		{"words in other spellings", `{"statuses":["DONE"," done","In-Progress","halfway"],"by_status":{"Done":1}}`,
			`{"statuses":["done","done","in_progress","in_progress"],"by_status":{"done":1}}`},
		{"maps with typed keys", `{"by_status":{"done":1},"words":{"2":"x"}}`, `{"by_status":{"done":1},"words":{"2":"x"}}`},
		{"map of structs", `{"nested":{"a":{"limit":1}}}`, `{"nested":{"a":{"limit":1}}}`},
		{"brackets in strings", `{"objective":"` + strings.Repeat(`[\"`, 40) + `"}`, `{"objective":"` + strings.Repeat(`[\"`, 40) + `"}`},
		{"deep enough in a string", `{"first":{"title":"a","args":` + strconv.Quote(nested(`{"a":`, 29)) + `}}`,
			`{"first":{"title":"a","args":` + nested(`{"a":`, 29) + `}}`},
		{"deep enough", nested(`{"any":`, 31), nested(`{"any":`, 31)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got input
			testenv.Check(t, strict.Decode([]byte(test.in), &got, aliases))
			encoded := testenv.Must(json.Marshal(got, json.Deterministic(true)))(t)
			if diff := cmp.Diff(canonical(t, test.want), canonical(t, string(encoded))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// nested is an object with one key that holds arrays, nested that many levels.
func nested(start string, levels int) string {
	return start + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	v := jsontext.Value(text)
	testenv.Check(t, v.Canonicalize(jsontext.CanonicalizeRawInts(false)))
	return string(v)
}

func TestRefuses(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unknown, near", `{"steps":[{"titel":"a"}]}`, `/steps/0/titel: unknown field "titel"; did you mean "title"?`},
		{"unknown, none near", `{"nested":{"a":{"xyz":1}}}`, `/nested/a/xyz: unknown field "xyz", want one of "limit", "offset", "cursor"`},
		{"unknown in a string", `{"steps":"[{\"titel\":\"a\"}]"}`, `/steps/0/titel: unknown field "titel"; did you mean "title"?`},
		{"unknown before a wrong type", `{"forces":1,"limit":true}`, `/forces: unknown field "forces"; did you mean "force"?`},
		{"no separator", `{"first":{"dependson":[]}}`, `/first/dependson: unknown field "dependson"; did you mean "depends_on"?`},
		{"other case", `{"Force":true}`, `/Force: unknown field "Force"; did you mean "force"?`},
		{"Go name", `{"Ignored":"a","Hidden":1}`, `/Ignored: unknown fields "Ignored", "Hidden", want a known field`},
		{"unexported", `{"hidden":1}`, `/hidden: unknown field "hidden", want a known field`},
		{"NUL suffix", `{"force\u0000":true}`, `/force\x00: unknown field "force\x00"; did you mean "force"?`},
		{"empty key is no alias", `{"":"x"}`, `/: unknown field "", want a known field`},
		{"long key", `{"` + strings.Repeat("k", 300) + `":1}`,
			`/` + strings.Repeat("k", 199) + `…: unknown field "` +
				strings.Repeat("k", 40) + `…", want a known field`},
		{"control characters", "{\"a\\u001b[31m\\u202e\":1}",
			`/a\x1b[31m\u202e: unknown field "a\x1b[31m\u202e", want a known field`},
		{"alias where the struct lacks our name", `{"id":1}`, `/id: unknown field "id", want a known field`},

		{"duplicate", `{"force":true,"force":false}`, `/force: duplicate key "force", want each key once`},
		{"duplicate by escape", `{"force":true,"\u0066orce":false}`, `/force: duplicate key "force", want each key once`},
		{"duplicate in any", `{"any":[{"a":1,"a":2}]}`, `/any/0/a: duplicate key "a", want each key once`},
		{"duplicate in a map", `{"words":{"a":"x","a":"y"}}`, `/words/a: duplicate key "a", want each key once`},
		{"duplicate in a string", `{"first":"{\"env\":{\"a\":\"\",\"a\":\"\"}}"}`, `/first/env/a: duplicate key "a", want each key once`},
		{"name after synonym", `{"first":{"title":"a","id":1,"step_id":2}}`,
			`/first/id: given twice, as "step_id" and as "id", want "step_id" alone`},
		{"synonym after name", `{"first":{"title":"a","description":""}}`,
			`/first/description: given twice, as "title" and as "description", want "title" alone`},
		{"synonyms of two values", `{"goal":"a","objective":"b"}`,
			`/goal: given twice, as "objective" and as "goal", want "objective" alone`},

		{"missing", `{"steps":[{"title":"a"},{"details":"b"}]}`, `/steps/1/title: missing required field "title", want a string`},
		{"null for a required field", `{"first":{"title":null}}`, `/first/title: found null, want a string`},
		{"null in a list", `{"numbers":[1,null]}`, `/numbers/1: found null, want an integer`},
		{"null in a list of own types", `{"first":{"title":"a","depends_on":[null]}}`, `/first/depends_on/0: found null, want a string`},
		{"null in a map", `{"words":{"1":null}}`, `/words/1: found null, want a string`},

		{"root is an array", `[]`, `found an array, want an object`},
		{"root is a string", `"x"`, `found the string "x", want an object`},
		{"number for a string", `{"objective":5}`, `/objective: found a number, want a string`},
		{"bool for a string", `{"objective":true}`, `/objective: found a boolean, want a string`},
		{"object for a string", `{"objective":{}}`, `/objective: found an object, want a string`},
		{"array for a string", `{"first":{"title":["a","a"]}}`, `/first/title: found an array, want a string`},
		{"word for an integer", `{"limit":"five"}`, `/limit: found the string "five", want an integer`},
		{"fraction in a string", `{"limit":"5.0"}`, `/limit: found the string "5.0", want an integer`},
		{"leading zero in a string", `{"limit":"05"}`, `/limit: found the string "05", want an integer`},
		{"empty string for an integer", `{"limit":""}`, `/limit: found the string "", want an integer`},
		{"fraction", `{"limit":5.5}`, `/limit: found the number 5.5, want an integer`},
		{"exponent", `{"limit":1e3}`, `/limit: found the number 1e3, want an integer`},
		{"too large", `{"small":128}`, `/small: the number 128 is out of range, want an integer`},
		{"too large for any integer", `{"limit":"9223372036854775808"}`,
			`/limit: the number 9223372036854775808 is out of range, want an integer`},
		{"too large and unsigned", `{"offset":256}`, `/offset: the number 256 is out of range, want an integer of at least 0`},
		{"too large a float", `{"ratio":1e999}`, `/ratio: the number 1e999 is out of range, want a number`},
		{"negative and unsigned", `{"offset":-1}`, `/offset: found the number -1, want an integer of at least 0`},
		{"word for a float", `{"ratio":"NaN"}`, `/ratio: found the string "NaN", want a number`},
		{"number for a bool", `{"force":1}`, `/force: found a number, want true or false`},
		{"word for a bool", `{"force":"yes"}`, `/force: found the string "yes", want true or false`},
		{"bool for an integer", `{"limit":true}`, `/limit: found a boolean, want an integer`},
		{"array for an object", `{"first":[]}`, `/first: found an array, want an object`},
		{"array in a string for an object", `{"first":"[]"}`, `/first: found an array, want an object`},
		{"text for an object", `{"first":"do it"}`, `/first: found the string "do it", want an object`},
		{"number for a map", `{"counts":1}`, `/counts: found a number, want an object`},
		{"text for a list of objects", `{"steps":"do it"}`, `/steps: found the string "do it", want an array of objects`},
		{"number for a list of pointers", `{"pointers":1}`, `/pointers: found a number, want an array of objects`},
		{"number for a list of words", `{"statuses":1}`, `/statuses: found a number, want an array`},
		{"number for a list of integers", `{"numbers":1}`, `/numbers: found a number, want an array of integers`},
		{"number for a list of strings", `{"first":{"paths":1}}`, `/first/paths: found a number, want an array of strings`},
		{"object for a list of strings", `{"first":{"paths":{}}}`, `/first/paths/0: found an object, want a string`},
		{"empty string for a list", `{"first":{"paths":""}}`, `/first/paths: found the string "", want an array of strings`},
		{"the word null for a list", `{"first":{"paths":"null"}}`, `/first/paths: found the string "null", want an array of strings`},
		{"one value for a list of any JSON", `{"raws":1}`, `/raws: found a number, want an array`},
		{"string for a list of lists", `{"matrix":"a"}`, `/matrix: found the string "a", want an array`},
		{"almost an array in a string", `{"first":{"paths":"['a']"}}`,
			`/first/paths/0: invalid JSON in a string at byte 1: invalid character '\'' at start of value`},
		{"almost an object in a string at the root", `"{'a':1}"`,
			`invalid JSON in a string at byte 1: invalid character '\'' at start of value`},
		{"half an array in a string", `{"first":{"paths":"[\"a\""}}`, `/first/paths: invalid JSON in a string: it ends too early`},
		{"array in a string, and more", `{"first":{"paths":"[\"a\"] b"}}`,
			`/first/paths: found more data after the JSON value, want a single value`},
		{"wrong element in a string", `{"first":{"paths":"[1]"}}`, `/first/paths/0: found a number, want a string`},
		{"after an array in a string", `{"first":{"paths":"[\"a\"]","env":1}}`, `/first/env: found a number, want an object`},

		{"other word", `{"first":{"status":"doing"}}`, `/first/status: found "doing", want one of "pending", "in_progress", "done"`},
		{"number for a word", `{"first":{"status":1}}`, `/first/status: found a number, want one of "pending", "in_progress", "done"`},
		{"word of a list", `{"statuses":"finished"}`, `/statuses: found "finished", want one of "pending", "in_progress", "done"`},
		{"word as a key", `{"by_status":{"dane":1}}`,
			`/by_status/dane: found "dane", want one of "pending", "in_progress", "done"`},

		{"own text", `{"first":{"step_id":"x"}}`, `/first/step_id: "x" is not a step id: write it as S001`},
		{"own text, wrong type", `{"first":{"step_id":1.5}}`, `/first/step_id: found a number, want a string`},
		{"own text, wrong type in a list", `{"first":{"depends_on":[[]]}}`, `/first/depends_on/0: found an array, want a string`},
		{"own JSON", `{"points":[[1,2],{}]}`, `/points/1: a point is two numbers`},
		{"own reader", `{"stream":{"titel":"a"}}`, `/stream/titel: unknown field "titel"; did you mean "title"?`},

		{"invalid UTF-8", "{\"objective\":\"a\xff\"}", `/objective: invalid JSON at byte 15: invalid UTF-8`},
		{"half a surrogate pair", `{"objective":"\ud800"}`,
			`/objective: invalid JSON at byte 14: invalid surrogate pair ` + "`\\ud800\"}`" + ` in string`},
		{"half a document", `{"force":true`, `invalid JSON: it ends too early`},
		{"half a string", `{"objective":"a`, `/objective: invalid JSON: it ends too early`},
		{"no value", `{"force":}`, `/force: invalid JSON at byte 9: missing value after object name`},
		{"closing the wrong way", `{"steps":[}`, `/steps/0: invalid JSON at byte 10: invalid character '}' at start of value`},
		{"comma at the end", `{"numbers":[1,]}`, `/numbers: invalid JSON at byte 13: invalid character ',' at start of value`},
		{"key without quotes", `{x:true}`, `invalid JSON at byte 1: invalid character 'x' at start of value`},
		{"number as a key", `{"counts":{1:2}}`, `/counts: invalid JSON at byte 11: object member name must be a string`},
		{"half a null", `{"objective":nul}`, `/objective: invalid JSON at byte 16: invalid character '}' in literal null (expecting 'l')`},
		{"half a true", `{"force":tru}`, `/force: invalid JSON at byte 12: invalid character '}' in literal true (expecting 'e')`},
		{"broken any", `{"any":[1,}`, `/any/1: invalid JSON at byte 10: invalid character '}' at start of value`},
		{"broken value of a type of its own", `{"where":[1}`,
			`/where: invalid JSON at byte 11: invalid character '}' after array element (expecting ',' or ']')`},
		{"broken string of a list", `{"numbers":"a`, `/numbers: invalid JSON: it ends too early`},
		{"too large a number in any", `{"any":[1e999]}`, `/any/0: value out of range`},
		{"trailing value", `{}{}`, `found more data after the JSON value, want a single value`},
		{"trailing text", `{} x`, `found more data after the JSON value, want a single value`},
		{"trailing brace", `{}}`, `found more data after the JSON value, want a single value`},
		{"too deep", `{"any":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, `nested too deep, want at most 32 levels`},
		{"far too deep", `{"any":` + strings.Repeat("[", 20000), `nested too deep, want at most 32 levels`},
		{"too deep in a string", `{"first":{"title":"a","args":` + strconv.Quote(nested(`{"a":`, 30)) + `}}`,
			`/first/args: nested too deep, want at most 32 levels`},
		{"brackets in strings", nested(`{"objective":"[[[[[[[[[\\\"[[[[[[[[[[[[[[[[[[[[[[[[","any":`, 32),
			`nested too deep, want at most 32 levels`},
		{"too deep in structs", `{"steps":` + strings.Repeat(`[{"title":"a","steps":`, 40), `nested too deep, want at most 32 levels`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := input{Objective: "before", Steps: []step{{Title: "before"}}, Extra: Extra{Reason: "before"}}
			before := input{Objective: "before", Steps: []step{{Title: "before"}}, Extra: Extra{Reason: "before"}}
			err := strict.Decode([]byte(test.in), &got, aliases)
			var problem *strict.Error
			if !errors.As(err, &problem) {
				t.Fatalf("got %v, want a *strict.Error", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if !jsontext.Pointer(problem.Pointer).IsValid() {
				t.Errorf("%q is not a JSON pointer", problem.Pointer)
			}
			if diff := cmp.Diff(before, got, exact); diff != "" {
				t.Errorf("the target changed: %s", diff)
			}
		})
	}
}

// TestEveryProblemIsTold: one call reports all faults, in document order, and a misspelled name is not also reported as
// missing.
func TestEveryProblemIsTold(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"one after another", `{"forces":1,"limit":true,"numbers":[1,"x",null,2.5],"words":{"a":1,"a":"b"}}`,
			`/forces: unknown field "forces"; did you mean "force"?
/limit: found a boolean, want an integer
/numbers/1: found the string "x", want an integer
/numbers/2: found null, want an integer
/numbers/3: found the number 2.5, want an integer
/words/a: found a number, want a string
/words/a: duplicate key "a", want each key once`},
		{"missing", `{"steps":[{"titel":"a","status":"dane"},{"depends_on":["x",[1]]}],"weight":null,"reason":1}`,
			`/steps/0/titel: unknown field "titel"; did you mean "title"?
/steps/0/status: found "dane", want one of "pending", "in_progress", "done"
/steps/1/depends_on/0: "x" is not a step id: write it as S001
/steps/1/depends_on/1: found an array, want a string
/steps/1/title: missing required field "title", want a string
/reason: found a number, want a string`},
		{"in strings", `{"steps":"[{\"titel\":1},{\"details\":2}]","numbers":"[1,","force":"yes"}`,
			`/steps/0/titel: unknown field "titel"; did you mean "title"?
/steps/1/details: found a number, want a string
/steps/1/title: missing required field "title", want a string
/numbers: invalid JSON in a string: it ends too early
/force: found the string "yes", want true or false`},
		{"until the JSON ends", `{"forces":{"a":[]},"force":1,"limit":[}`,
			`/forces: unknown field "forces"; did you mean "force"?
/force: found a number, want true or false
/limit/0: invalid JSON at byte 38: invalid character '}' at start of value`},
		{"within a type of its own", `{"stream":{"titel":1,"x":2},"any":{"a":1,"a":2},"force":0}`,
			`/stream/titel: unknown field "titel"; did you mean "title"?
/stream/x: unknown field "x", want "title"
/any/a: duplicate key "a", want each key once
/force: found a number, want true or false`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var first *strict.Error
			if !errors.As(strict.Decode([]byte(test.in), new(input), nil), &first) {
				t.Fatal("accepted")
			}
			told := []string{first.Error()}
			for _, other := range first.Others {
				told = append(told, other.Error())
			}
			if diff := cmp.Diff(test.want, strings.Join(told, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for in, of := range map[string]string{
		`{"numbers":[%s1]}`: `"x",`, `{%s"limit":1}`: `"limit":null,`, `{%s"force":true}`: `"force":null,`,
		`{%s"steps":[]}`: `"steps":1,`, `{%s"x":1}`: `"x":1,`, `{"counts":{%s"a":1}}`: `"a":null,`,
		`{"steps":[%snull]}`: `{"titel":null,"title":null},`,
	} {
		var first *strict.Error
		err := strict.Decode(fmt.Appendf(nil, in, strings.Repeat(of, 1000)), new(input), nil)
		if !errors.As(err, &first) || len(first.Others) < 19 || len(first.Others) > 20 {
			t.Errorf("%s: got %d other problems of a thousand", of, len(first.Others))
		}
	}
}

var (
	exact = cmp.AllowUnexported(input{}, streamed{})

	// equateEmpty is cmpopts.EquateEmpty except for raw JSON.
	equateEmpty = cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().Type() != reflect.TypeFor[jsontext.Value]()
	}, cmpopts.EquateEmpty())
)

// TestAFieldHidesAnEmbeddedOne: as in Go, the outer of two fields of one name counts.
func TestAFieldHidesAnEmbeddedOne(t *testing.T) {
	type inner struct {
		Title string `json:"title"`
		Deps  []int  `json:"deps,omitempty"`
	}
	var outer struct {
		inner
		Deps []string `json:"deps,omitempty"`
	}
	if err := strict.Decode([]byte(`{"title":"t","deps":["a"]}`), &outer, nil); err != nil || outer.Deps[0] != "a" || outer.Title != "t" {
		t.Errorf("got %+v, %v", outer, err)
	}
}

// TestListsAsText: a list is accepted where the tag allows it as a text, and nowhere else.
func TestListsAsText(t *testing.T) {
	type loop struct {
		Over string   `json:"over" text:"list"`
		Name string   `json:"name,omitempty"`
		Tags []string `json:"tags,omitempty"`
	}
	for in, want := range map[string]string{`{"over":["a.txt", {"b":1}]}`: `["a.txt", {"b":1}]`, `{"over":"*.txt"}`: "*.txt",
		`{"over":[]}`: "[]", `{"over":"[\"a\"]"}`: `["a"]`} {
		var got loop
		if err := strict.Decode([]byte(in), &got, nil); err != nil || got.Over != want {
			t.Errorf("%s: %q, %v", in, got.Over, err)
		}
	}
	for _, in := range []string{`{"over":{"a":1}}`, `{"over":"a","name":["b","c"]}`, `{"over":["a","b"`} {
		if err := strict.Decode([]byte(in), new(loop), nil); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
}
