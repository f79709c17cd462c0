package verbs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// running is a workspace with a plan that a made-up engine carries out.
type running struct {
	*verbs.Service
	t       *testing.T
	session *session.Session
}

var (
	engine = plan.NewActor(plan.ChannelEngine, "engine#1")
	petra  = verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "petra"), Face: terminal.CommandLine{}}
)

// runningPlan begins a run of steps for tools and agents.
func runningPlan(t *testing.T, steps ...plan.Spec) running {
	t.Helper()
	s := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := running{verbs.New(s, verbs.Options{}), t, s}
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Release it"}}
	for _, spec := range steps {
		setUp.Steps = append(setUp.Steps, plan.NewStep{Spec: spec})
	}
	r.do(petra.Actor, setUp)
	r.do(petra.Actor, plan.BeginRun{})
	return r
}

func (r running) do(by plan.Actor, a plan.Action) plan.State {
	r.t.Helper()
	outcome, err := r.session.Do(r.t.Context(), by, a, func(state plan.State, facts *plan.Facts) error {
		advance, ok := a.(plan.Schedule)
		if !ok {
			return nil
		}
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		for _, step := range plan.StartableSteps(advance.ApplyResults(state, *facts), advance.MaxStarts) {
			r := plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args,
				IsDestructive: strings.Contains(step.Title, "Delete")}
			if step.ForEach != "" {
				r.Items, r.LoopDigest = []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}, "ab"
			}
			facts.Resolutions[step.ID] = r
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return outcome.After
}

// advance has the engine start the ready steps.
func (r running) advance() plan.State { r.t.Helper(); return r.do(engine, plan.Schedule{MaxStarts: 4}) }

// ended has the engine record the result of a step's attempt.
func (r running) ended(id plan.StepID, ok bool, interrupted bool) plan.State {
	r.t.Helper()
	state := r.state()
	step, _ := state.Plan.Steps.Get(id)
	result := plan.Result{OK: ok}
	if !ok {
		result.Error = "the disk is full"
	}
	return r.do(engine, plan.Schedule{Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: state.Plan.Root(), Step: id,
		Attempt: step.Attempts}, Result: result, IsInterrupted: interrupted}}})
}

func (r running) state() plan.State {
	r.t.Helper()
	state, err := r.State(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return state
}

func (r running) status(id plan.StepID) plan.StepStatus {
	r.t.Helper()
	step, _ := r.state().Plan.Steps.Get(id)
	return step.Status
}

// answer answers a step; a non-empty refused is the expected refusal.
func (r running) answer(c verbs.Caller, in verbs.StepAnswer, refused string) verbs.StepAnswerReply {
	r.t.Helper()
	reply, err := r.AnswerStep(r.t.Context(), c, in)
	if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
		r.t.Fatalf("%+v: answered with %v, want %q", in, err, refused)
	}
	return reply
}

func tool(title string) plan.Spec {
	return plan.Spec{Title: title, Tool: "bash_execute", Args: json.RawMessage(`{"command":"rm -r old"}`)}
}

// TestTheFirstStepToStartIsNamed: an engine is about to start several steps, and the caller is told of the first.
func TestTheFirstStepToStartIsNamed(t *testing.T) {
	r := runningPlan(t, plan.Spec{Title: "First", When: "true"}, plan.Spec{Title: "Second", When: "true"})
	r.Service = verbs.New(r.session, verbs.Options{Engines: &engines{living: engine.Name}})
	action, err := r.NextAction(t.Context(), petra)
	if text := action.For(petra); err != nil || !strings.HasPrefix(text, `Wait while S001 "First" is run`) {
		t.Errorf("%v, %q", err, text)
	}
}

// TestCleanUpComesBeforeTheNextVersion: what clean-up waits for is named before the replan.
func TestCleanUpComesBeforeTheNextVersion(t *testing.T) {
	first, last := tool("Deploy it"), tool("Unlock it")
	first.Critical, last.Always = true, true
	asking := last
	asking.Pause = "Unlock it now?"
	for want, last := range map[string]plan.Spec{"S002 \"Unlock it\" asks you: planloop answer S002": asking,
		"Look if S002 \"Unlock it\" happened": last} {
		r := runningPlan(t, first, last)
		r.advance()
		r.ended(1, false, false)
		if r.advance(); last.Pause == "" {
			r.ended(2, false, true)
		}
		action, err := r.NextAction(t.Context(), petra)
		if text := action.For(petra); err != nil || !strings.HasPrefix(text, want) {
			t.Errorf("%v, %q", err, text)
		}
	}
}

func TestApprovalOfAStep(t *testing.T) {
	r := runningPlan(t, tool("Delete the folder"), plan.Spec{Title: "Check it", DependsOn: []plan.StepID{1}})
	state := r.advance()
	step, _ := state.Plan.Steps.Get(1)
	if step.OpenQuestion() == nil || step.Status != plan.Pending {
		t.Fatalf("%+v does not ask", step)
	}
	shown, digest := r.ReviewStep(state, step, nil)
	for _, part := range []string{"S001", "Delete the folder", "bash_execute", "rm -r old"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not shown:\n%s", part, shown)
		}
	}
	yes := verbs.StepAnswer{Step: 1, Choice: plan.Approve, Digest: digest}
	r.answer(ann, yes, "no person confirmed")
	stale := yes
	stale.Digest = strings.Repeat("0", 64)
	r.answer(petra, stale, "has changed since it was shown")
	r.answer(petra, verbs.StepAnswer{Step: 2, Choice: plan.Approve}, "the open question is about S001")
	yes.Args = json.RawMessage(`{"command":"rm -r older"}`)
	r.answer(petra, yes, "")
	if step, _ := r.advance().Plan.Steps.Get(1); step.IsRunning() {
		t.Error("it ran with arguments that nobody agreed to") // the made-up engine ignores the grant's arguments
	}
	step, _ = r.state().Plan.Steps.Get(1)
	_, digest = r.ReviewStep(r.state(), step, nil)
	r.answer(petra, verbs.StepAnswer{Step: 1, Choice: plan.Approve, Digest: digest}, "")
	r.advance()
	if step, _ := r.state().Plan.Steps.Get(1); !step.IsRunning() {
		t.Errorf("it does not run once it was agreed to: %+v", step.Execution)
	}
	r.answer(petra, verbs.StepAnswer{Step: 1, Choice: plan.Retry}, "is being run by planloop")
}

func TestDenialSkipsAndSaysWhatWaits(t *testing.T) {
	r := runningPlan(t, tool("Delete the folder"), plan.Spec{Title: "Check it", DependsOn: []plan.StepID{1}})
	r.advance()
	reply := r.answer(petra, verbs.StepAnswer{Step: 1, Choice: plan.Deny, Text: "it is needed"}, "")
	step, _ := r.state().Plan.Steps.Get(1)
	if step.Status != plan.Skipped || step.Error != plan.UserDenied || !strings.Contains(reply.Text(), "dependent steps wait: S002") {
		t.Errorf("%+v, told %q", step, reply.Text())
	}
}

func TestRecovery(t *testing.T) {
	r := runningPlan(t, tool("Copy it"), plan.Spec{Title: "Which server?", Pause: "Which server?"})
	r.advance()
	r.answer(ann, verbs.StepAnswer{Step: 2, Choice: plan.Reply, Text: "staging"}, "no person confirmed")
	r.answer(petra, verbs.StepAnswer{Step: 2, Choice: plan.Reply}, "is blank")
	r.answer(petra, verbs.StepAnswer{Step: 2, Choice: plan.Reply, Text: "staging"}, "")
	if r.status(2) != plan.Done {
		t.Errorf("S002 is %s", r.status(2))
	}
	r.ended(1, false, true) // outcome unknown
	if step, _ := r.state().Plan.Steps.Get(1); !step.IsUnknown() {
		t.Fatalf("S001 is %+v", step)
	}
	recover := func(in verbs.RecoverStep, refused string) {
		t.Helper()
		_, err := r.RecoverStep(t.Context(), ann, in)
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%+v: %v, want %q", in, err, refused)
		}
	}
	recover(verbs.RecoverStep{StepID: 1, Choice: "skip"}, "reason: is missing")
	recover(verbs.RecoverStep{StepID: 1, Choice: "retry"}, "")
	r.advance()
	r.ended(1, false, false)
	args := json.RawMessage(`{"command":"cp a b"}`)
	recover(verbs.RecoverStep{StepID: 1, Choice: "skip", Args: &args, Reason: new("no")}, "does not go with skip")
	recover(verbs.RecoverStep{StepID: 1, Choice: "insert"}, "goes with insert")
	recover(verbs.RecoverStep{StepID: 1, Choice: "happened"}, "is known")
	recover(verbs.RecoverStep{StepID: 1, Choice: "insert", Steps: []verbs.NewTask{{TaskFields: verbs.TaskFields{Title: new("stuff")}}}},
		"stuff") // the gates judge it
	recover(verbs.RecoverStep{StepID: 1, Choice: "insert", Steps: []verbs.NewTask{{TaskFields: mending()}}}, "")
	step, _ := r.state().Plan.Steps.Get(1)
	if step.Status != plan.Pending || len(step.DependsOn) != 1 || step.DependsOn[0] != 3 {
		t.Errorf("S001 does not wait for what was inserted: %+v", step)
	}
	recover(verbs.RecoverStep{StepID: 3, Choice: "abort"}, "")
	if r.state().OpenRun() != nil {
		t.Error("the run goes on")
	}
}

func mending() verbs.TaskFields {
	return verbs.TaskFields{Title: new("Free the disk of old logs"), Type: new(plan.Chore), ContextHints: &[]string{"Read the log folder"},
		RelevantFilePaths: &[]string{"logs"}, Creates: &[]string{"logs"}, AcceptanceCriteria: &[]string{"a gigabyte is free"}}
}

func TestIDsThatARunMayGiveToOthersAreRefused(t *testing.T) {
	r := runningPlan(t, tool("Copy it"))
	first, second := mending(), mending()
	second.Title = new("Free the disk of old archives")
	add := verbs.Update{AddTasks: []verbs.NewTask{{TaskFields: first}, {TaskFields: second, Dependencies: &[]verbs.TaskRef{"2"}}}}
	_, err := r.Update(t.Context(), ann, add)
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Field != "/add_tasks/1/dependencies/0" || !strings.Contains(refused.Fix, "ref") {
		t.Errorf("refused with %v", err)
	}
	add.AddTasks[1].Dependencies, add.AddTasks[1].When = nil, new("steps.step_2.ok && steps.S001.ok")
	_, err = r.Update(t.Context(), ann, add)
	refused, ok = errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Field != "/add_tasks/1/when" || !strings.Contains(refused.Fix, "ref") {
		t.Errorf("refused with %v", refused)
	}
	add.AddTasks[1].When = new("steps.logs.ok && steps.S001.ok")
	add.AddTasks[0].Ref, add.AddTasks[1].Dependencies = new("logs"), &[]verbs.TaskRef{"logs", "1"}
	if _, err := r.Update(t.Context(), ann, add); err != nil {
		t.Error(err)
	}
	r.do(petra.Actor, plan.AnswerStep{Step: 1, Choice: plan.Skip})
	r.do(petra.Actor, plan.AnswerStep{Step: 2, Choice: plan.Abort})
	add.AddTasks[0].TaskFields.Title, add.AddTasks[1].TaskFields.Title = new("Free the cache of packages"), new("Free the cache of images")
	add.AddTasks[0].Ref, add.AddTasks[1].Dependencies, add.AddTasks[1].When = nil, &[]verbs.TaskRef{"4"}, new("steps.S004.ok")
	if _, err := r.Update(t.Context(), ann, add); err != nil {
		t.Errorf("without a run: %v", err)
	}
}

func TestReplanningWhileStepsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runningPlan(t, tool("Copy it"), tool("Move it"), plan.Spec{Title: "Check it", DependsOn: []plan.StepID{1, 2}})
		r.advance()
		next := verbs.NextVersion{Replan: verbs.Replan{Changes: "Check it twice"}}
		if _, err := r.Replan(t.Context(), ann, next); err == nil || !strings.Contains(err.Error(), "is being run") {
			t.Errorf("an agent's is answered with %v", err)
		}
		done := make(chan verbs.UpdateReply)
		go func() {
			reply, err := r.Replan(t.Context(), petra, next)
			if err != nil {
				t.Error(err)
			}
			done <- reply
		}()
		synctest.Wait()
		if state := r.state(); state.HasActiveRun() || state.Plan.Version != 1 {
			t.Fatalf("the run is not paused first: %+v", state.Run)
		}
		r.ended(1, true, false)
		synctest.Wait()
		r.ended(2, false, false)
		reply := <-done
		p := r.state().Plan
		if p.Version != 2 || reply.Version != 2 || reply.PlanID != p.ID || !strings.HasSuffix(p.ID, "-v2") ||
			!strings.Contains(reply.Text(), "paused until S001 and S002 ended") {
			t.Errorf("version %d, told %q", p.Version, reply.Text())
		}
		if r.status(1) != plan.Done || r.status(2) != plan.Pending {
			t.Errorf("S001 is %s, S002 %s", r.status(1), r.status(2))
		}
	})
}

func TestReplanIsAllOrNothing(t *testing.T) {
	r := runningPlan(t, plan.Spec{Title: "Copy it", Critical: true}, plan.Spec{Title: "Check it"})
	wrong := "it is gone"
	update := func(in verbs.Update, refused string) verbs.UpdateReply {
		t.Helper()
		reply, err := r.Update(t.Context(), ann, in)
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%v, want %q", err, refused)
		}
		return reply
	}
	update(verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 1, Error: &wrong}}}, "")
	if r.state().Plan.Status != plan.StatusReplanning {
		t.Fatal("the plan needs no replan")
	}
	update(verbs.Update{Replan: &verbs.Replan{Changes: " "}}, "/replan/changes")
	update(verbs.Update{Replan: &verbs.Replan{Changes: "Copy less"}, UpdateTasks: []verbs.TaskUpdate{{ID: 9, Note: &wrong}}}, "S009")
	if r.state().Plan.Version != 1 {
		t.Error("a part of it happened")
	}
	reply := update(verbs.Update{Replan: &verbs.Replan{Changes: "Copy less", Reasoning: "It fits", Discoveries: []string{"1 GB is free"},
		Constraints: []string{"at most 1 GB"}}, AddTasks: []verbs.NewTask{{TaskFields: mending()}},
		UpdateTasks: []verbs.TaskUpdate{{ID: 1, Skip: &wrong}}}, "")
	p := r.state().Plan
	if p.Version != 2 || p.Status != plan.StatusActive || p.Changes != "Copy less" || p.Reasoning != "It fits" || len(p.Discoveries) != 1 ||
		len(p.Metadata.Constraints) != 1 || p.Steps.Len() != 3 || r.status(1) != plan.Skipped || reply.Version != 2 {
		t.Errorf("%+v, told %q", p, reply.Text())
	}
}

func TestNextStep(t *testing.T) {
	r := runningPlan(t, tool("Copy it"), plan.Spec{Title: "Review it", SuggestedAgent: "reviewer"}, plan.Spec{Title: "Tag it"},
		plan.Spec{Title: "Ask", Pause: "Which?"}, plan.Spec{Title: "Agree", RequiresApproval: true})
	next := func(c verbs.Caller, agent string) verbs.NextStepReply {
		t.Helper()
		reply, err := r.NextStep(t.Context(), c, verbs.NextStep{Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if got := next(bob, "tester"); got.StepID != "S003" {
		t.Errorf("%q is handed out to a tester, want what suggests nobody", got.StepID)
	}
	got := next(ann, "Reviewer")
	step, _ := r.state().Plan.Steps.Get(2)
	if got.StepID != "S002" || step.ClaimedBy != ann.Actor.Name || step.Status != plan.InProgress {
		t.Errorf("%q is handed out, %+v", got.StepID, step)
	}
	for _, part := range []string{"## Current Task\n\nRelease it", "## Plan Status\n\nStatus: in_progress\nProgress: 0/5 steps",
		"## Current Step\n\nStep 2: Review it\nSuggested agent: reviewer", "## Remaining Steps\n\n- Step 1: Copy it", "## History"} {
		if !strings.Contains(got.Text(), part) {
			t.Errorf("%q is missing in\n%s", part, got.Text())
		}
	}
	if again := next(ann, ""); again.StepID != "S002" {
		t.Errorf("%q is handed out beside the own step", again.StepID)
	}
	error := "it does not build"
	if _, err := r.Update(t.Context(), ann, verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Error: &error}}}); err != nil {
		t.Fatal(err)
	}
	none := next(ann, "")
	if none.StepID != "" || !strings.Contains(none.Message, "S001, S004 and S005") {
		t.Errorf("told %+v", none)
	}
	r.advance()
	if none := next(ann, ""); none.StepID != "" || !strings.Contains(none.Message, "S001 is running") {
		t.Errorf("told %+v", none)
	}
	r.ended(1, true, false)
	if none := next(ann, ""); none.StepID != "" || !strings.Contains(none.Message, "S004 and S005 wait for an answer") {
		t.Errorf("told %+v", none)
	}
	r.answer(petra, verbs.StepAnswer{Step: 5, Choice: plan.Approve}, "")
	if got := next(ann, ""); got.StepID != "S005" || got.LastError != "S002: it does not build" {
		t.Errorf("handed out %+v", got)
	}
}

func TestPauseSaysWhatStillRuns(t *testing.T) {
	r := runningPlan(t, tool("Copy it"), tool("Move it"))
	r.advance()
	reply, err := r.PauseRun(t.Context(), petra, "lunch")
	if err != nil || !strings.Contains(reply.Text(), "S001 and S002 will run to the end") || r.state().HasActiveRun() ||
		r.state().Run.Note != "lunch" {
		t.Errorf("%v: %q", err, reply.Text())
	}
	r.ended(1, true, false)
	r.ended(2, true, false)
	if _, err := r.PauseRun(t.Context(), petra, ""); err == nil || !strings.Contains(err.Error(), "no run is open") {
		t.Errorf("%v", err)
	}
}
