package verbs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// hookedAgents are agents at work with the hook state that a test sets.
type hookedAgents []verbs.ActiveAgent

func (hookedAgents) Called(string)                 {}
func (h hookedAgents) Agents() []verbs.ActiveAgent { return h }

// TestApproverIsTold: the person who decides about a plan, and no agent, sees how far planning mode is enforced; unenforced
// agents come first, and many agents take no more room than a few.
func TestApproverIsTold(t *testing.T) {
	at := time.Now()
	agents := hookedAgents{{Agent: "ann", Host: "claude", Answered: at.Add(-time.Minute)}}
	for i := range 40 {
		agents = append(agents, verbs.ActiveAgent{Agent: fmt.Sprint(strings.Repeat("a name of an agent ", 3), i), Answered: at,
			Unseen: []verbs.UnseenCall{{At: at.Add(time.Hour), Tool: strings.Repeat("tool\n", 100)}}})
	}
	var notices []verbs.Notice
	s := verbs.New(session.New(store.NewMemory(), session.Options{}), verbs.Options{Hooks: agents,
		Gates:  func(string) gates.Level { return gates.Off },
		Notify: func(n verbs.Notice) { notices = append(notices, n) }})
	entered, err := s.EnterPlanMode(t.Context(), ann, verbs.EnterPlanMode{Reason: "it is large"})
	if err != nil {
		t.Fatal(err)
	}
	notes := "Sessions live in Postgres."
	submitted, err := s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move them.", Facts: verbs.Facts{Findings: []string{notes}},
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: new("Move the sessions over")}}}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := s.Status(t.Context(), ann, verbs.Status{})
	if err != nil {
		t.Fatal(err)
	}
	state := must[plan.State](t)(s.State(t.Context()))
	for what, text := range map[string]string{"entering": entered.Text(), "submitting": submitted.Text(), "the status": status.Text(),
		"what is reviewed": s.Review(t.Context(), state, nil, nil), "the notice": notices[len(notices)-1].Text} {
		_, line, told := strings.Cut(text, "Hooks not responding since ")
		line, _, _ = strings.Cut(line, "\n")
		forPeople := what == "what is reviewed" || what == "the notice"
		isWhole := strings.Contains(line, ": a name of an agent") && strings.HasSuffix(line, " And 37 more agents.")
		if told != forPeople || told && !isWhole {
			t.Errorf("%s:\n%s", what, text)
		}
	}
	if !strings.HasSuffix(notices[len(notices)-1].Text, "\n"+notes) {
		t.Errorf("%+v", notices)
	}
	if len(entered.Enforcement) > 0 || len(s.Enforcement(state)) != 41 ||
		s.Enforcement(state)[40].State != verbs.Enforced {
		t.Errorf("%+v", s.Enforcement(state))
	}
	text, structured := counted(t)(t, status)
	if most := 750; text > most || structured > most {
		t.Errorf("%d and %d tokens", text, structured)
	}
}
