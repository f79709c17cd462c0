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
	const began, call, notSince = 30, "planloop_status", "have not responded since"
	for name, test := range map[string]struct {
		work  ActiveAgent
		byIt  bool // it began the phase
		want  Enforcement
		since int // 0: never
		why   string
	}{
		"no hook ever":                        {ActiveAgent{}, true, NotEnforced, 0, "have not responded"},
		"over HTTP":                           {ActiveAgent{HTTP: true, Answered: at(31)}, true, NotEnforced, 0, "HTTP"},
		"answered since":                      {ActiveAgent{Answered: at(31)}, false, Enforced, 31, ""},
		"at the same moment":                  {ActiveAgent{Answered: at(began)}, false, Enforced, began, ""},
		"answered before, and at rest since":  {ActiveAgent{Answered: at(29)}, false, NotEnforced, 29, notSince},
		"the same, unseen before it answered": {ActiveAgent{Answered: at(29), Unseen: unseen(28)}, false, NotEnforced, 29, notSince},
		"answered for the call that began it": {ActiveAgent{Answered: at(29)}, true, Enforced, 29, ""},
		"not for the call that began it":      {ActiveAgent{Answered: at(20), Unseen: unseen(29)}, true, NotResponding, 29, call},
		"nor for that, but since":             {ActiveAgent{Answered: at(31), Unseen: unseen(29)}, true, Enforced, 31, ""},
		"a call of the phase unseen":          {ActiveAgent{Answered: at(31), Unseen: unseen(32)}, true, NotResponding, 32, call},
		"one unseen, and answered since":      {ActiveAgent{Answered: at(40), Unseen: unseen(32, 35)}, true, NotResponding, 32, call},
		"unseen in an earlier phase alone":    {ActiveAgent{Answered: at(31), Unseen: unseen(5, 6)}, false, Enforced, 31, ""},
		"unseen earlier, and no call since":   {ActiveAgent{Answered: at(4), Unseen: unseen(5, 6)}, false, NotResponding, 5, call},
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

func TestEnforcementLine(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local)
	all := []AgentEnforcement{{Agent: "a#1\x1b[2J", State: NotResponding, Since: at, Why: "no hook reported its call of x"},
		{Agent: "b", State: Enforced}}
	const want = `Enforcement: a#1\x1b[2J's hooks not responding since 05:06 (no hook reported its call of x); b enforced.`
	if got := EnforcementLine(all); got != want {
		t.Errorf("%q", got)
	}
	for range 9 {
		all = append(all, AgentEnforcement{Agent: "c", State: Enforced})
	}
	if got := EnforcementLine(all); !strings.HasSuffix(got, "c enforced; c enforced; 7 more agents.") || EnforcementLine(nil) != "" {
		t.Errorf("%q", got)
	}
}
