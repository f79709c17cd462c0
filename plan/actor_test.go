package plan_test

import (
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestNamesThatImitateAPerson: no agent has such a name, whatever letters, brackets and spaces it takes.
func TestNamesThatImitateAPerson(t *testing.T) {
	for _, name := range []string{"ann (person)", "ann (person", "ann person", "ann\u00a0person", "ann\uff08person\uff09",
		"ann \u207dperson\u207e",
		"ann [person]", "ann {person}", "ann <person>", "ann \u2329person\u232a", "ann: person", "ann, Person",
		"ann \uff30\uff45\uff52\uff53\uff4f\uff4e",
		"ann \u24df\u24d4\u24e1\u24e2\u24de\u24dd", "ann \u0440erson", "ann pers\u043en", "ann pers\u03bfn", "a\u0501min",
		"ann p e r s o n", "ann p.e.r.s.o.n",
		"ann \u24ab\u24a0\u24ad\u24ae\u24aa\u24a9", "ann \u00abperson\u00bb", "person", "a human", "annperson"} {
		if plan.CheckAgentName("--agent", name) == nil {
			t.Errorf("%q is the name of an agent", name)
		}
	}
	for _, name := range []string{"codex", "claude-code#a9dcbf", "reviewer-2", "gpt-5.2", "M\u00fcller",
		"\u0410\u043d\u043d\u0430", "\u5c0f\u660e",
		"personal assistant", "\u5c0f\u660e codex", "Ann's agent", "agent", "planloop-reviewer"} {
		if err := plan.CheckAgentName("--agent", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, test := range []struct {
		name string
		kind plan.ActorKind
		way  plan.Way
		want string
	}{{"ann", plan.Person, plan.WayPerson, "ann (person)"}, {"ann (person)", plan.Agent, "", `"ann (person)" (agent)`},
		{"ann", plan.Person, plan.WayShared, "ann (person, shared terminal)"}, {"ann", plan.CI, "", "ann (ci)"},
		{"codex", plan.Agent, plan.WayClient, "the user of codex, confirmed through the client"}} {
		if got := plan.DescribeActor(test.name, test.kind, test.way); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
