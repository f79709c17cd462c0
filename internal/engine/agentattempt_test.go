package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// staff is agents made by a test.
type staff struct {
	starts int
	work   func(ctx context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error)

	mu   sync.Mutex
	seen []engine.AgentAssignment
}

func (s *staff) For(suggested string) (string, bool) { return "claude", suggested != "nobody" }
func (s *staff) Hide(_, text string) string          { return strings.ReplaceAll(text, "secret", "[hidden]") }
func (s *staff) Starts(string) int                   { return s.starts }
func (s *staff) Work(ctx context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error) {
	s.mu.Lock()
	s.seen = append(s.seen, w)
	s.mu.Unlock()
	return s.work(ctx, w)
}

func reports(status plan.StepStatus, output string) (engine.AgentOutcome, error) {
	return engine.AgentOutcome{Report: &engine.AgentReport{Status: status, Output: output, Note: "note"}, Took: time.Minute}, nil
}

func employ(t *testing.T, s *staff, tools ...toolbox.Tool) *place {
	p := newPlace(t, plan.Limits{}, tools...)
	p.options.Agents, p.options.Workspace = s, "/work"
	p.options.Prompt = func(_ context.Context, state plan.State, id plan.StepID, o engine.WorkOrder) string {
		step, _ := state.Plan.Steps.Get(id)
		return id.String() + " " + step.Error
	}
	return p
}

func TestAgentsDoTheirSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{}
		s.work = func(_ context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error) {
			out, err := reports(plan.Done, "result of "+w.Step.String())
			out.Report.AffectedFiles, out.Changed = []string{"a.go"}, []string{"a.go", "b/c.go", "d.go"}
			return out, err
		}
		var args string
		p := employ(t, s, tool("use", func(_ context.Context, a json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
			args = string(a)
			return toolbox.Outcome{OK: true}, nil
		}))
		p.setUp(plan.Spec{RelevantFilePaths: []string{"a.go", "b"}}, plan.Spec{},
			plan.Spec{Tool: "use", Args: json.RawMessage(`{"text":"$S001"}`), DependsOn: []plan.StepID{2}})
		state := p.run(plan.StopCompleted)
		if len(s.seen) != 2 || state.Run.Starts["claude"] != 2 || args != `{"text":"result of S001"}` {
			t.Fatalf("%d starts, %v; args %s", len(s.seen), state.Run.Starts, args)
		}
		step := p.step(1)
		if !slices.Equal(step.AffectedFiles, []string{"a.go", "b/c.go", "d.go"}) ||
			!slices.Equal(step.Execution.OutOfScopeFiles, []string{"d.go"}) ||
			step.ExecutedBy != "claude" || !slices.Equal(step.Notes, []string{"note"}) {
			t.Errorf("%+v, %+v", step, step.Execution)
		}
		w := s.seen[0]
		variable := engine.EnvRun + "=" + state.Run.ID + "/S001/1/" + w.Nonce
		if !slices.Contains(w.Environment, variable) || !slices.Contains(w.Environment, "PLANLOOP_WORKSPACE=/work") || len(w.Nonce) != 12 {
			t.Errorf("environment %v, nonce %q", w.Environment, w.Nonce)
		}
	})
}

func TestAgentWithoutReportIsTriedAgainAndThenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return engine.AgentOutcome{Tail: "what?", Took: time.Minute}, nil
		}}
		p := employ(t, s)
		p.setUp(plan.Spec{})
		p.run(plan.StopFailed)
		step := p.step(1)
		if len(s.seen) != plan.MaxTries || step.Status != plan.Failed || !strings.Contains(step.Error, "without a report") ||
			step.Output != "what?" {
			t.Errorf("%d starts, %+v", len(s.seen), step)
		}
		if last := s.seen[2].Prompt; !strings.Contains(last, "without a report") {
			t.Errorf("the third is told %q", last)
		}
	})
}

func TestAgentThatContradictsItselfLeavesTheOutcomeUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *place
		s := &staff{work: func(_ context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error) {
			by := plan.NewActor(plan.ChannelAgentShell, "claude")
			by.Scope = plan.Attempt{Plan: p.state().Plan.Root(), Step: w.Step, Attempt: w.Attempt}
			p.do(by, plan.MarkStep{Step: w.Step, Status: plan.Done, Note: "built"})
			return engine.AgentOutcome{Report: &engine.AgentReport{Status: plan.Failed, Note: "no space"}, Took: time.Minute}, nil
		}}
		p = employ(t, s)
		p.setUp(plan.Spec{})
		p.run(plan.StopWaitingForPerson)
		step := p.step(1)
		if !step.IsUnknown() || !strings.Contains(step.Error, `done ("built")`) || !strings.Contains(step.Error, `failed ("no space")`) {
			t.Errorf("%s, %q, %+v", step.Status, step.Error, step.Execution)
		}
	})
}

func TestAgentWithAnUnreadableReportIsToldWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const why = `the report's status is "so far so good", not done, failed or blocked`
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return engine.AgentOutcome{Unread: why, Tail: "a report"}, nil // at once: a login would pause the run
		}}
		p := employ(t, s)
		p.setUp(plan.Spec{})
		p.run(plan.StopFailed)
		if step := p.step(1); len(s.seen) != plan.MaxTries || !strings.Contains(step.Error, why) {
			t.Errorf("%d starts, %+v", len(s.seen), step)
		}
		if last := s.seen[2].Prompt; !strings.Contains(last, why) {
			t.Errorf("the third is told %q", last)
		}
	})
}

func TestAgentThatReportsWithAFormerKeyIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return engine.AgentOutcome{OtherNonce: true, Tail: "a report"}, nil // at once: a login would pause the run
		}}
		p := employ(t, s)
		p.setUp(plan.Spec{})
		p.run(plan.StopFailed)
		const want = "it reported with the key of another attempt (exit code 0)"
		if step := p.step(1); len(s.seen) != plan.MaxTries || step.Error != want {
			t.Errorf("%d starts, %+v", len(s.seen), step)
		}
	})
}

func TestAgentsThatEndAtOncePauseTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return engine.AgentOutcome{}, errors.New("no such program")
		}}
		p := employ(t, s)
		p.setUp(plan.Spec{})
		state := p.run(plan.StopAgentUnavailable)
		if len(s.seen) != plan.MaxUnavailable || p.step(1).Status != plan.Pending || !strings.Contains(state.Run.Note, "no such program") {
			t.Errorf("%d starts, %+v, run %+v", len(s.seen), p.step(1), state.Run)
		}
	})
}

func TestAgentReportsToTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{}
		p := employ(t, s)
		s.work = func(ctx context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error) {
			by := plan.NewActor(plan.ChannelMCP, "claude")
			by.Scope = plan.Attempt{Plan: p.state().Plan.Root(), Step: w.Step, Attempt: w.Attempt}
			p.do(by, plan.ReportStep{Step: w.Step, Output: "found it"})
			p.do(by, plan.MarkStep{Step: w.Step, Status: plan.Done})
			<-w.Reported // it would be ended now
			return engine.AgentOutcome{Took: time.Second}, nil
		}
		p.setUp(plan.Spec{})
		p.run(plan.StopCompleted)
		if step := p.step(1); step.Output != "found it" {
			t.Errorf("%+v", step)
		}
	})
}

func TestVerifyJudgesTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return reports(plan.Done, "fine")
		}}
		p := employ(t, s, tool("bash_execute", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
			return toolbox.Outcome{Error: "exit code 1: 2 tests fail with secret"}, nil
		}))
		p.limits.NeverAsk = true
		p.setUp(plan.Spec{Verify: "go test ./..."})
		p.do(person(), plan.AnswerStep{Step: 1, Choice: plan.Skip})
		p.setUp(plan.Spec{Verify: "go test ./...", RequiresApproval: true})
		p.do(person(), plan.AnswerStep{Step: 1, Choice: plan.Approve})
		p.run(plan.StopFailed)
		if step := p.step(1); step.Status != plan.Failed || !strings.Contains(step.Error, "2 tests fail with [hidden]") {
			t.Errorf("%+v", step)
		}
	})
}

func TestBudgetsOfAgents(t *testing.T) {
	for name, c := range map[string]struct {
		allows  int
		options engine.RunOptions
		note    string
		starts  int
	}{
		"of the configuration": {2, engine.RunOptions{}, "claude was started 2 times", 2},
		"of the run":           {0, engine.RunOptions{Starts: 1}, "--starts", 1},
		"of time":              {0, engine.RunOptions{For: 90 * time.Second}, "1m30s", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &staff{starts: c.allows}
				s.work = func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
					time.Sleep(time.Minute)
					return reports(plan.Done, "fine")
				}
				p := employ(t, s)
				p.setUp(plan.Spec{}, plan.Spec{}, plan.Spec{}, plan.Spec{})
				over, err := p.begin(t.Context(), c.options)
				run := p.state().Run
				if err != nil || over != plan.StopPaused || len(s.seen) != c.starts || !strings.Contains(run.Note, c.note) {
					t.Errorf("over %q, %v after %d starts: %+v", over, err, len(s.seen), run)
				}
			})
		})
	}
}

func TestStepsOfOtherAgentsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &staff{work: func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
			return reports(plan.Done, "fine")
		}}
		p := employ(t, s)
		p.setUp(plan.Spec{SuggestedAgent: "nobody"}, plan.Spec{})
		p.run(plan.StopWaitingForAgent)
		if len(s.seen) != 1 || p.step(2).Status != plan.Done {
			t.Errorf("%d starts, %+v", len(s.seen), p.step(2))
		}
	})
}

// A question to a person does not end the run before a step is retried.
func TestAgentIsTriedAgainWhilePersonIsAsked(t *testing.T) {
	for name, seen := range map[string]engine.AgentOutcome{"it ended at once": {}, "it ended without a report": {Took: time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &staff{}
				s.work = func(context.Context, engine.AgentAssignment) (engine.AgentOutcome, error) {
					if len(s.seen) == 1 {
						return seen, nil
					}
					return reports(plan.Done, "fine")
				}
				p := employ(t, s)
				p.setUp(plan.Spec{}, plan.Spec{Pause: "Which one?"})
				p.run(plan.StopWaitingForPerson)
				if step := p.step(1); step.Status != plan.Done || len(s.seen) != 2 {
					t.Errorf("%d starts, %+v", len(s.seen), step)
				}
			})
		})
	}
}

// TestAnAgentWithoutLeaveIsEnded: after its plan is gone, and when planning mode begins.
func TestAnAgentWithoutLeaveIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end  plan.Action
		over plan.StopReason
		why  string
	}{
		"the plan is cleared":   {plan.Clear{}, plan.StopCancelled, "is gone"},
		"another plan is begun": {plan.SetUp{Outline: plan.Outline{Objective: "Other"}}, plan.StopDeadlocked, "is gone"},
		"planning mode begins":  {plan.EnterMode{}, plan.StopWaitingForPerson, "planning mode"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var why error
				s := &staff{}
				p := employ(t, s)
				s.work = func(ctx context.Context, _ engine.AgentAssignment) (engine.AgentOutcome, error) {
					p.do(person(), c.end)
					<-ctx.Done()
					why = context.Cause(ctx)
					return engine.AgentOutcome{}, why
				}
				p.setUp(plan.Spec{})
				over, err := p.begin(t.Context(), engine.RunOptions{})
				if err != nil || over != c.over || !strings.Contains(why.Error(), c.why) || len(s.seen) != 1 {
					t.Errorf("over %q, %v; ended for %v; %d starts", over, err, why, len(s.seen))
				}
			})
		})
	}
}

// TestAgentsOfTwoPlansWorkOneAfterTheOther in any state of the first plan.
func TestAgentsOfTwoPlansWorkOneAfterTheOther(t *testing.T) {
	at := make(chan string, 10)
	leave := make(chan struct{})
	s := &staff{}
	p := employ(t, s)
	p.options.StateDir = t.TempDir()
	s.work = func(ctx context.Context, w engine.AgentAssignment) (engine.AgentOutcome, error) {
		at <- "begins " + w.Prompt
		if strings.Contains(w.Prompt, "S001") {
			<-leave // ignores a request to end
		}
		at <- "ends " + w.Prompt
		return reports(plan.Done, "fine")
	}
	p.setUp(plan.Spec{})
	overs := make(chan plan.StopReason, 2)
	run := func() {
		over, err := p.begin(t.Context(), engine.RunOptions{})
		if err != nil {
			t.Error(err)
		}
		overs <- over
	}
	go run()
	if got := <-at; got != "begins S001 " {
		t.Fatal(got)
	}
	p.setUp(plan.Spec{}, plan.Spec{})
	p.do(person(), plan.MarkStep{Step: 1, Status: plan.Done})
	go run()
	close(leave)
	for _, want := range []string{"ends S001 ", "begins S002 ", "ends S002 "} {
		if got := <-at; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	<-overs
	<-overs
}
