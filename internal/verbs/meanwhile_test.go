package verbs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// crossed is a log on which others act after a verb has read the state and before it changes it.
type crossed struct {
	store.Log
	meanwhile func() // once
}

func (l *crossed) Lock(ctx context.Context) (func(), error) {
	if others := l.meanwhile; others != nil {
		l.meanwhile = nil
		others()
	}
	return l.Log.Lock(ctx)
}

// crossing returns a workspace with a plan of two steps, in which others act between a verb's read and its change.
func crossing(t *testing.T, others ...plan.Action) *verbs.Service {
	t.Helper()
	log := &crossed{Log: store.NewMemory()}
	mine := session.New(log, session.Options{})
	t.Cleanup(func() { _ = mine.Close() })
	theirs := session.New(log.Log, session.Options{})
	do := func(a plan.Action) {
		if _, err := theirs.Do(context.Background(), petra.Actor, a, nil); err != nil {
			t.Error(err)
		}
	}
	do(plan.SetUp{Outline: plan.Outline{Objective: "Release it"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build it"}}, {Spec: plan.Spec{Title: "Ship it"}}}})
	log.meanwhile = func() {
		for _, a := range others {
			do(a)
		}
	}
	return verbs.New(mine, verbs.Options{Gates: func(string) gates.Level { return gates.Off }})
}

// A step that others finished just before it is handed out is not handed out again.
func TestWhatWasDoneMeanwhileIsNotHandedOut(t *testing.T) {
	s := crossing(t, plan.MarkStep{Step: 1, Status: plan.Done})
	reply, err := s.NextStep(t.Context(), ann, verbs.NextStep{})
	if err != nil || reply.StepID != "S002" {
		t.Errorf("handed out %q, %v", reply.StepID, err)
	}
	if step, _ := must[plan.State](t)(s.State(t.Context())).Plan.Steps.Get(1); step.Status != plan.Done {
		t.Errorf("S001 is %s", step.Status)
	}
	s = crossing(t, plan.MarkStep{Step: 1, Status: plan.Done}, plan.MarkStep{Step: 2, Status: plan.Done})
	if reply, err := s.NextStep(t.Context(), ann, verbs.NextStep{}); err != nil || reply.StepID != "" {
		t.Errorf("handed out %q, %v", reply.StepID, err)
	}
}

// A plan submitted while planning mode begins has the mode's task as its objective.
func TestModeBeginsAsAPlanIsSubmitted(t *testing.T) {
	s := crossing(t, plan.EnterMode{Task: "Move the sessions"})
	title := "Add the client"
	must[verbs.SubmitPlanReply](t)(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Use Redis.",
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: &title}}}}))
	if got := must[plan.State](t)(s.State(t.Context())).Draft.Objective; got != "Move the sessions" {
		t.Errorf("its objective is %q", got)
	}
}

// The reply to an answer describes the step at the time of the answer, not before.
func TestAStepIsBlockedAsItIsAnswered(t *testing.T) {
	s := crossing(t, plan.MarkStep{Step: 1, Status: plan.Blocked, Note: "no token"})
	reply := must[verbs.StepAnswerReply](t)(s.AnswerStep(t.Context(), petra, verbs.StepAnswer{Step: 1, Choice: plan.Reply, Text: "42"}))
	if !strings.Contains(reply.Message, "it will be tried again") {
		t.Errorf("told %q", reply.Message)
	}
}
