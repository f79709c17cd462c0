package verbs_test

import (
	"testing"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// seenNames are the names of agents that have been active here.
type seenNames map[string]bool

func (seenNames) Touch(string)            {}
func (seenNames) Join(string) func()      { return func() {} }
func (seenNames) LastActivity() time.Time { return time.Time{} }
func (s seenNames) Seen(name string) plan.Sighting {
	if s[name] {
		return plan.Sighting{At: time.Now()}
	}
	return plan.Sighting{}
}

// titles knows the title of one host.
type titles struct{ verbs.Tracks }

func (titles) Title(agent string) string {
	return map[string]string{"claude-code": "Claude Code", "codex": "Codex"}[agent]
}

// TestNamesForPeople: people see the host of an agent, with a suffix only while two active agents share it, and planloop for its engines.
// Words that only look like such a name stay as they are.
func TestNamesForPeople(t *testing.T) {
	seen := seenNames{"codex#9d51f6": true, "codex#000000": true, "claude-code#a9dcbf": true}
	const text = "\x1b[2mcodex#9d51f6\x1b[0m (codex#000000) waits for \"claude-code#a9dcbf\": see vscode#123456, color#9d51f6, " +
		"my-engine#k3j4h5g, engine#k3j4h5g6 and old#1a2b3c."
	for name, test := range map[string]struct {
		active hookedAgents
		want   string
	}{
		"one active": {hookedAgents{{Agent: "codex#9d51f6"}, {Agent: "codex#9d51f6"}, {Agent: "claude-code#a9dcbf"}},
			"\x1b[2mCodex\x1b[0m (Codex) waits for Claude Code: see vscode#123456, color#9d51f6, my-engine#k3j4h5g, planloop and old."},
		"two of a name": {hookedAgents{{Agent: "codex#9d51f6"}, {Agent: "codex#000000"}, {Agent: "claude-code#a9dcbf"}},
			"\x1b[2mCodex (9d51f6)\x1b[0m (Codex (000000)) waits for Claude Code: see vscode#123456, color#9d51f6, my-engine#k3j4h5g, " +
				"planloop and old."},
	} {
		o := verbs.Options{Presence: seen, Hooks: test.active, Tracks: titles{}}
		s := verbs.New(session.New(store.NewMemory(), session.Options{}), o)
		if got := s.NamesForPeople("old#1a2b3c")(text); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestApproversReadThePlanUnchanged: an agent's name that is part of a step is not shortened anywhere.
func TestApproversReadThePlanUnchanged(t *testing.T) {
	opened := session.New(store.NewMemory(), session.Options{})
	s := verbs.New(opened, verbs.Options{Presence: seenNames{"database#1a2b3c": true, "codex#9d51f6": true}})
	steps := []plan.NewStep{{Spec: plan.Spec{Title: "Drop it", Args: []byte(`{"command":"drop database#1a2b3c"}`), Tool: "bash_execute"}}}
	a := plan.SetUp{Outline: plan.Outline{Objective: "Clean up"}, Steps: steps}
	if _, err := opened.Do(t.Context(), plan.NewActor(plan.ChannelTerminal, "ann"), a, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.ForPeople("codex#9d51f6: drop database#1a2b3c"); got != "codex: drop database#1a2b3c" {
		t.Error(got)
	}
}
