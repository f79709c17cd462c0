package strict_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/testenv"
)

// task can be called in more than one way.
type task struct {
	Title *string  `json:"title,omitempty" jsonschema:"maxLength=9,description=what to do"`
	Text  string   `json:"text,omitempty" hint:"where and how" text:"some"`
	Done  bool     `json:"done,omitzero"`
	Paths []string `json:"paths,omitempty"`
}

func (task) Needed() []string { return []string{"title"} }

func (task) Alone() string { return "title" }

type tasks struct {
	Goal   string   `json:"goal" text:"some"`
	Add    []task   `json:"add,omitempty"`
	Change []change `json:"change,omitempty"`
}

type change struct {
	Number stepID `json:"number"`
	Status status `json:"status"`
	Text   string `json:"text,omitempty"`
	Title  string `json:"title,omitempty"`
}

func synonyms() []strict.Synonym {
	return []strict.Synonym{{Key: "description", Field: "title", Unless: []string{"number"}}, {Key: "description", Field: "text"},
		{Key: "id", Field: "number"}, {Key: "task", Field: "number"}, {Key: "tasks", Field: "add"}, {Key: "tasks", Field: "change"}}
}

// TestUnderstands: synonyms are accepted if they have only one meaning next to the given fields.
func TestUnderstands(t *testing.T) {
	for in, want := range map[string]string{
		`{"goal":"g","add":["a",{"title":"b"}]}`:                          `{"goal":"g","add":[{"title":"a"},{"title":"b"}]}`,
		`{"goal":"g","add":[{"description":"a"}]}`:                        `{"goal":"g","add":[{"title":"a"}]}`,
		`{"goal":"g","add":[{"description":"d","title":"a"}]}`:            `{"goal":"g","add":[{"title":"a","text":"d"}]}`,
		`{"goal":"g","add":[{"text":"d","description":"a"}]}`:             `{"goal":"g","add":[{"title":"a","text":"d"}]}`,
		`{"goal":"g","add":[{"title":"a","text":"d","description":"d"}]}`: `{"goal":"g","add":[{"title":"a","text":"d"}]}`,
		`{"goal":"g","tasks":[{"title":"a"}]}`:                            `{"goal":"g","add":[{"title":"a"}]}`,
		`{"goal":"g","tasks":{"id":1,"status":"Done"}}`:                   `{"goal":"g","change":[{"number":"S001","status":"done"}]}`,
		`{"goal":"g","tasks":[{"task":1,"status":"done","description":"d"}]}`: `{"goal":"g","change":[{"number":"S001","status":"done",` +
			`"text":"d"}]}`,
		`{"goal":"g","tasks":"[{\"id\":1,\"task\":\"S001\",\"status\":\"done\"}]"}`: `{"goal":"g","change":[{"number":"S001",` +
			`"status":"done"}]}`,
		`{"arguments":{"goal":"g","add":null,"tasks":null}}`: `{"goal":"g"}`,
	} {
		var got tasks
		if err := strict.Decode([]byte(in), &got, synonyms()); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		encoded := testenv.Must(json.Marshal(got, json.OmitZeroStructFields(true)))(t)
		if diff := cmp.Diff(canonical(t, want), canonical(t, string(encoded))); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

// TestMends: a fault comes with the corrected input.
func TestMends(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: `{"goal":"<goal>"}`,
		`{"gaol":"g","add":[{"titel":"a","extra":1},{"paths":1,"done":"x"}],"more":[1]}`: `{"add":[{"title":"a"},` +
			`{"paths":["<paths>"],"done":"<true|false>"}],"goal":"g"}`,
		`{"goal":7,"add":1}`: `{"goal":"<goal>","add":[{"title":"<what to do>"}]}`,
		`{"goal":"g","change":[{"status":"halfway there","id":"x"},{}]}`: `{"goal":"g","change":[{"status":"<pending|in_progress|done>",` +
			`"number":"<number>"},{"number":"<number>","status":"<pending|in_progress|done>"}]}`,
		`{"goal":"g","add":[{"title":"a","text":"d","description":"e"}]}`: `{"goal":"g","add":[{"title":"a","text":"<where and how>"}]}`,
		`{"goal":"g","add":"[{]"}`:                                        `{"goal":"g","add":[{"title":"<what to do>"}]}`,
		`{"goal":" ","add":[{"text":""},{"text":1}]}`: `{"goal":"<goal>","add":[{"text":"<where and how>"},` +
			`{"text":"<where and how>"}]}`,
		`{"input":{"goal":1}}`: `{"goal":"<goal>"}`,
		`{"goal":"g"`:          ``,
	} {
		var problem *strict.Error
		if !errors.As(strict.Decode([]byte(in), new(tasks), synonyms()), &problem) {
			t.Errorf("%s is accepted", in)
		} else if got := string(problem.Corrected); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
	title := "too long"
	given := tasks{Goal: "a > b", Add: []task{{Title: &title, Paths: []string{"a", "b"}}, {}}}
	got := string(strict.Corrected(&given, map[string]string{"/add/0/title": "short", "/add/0/paths/1": "", "/add/1/text": "",
		"/add/9": ""}))
	want := `{"goal":"a > b","add":[{"title":"short","paths":["a","<paths>"]},{"text":"<where and how>"}]}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := strict.Corrected(&given, map[string]string{"": "", "/nothing": ""}); got != nil {
		t.Errorf("nothing is wrong, and it is corrected: %s", got)
	}
}
