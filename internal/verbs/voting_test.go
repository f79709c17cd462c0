package verbs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// While approvals are missing, an agent and a person read which ones, and the reply to one says that the plan still waits.
func TestMissingApprovalsAreNamed(t *testing.T) {
	log := session.New(store.NewMemory(), session.Options{})
	s := verbs.New(log, verbs.Options{})
	submit := plan.SubmitPlan{Outline: plan.Outline{Objective: "Move it"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Look"}}}}
	testenv.Must(log.Do(t.Context(), plan.NewActor(plan.ChannelMCP, "ann/codex"), submit, func(_ plan.State, f *plan.Facts) error {
		f.Policy = &plan.Policy{Approvals: 2, Approvers: []string{"ann", "bob", "eve"}}
		return nil
	}))(t)
	wantText(t, s, "It waits for 2 approvals: bob and eve.")
	decide := func(name string) verbs.DecisionReply {
		state := testenv.Must(s.State(t.Context()))(t)
		by := verbs.Caller{Actor: plan.NewActor(plan.ChannelPage, name)}
		return testenv.Must(s.Decide(t.Context(), by, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)}))(t)
	}
	const missing = "Approved by bob. It waits for 1 more approval: eve."
	if reply := decide("bob"); !reply.IsOpen || reply.Message != "Your approval is recorded. "+missing {
		t.Errorf("the first approval is answered with %+v", reply)
	}
	wantText(t, s, missing)
	if reply := decide("eve"); reply.IsOpen || reply.Phase != plan.PhaseExecuting {
		t.Errorf("the last approval is answered with %+v", reply)
	}
}

// wantText checks the status of an agent and the planning mode as shown to a person.
func wantText(t *testing.T, s *verbs.Service, want string) {
	t.Helper()
	for name, read := range map[string]func(context.Context) (string, error){
		"next action": func(ctx context.Context) (string, error) {
			c := verbs.Caller{Actor: plan.NewActor(plan.ChannelPage, "bob")}
			n, err := s.NextAction(ctx, c)
			return n.For(c), err
		},
		"status": func(ctx context.Context) (string, error) {
			reply, err := s.Status(ctx, ann, verbs.Status{})
			return reply.Text(), err
		},
	} {
		if text := testenv.Must(read(t.Context()))(t); !strings.Contains(text, want) {
			t.Errorf("the %s lacks %q:\n%s", name, want, text)
		}
	}
}
