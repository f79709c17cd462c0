package strict_test

import (
	"testing"

	"github.com/planloop/planloop/internal/strict"
)

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
	for _, in := range []string{`{"over":{"a":1}}`, `{"over":"a","name":["b"]}`, `{"over":["a","b"`} {
		if err := strict.Decode([]byte(in), new(loop), nil); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
}
