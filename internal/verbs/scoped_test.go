package verbs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// assign has the engine start an agent for a step, and returns it as a caller through a face.
func (r running) assign(id plan.StepID, face verbs.Face) verbs.Caller {
	r.t.Helper()
	outcome, err := r.session.Do(r.t.Context(), engine, plan.Schedule{MaxStarts: 1}, func(_ plan.State, facts *plan.Facts) error {
		facts.Resolutions = map[plan.StepID]plan.Resolution{id: {Agent: "claude", IsRepeatable: true, WritesFiles: true, Digest: "d"}}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	state := outcome.After
	step, _ := state.Plan.Steps.Get(id)
	if step.ActiveAgent() != "claude" {
		r.t.Fatalf("%s has no agent: %+v", id, step)
	}
	return scoped(state, step, face)
}

// scoped returns the agent that was started for the last attempt of a step.
func scoped(state plan.State, step *plan.Step, face verbs.Face) verbs.Caller {
	c := verbs.Caller{Actor: plan.NewActor(plan.ChannelMCP, "claude"), Face: face}
	c.Actor.Scope = plan.Attempt{Plan: state.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
	return c
}

func agentsPlan(t *testing.T, rules verbs.RuleBook) running {
	limits := plan.Limits{NeverAsk: true} // no approval is requested before the handler is verified
	s := session.New(store.NewMemory(), session.Options{Limits: limits})
	t.Cleanup(func() { _ = s.Close() })
	r := running{verbs.New(s, verbs.Options{RuleBook: rules, Limits: limits}), t, s}
	metadata := plan.Metadata{Constraints: []string{"No new libraries"}}
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Let users log in", Metadata: metadata},
		Steps: []plan.NewStep{
			{Spec: plan.Spec{Title: "Read the sessions"}},
			{Spec: plan.Spec{Title: "Write the handler", DependsOn: []plan.StepID{1}, Verify: "go test ./...",
				AcceptanceCriteria: []string{"Returns 401 on a wrong password"}}},
			{Spec: plan.Spec{Title: "Ask before the deployment", Pause: "Ship it?"}},
			{Spec: plan.Spec{Title: "Announce it", DependsOn: []plan.StepID{2}}},
		}}
	r.do(petra.Actor, setUp)
	r.do(petra.Actor, plan.BeginRun{})
	r.report(1, plan.Done, plan.ReportStep{Output: "They are kept in memory."})
	return r
}

// TestStartedAgentIsToldOfItsStepAlone pins the replies to an agent that planloop started for a step, over MCP and on
// the command line: while it works, after its report, and after the end of its attempt. The rules on disk are outdated,
// and the agent is not asked to update them.
func TestStartedAgentIsToldOfItsStepAlone(t *testing.T) {
	faces := map[string]verbs.Face{"tools": mcpserver.Tools{User: terminal.CommandLine{}}, "commands": terminal.CommandLine{}}
	synctest.Test(t, func(t *testing.T) {
		for name, face := range faces {
			r := agentsPlan(t, &book{state: "outdated"})
			claude := r.assign(2, face)
			var b strings.Builder
			note := func(when string) {
				reply, err := r.Status(t.Context(), claude, verbs.Status{})
				if err != nil {
					t.Fatal(err)
				}
				next, err := r.NextStep(t.Context(), claude, verbs.NextStep{})
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{reply.Text(), resume(t, r.Service, claude)} {
					if strings.Contains(text, "Announce") || strings.Contains(text, "Ship it") || strings.Contains(text, "outdated") {
						t.Errorf("%s, %s: it is told of other steps:\n%s", name, when, text)
					}
				}
				fmt.Fprintf(&b, "== %s: status\n%s\nInstructions: %s\n\n== %s: resume\n%s\n\n== %s: next step\n%s\n\n", when,
					strings.ReplaceAll(reply.Text(), reply.Session.ID, "SESSION"), reply.Now.AgentInstructions, when,
					resume(t, r.Service, claude), when, next.Text())
			}
			note("at work")
			marked, err := r.Mark(t.Context(), claude, plan.MarkStep{Step: 2, Status: plan.Done, Note: "The tests pass"})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "== marked\n%s\n\n", marked.Text())
			note("reported")
			r.ended(2, true, false)
			note("over")
			golden(t, "scoped_"+name+".txt", b.String())
		}
	})
}

// TestStartedAgentsHeartbeatIsCheap keeps the sentence that ends each reply within its budget.
func TestStartedAgentsHeartbeatIsCheap(t *testing.T) {
	codec := must[tokenizer.Codec](t)(tokenizer.Get(tokenizer.O200kBase))
	r := agentsPlan(t, nil)
	r.assign(2, nil)
	for _, toolsets := range [][]string{nil, {verbs.Planning}, {verbs.Loop}} {
		step, _ := r.state().Plan.Steps.Get(2)
		claude := scoped(r.state(), step, mcpserver.Tools{Toolsets: toolsets, User: terminal.CommandLine{}})
		text := strings.NewReplacer("S002", "S1000", ":2,", ":1000,").Replace(r.NextActionIn(r.state(), claude).For(claude))
		if n := must[int](t)(codec.Count(text)); n > 40 {
			t.Errorf("%v: %d tokens: %s", toolsets, n, text)
		}
	}
}

// TestStartedAgentDoesNothingElse calls every tool as an agent that was started for a step: calls about anything else
// are refused, change nothing, and are answered with the agent's next action.
func TestStartedAgentDoesNothingElse(t *testing.T) {
	const (
		beyond = "you were started for S002 only"
		other  = "you were started for S002, and S004 is not yours"
	)
	face := mcpserver.Tools{User: terminal.CommandLine{}}
	calls := []struct{ tool, arguments, refused string }{
		{"planning_setup_plan", `{"objective":"Another"}`, beyond},
		{"planning_add_step", `{"steps":[{"title":"One more"}]}`, beyond},
		{"planning_update_step", `{"step_id":"S004","title":"Another"}`, beyond},
		{"planning_update_step", `{"step_id":"S002","title":"Another"}`, beyond},
		{"planning_mark_step", `{"step_id":"S004","status":"in_progress"}`, other},
		{"planning_mark_step", `{"step_id":"S004","status":"done"}`, other},
		{"planning_mark_step", `{"step_id":"S002","status":"pending"}`, "S002 can only be reported, not postponed"},
		{"planning_clear_plan", `{}`, beyond},
		{"planloop_start", `{"goal":"Another"}`, beyond},
		{"planloop_update", `{"add_tasks":` + oneTask + `}`, beyond},
		{"planloop_update", `{"update_tasks":[{"id":4,"note":"look"}]}`, other},
		{"planloop_update", `{"update_tasks":[{"id":2,"status":"DONE"},{"id":4,"status":"IN_PROGRESS"}]}`, other},
		{"planloop_update", `{"update_tasks":[{"id":2,"verify":"true"}]}`, beyond},
		{"planloop_update", `{"update_tasks":[{"id":2,"skip":"no need"}]}`, "not postponed"},
		{"planloop_update", `{"replan":{"changes":"all"},"add_tasks":` + oneTask + `}`, beyond},
		{"planloop_update", `{"final_summary":"done"}`, beyond},
		{"planloop_update", `{"end_mode":true}`, beyond},
		{"planloop_update", `{"verdict":{"is_approved":true}}`, beyond},
		{"planning_enter_plan_mode", `{"reason":"to look first"}`, beyond},
		{"planning_submit_plan", `{"summary":"Mine","steps":` + oneTask + `}`, beyond},
		{"planning_submit_plan", `{"summary":"Mine","steps":[{"title":"Without what gates ask for"}]}`, beyond},
		{"planning_recover_step", `{"step_id":"S002","choice":"retry"}`, beyond},
		{"planning_apply_template", `{"template":"bug-fix"}`, beyond},
		{"planning_replan", `{"changes":"all","add_tasks":` + oneTask + `}`, beyond},
	}
	whole := []struct{ tool, arguments string }{ // the permitted calls
		{"planloop_status", `{}`}, {"planning_read_plan", `{}`}, {"planning_next_step", `{}`},
		{"planning_mark_step", `{"step_id":"S002","status":"in_progress"}`},
		{"planning_ask_user", `{"question":"Which library?"}`},
		{"planloop_alert", `{"id":"tests","level":"warning","message":"TestLogin is flaky"}`},
		{"planloop_update", `{"update_tasks":[{"id":2,"note":"half way","output":"handlers/login.go"}]}`},
		{"planloop_update", `{"update_tasks":[{"id":2,"status":"DONE","output":"handlers/login.go",` +
			`"affected_files":["handlers/login.go"],"note":"The tests pass"}]}`},
	}
	row := func(name string) verbs.Row {
		rows := verbs.Table()
		return rows[slices.IndexFunc(rows, func(row verbs.Row) bool { return row.Name == name })]
	}
	r := agentsPlan(t, nil)
	claude := r.assign(2, face)
	refusedAs := func(tool, arguments, want string) {
		t.Helper()
		before := r.state().Revision
		_, err := row(tool).Call(t.Context(), r.Service, claude, []byte(arguments))
		if refused, is := errors.AsType[*plan.ValidationError](err); !is || !strings.Contains(refused.Error(), want) {
			t.Errorf("%s %s: %v, want %q", tool, arguments, err, want)
		}
		if r.state().Revision != before {
			t.Errorf("%s %s changed something", tool, arguments)
		}
	}
	for _, call := range calls {
		refusedAs(call.tool, call.arguments, call.refused)
	}
	if _, err := r.session.Do(t.Context(), claude.Actor, plan.BeginRun{}, nil); err == nil || !strings.Contains(err.Error(), beyond) {
		t.Errorf("a run: %v", err)
	}
	for _, call := range whole {
		if _, err := row(call.tool).Call(t.Context(), r.Service, claude, []byte(call.arguments)); err != nil {
			t.Errorf("%s %s: %v", call.tool, call.arguments, err)
		}
	}
	step, _ := r.state().Plan.Steps.Get(2)
	if report := step.AgentReport(); report == nil || report.Status != plan.Done || step.Output != "handlers/login.go" ||
		step.Status != plan.InProgress {
		t.Errorf("it has reported %+v of %+v", report, step)
	}
	for _, call := range whole[3:] {
		if call.tool != "planning_ask_user" && call.tool != "planloop_alert" {
			refusedAs(call.tool, call.arguments, "S002 has been reported")
		}
	}
	r.ended(2, true, false)
	for _, call := range calls {
		refusedAs(call.tool, call.arguments, "you were started for")
	}
	refusedAs("planning_mark_step", `{"step_id":"S002","status":"done"}`, "the attempt at S002 that you were started for is over")
}

// TestStartedAgentComesToAnEnd brings a workspace into a random state with an agent at work on a step, lets others act
// at random, and has the agent only follow its next actions: it ends, and no call is refused.
func TestStartedAgentComesToAnEnd(t *testing.T) {
	schemas, user := inputSchemas(t), terminal.CommandLine{}
	worked := 0
	for name, face := range map[string]verbs.Face{
		"all tools": mcpserver.Tools{User: user}, "planning only": mcpserver.Tools{Toolsets: []string{verbs.Planning}, User: user},
		"loop only": mcpserver.Tools{Toolsets: []string{verbs.Loop}, User: user}, "command line": user,
	} {
		t.Run(name, func(t *testing.T) {
			rapidtest.Check(t, func(rt *rapid.T) {
				seen, now := presence{}, &clock{time: time.Now()}
				s := session.New(store.NewMemory(), session.Options{Now: now.now, Presence: seen})
				defer s.Close()
				rules, crew := &book{}, &engines{session: s, seen: seen, clock: now}
				w := &walker{T: rt, rules: rules, schemas: schemas, engines: crew, clock: now,
					service: verbs.New(s, verbs.Options{Now: now.now, RuleBook: rules, Presence: seen, Engines: crew}), me: ann}
				w.wander()
				for range 3 {
					if w.startsAgent(face) {
						worked++
						w.works()
						return
					}
					_ = w.setsUp(person)
				}
			})
		})
	}
	if worked < 20 {
		t.Errorf("an agent was at work %d times", worked)
	}
}

// startsAgent has the engine start an agent for a suitable step, if any, and makes it the walker.
func (w *walker) startsAgent(face verbs.Face) bool {
	_, _ = w.cancels(person), w.clearAll()
	_, _ = w.engines.session.Do(w.Context(), person.Actor, plan.BeginRun{}, nil) // refused if one is open, or none can be begun
	state := w.state()
	if state.Plan == nil {
		return false
	}
	var step *plan.Step
	for ready := range state.Plan.Steps.Ready() {
		if step == nil && ready.OpenQuestion() == nil && !ready.NeedsEngine() {
			step = ready
		}
	}
	if step == nil {
		return false
	}
	_, err := w.engines.session.Do(w.Context(), w.engines.begin(), plan.Schedule{MaxStarts: 1},
		func(_ plan.State, facts *plan.Facts) error {
			facts.Resolutions = map[plan.StepID]plan.Resolution{step.ID: {Agent: "claude", IsRepeatable: true, Digest: "d"}}
			return nil
		})
	now := w.state()
	begun, ok := now.Plan.Steps.Get(step.ID)
	if err != nil || !ok || begun.ActiveAgent() == "" {
		return false
	}
	w.me = scoped(now, begun, face)
	w.did(w.me, "is started for %s", step.ID)
	return true
}

// works follows the next action as the started agent, while others act.
func (w *walker) works() {
	for range 5 {
		if rapid.Bool().Draw(w.T, "others act") {
			who := rapid.SampledFrom([]verbs.Caller{carl, person}).Draw(w.T, "who")
			_ = rapid.SampledFrom([]func(verbs.Caller) error{w.marks, w.signals, w.clears, w.plans, w.engineActs, w.drifts, w.asks,
				w.adds}).Draw(w.T, "does")(who)
		}
		reply, err := w.service.Status(w.Context(), w.me, verbs.Status{})
		if err != nil {
			w.Fatal(err)
		}
		w.did(w.me, "is told %s: %s", reply.Now.Reason, reply.NextAction)
		switch {
		case reply.Now.Reason == verbs.Ended && strings.HasSuffix(reply.NextAction, "end now."):
			return
		case strings.HasSuffix(reply.NextAction, "in the last line of your answer and end."):
			return
		}
		if task := reply.Now.CurrentTask; reply.Now.Reason != verbs.ReadyForTask || task == nil || task.ID != int(w.me.Actor.Scope.Step) {
			w.Fatalf("it is told of something else:\n%s", strings.Join(w.trail, "\n"))
		}
		if err := w.follow(reply); err != nil {
			w.Fatalf("following %q: %v\n%s", reply.NextAction, err, strings.Join(w.trail, "\n"))
		}
	}
	w.Fatalf("there is no end:\n%s", strings.Join(w.trail, "\n"))
}
