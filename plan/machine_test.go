package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// machine lets engines, an agent and a person work on one plan, and keeps its own records of
// starts, results and approvals.
type machine struct {
	*workspace
	engines []string // alive
	born    int
	running map[plan.Attempt]string  // neither ended nor lost
	zombies map[plan.Attempt]string  // of dead engines
	ended   map[plan.Attempt]int     // how often an attempt was ended
	grants  map[plan.StepID][]string // approved by a person, each for one start
	agents  map[plan.StepID]int      // attempts with a started agent
}

func newMachine(t *rapid.T) *machine {
	m := &machine{workspace: newWorkspace(t), running: map[plan.Attempt]string{}, zombies: map[plan.Attempt]string{},
		ended: map[plan.Attempt]int{}, grants: map[plan.StepID][]string{}, agents: map[plan.StepID]int{}}
	m.found = func(step *plan.Step, r *plan.Resolution) { m.find(step, r) }
	m.limits.ApprovalTimeout, m.limits.GatheringTimeout = -1, -1
	m.birth()
	m.birth()
	return m
}

func (m *machine) birth() {
	m.born++
	m.engines = append(m.engines, fmt.Sprintf("engine#%d", m.born))
}

// find returns an engine's findings about a step, as its title demands.
func (m *machine) find(step *plan.Step, r *plan.Resolution) {
	r.Args = step.Args
	r.IsDestructive, r.IsRepeatable = step.Risk == plan.HighRisk, step.Idempotent
	r.ConditionFalse, r.WritesFiles = step.When == "false", r.IsDestructive
	for _, id := range step.ReferencedSteps() { // a condition that reads an end
		source, _ := m.state.Plan.Steps.Get(id)
		r.ConditionFalse = source.Status != plan.Failed
	}
	if step.Tool == "" && (step.ForEach == "" || step.Loop() != 0) && len(step.Title)%2 == 0 {
		r.Agent, r.IsRepeatable, r.WritesFiles = "claude", true, true
	}
	if step.ForEach != "" && step.Loop() == 0 {
		_ = json.Unmarshal([]byte(step.ForEach), &r.Items)
	}
	r.LoopDigest = "list of " + step.ID.String()
	if loop := step.Loop(); loop != 0 {
		r.LoopDigest = "list of " + loop.String()
	}
	if step.Execution != nil && step.Execution.Approval != nil && len(step.Execution.Approval.Args) > 0 {
		r.Digest = plan.StartDigest(step, step.Execution.Approval.Args, "")
	}
}

func drawTool(t *rapid.T, highest plan.StepID, i int) plan.NewStep {
	step := plan.NewStep{Spec: plan.Spec{Title: fmt.Sprint("step ", i)}}
	if rapid.IntRange(0, 3).Draw(t, "agent's") > 0 {
		step.Tool, step.Args = "bash_execute", json.RawMessage(`{"command":"true"}`)
	}
	step.Critical = rapid.IntRange(0, 9).Draw(t, "critical") == 0
	step.Idempotent = rapid.Bool().Draw(t, "idempotent")
	step.RequiresApproval = rapid.IntRange(0, 5).Draw(t, "asks") == 0
	if rapid.IntRange(0, 3).Draw(t, "destructive") == 0 {
		step.Risk = plan.HighRisk
	}
	step.When = rapid.SampledFrom([]string{"", "", "", "true", "false"}).Draw(t, "when")
	if highest > 0 && rapid.IntRange(0, 4).Draw(t, "rollback") == 0 {
		step.When = fmt.Sprintf(`steps.%s.status == "failed"`, plan.StepID(rapid.IntRange(1, int(highest)).Draw(t, "of")))
	}
	step.Always = rapid.IntRange(0, 4).Draw(t, "always") == 0
	step.ForEach = rapid.SampledFrom([]string{"", "", "", `[]`, `["a","b","c"]`}).Draw(t, "for each")
	if rapid.IntRange(0, 7).Draw(t, "pause") == 0 {
		step.Pause = "which?"
	}
	if highest > 0 && rapid.Bool().Draw(t, "depends") {
		step.DependsOn = []plan.StepID{plan.StepID(rapid.IntRange(1, int(highest)).Draw(t, "on"))}
	}
	return step
}

// note keeps the records, and checks each start in the state it was decided in.
func (m *machine) note(t *rapid.T, before plan.State, by string, events []plan.Event) {
	s := before
	for _, e := range events {
		switch e := e.(type) {
		case plan.StepStarted:
			m.started(t, s, by, e)
		case plan.StepFinished:
			m.endedOnce(t, s, e.Step, e.Attempt)
		case plan.StepRetried:
			m.endedOnce(t, s, e.Step, e.Attempt)
		case plan.StepLost:
			m.endedOnce(t, s, e.Step, e.Attempt)
		case plan.AgentUnavailable:
			m.endedOnce(t, s, e.Step, e.Attempt)
		case plan.StepAnswered:
			if e.Choice == plan.Approve {
				m.grants[e.Step] = append(m.grants[e.Step], e.Digest)
			}
		}
		s = plan.Apply(s, e)
	}
}

func (m *machine) started(t *rapid.T, s plan.State, by string, e plan.StepStarted) {
	step, ok := s.Plan.Steps.Get(e.Step)
	attempt := plan.Attempt{Plan: s.Plan.Root(), Step: e.Step, Attempt: e.Attempt}
	switch {
	case !ok || !s.Plan.Steps.IsReady(e.Step) && !step.Always:
		t.Fatalf("%s was started and is not ready", e.Step)
	case step.Always && m.couldGoOn(s):
		t.Fatalf("%s was started before the others ended:\n%s", e.Step, describe(s.Plan.Steps))
	case s.Plan.Status != plan.StatusActive && !step.Always && !m.cleansUp(s, step), s.Run.Ending != "" && !step.Always:
		t.Fatalf("%s was started in a plan that %s, run %+v", e.Step, s.Plan.Status, s.Run)
	case s.PhaseNow().IsRestricted() || !s.HasActiveRun() || len(s.OpenSignals(plan.Blocker)) > 0:
		t.Fatalf("%s was started in phase %s, run %+v, plan %s", e.Step, s.PhaseNow(), s.Run, s.Plan.Status)
	case m.ended[attempt] > 0 || m.running[attempt] != "" || m.zombies[attempt] != "":
		t.Fatalf("attempt %+v was started twice", attempt)
	case step.IsUnknown() || step.OpenQuestion() != nil:
		t.Fatalf("%s was started while it asks", e.Step)
	}
	if (step.RequiresApproval || step.Risk == plan.HighRisk) && !m.agreed(s, step, e.Digest) {
		t.Fatalf("%s was started, and nobody agreed to it: %+v", e.Step, step)
	}
	for other := range s.Plan.Steps.Running() {
		agents, writers := m.agents[other.ID] > 0 && other.IsRunning(), other.IsRunning() && other.Risk == plan.HighRisk
		if e.Agent != "" && (agents || writers) || e.WritesFiles && agents {
			t.Fatalf("%s (agent %q, writes %v) was started beside %+v", e.Step, e.Agent, e.WritesFiles, other)
		}
	}
	if m.agents[e.Step] = 0; e.Agent != "" {
		m.agents[e.Step] = e.Attempt
	}
	m.running[attempt] = by
}

// couldGoOn reports, naively, whether a step that does not run at the end runs or could be started.
func (m *machine) couldGoOn(s plan.State) bool {
	return slices.ContainsFunc(s.Plan.Steps.List(), func(step *plan.Step) bool {
		isFree := s.Plan.Status == plan.StatusActive && s.Run.Ending == ""
		return !step.Always && (step.IsRunning() || s.Plan.Steps.IsReady(step.ID) && (isFree || s.Run.Ending == "" && m.cleansUp(s, step)))
	})
}

// cleansUp reports, naively, whether a step reads the end of one that failed.
func (m *machine) cleansUp(s plan.State, step *plan.Step) bool {
	return slices.ContainsFunc(step.ReferencedSteps(), func(id plan.StepID) bool {
		source, _ := s.Plan.Steps.Get(id)
		return source.Status == plan.Failed
	})
}

// agreed reports, naively, whether a person approved the start, and uses up the approval.
func (m *machine) agreed(s plan.State, step *plan.Step, digest string) bool {
	if i := slices.Index(m.grants[step.ID], digest); i >= 0 {
		m.grants[step.ID] = slices.Delete(m.grants[step.ID], i, i+1)
		return true
	}
	if loop := step.Loop(); loop != 0 && step.Attempts == 0 && slices.Contains(m.grants[loop], "list of "+loop.String()) {
		return true
	}
	return s.Plan.Approval != nil && s.PhaseNow() == plan.PhaseExecuting && !step.RequiresApproval
}

func (m *machine) endedOnce(t *rapid.T, s plan.State, id plan.StepID, attempt int) {
	key := plan.Attempt{Plan: s.Plan.Root(), Step: id, Attempt: attempt}
	if m.ended[key]++; m.ended[key] > 1 {
		t.Fatalf("attempt %+v ended %d times", key, m.ended[key])
	}
	delete(m.running, key)
}

func (m *machine) attempt(t *rapid.T, actor plan.Actor, a plan.Action) {
	before := m.state
	events, err := m.try(actor, a)
	if err != nil {
		if after := m.state; after.Plan != before.Plan || after.Revision != before.Revision {
			t.Fatalf("a refusal changed something: %v", err)
		}
		return
	}
	m.note(t, before, actor.Name, events)
}

func (m *machine) actions() map[string]func(*rapid.T) {
	anyStep := func(t *rapid.T) plan.StepID {
		if m.state.Plan == nil || m.state.Plan.Steps.Len() == 0 {
			return 1
		}
		return plan.StepID(rapid.IntRange(1, int(m.state.Plan.Steps.Highest())).Draw(t, "step"))
	}
	return map[string]func(*rapid.T){
		"set up": func(t *rapid.T) {
			var steps []plan.NewStep
			for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
				steps = append(steps, drawTool(t, plan.StepID(i), i))
			}
			if m.state.Plan != nil && rapid.IntRange(0, 5).Draw(t, "really") > 0 {
				return
			}
			m.attempt(t, ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps})
		},
		"begin": func(t *rapid.T) {
			m.attempt(t, rapid.SampledFrom([]plan.Actor{ann, person}).Draw(t, "who"), plan.BeginRun{})
		},
		"begin ": func(t *rapid.T) { m.attempt(t, person, plan.BeginRun{}) },
		"pause": func(t *rapid.T) {
			m.attempt(t, rapid.SampledFrom([]plan.Actor{ann, person}).Draw(t, "who"), plan.PauseRun{})
		},
		"advance": func(t *rapid.T) { m.engineWorks(t) }, "advance ": func(t *rapid.T) { m.engineWorks(t) },
		"advance  ": func(t *rapid.T) { m.engineWorks(t) }, "advance   ": func(t *rapid.T) { m.engineWorks(t) },
		"die": func(t *rapid.T) { m.engineDies(t) }, "take up": func(t *rapid.T) { m.takeUp(t) },
		"zombie": func(t *rapid.T) { m.zombieReports(t) },
		"worker": func(t *rapid.T) { m.agentActs(t) }, "worker ": func(t *rapid.T) { m.agentActs(t) },
		"mark": func(t *rapid.T) {
			statuses := []plan.StepStatus{plan.InProgress, plan.Done, plan.Done, plan.Failed, plan.Pending, plan.Skipped, plan.Blocked}
			m.attempt(t, ann, plan.MarkStep{Step: anyStep(t), Status: rapid.SampledFrom(statuses).Draw(t, "status")})
		},
		"answer": func(t *rapid.T) {
			choices := []plan.Choice{plan.Approve, plan.Approve, plan.Deny, plan.Reply, plan.Retry, plan.Skip, plan.Happened}
			choice := rapid.SampledFrom(choices).Draw(t, "choice")
			a := plan.AnswerStep{Step: anyStep(t), Choice: choice, Text: "so"}
			a.WithDependents = choice == plan.Retry && rapid.Bool().Draw(t, "dependents")
			if choice == plan.Approve && rapid.Bool().Draw(t, "edited") {
				a.Args = json.RawMessage(`{"command":"ls"}`)
			}
			m.attempt(t, rapid.SampledFrom([]plan.Actor{person, person, ann}).Draw(t, "who"), a)
		},
		"replan": func(t *rapid.T) {
			parts := []plan.Part{{Action: plan.Replan{Changes: "other"}}}
			if m.state.Plan != nil && rapid.Bool().Draw(t, "more") {
				parts = append(parts, plan.Part{Action: plan.AddSteps{Steps: []plan.NewStep{drawTool(t, 0, 9)}}})
			}
			m.attempt(t, rapid.SampledFrom([]plan.Actor{ann, person}).Draw(t, "who"), plan.Batch{Word: "update", Parts: parts})
		},
		"deviate": func(t *rapid.T) { m.attempt(t, ann, plan.AddSteps{Steps: []plan.NewStep{drawTool(t, 0, 8)}}) },
		"submit": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				m.attempt(t, ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Other"},
					Steps: []plan.NewStep{drawTool(t, 0, 1), drawTool(t, 1, 2)}})
			}
		},
		"mode": func(t *rapid.T) {
			m.attempt(t, rapid.SampledFrom([]plan.Actor{ann, person}).Draw(t, "who"), plan.EnterMode{})
		},
		"decide": func(t *rapid.T) { m.decides(t) }, "decide ": func(t *rapid.T) { m.decides(t) },
		"block":   func(t *rapid.T) { m.attempt(t, ann, plan.RaiseSignal{ID: "s", Level: plan.Blocker, Message: "red"}) },
		"unblock": func(t *rapid.T) { m.attempt(t, ann, plan.ClearSignal{ID: "s"}) },
		"restore": func(t *rapid.T) {
			if former := m.state.FormerPlans(); len(former) > 0 && rapid.IntRange(0, 5).Draw(t, "really") == 0 {
				who := rapid.SampledFrom([]plan.Actor{ann, person}).Draw(t, "who")
				m.attempt(t, who, plan.Restore{PlanID: rapid.SampledFrom(former).Draw(t, "plan").ID})
			}
		},
		"end": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				m.attempt(t, person, plan.EndRun{})
			}
		},
		"clock": func(t *rapid.T) { m.now = m.now.Add(8 * time.Hour) },
		"":      m.check,
	}
}

func (m *machine) decides(t *rapid.T) {
	if m.state.Draft == nil {
		m.attempt(t, person, plan.CancelMode{})
		return
	}
	outcome := rapid.SampledFrom([]plan.Outcome{plan.Approved, plan.Rejected}).Draw(t, "outcome")
	m.attempt(t, person, plan.DecideDraft{Outcome: outcome, Digest: plan.Digest(m.state.Draft)})
}

func (m *machine) engineWorks(t *rapid.T) {
	name := rapid.SampledFrom(m.engines).Draw(t, "engine")
	a := plan.Schedule{MaxStarts: rapid.IntRange(0, 3).Draw(t, "room")}
	for _, attempt := range m.attemptsOf(m.running, name) {
		if rapid.Bool().Draw(t, "ends") {
			done := plan.AttemptResult{Attempt: attempt, Result: plan.Result{OK: rapid.Bool().Draw(t, "ok")}}
			done.IsAgentUnavailable = m.agents[attempt.Step] == attempt.Attempt && rapid.IntRange(0, 3).Draw(t, "unavailable") == 0
			done.IsBlocked = rapid.IntRange(0, 5).Draw(t, "blocked") == 0
			done.IsTransient, done.IsInterrupted = rapid.Bool().Draw(t, "passes"), rapid.IntRange(0, 3).Draw(t, "interrupted") == 0
			a.Results = append(a.Results, done)
		}
	}
	strays := 0
	for _, done := range a.Results { // of a plan that was replaced, or a step that was taken away
		if m.state.Plan == nil || m.state.Plan.Root() != done.Plan || !isRunning(m.state.Plan, done.Attempt) {
			strays++
			delete(m.running, done.Attempt)
			m.ended[done.Attempt]++
		}
	}
	actor := plan.NewActor(plan.ChannelEngine, name)
	before := m.state
	events, err := m.try(actor, m.resolve(a))
	if err != nil {
		t.Fatalf("an engine was refused: %v", err)
	}
	for _, e := range events {
		if _, stray := e.(plan.StrayResult); stray {
			strays--
		}
	}
	if strays != 0 {
		t.Fatalf("%d results more went astray than should have: %v", -strays, kinds(events))
	}
	m.note(t, before, name, events)
}

func isRunning(p *plan.Plan, a plan.Attempt) bool {
	step, ok := p.Steps.Get(a.Step)
	return ok && step.IsRunning() && step.Attempts == a.Attempt
}

func (m *machine) attemptsOf(book map[plan.Attempt]string, name string) []plan.Attempt {
	var list []plan.Attempt
	for attempt, by := range book {
		if by == name {
			list = append(list, attempt)
		}
	}
	slices.SortFunc(list, func(a, b plan.Attempt) int { return int(a.Step-b.Step)*1000 + a.Attempt - b.Attempt })
	return list
}

// agentActs lets an agent that was started for a step try anything: it can change only its own
// step, and only while it works on it.
func (m *machine) agentActs(t *rapid.T) {
	if m.state.Plan == nil || len(m.agents) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(m.agents))
	id := rapid.SampledFrom(ids).Draw(t, "its step")
	actor := plan.NewActor(plan.ChannelMCP, "claude")
	actor.Scope = plan.Attempt{Plan: m.state.Plan.Root(), Step: id, Attempt: max(1, m.agents[id])}
	about := plan.StepID(rapid.IntRange(1, int(m.state.Plan.Steps.Highest())+1).Draw(t, "about"))
	status := rapid.SampledFrom([]plan.StepStatus{plan.Done, plan.Failed, plan.Blocked, plan.InProgress, plan.Pending}).Draw(t, "status")
	a := rapid.SampledFrom([]plan.Action{plan.MarkStep{Step: about, Status: status}, plan.MarkStep{Step: id, Status: status},
		plan.ReportStep{Step: about, Output: "o"}, plan.ClaimStep{Step: about}, plan.EnterMode{}, plan.BeginRun{}, plan.PauseRun{},
		plan.Replan{Changes: "c"}, plan.Clear{}, plan.AnswerStep{Step: about, Choice: plan.Skip}, plan.UpdateStep{Step: about},
		plan.AddSteps{Steps: []plan.NewStep{titled("more")}}, plan.SetUp{Outline: plan.Outline{Objective: "Mine"}},
		plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.MarkStep{Step: id, Status: plan.Done}},
			{Action: plan.MarkStep{Step: about, Status: plan.InProgress}}}},
		plan.SubmitPlan{Outline: plan.Outline{Objective: "Mine"}, Steps: []plan.NewStep{titled("x")}}}).Draw(t, "action")
	before := m.state
	works := isRunning(before.Plan, actor.Scope) && m.agents[id] > 0
	events, err := m.try(actor, a)
	if err != nil || len(events) == 0 {
		return
	}
	if !works {
		t.Fatalf("an agent whose attempt is over did %#v: %v", a, kinds(events))
	}
	if before.PhaseNow() != m.state.PhaseNow() || before.Run != m.state.Run || before.Plan.Steps.Len() != m.state.Plan.Steps.Len() {
		t.Fatalf("an agent did more than its step by %#v: %v", a, kinds(events))
	}
	for step := range m.state.Plan.Steps.ChangedSince(before.Plan.Steps) {
		if step.ID != id || step.Status != plan.InProgress {
			t.Fatalf("an agent that was started for %s made %+v of another or ended it itself by %#v", id, step, a)
		}
	}
}

func (m *machine) engineDies(t *rapid.T) {
	i := rapid.IntRange(0, len(m.engines)-1).Draw(t, "engine")
	name := m.engines[i]
	m.engines = slices.Delete(m.engines, i, i+1)
	m.seen[name] = plan.Sighting{IsGone: true}
	for _, attempt := range m.attemptsOf(m.running, name) {
		m.zombies[attempt] = name
		delete(m.running, attempt)
	}
	m.birth()
}

func (m *machine) takeUp(t *rapid.T) {
	name := rapid.SampledFrom(m.engines).Draw(t, "engine")
	a := plan.Schedule{}
	a.Lost = slices.Collect(maps.Keys(m.zombies))
	for attempt := range m.running {
		a.Lost = append(a.Lost, attempt) // their engines live: this must have no effect
	}
	slices.SortFunc(a.Lost, func(a, b plan.Attempt) int { return int(a.Step - b.Step) })
	m.attempt(t, plan.NewActor(plan.ChannelEngine, name), m.resolve(a))
}

// zombieReports lets an engine that was thought dead report a result. It counts until the step is
// taken over; afterwards it changes nothing.
func (m *machine) zombieReports(t *rapid.T) {
	for attempt, name := range m.zombies {
		before := m.state
		running := m.state.Plan != nil && m.state.Plan.Root() == attempt.Plan && isRunning(m.state.Plan, attempt)
		done := plan.AttemptResult{Attempt: attempt, Result: plan.Result{OK: true}}
		m.resolved = nil
		events, err := m.try(plan.NewActor(plan.ChannelEngine, name), plan.Schedule{Results: []plan.AttemptResult{done}})
		if err != nil {
			t.Fatalf("a late result was refused: %v", err)
		}
		if _, stray := events[0].(plan.StrayResult); stray == running {
			t.Fatalf("a late result of %+v: %v", attempt, kinds(events))
		} else if stray && m.state.Plan != before.Plan {
			t.Fatalf("a stray result changed the plan")
		}
		delete(m.zombies, attempt)
		m.note(t, before, name, events)
		return
	}
}

// check checks the invariants of every state.
func (m *machine) check(t *rapid.T) {
	p := m.state.Plan
	if p == nil {
		return
	}
	for step := range p.Steps.All() {
		attempt := plan.Attempt{Plan: p.Root(), Step: step.ID, Attempt: step.Attempts}
		if step.IsRunning() && m.running[attempt] == "" && m.zombies[attempt] == "" {
			t.Fatalf("%+v is said to run, and does not", attempt)
		}
		if step.IsRunning() && step.ClaimedBy == "" || step.OpenQuestion() != nil && step.Status != plan.Pending &&
			step.Status != plan.Blocked {
			t.Fatalf("%+v", step)
		}
		m.checkLoop(t, p, step)
	}
	if over := plan.FindStopReason(m.state); over == "" && m.state.HasActiveRun() {
		m.goesOn(t)
	} else if always := naive(p.Steps.List()).first(func(s *plan.Step) bool { return s.Always && !hasEnded(s) }); always != nil &&
		(over == plan.StopFailed || over == plan.StopDeadlocked || over == plan.StopCompleted) {
		t.Fatalf("the run is over (%s) without %s:\n%s", over, always.ID, describe(p.Steps))
	}
}

func (m *machine) checkLoop(t *rapid.T, p *plan.Plan, loop *plan.Step) {
	if loop.Execution == nil || !loop.Execution.IsExpanded || loop.Status == plan.Skipped || loop.Status == plan.Cancelled {
		return
	}
	open, failed := 0, 0
	for _, id := range loop.Execution.Instances {
		switch instance, _ := p.Steps.Get(id); {
		case instance.Status == plan.Failed:
			failed++
		case !instance.Status.IsFinished():
			open++
		}
	}
	want := plan.Done
	if open > 0 {
		want = plan.InProgress
	} else if failed > 0 {
		want = plan.Failed
	}
	if loop.Status != want {
		t.Fatalf("the loop %s is %s with %d open and %d failed instances", loop.ID, loop.Status, open, failed)
	}
}

// goesOn: in a run that is not over, something is running, or an engine can do something.
func (m *machine) goesOn(t *rapid.T) {
	for step := range m.state.Plan.Steps.Running() {
		if step.IsRunning() {
			return
		}
	}
	a := m.resolve(plan.Schedule{MaxStarts: 1})
	events, err := plan.Decide(m.state, a, m.facts(engine, a))
	if err != nil || len(events) == 0 {
		t.Fatalf("the run goes on, and nothing can be done: %v, %v, candidates %v", events, err, plan.StartableSteps(m.state, 1))
	}
}

func TestRunsOfTwoEnginesAnAgentAndAPerson(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) { t.Repeat(newMachine(t).actions()) })
}
