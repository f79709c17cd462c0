package verbs

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEnforcement: the state follows from the reports of an agent's hooks, and their times.
func TestEnforcement(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 4, 5, minute, 0, 0, time.UTC) }
	unseen := func(minutes ...int) (all []UnseenCall) {
		for _, minute := range minutes {
			all = append(all, UnseenCall{At: at(minute), Tool: "planloop_status"})
		}
		return all
	}
	late := unseen(29)
	late[0] = UnseenCall{At: at(30).Add(-time.Second), Tool: "planning_submit_plan", Late: at(31)}
	settings := func(s HookSettings) func() HookSettings { return func() HookSettings { return s } }
	const began, call, notSince = 30, "planloop_status", "have not responded since"
	for name, test := range map[string]struct {
		work  ActiveAgent
		byIt  bool // it began the phase
		want  Enforcement
		since int // 0: never
		why   string
	}{
		"no hook ever":                        {ActiveAgent{}, true, NotEnforced, 0, "have not responded"},
		"no hook ever, with calls":            {ActiveAgent{Unseen: unseen(29, 31)}, true, NotEnforced, 0, "have not responded"},
		"over HTTP":                           {ActiveAgent{HTTP: true, Answered: at(31)}, true, NotEnforced, 0, "HTTP"},
		"answered since":                      {ActiveAgent{Answered: at(31)}, false, Enforced, 31, ""},
		"at the same moment":                  {ActiveAgent{Answered: at(began)}, false, Enforced, began, ""},
		"answered before, and at rest since":  {ActiveAgent{Answered: at(29)}, false, NotEnforced, 29, notSince},
		"the same, unseen before it answered": {ActiveAgent{Answered: at(29), Unseen: unseen(28)}, false, NotEnforced, 29, notSince},
		"answered for the call that began it": {ActiveAgent{Answered: at(29)}, true, Enforced, 29, ""},
		"not for the call that began it":      {ActiveAgent{Answered: at(20), Unseen: unseen(29)}, true, NotResponding, 29, call},
		"late for that, and answered since":   {ActiveAgent{Answered: at(32), Unseen: late}, true, NotResponding, 0, "too late"},
		"nor for that, but since":             {ActiveAgent{Answered: at(31), Unseen: unseen(29)}, true, Enforced, 31, ""},
		"a call of the phase unseen":          {ActiveAgent{Answered: at(31), Unseen: unseen(32)}, true, NotResponding, 32, call},
		"one unseen, and answered since":      {ActiveAgent{Answered: at(40), Unseen: unseen(32, 35)}, true, NotResponding, 32, call},
		"unseen in an earlier phase alone":    {ActiveAgent{Answered: at(31), Unseen: unseen(5, 6)}, false, Enforced, 31, ""},
		"unseen earlier, and no call since":   {ActiveAgent{Answered: at(4), Unseen: unseen(5, 6)}, false, NotResponding, 5, call},
		"a tool is left out": {ActiveAgent{Answered: at(31), Settings: settings(HookSettings{Problem: "leaves out Write"})}, true,
			NotEnforced, 31, "leaves out Write"},
		"answered after the hooks changed": {ActiveAgent{Answered: at(31), Settings: settings(HookSettings{Changed: at(30)})}, true,
			Enforced, 31, ""},
		"not since the hooks changed": {ActiveAgent{Answered: at(31), Settings: settings(HookSettings{Changed: at(32)})}, true,
			NotEnforced, 31, "since they were changed"},
	} {
		got := EnforcementOf(test.work, at(began), test.byIt, at(45))
		since := got.Since
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
	fix := func() HookSettings { return HookSettings{Fix: "planloop init, then start a new session"} }
	for want, a := range map[string]ActiveAgent{
		"Not enforced: Claude Code's hooks have not responded, so its shell and editor can still write. " +
			"Fix: planloop init, then start a new session.": {Agent: "claude-code#1a2b3c", Title: "Claude Code", Settings: fix},
		"Not enforced: raw's hooks have not responded, so its shell and editor can still write.": {Agent: "raw"},
		"Not enforced: raw is connected over HTTP, so its shell and editor can still write.":     {Agent: "raw", HTTP: true},
		"Enforced: Codex's hooks check its tools (last heard 40 s ago).": {Agent: "codex", Title: "Codex", Settings: fix,
			Answered: at.Add(-40 * time.Second)},
		"Enforced: raw's hooks check its tools (last heard 2 h ago).": {Agent: "raw", Answered: at.Add(-2 * time.Hour)},
		`Hooks not responding since 05:05: a\x1b[2J's hook did not report the call of x, so its shell and editor can still write.`: {
			Agent: "a\x1b[2J", Answered: at.Add(-2 * time.Minute), Unseen: []UnseenCall{{At: at.Add(-time.Minute), Tool: "x"}}},
	} {
		if got := EnforcementOf(a, a.Answered, false, at).Text(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	all := slices.Repeat([]AgentEnforcement{{Agent: "c", State: Enforced, Age: "1 s ago"}}, 11)
	if got := EnforcementLine(all); !strings.HasSuffix(got, " (last heard 1 s ago). And 7 more agents.") || EnforcementLine(nil) != "" {
		t.Errorf("%q", got)
	}
}
