package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/planloop/planloop/plan"
)

// What ParseStepID accepts prints in canonical form, which reads back as the
// same id, as text and as JSON.
func FuzzParseStepID(f *testing.F) {
	for _, seed := range []string{"S001", "S1000", "S0001", "s001", "7", "007", "step_7", "step-07", " S002\n", "S000", "0", "S999999", "S1000000", "-1", "S\u0661", "\x00", "step_S001", "S+01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := plan.ParseStepID(text)
		if err != nil {
			if id != 0 {
				t.Fatalf("refused %q and returned %v", text, id)
			}
			return
		}
		if id < 1 || id > plan.MaxStepID {
			t.Fatalf("ParseStepID(%q) = %d", text, int(id))
		}
		canonical := id.String()
		if again, err := plan.ParseStepID(canonical); err != nil || again != id || again.String() != canonical {
			t.Fatalf("%q reads as %v, its canonical form %q as %v, %v", text, int(id), canonical, again, err)
		}
		data, err := json.Marshal(id)
		if err != nil || string(data) != `"`+canonical+`"` {
			t.Fatalf("%v is written as %s, %v", id, data, err)
		}
		var read plan.StepID
		if err := json.Unmarshal(data, &read); err != nil || read != id {
			t.Fatalf("%s reads as %v, %v", data, read, err)
		}
	})
}
