package plan_test

import (
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

func TestTimeOfNext(t *testing.T) {
	last := time.Date(2026, 3, 1, 9, 0, 0, int(5*time.Millisecond), time.UTC)
	next := last.Add(time.Millisecond)
	for name, c := range map[string]struct{ clock, want time.Time }{
		"later":                            {last.Add(time.Second), last.Add(time.Second)},
		"in the next millisecond":          {next.Add(700 * time.Microsecond), next},
		"in the same millisecond":          {last.Add(700 * time.Microsecond), next},
		"set back a little":                {last.Add(-30 * time.Second), next},
		"set back a day":                   {last.AddDate(0, 0, -1), last.AddDate(0, 0, -1)},
		"right again after years too late": {last.AddDate(-10, 0, 0), last.AddDate(-10, 0, 0)},
		"elsewhere":                        {last.Add(time.Second).In(time.FixedZone("there", 3600)), last.Add(time.Second)},
	} {
		if got := (plan.State{UpdatedAt: last}).NextTime(c.clock); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := (plan.State{}).NextTime(last); got != last {
		t.Errorf("the first: %v", got)
	}
}
