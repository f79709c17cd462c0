package verbs_test

import (
	"context"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// waiting is an engine that ends its part once nothing can be started; while it leaves, left is called with the cause
// of the run's pause.
type waiting struct {
	running
	left func(pause func())
}

func (e *waiting) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	if err := o.Begin(ctx); err != nil {
		return "", err
	}
	e.advance()
	if e.status(1) == plan.InProgress {
		e.ended(1, true, false)
	}
	over := plan.FindStopReason(e.state())
	e.left(func() {
		if e.state().HasActiveRun() {
			e.do(engine, plan.PauseRun{Reason: over})
		}
	})
	return over, nil
}

// A caller that resumes the run while the engine leaves does not end up with a run that no engine carries out.
func TestARunIsJoinedAsTheEngineLeaves(t *testing.T) {
	for name, first := range map[string]bool{"before it is paused": true, "after it was paused": false} {
		t.Run(name, func(t *testing.T) {
			s := session.New(store.NewMemory(), session.Options{})
			t.Cleanup(func() { _ = s.Close() })
			e := &waiting{running: running{t: t, session: s}}
			e.Service = verbs.New(s, verbs.Options{Engine: e})
			e.do(petra.Actor, plan.SetUp{Outline: plan.Outline{Objective: "Release it"},
				Steps: []plan.NewStep{{Spec: tool("Delete the folder")}}})
			var background sync.WaitGroup
			caller := petra
			caller.Background = func(work func(context.Context)) { background.Go(func() { work(context.Background()) }) }
			join := sync.OnceFunc(func() {
				e.answer(petra, verbs.StepAnswer{Step: 1, Choice: plan.Approve}, "")
				if err := e.StartRun(context.Background(), caller, verbs.EngineOptions{}); err != nil {
					t.Error(err)
				}
			})
			e.left = func(pause func()) {
				if !first {
					pause()
				}
				join()
				if first {
					pause()
				}
			}
			if err := e.StartRun(t.Context(), caller, verbs.EngineOptions{}); err != nil {
				t.Fatal(err)
			}
			background.Wait()
			if got := e.status(1); got != plan.Done {
				t.Errorf("the step is %s", got)
			}
		})
	}
}

// A part that was joined as its engine left takes part once more, also if the next step is an agent's: the engine
// decides whether to start one.
func TestARunOfAgentsIsJoinedAsTheEngineLeaves(t *testing.T) {
	s := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() { _ = s.Close() })
	e := &waiting{running: running{t: t, session: s}}
	e.Service = verbs.New(s, verbs.Options{Engine: e})
	e.do(petra.Actor, plan.SetUp{Outline: plan.Outline{Objective: "Release it"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build it"}}}})
	var background sync.WaitGroup
	caller := petra
	caller.Background = func(work func(context.Context)) { background.Go(func() { work(context.Background()) }) }
	parts := 0
	e.left = func(func()) {
		if parts++; parts > 1 {
			return
		}
		e.do(petra.Actor, plan.PauseRun{})
		if err := e.StartRun(context.Background(), caller, verbs.EngineOptions{}); err != nil {
			t.Error(err)
		}
	}
	if err := e.StartRun(t.Context(), caller, verbs.EngineOptions{}); err != nil {
		t.Fatal(err)
	}
	background.Wait()
	if parts != 2 {
		t.Errorf("the engine took part %d times", parts)
	}
}
