package strict_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/testenv"
)

type listed struct {
	Name  string   `json:"name" text:"some"`
	Count int      `json:"count,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Items []entry  `json:"items,omitempty"`
}

type entry struct {
	Title string   `json:"title"`
	Kind  kindWord `json:"kind,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

type kindWord string

func (kindWord) Values() []string { return []string{"one", "two"} }

// TestPartly leaves out the parts that Decode refuses, and nothing else.
func TestPartly(t *testing.T) {
	for in, want := range map[string]string{
		`{"name":"a","count":"many"}`:          `{"name":"a"}`,
		`{"name":7,"count":3}`:                 `{"name":"","count":3}`,
		`{"nam":"a","tags":["x",1],"count":2}`: `{"name":"a","count":2}`,
		`{"items":[{"title":"a","kind":"three"},7,{"notes":["n"]}]}`: `{"name":"","items":[{"title":"a"},{"title":""},{"title":"",` +
			`"notes":["n"]}]}`,
		`{"name":"<name>","items":[{"title":"a","kind":"One","x":[]}]}`: `{"name":"","items":[{"title":"a","kind":"one"}]}`,
		`{"name":"a","name":"b","count":1}`:                             `{"name":"b","count":1}`,
		`{"name":"a","count":1`:                                         ``,
		`[]`:                                                            `{"name":""}`,
	} {
		var got listed
		text := ""
		if strict.Partly([]byte(in), &got, nil) {
			data := testenv.Must(json.Marshal(got))(t)
			text = string(data)
		}
		if text != want {
			t.Errorf("%s: %s, want %s", in, text, want)
		}
	}
}

// TestPartlyIsDecodeWhereNothingIsWrong compares the two on any input.
func TestPartlyIsDecodeWhereNothingIsWrong(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom([]string{`{"name":"a","items":[{"title":"x"}]}`, `{"name":"a","tags":"x","count":"2"}`, `{"name":" "}`,
			`{"name":"a","items":"[{\"title\":1}]"}`, `{}`, `null`, `{"name":null}`, `{"items":{"title":"x"},"name":"n"}`}).Draw(t, "in")
		if at := rapid.IntRange(0, len(in)).Draw(t, "cut"); rapid.Bool().Draw(t, "broken") {
			in = in[:at] + rapid.SampledFrom([]string{"", "}", `"`, "1", ","}).Draw(t, "with") + in[at:]
		}
		var whole, part listed
		err := strict.Decode([]byte(in), &whole, nil)
		read := strict.Partly([]byte(in), &part, nil)
		a, _ := json.Marshal(whole)
		b, _ := json.Marshal(part)
		if err == nil && (!read || string(a) != string(b)) {
			t.Errorf("%s: %s, in part %s", in, a, b)
		}
	})
}
