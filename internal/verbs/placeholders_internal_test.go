package verbs

import (
	"encoding/json"
	"testing"

	"github.com/planloop/planloop/plan"
)

// Only references become placeholders: every other value of the proposed arguments stays as it is, and is accepted.
func TestPlaceholdersForReferences(t *testing.T) {
	args := json.RawMessage(`{"env":{"V":"$S001","W":null},"list":["$S002.path",null,7,1e400,true,"$$S001"],"path":"a"}`)
	want := `{"env":{"V":"<V>","W":null},"list":["<list>",null,7,1e400,true,"$$S001"],"path":"a"}`
	got := withoutReferences("", args)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for text, unfilled := range map[string]bool{string(got): true, want: true, string(args): false, `{"V":"<W>"}`: false,
		`{"V":[["<V>"]]}`: true, `null`: false, ``: false, `[`: false} {
		var faults plan.Faults
		if refuseUnfilled(&faults, json.RawMessage(text)); (faults.Err() != nil) != unfilled {
			t.Errorf("%s: %v", text, faults.Err())
		}
	}
}
