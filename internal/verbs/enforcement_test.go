package verbs

import (
	"strings"
	"testing"
	"time"
)

// TestEnforcement: the state follows from the reports of an agent's hooks, and their times.
func TestEnforcement(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 4, 5, minute, 0, 0, time.UTC) }
	unseen := func(minutes ...int) (all []UnseenCall) {
		for _, minute := range minutes {
			all = append(all, UnseenCall{at(minute), "planloop_status"})
		}
		return all
	}
	const began = 30
	for name, test := range map[string]struct {
		work  AtWork
		byIt  bool // it began the phase
		want  Held
		since int // 0: never
		why   string
	}{
		"no hook ever":                          {AtWork{}, true, Advisory, 0, "no hook"},
		"over HTTP":                             {AtWork{HTTP: true, Answered: at(31)}, true, Advisory, 0, "HTTP"},
		"answered since":                        {AtWork{Answered: at(31)}, false, Enforced, 31, ""},
		"at the same moment":                    {AtWork{Answered: at(began)}, false, Enforced, began, ""},
		"answered before, and at rest since":    {AtWork{Answered: at(29)}, false, Advisory, 29, "nothing was heard"},
		"the same, unseen before it answered":   {AtWork{Answered: at(29), Unseen: unseen(28)}, false, Advisory, 29, "nothing was heard"},
		"answered for the call that began it":   {AtWork{Answered: at(29)}, true, Enforced, 29, ""},
		"not for the call that began it":        {AtWork{Answered: at(20), Unseen: unseen(29)}, true, Silent, 29, "planloop_status"},
		"nor for that, but since":               {AtWork{Answered: at(31), Unseen: unseen(29)}, true, Enforced, 31, ""},
		"a call of the phase unseen":            {AtWork{Answered: at(31), Unseen: unseen(32)}, true, Silent, 32, "planloop_status"},
		"one unseen, and answered since":        {AtWork{Answered: at(40), Unseen: unseen(32, 35)}, true, Silent, 32, "planloop_status"},
		"unseen in an earlier phase alone":      {AtWork{Answered: at(31), Unseen: unseen(5, 6)}, false, Enforced, 31, ""},
		"unseen earlier, and silent ever since": {AtWork{Answered: at(4), Unseen: unseen(5, 6)}, false, Silent, 5, "planloop_status"},
	} {
		got := enforcementOf(test.work, at(began), test.byIt)
		since := time.Time{}
		if test.since != 0 {
			since = at(test.since)
		}
		why := strings.Contains(got.Why, test.why) && (test.why == "") == (got.Why == "")
		if got.State != test.want || !got.Since.Equal(since) || !why {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHeldLine(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local)
	all := []Enforcement{{Agent: "a#1\x1b[2J", State: Silent, Since: at, Why: "no hook told of its x"}, {Agent: "b", State: Enforced}}
	const want = `Hooks: a#1\x1b[2J silent since 05:06 (no hook told of its x); b enforced.`
	if got := HeldLine(all); got != want {
		t.Errorf("%q", got)
	}
	for range 9 {
		all = append(all, Enforcement{Agent: "c", State: Enforced})
	}
	if got := HeldLine(all); !strings.HasSuffix(got, "c enforced; c enforced; 7 more agents.") || HeldLine(nil) != "" {
		t.Errorf("%q", got)
	}
}
