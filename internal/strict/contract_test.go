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
	"github.com/planloop/planloop/internal/testenv"
)

func TestErrorParts(t *testing.T) {
	tests := []struct {
		in   string
		want strict.Error
	}{
		{`{"first":{"a/b~c":1}}`, strict.Error{Pointer: "/first/a~1b~0c", Problem: `unknown field "a/b~c"`,
			Want: `a known field`}},
		{`{"forse":1}`, strict.Error{Pointer: "/forse", Problem: `unknown field "forse"`, Want: `"force"`, Nearest: "force"}},
		{`{"statuses":["done","dane"]}`, strict.Error{Pointer: "/statuses/1", Problem: `found "dane"`,
			Want: `one of "pending", "in_progress", "done"`}},
		{`[]`, strict.Error{Problem: "found an array", Want: "an object"}},
	}
	for _, test := range tests {
		var problem *strict.Error
		if !errors.As(strict.Decode([]byte(test.in), new(input), nil), &problem) {
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
	err := strict.Decode([]byte(`{"where":"x"}`), new(input), nil)
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
		{`{"point":null}`, `/point: found null, want a value`},
		{`{"series":[1,"x"]}`, `/series/1: found a string that is not accepted here`},
		{`{"series":[1,1.5]}`, `/series/1: invalid syntax`},
		{`{"raw":1,"any":1,"point":[1,2],"series":[]}`, `/map: missing required field "map", want an object`},
		{`{"raw":1,"any":1,"point":[1,2],"series":[],"map":{}}`, `/flag: missing required field "flag", want true or false`},
	}
	for _, test := range tests {
		if err := strict.Decode([]byte(test.in), new(required), nil); err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.in, err, test.want)
		}
	}
	var got required
	if err := strict.Decode([]byte(`{"raw":[],"any":0,"point":"1,2","series":[3],"map":{},"flag":"false"}`), &got, nil); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	ones := strings.Repeat("1,", 99_999) + "1"
	const tooMany = ": too many list elements and map entries, want at most 100000 in all"
	tests := []struct{ name, in, want string }{
		{"at the length", `{"objective":"` + strings.Repeat("a", 4<<20-16) + `"}`, ""},
		{"over the length", strings.Repeat(" ", 4<<20+1), "the input has 4194305 bytes, want at most 4194304 bytes"},
		{"at the items", `{"numbers":[` + ones + `]}`, ""},
		{"over the items", `{"words":{"a":""},"numbers":[` + ones + `]}`, "/numbers/99999" + tooMany},
		{"over the items of a map", `{"numbers":[` + ones + `],"words":{"b":""}}`, "/words/b" + tooMany},
		{"over the items in a string", `{"words":{"a":""},"numbers":"[` + ones + `]"}`, "/numbers/99999" + tooMany},
		{"over the items of structs", `{"steps":[` + strings.Repeat(`{"title":""},`, 100_000) + `{"title":""}]}`,
			"/steps/100000" + tooMany},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := strict.Decode([]byte(test.in), new(input), nil); err != nil {
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
	testenv.Check(t, strict.Decode([]byte(`{"first":{"title":"after"}}`), &got, nil))
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
	if err := strict.Decode([]byte(`{}`), &none, nil); err != nil {
		t.Error(err)
	}
	err := strict.Decode([]byte(`{"a":1}`), &none, nil)
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
		err := strict.Decode([]byte(`{"V":1}`), targets[name], nil)
		var problem *strict.Error
		if err == nil || errors.As(err, &problem) {
			t.Errorf("%s: got %v, want an error that is no *strict.Error", name, err)
		}
	}
}

// Fields of embedded structs are treated as the library treats them.
func TestFlattensAsTheLibraryDoes(t *testing.T) {
	type (
		Base     struct{ A, B int }
		hiddenIn struct{ E int }
		Named    struct{ Inner int }
	)
	type plain struct {
		Base
		hiddenIn
		Named `json:"named"`
		C     string
	}
	want := plain{Base{A: 1, B: 2}, hiddenIn{E: 3}, Named{4}, "c"}
	encoded := testenv.Must(json.Marshal(want))(t)
	var got plain
	if err := strict.Decode(encoded, &got, nil); err != nil || got != want {
		t.Errorf("%s: got %+v, %v", encoded, got, err)
	}
}
