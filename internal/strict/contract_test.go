package strict_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/planloop/planloop/internal/strict"
)

func TestErrorParts(t *testing.T) {
	tests := []struct {
		in   string
		want strict.Error
	}{
		{`{"first":{"a/b~c":1}}`, strict.Error{Pointer: "/first/a~1b~0c", Problem: `unknown field "a/b~c"`,
			Want: `one of "title", "step_id", "status", "details", "depends_on", "paths", "env", "args", "steps"`}},
		{`{"forse":1}`, strict.Error{Pointer: "/forse", Problem: `unknown field "forse"`, Want: `"force"`, Nearest: "force"}},
		{`{"statuses":["done","Done"]}`, strict.Error{Pointer: "/statuses/1", Problem: `found "Done"`,
			Want: `one of "pending", "in_progress", "done"`, Nearest: "done"}},
		{`[]`, strict.Error{Problem: "found an array", Want: "an object"}},
	}
	for _, test := range tests {
		var problem *strict.Error
		if !errors.As(strict.Decode([]byte(test.in), new(input), strict.Options{}), &problem) {
			t.Errorf("%s: not a *strict.Error", test.in)
			continue
		}
		got := strict.Error{Pointer: problem.Pointer, Problem: problem.Problem, Want: problem.Want, Nearest: problem.Nearest}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %#v\nwant %#v", test.in, got, test.want)
		}
	}
}

func TestErrorWrapsThatOfAType(t *testing.T) {
	err := strict.Decode([]byte(`{"where":"x"}`), new(input), strict.Options{})
	if !errors.Is(err, errPoint) {
		t.Errorf("%v does not wrap %v", err, errPoint)
	}
}

// series leaves its decoding to the library.
type series struct{ numbers []int }

func (s *series) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return json.UnmarshalDecode(dec, &s.numbers)
}

type required struct {
	Raw    jsontext.Value  `json:"raw"`
	Any    any             `json:"any"`
	Point  point           `json:"point"`
	Series series          `json:"series"`
	Map    map[string]bool `json:"map"`
	Flag   bool            `json:"flag"`
}

func TestRequired(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{}`, `/raw: missing required field "raw", want a value`},
		{`{"raw":null}`, `/raw: found null, want a value`},
		{`{"raw":1}`, `/any: missing required field "any", want a value`},
		{`{"any":null}`, `/any: found null, want a value`},
		{`{"raw":1,"any":1}`, `/point: missing required field "point"`},
		{`{"point":null}`, `/point: found null`},
		{`{"series":[1,"x"]}`, `/series/1: found a string that does not fit`},
		{`{"series":[1,1.5]}`, `/series/1: invalid syntax`},
		{`{"raw":1,"any":1,"point":[1,2],"series":[]}`, `/map: missing required field "map", want an object`},
		{`{"raw":1,"any":1,"point":[1,2],"series":[],"map":{}}`, `/flag: missing required field "flag", want true or false`},
	}
	for _, test := range tests {
		if err := strict.Decode([]byte(test.in), new(required), strict.Options{}); err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.in, err, test.want)
		}
	}
	var got required
	if err := strict.Decode([]byte(`{"raw":[],"any":0,"point":"1,2","series":[3],"map":{},"flag":"false"}`), &got, strict.Options{}); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name, in, want string
		opts           strict.Options
	}{
		{"at the length", `{"force":true}`, "", strict.Options{MaxBytes: 14}},
		{"over the length", `{"force":true}`, "the input has 14 bytes, want at most 13 bytes", strict.Options{MaxBytes: 13}},
		{"at the default length", `{"objective":"` + strings.Repeat("a", 4<<20-16) + `"}`, "", strict.Options{}},
		{"over the default length", strings.Repeat(" ", 4<<20+1), "the input has 4194305 bytes, want at most 4194304 bytes", strict.Options{}},
		{"at the depth", `{"matrix":[[]]}`, "", strict.Options{MaxDepth: 3}},
		{"at the items", `{"numbers":[1,2],"words":{"a":""}}`, "", strict.Options{MaxItems: 3}},
		{"over the items", `{"words":{"a":""},"numbers":[1,2]}`, "/numbers/1: too many list elements and map entries, want at most 2 in all", strict.Options{MaxItems: 2}},
		{"over the items of a map", `{"words":{"a":"","b":""}}`, "/words/b: too many list elements and map entries, want at most 1 in all", strict.Options{MaxItems: 1}},
		{"over the items in a string", `{"words":{"a":""},"numbers":"[1]"}`, "/numbers/0: too many list elements and map entries, want at most 1 in all", strict.Options{MaxItems: 1}},
		{"over the default items", `{"steps":[` + strings.Repeat(`{"title":""},`, 100_000) + `{"title":""}]}`, "/steps/100000: too many list elements and map entries, want at most 100000 in all", strict.Options{}},
		{"over the depth", `{"matrix":[[]]}`, "nested too deep, want at most 2 levels", strict.Options{MaxDepth: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := strict.Decode([]byte(test.in), new(input), test.opts); err != nil {
				got = err.Error()
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReplacesTheTarget(t *testing.T) {
	shared := &step{Title: "before"}
	got := input{Objective: "before", First: shared}
	if err := strict.Decode([]byte(`{"first":{"title":"after"}}`), &got, strict.Options{}); err != nil {
		t.Fatal(err)
	}
	want := input{First: &step{Title: "after"}}
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Error(diff)
	}
	if shared.Title != "before" {
		t.Error("what the target pointed to was written")
	}
}

func TestNoFields(t *testing.T) {
	var none struct{}
	if err := strict.Decode([]byte(`{}`), &none, strict.Options{}); err != nil {
		t.Error(err)
	}
	err := strict.Decode([]byte(`{"a":1}`), &none, strict.Options{})
	if err == nil || err.Error() != `/a: unknown field "a", want no fields here` {
		t.Errorf("got %v", err)
	}
}

// A type that cannot be decoded into is the program's mistake, not the input's.
func TestUnsupported(t *testing.T) {
	var nilInput *input
	targets := map[string]any{
		"nil":         nil,
		"nil pointer": nilInput,
		"no pointer":  input{},
		"no struct":   new(string),
		"func":        new(struct{ V func() }),
		"array":       new(struct{ V [2]int }),
		"bytes":       new(struct{ V []byte }),
		"duration":    new(struct{ V time.Duration }),
		"interface":   new(struct{ V error }),
		"int keys":    new(struct{ V map[int]string }),
		"own keys":    new(struct{ V map[stepID]string }),
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		err := strict.Decode([]byte(`{"V":1}`), targets[name], strict.Options{})
		var problem *strict.Error
		if err == nil || errors.As(err, &problem) {
			t.Errorf("%s: got %v, want an error that is no *strict.Error", name, err)
		}
	}
}

type (
	Base     struct{ A, B, C, D int }
	Other    struct{ C, D int }
	hiddenIn struct{ E int }
	Named    struct{ Inner int }
	Looped   struct {
		*Looped
		L int
	}
)

// Flattening follows the rules of encoding/json: the shallowest field wins, and
// of equally deep ones none.
func TestFlattensAsTheLibraryDoes(t *testing.T) {
	type plain struct {
		Base
		*Other
		hiddenIn
		Named  `json:"named"`
		A      int `json:"a"`
		B      string
		Tagged int `json:"D"`
	}
	want := plain{Base{A: 1, B: 2}, &Other{}, hiddenIn{E: 3}, Named{4}, 5, "b", 6}
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	want.Base.B = 0 // hidden by the outer one
	var got plain
	if err := strict.Decode(encoded, &got, strict.Options{}); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	want.Other = nil // all of its fields are hidden or ambiguous
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", encoded, got, want)
	}
	if err := strict.Decode([]byte(`{"C":1}`), &got, strict.Options{}); err == nil || !strings.Contains(err.Error(), `unknown field "C"`) {
		t.Errorf("got %v, want the ambiguous field to be unknown", err)
	}
	loop := new(struct{ *Looped })
	if err := strict.Decode([]byte(`{"L":1}`), loop, strict.Options{}); err != nil || loop.L != 1 {
		t.Errorf("got %+v, %v", loop, err)
	}
}
