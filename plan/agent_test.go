package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// withAgents returns a plan run by an engine that starts agents for steps without a tool.
func withAgents(t failer, steps ...plan.NewStep) *workspace {
	w := withPlan(t, steps...)
	w.do(person, plan.BeginRun{})
	w.found = func(step *plan.Step, r *plan.Resolution) {
		if r.WritesFiles = true; step.Tool == "" {
			r.Agent, r.IsRepeatable = "claude", true
		}
	}
	return w
}

// assigned returns the agent working on a step.
func (w *workspace) assigned(id plan.StepID) plan.Actor {
	actor := plan.NewActor(plan.ChannelAgentShell, "claude")
	actor.Scope = plan.Attempt{Plan: w.state.Plan.Root(), Step: id, Attempt: w.step(id).Attempts}
	return actor
}

func TestAgentsAreStartedOneAtATime(t *testing.T) {
	w := withAgents(t, titled("a"), titled("b"), tool("c"))
	w.wantAdvance(4, []string{"step_started"})
	if w.step(1).ActiveAgent() != "claude" || w.state.Run.Starts["claude"] != 1 || w.step(3).IsRunning() {
		t.Fatalf("%+v, run %+v, %s", w.step(1).Execution, w.state.Run, w.step(3).Status)
	}
	w.wantAdvance(4, []string{"step_finished", "step_started"}, w.finished(1, ok(`"one"`)))
	if step := w.step(1); step.ExecutedBy != "claude" || step.Status != plan.Done || w.step(2).ActiveAgent() != "claude" {
		t.Errorf("%+v; then %+v", step, w.step(2))
	}
	w.wantAdvance(4, []string{"step_finished", "step_started"}, w.finished(2, ok(`"two"`)))
	if !w.step(3).IsRunning() {
		t.Error("what writes is not started once the agents have ended")
	}
}

// TestWhatWritesWaitsForAnAgentBeforeIt: later tools do not starve an agent.
func TestWhatWritesWaitsForAnAgentBeforeIt(t *testing.T) {
	w := withAgents(t, tool("a"), titled("b"), tool("c"))
	w.wantAdvance(4, []string{"step_started"}) // a; b waits for it, and so c does
	w.wantAdvance(4, []string{"step_finished", "step_started"}, w.finished(1, ok(`1`)))
	if w.step(2).ActiveAgent() == "" || w.step(3).IsRunning() {
		t.Errorf("%+v, %+v", w.step(2), w.step(3))
	}
}

func TestReadersRunBesideAnAgent(t *testing.T) {
	w := withAgents(t, titled("a"), tool("b"))
	w.found = func(step *plan.Step, r *plan.Resolution) {
		if step.Tool == "" {
			r.Agent, r.WritesFiles = "claude", true
		}
	}
	w.wantAdvance(4, []string{"step_started", "step_started"})
}

func TestVerifyOfAnAgentsStepAsksAsACommandDoes(t *testing.T) {
	step := titled("a")
	step.Verify = "make test"
	w := withAgents(t, step)
	w.wantAdvance(4, []string{"step_asked"})
	w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
	w.wantAdvance(4, []string{"step_started"})
}

func TestReportOfAnAgent(t *testing.T) {
	w := withAgents(t, titled("a"), titled("b"))
	w.advance(4)
	w.do(w.assigned(1), plan.ReportStep{Step: 1, Output: "what came of it", AffectedFiles: []string{"a.go"}})
	w.do(w.assigned(1), plan.MarkStep{Step: 1, Status: plan.Done, Note: "all green"})
	step := w.step(1)
	if step.Status != plan.InProgress || step.AgentReport() == nil || step.AgentReport().Status != plan.Done || step.Output == "" {
		t.Fatalf("%+v, %+v", step, step.Execution)
	}
	w.refuse(w.assigned(1), plan.MarkStep{Step: 1, Status: plan.Failed}, "has been reported")
	done := w.finished(1, ok(`"what came of it"`))
	done.Note, done.AffectedFiles, done.OutOfScopeFiles = "all green", []string{"a.go", "b.go"}, []string{"b.go"}
	w.advance(0, done)
	step = w.step(1)
	if step.Status != plan.Done || !slices.Equal(step.AffectedFiles, []string{"a.go", "b.go"}) ||
		!slices.Equal(step.Notes, []string{"all green"}) || !slices.Equal(step.Execution.OutOfScopeFiles, []string{"b.go"}) ||
		step.Execution.Report != nil {
		t.Errorf("%+v, %+v", step, step.Execution)
	}
	w.refuse(w.assigned(1), plan.ReportStep{Step: 1, Note: "one more thing"}, "is over")
}

// refuse checks that an action is refused, with the reason.
func (w *workspace) refuse(by plan.Actor, a plan.Action, why string) {
	w.t.Helper()
	if _, err := w.try(by, a); err == nil || !strings.Contains(err.Error(), why) {
		w.t.Fatalf("%#v by %+v: %v, want %q", a, by, err, why)
	}
}

func TestWhatAnAgentMayDo(t *testing.T) {
	w := withAgents(t, titled("a"), titled("b"))
	w.advance(4)
	agent := w.assigned(1)
	for _, a := range []plan.Action{plan.EnterMode{}, plan.BeginRun{}, plan.PauseRun{}, plan.Clear{}, plan.Replan{Changes: "c"},
		plan.SetUp{Outline: plan.Outline{Objective: "Mine"}}, plan.AddSteps{Steps: []plan.NewStep{titled("x")}},
		plan.AnswerStep{Step: 2, Choice: plan.Skip}, plan.UpdateStep{Step: 1}, plan.EndMode{}, plan.Close{Summary: "done"}} {
		w.refuse(agent, a, "you were started for S001 only")
	}
	w.refuse(agent, plan.MarkStep{Step: 2, Status: plan.InProgress}, "S002 is not yours")
	w.refuse(agent, plan.MarkStep{Step: 1, Status: plan.Skipped}, "report it done, failed or blocked")
	w.refuse(agent, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.MarkStep{Step: 1, Status: plan.Done}},
		{Action: plan.MarkStep{Step: 2, Status: plan.InProgress}}}}, "S002 is not yours")
	w.do(agent, plan.AskUser{Text: "Which one?"})
	w.do(agent, plan.RaiseSignal{ID: "s", Level: plan.Warning, Message: "odd"})
	other := agent
	other.Scope.Attempt++
	w.refuse(other, plan.MarkStep{Step: 1, Status: plan.Done}, "is over")
}

func TestBlockedAgentWaitsForAPerson(t *testing.T) {
	w := withAgents(t, titled("a"), tool("b", 1))
	w.advance(4)
	done := w.finished(1, plan.Result{Error: "no access"})
	done.IsBlocked, done.Note = true, "no access to the server"
	w.advance(4, done)
	if step := w.step(1); step.Status != plan.Blocked || !slices.Equal(step.Notes, []string{"no access to the server"}) {
		t.Errorf("%+v", step)
	}
	if over := plan.FindStopReason(w.state); over != plan.StopWaitingForPerson {
		t.Errorf("over %q", over)
	}
}

func TestAgentsThatEndAtOnceAndSayNothingPauseTheRun(t *testing.T) {
	w := withAgents(t, titled("a"))
	w.advance(4)
	silent := func() plan.AttemptResult {
		done := w.finished(1, failed("exit code 1: please log in"))
		done.IsAgentUnavailable, done.IsTransient = true, true
		return done
	}
	w.wantAdvance(4, []string{"agent_unavailable", "step_started"}, silent())
	w.wantAdvance(4, []string{"agent_unavailable", "step_started"}, silent())
	w.wantAdvance(4, []string{"agent_unavailable", "run_paused"}, silent())
	if step := w.step(1); step.Status != plan.Pending || step.Execution.Retries != 0 ||
		plan.FindStopReason(w.state) != plan.StopAgentUnavailable {
		t.Errorf("%+v, over %q", step, plan.FindStopReason(w.state))
	}
	w.do(person, plan.BeginRun{})
	w.wantAdvance(4, []string{"step_started"})
	w.wantAdvance(4, []string{"agent_unavailable", "step_started"}, silent()) // the count starts over
}

// TestAnAgentThatDiedWithItsEngineIsStartedAgain: the next one checks its work.
func TestAnAgentThatDiedWithItsEngineIsStartedAgain(t *testing.T) {
	w := withAgents(t, titled("a"))
	w.advance(4)
	interrupted := w.finished(1, failed("ended"))
	interrupted.IsInterrupted = true
	w.wantAdvance(4, []string{"step_lost", "step_started"}, interrupted)
}

// TestWhatAnAttemptChangedIsKnownToTheNext, however it ended, and to readers of the step.
func TestWhatAnAttemptChangedIsKnownToTheNext(t *testing.T) {
	for event, ending := range map[string]plan.AttemptResult{
		"step_retried":      {IsTransient: true},
		"agent_unavailable": {IsTransient: true, IsAgentUnavailable: true},
		"step_lost":         {IsInterrupted: true},
	} {
		w := withAgents(t, titled("a"))
		w.advance(4)
		ending.Attempt, ending.Result = w.finished(1, failed("ended")).Attempt, failed("ended")
		ending.AffectedFiles = []string{"a.go"}
		w.wantAdvance(4, []string{event, "step_started"}, ending)
		done := w.finished(1, ok(`1`))
		done.AffectedFiles = []string{"a.go", "b.go"}
		w.advance(0, done)
		if got := w.step(1).AffectedFiles; !slices.Equal(got, []string{"a.go", "b.go"}) {
			t.Errorf("%s: %q", event, got)
		}
	}
}

// TestAChangedToolAsksAgain: whatever its new definition, and even if the person asked for no questions.
func TestAChangedToolAsksAgain(t *testing.T) {
	w := newWorkspace(t)
	step := tool("a")
	step.Tool = "files__read"
	w.definitions = map[string]string{"files__read": "one", "files__other": "x"}
	w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Read"}, Steps: []plan.NewStep{step, step}})
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
	if got := w.state.Plan.Approval.Tools; len(got) != 1 || got["files__read"] != "one" {
		t.Fatalf("approved %v", got)
	}
	w.do(person, plan.BeginRun{})
	definition := "one"
	w.found = func(step *plan.Step, r *plan.Resolution) {
		r.Definition, r.Digest = definition, plan.StartDigest(step, step.Args, definition)
	}
	w.wantAdvance(1, []string{"step_started"})
	definition, w.limits.NeverAsk = "two", true
	w.wantAdvance(1, []string{"step_finished", "step_asked"}, w.finished(1, ok(`1`)))
	ask := w.step(2).OpenQuestion()
	if ask.Text != "the server's description of files__read has changed since the plan was approved" || ask.Definition != "two" {
		t.Errorf("asks %+v", ask)
	}
	w.do(person, plan.AnswerStep{Step: 2, Choice: plan.Approve})
	definition = "three" // again, before it starts
	w.wantAdvance(1, []string{"step_asked"})
	w.do(person, plan.AnswerStep{Step: 2, Choice: plan.Approve, Args: json.RawMessage(`{"path":"b"}`)})
	w.found = func(step *plan.Step, r *plan.Resolution) {
		r.Definition, r.Digest = definition, plan.StartDigest(step, step.Execution.Approval.Args, definition)
	}
	w.wantAdvance(1, []string{"step_started"})
}

// TestAToolThatChangesBeforeTheApproval is not covered by it, even if it changes back.
func TestAToolThatChangesBeforeTheApproval(t *testing.T) {
	w := newWorkspace(t)
	step, other := tool("a"), tool("b")
	step.Tool, other.Tool = "files__read", "files__other"
	w.definitions = map[string]string{"files__read": "one", "files__other": "x"}
	w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Read"}, Steps: []plan.NewStep{step, other}})
	w.definitions = map[string]string{"files__read": "two", "files__other": "x"}
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
	if got := w.state.Plan.Approval.Tools; len(got) != 1 || got["files__other"] != "x" {
		t.Fatalf("approved %v", got)
	}
	w.do(person, plan.BeginRun{})
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.Definition = "one" }
	w.wantAdvance(1, []string{"step_asked"})
}

// TestEvidenceOfAnAgentsStep: a report by the last line needs as much proof as one by an update.
func TestEvidenceOfAnAgentsStep(t *testing.T) {
	step := titled("a")
	step.AcceptanceCriteria, step.Verify = []string{"It builds", "It is fast"}, "make"
	start := func() *workspace {
		w := withAgents(t, step)
		w.limits.Evidence = true
		w.wantAdvance(4, []string{"step_asked"})
		w.do(person, plan.AnswerStep{Step: 1, Choice: plan.Approve})
		w.wantAdvance(4, []string{"step_started"})
		return w
	}
	w := start()
	w.advance(0, w.finished(1, ok(`"v"`)))
	if got := w.step(1); got.Status != plan.Failed || !strings.Contains(got.Error, `not verified: no note for the criterion "It builds"`) {
		t.Errorf("without a word it %s: %s", got.Status.Predicate(), got.Error)
	}
	w = start()
	done := w.finished(1, ok(`"v"`))
	done.Note = "built it twice, 2 s each"
	w.advance(0, done)
	if got := w.step(1); got.Status != plan.Done || len(got.Evidence) != 3 || !plan.IsVerified(got) || len(plan.MissingEvidence(got)) > 0 {
		t.Errorf("it %s: %+v", got.Status.Predicate(), got)
	}
	w = start()
	w.refuse(w.assigned(1), plan.MarkStep{Step: 1, Status: plan.Done}, `"It builds"`)
	w.do(w.assigned(1), plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Criterion: "It builds", Note: "yes"},
		{Criterion: "It is fast", Note: "2 s"}}})
	w.do(w.assigned(1), plan.MarkStep{Step: 1, Status: plan.Done})
	w.advance(0, w.finished(1, ok(`"v"`)))
	w.wantStatus(plan.StatusCompleted)
}

// TestASilentAgentAmongOthersFailsItsStep: the quota is not blamed forever.
func TestASilentAgentAmongOthersFailsItsStep(t *testing.T) {
	w := withAgents(t, titled("a"), titled("b"), titled("c"), titled("d"))
	w.found = func(step *plan.Step, r *plan.Resolution) {
		r.Agent, r.IsRepeatable, r.WritesFiles = "claude", true, true
	}
	for i := range plan.MaxUnavailable {
		w.advance(4)
		silent := w.finished(1, failed("exit code 1"))
		silent.IsAgentUnavailable, silent.IsTransient = true, true
		w.advance(0, silent)
		if i == plan.MaxUnavailable-1 {
			break
		}
		only := plan.StepID(i + 2)
		w.found = func(step *plan.Step, r *plan.Resolution) {
			if r.WritesFiles = true; step.ID == only {
				r.Agent, r.IsRepeatable = "claude", true
			}
		}
		w.advance(4)
		w.advance(0, w.finished(only, ok(`1`)))
		w.found = func(step *plan.Step, r *plan.Resolution) {
			r.Agent, r.IsRepeatable, r.WritesFiles = "claude", true, true
		}
	}
	if step := w.step(1); step.Status != plan.Failed || step.Attempts != plan.MaxUnavailable || !w.state.HasActiveRun() {
		t.Errorf("%+v, run %+v", step, w.state.Run)
	}
}
