package exchange

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/plan"
)

// An import lists all faults of a file, each with its place, and none that only follows from another.
func TestImportListsAllFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown field, dependency, title, type": {`{"steps":[{"title":"a","colour":1},
			{"title":"b","depends_on":["S009","S008"]},
			{"title":"` + strings.Repeat("long ", 1000) + `"},{"title":[1],"critical":5}],"objective":"x"}`,
			[]string{"/steps/0/colour", "/steps/3/title", "/steps/3/critical",
				"/steps/1/depends_on/0", "/steps/1/depends_on/1", "/steps/2/title"}},
		"below plan, with an unknown status": {
			`{"plan":{"objective":"x","status":"odd","steps":[{"title":"a","wrong":{"a/b":1}},{"title":" "}]}}`,
			[]string{"/plan/steps/0/wrong", "/plan/status", "/plan/steps/1/title"}},
		"a step that is a text; another depends on it": {`{"objective":"x","steps":["a",{"title":"b","depends_on":["S007"]},{"title":""}]}`,
			[]string{"/steps/0", "/steps/2/title"}},
		"ids: twice, not one, and a circle": {`{"objective":"x","steps":[{"step_id":"S001","title":"a","depends_on":["S002"]},
			{"step_id":"S002","title":"b","depends_on":["S001"]},{"step_id":"S003","title":"c"},{"step_id":"S003","title":"c"},
			{"step_id":"?","title":"d"}]}`,
			[]string{"/steps/4/step_id", "/steps/3/step_id", "/steps/0/depends_on"}},
		"an entry of a list that accepts no null": {`{"objective":"x","steps":[{"title":"a","depends_on":["?"],"tags":5},{"title":""}]}`,
			[]string{"/steps/0/depends_on/0", "/steps/0/tags", "/steps/1/title"}},
		"too many": {`{"objective":"x","steps":[` + strings.Repeat(`{"title":"","colour":1},`, 60) + `{"title":"a"}]}`, nil},
		"text":     {`{"objective":"x","steps":"none"}`, []string{"/steps"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range []Format{JSON, YAML} {
				_, err := Import([]byte(strings.ReplaceAll(c.text, "\t", " ")), format, ImportOptions{})
				refusal, ok := errors.AsType[*plan.ValidationError](err)
				if !ok {
					t.Fatalf("%s: %v", format, err)
				}
				var got []string
				for _, one := range refusal.All() {
					got = append(got, one.Field)
				}
				if c.want == nil {
					if len(got) != plan.MaxFaults+1 {
						t.Errorf("%s: %d faults", format, len(got))
					}
				} else if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: %s\n%v", format, diff, err)
				}
			}
		})
	}
}
