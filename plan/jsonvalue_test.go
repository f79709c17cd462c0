package plan_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func TestCheckJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", ` [1, "a", {"b": [null]}] `: "", `{"a":{"k":1},"b":{"k":1}}`: "", `[[],[]]`: "", `"\ud83d\ude00 \\ud800"`: "",
		``: "not valid JSON in line 1", "{\n\"a\":\n}": "not valid JSON in line 3", `{} {}`: "after top-level value", `[1,]`: "not valid JSON",
		`{"a":1,"a":2}`: "/a is a duplicate key", `[{"~/":{"k":1,"k":2}}]`: "/0/~0~1/k is a duplicate key", `{"a":1,"\u0061":2}`: "/a is a duplicate key",
		`[[[[1]]]]`: "/0/0/0 is nested more than 3 levels deep", `[[[{}]]]`: "/0/0/0 is nested more than 3 levels deep",
		`"\ud800"`: "half of a surrogate pair", `"\ude00\ud83d"`: "half of a surrogate pair", `"\ud83dx"`: "half of a surrogate pair",
		`{"\ud83d\n":1}`: "half of a surrogate pair", "\"\xff\"": "not valid UTF-8",
	} {
		pointer, problem := plan.CheckJSON([]byte(text), 3)
		if got := strings.TrimSpace(pointer + " " + problem); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
