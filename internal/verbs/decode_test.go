package verbs_test

import (
	"errors"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestDecodeTellsOfEverything: the error is about the first fault, and lists the others.
func TestDecodeTellsOfEverything(t *testing.T) {
	var in struct {
		StepID plan.StepID     `json:"step_id"`
		Status plan.StepStatus `json:"status"`
		Limit  int             `json:"limit,omitzero"`
	}
	for arguments, want := range map[string]string{
		`{"stepid":1,"status":"dane","limit":"x"}`: `/stepid: unknown field "stepid"; did you mean "step_id"?; ` +
			`also /status: found "dane"; give one of "pending", "in_progress", "blocked", "done", "failed", "skipped", "cancelled"; ` +
			`also /limit: found the string "x"; give an integer`,
		`{"id":2,"status":"done","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}`: "" +
			`/a: unknown fields "a", "b", "c", "d", "e", "f", "g", "h"; give one of "step_id", "status", "limit"`,
	} {
		err := verbs.Decode([]byte(arguments), &in)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", arguments, err, want)
		}
	}
}
