package verbs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// walker does what the next action says, as a model would read it, and what the
// others who are waited for do.
type walker struct {
	*rapid.T
	service *verbs.Service
	me      verbs.Caller
	rules   *book
	schemas map[string]*jsonschema.Schema
	trail   []string
	heard   []string // answers that a status told it
	engines *engines
	clock   *clock
}

var (
	carl   = verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "carl"}, Face: mcpserver.Tools{}}
	person = verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "pat"), Face: terminal.CommandLine{}}
)

// book is a rule book that is out of sync until somebody writes it.
type book struct{ state string }

func (b *book) Inspect() verbs.Rules {
	return verbs.Rules{File: "AGENTS.md", State: b.state, Exists: true, Content: "the rules\n"}
}

func (*book) Changed(context.Context) <-chan struct{} { return nil }

// TestEveryStateLeadsToTheEnd brings a workspace into any state that calls can lead
// to, and then does nothing but what the next action says until the plan is closed
// (or finished, where no tool can close it). No state is a dead end, for any choice
// of tools and for the command line.
func TestEveryStateLeadsToTheEnd(t *testing.T) {
	schemas, defaults, user := inputSchemas(t), []string{verbs.Planning, verbs.Loop, verbs.Mode}, terminal.CommandLine{}
	for name, c := range map[string]struct {
		toolsets []string
		face     verbs.Face
		person   bool
		open     func(session.Options) *session.Session
	}{
		"by default":    {defaults, mcpserver.Tools{Toolsets: defaults, User: user}, false, alone},
		"all tools":     {nil, mcpserver.Tools{User: user}, false, alone},
		"planning only": {[]string{verbs.Planning}, mcpserver.Tools{Toolsets: []string{verbs.Planning}, User: user}, false, alone},
		"loop only":     {[]string{verbs.Loop}, mcpserver.Tools{Toolsets: []string{verbs.Loop}, User: user}, false, alone},
		"command line":  {nil, terminal.CommandLine{}, false, alone},
		"a person":      {nil, terminal.CommandLine{}, true, alone},
		"in a team":     {nil, mcpserver.Tools{User: user}, false, joined},
	} {
		t.Run(name, func(t *testing.T) {
			rapidtest.Check(t, func(rt *rapid.T) {
				limits := plan.Limits{MaxReplans: rapid.SampledFrom([]int{-1, 0, 1}).Draw(rt, "max replans"),
					ApprovalTimeout:  rapid.SampledFrom([]time.Duration{0, 30 * time.Minute}).Draw(rt, "approval_timeout"),
					GatheringTimeout: rapid.SampledFrom([]time.Duration{-1, 0}).Draw(rt, "gathering_timeout")}
				seen, now := presence{}, &clock{time: time.Now()}
				s := c.open(session.Options{Now: now.now, Limits: limits, Presence: seen})
				defer s.Close()
				rules := &book{}
				crew := &engines{session: s, seen: seen, clock: now, agents: rapid.Bool().Draw(rt, "agents are configured")}
				w := &walker{T: rt, rules: rules, schemas: schemas, engines: crew, clock: now,
					service: verbs.New(s, verbs.Options{Now: now.now, Limits: limits, RuleBook: rules, Presence: seen, Engines: crew,
						Agents: crew}),
					me: verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}, Face: c.face}}
				if c.person {
					w.me = person
				}
				w.begins()
				w.wander()
				w.walk()
			})
		})
	}
}

func alone(o session.Options) *session.Session { return session.New(store.NewMemory(), o) }

// inputSchemas are what hosts check calls against.
func inputSchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	all, compiler := map[string]*jsonschema.Schema{}, jsonschema.NewCompiler()
	for _, row := range verbs.Table() {
		schema, err := compiler.Compile("../../mcpserver/schemas/" + row.Name + ".input.json")
		if err != nil {
			t.Fatal(err)
		}
		all[row.Name] = schema
	}
	return all
}

// TestNobodyWaitsForAnother has two agents work on steps whose dependency is given up
// meanwhile: each is told what to do about it, not to wait for the other.
func TestNobodyWaitsForAnother(t *testing.T) {
	s := service(time.Now, nil)
	step := func(title string, deps ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: title, DependsOn: deps}}
	}
	outline := plan.Outline{Objective: "Ship it"}
	if _, err := s.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: []plan.NewStep{step("Build"), step("Test", 1),
		step("Publish", 1)}}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		who    verbs.Caller
		step   plan.StepID
		status plan.StepStatus
	}{{ann, 1, plan.Done}, {ann, 2, plan.InProgress}, {carl, 3, plan.InProgress}, {ann, 1, plan.Skipped}} {
		if _, err := s.Mark(t.Context(), m.who, plan.MarkStep{Step: m.step, Status: m.status}); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []verbs.Caller{ann, carl} {
		next, err := s.NextAction(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(next.For(who), "S001 pending") {
			t.Errorf("%s is told: %s", who.Actor.Name, next.For(who))
		}
	}
}

// wander does things of all kinds, of which some are refused.
func (w *walker) wander() {
	actors := []verbs.Caller{w.me, w.me, carl, person}
	for range rapid.IntRange(0, 14).Draw(w.T, "things done") {
		who := rapid.SampledFrom(actors).Draw(w.T, "who")
		act := rapid.SampledFrom([]func(verbs.Caller) error{
			w.setsUp, w.marks, w.marks, w.marks, w.signals, w.starts, w.clears,
			w.closes,

			w.engineActs, w.engineActs, w.engineActs, w.engineActs, w.engineActs, w.stepAnswers, w.replans, w.drafts, w.adds,
			w.proposes, w.proposes, w.proposes, w.withdraws, w.leaves, w.ends, w.waits, w.decides,
			w.restores, w.plans, w.plans, w.decides, w.cancels, w.asks, w.answers, w.drifts, w.fails}).Draw(w.T, "does")
		if err := act(who); err != nil {
			w.trail = append(w.trail, fmt.Sprintf("(refused: %v)", err))
			if !isRefused(err) {
				w.Fatalf("%v\n%s", err, strings.Join(w.trail, "\n"))
			}
		}
	}
}

func (w *walker) did(who verbs.Caller, format string, args ...any) {
	if w.clock != nil {
		w.clock.time = w.clock.time.Add(time.Second)
	}
	w.trail = append(w.trail, who.Actor.Name+" "+fmt.Sprintf(format, args...))
}

func (w *walker) randomSteps() []plan.NewStep {
	var steps []plan.NewStep
	for i := range rapid.IntRange(0, 6).Draw(w.T, "steps") {
		spec := plan.Spec{Title: fmt.Sprintf("Step %d", i), Critical: rapid.Bool().Draw(w.T, "critical")}
		for on := range i {
			if rapid.IntRange(0, 2).Draw(w.T, "depends") == 0 {
				spec.DependsOn = append(spec.DependsOn, plan.StepID(on+1))
			}
		}
		w.carriedOut(&spec)
		status := rapid.SampledFrom([]plan.StepStatus{plan.Pending, plan.Pending, plan.Pending, plan.Pending,
			plan.Blocked, plan.Failed, plan.Skipped, plan.Cancelled,
			plan.Done, plan.InProgress}).Draw(w.T, "status")
		steps = append(steps, plan.NewStep{Spec: spec, Progress: plan.Progress{Status: status}})
	}
	return steps
}

// carriedOut makes a step one that engines carry out or ask a person about, or none.
func (w *walker) carriedOut(spec *plan.Spec) {
	switch rapid.IntRange(0, 7).Draw(w.T, "kind of step") {
	case 0, 1, 2:
		spec.Tool, spec.Args = "bash_execute", json.RawMessage(`{"command":"true"}`)
	case 3:
		spec.Pause = "May it begin?"
	case 4:
		spec.When = "true"
	}
	if rapid.IntRange(0, 4).Draw(w.T, "loops") == 0 {
		spec.ForEach = `["a","b"]`
	}
	spec.RequiresApproval = rapid.IntRange(0, 4).Draw(w.T, "to be approved") == 0
}

func (w *walker) setsUp(c verbs.Caller) error {
	steps := w.randomSteps()
	w.did(c, "sets up %d steps", len(steps))
	_, err := w.service.SetUp(w.Context(), c, plan.SetUp{Outline: plan.Outline{Objective: "Any"}, Steps: steps})
	return err
}

func (w *walker) drafts(c verbs.Caller) error {
	w.did(c, "makes a draft")
	_, err := w.service.SetUp(w.Context(), c, plan.SetUp{Outline: plan.Outline{Objective: "A draft"}, Draft: true,
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Drafted"}}}})
	return err
}

func (w *walker) marks(c verbs.Caller) error {
	id := plan.StepID(rapid.IntRange(1, 7).Draw(w.T, "step"))
	status := rapid.SampledFrom([]plan.StepStatus{plan.Pending, plan.InProgress, plan.InProgress, plan.Blocked, plan.Done, plan.Done,
		plan.Failed, plan.Skipped, plan.Cancelled}).Draw(w.T, "marked")
	w.did(c, "marks %s %s", id, status)
	_, err := w.service.Mark(w.Context(), c, plan.MarkStep{Step: id, Status: status})
	return err
}

func (w *walker) signals(c verbs.Caller) error {
	id := rapid.SampledFrom([]string{"ci", "test failure", `it's "red" $(rm -rf .)`, strings.Repeat("long and cumbersome ", 4)[:79],
		"тесты", "-x"}).Draw(w.T, "signal")
	level := rapid.SampledFrom([]plan.SignalLevel{plan.Blocker, plan.Blocker, plan.Warning, plan.Info}).Draw(w.T, "level")
	w.did(c, "raises %q", id)
	_, err := w.service.Alert(w.Context(), c, verbs.Alert{ID: id, Level: &level, Message: "red"})
	return err
}

func (w *walker) starts(c verbs.Caller) error {
	w.did(c, "starts a session")
	_, err := w.service.Start(w.Context(), c, verbs.Start{Goal: "Ship it"})
	return err
}

func (w *walker) clears(c verbs.Caller) error {
	w.did(c, "clears the plan")
	_, err := w.service.ClearPlan(w.Context(), c, verbs.ClearPlan{})
	return err
}

func (w *walker) closes(c verbs.Caller) error {
	w.did(c, "closes the plan")
	summary := "done"
	_, err := w.service.Update(w.Context(), c, verbs.Update{FinalSummary: &summary})
	return err
}

func (w *walker) adds(c verbs.Caller) error {
	w.did(c, "adds a step")
	_, err := w.service.AddStep(w.Context(), c, verbs.AddStep{Steps: []verbs.AddedStep{{NewStep: verbs.NewStep{Title: "One more"}}}})
	return err
}

func (w *walker) restores(c verbs.Caller) error {
	former := w.state().FormerPlans()
	if len(former) == 0 {
		return nil
	}
	w.did(c, "restores %s", former[0].ID)
	_, err := w.service.Restore(w.Context(), c, former[0].ID)
	return err
}

func (w *walker) plans(c verbs.Caller) error {
	if w.state().PhaseNow() == plan.PhaseGathering {
		w.did(c, "submits a plan")
		return w.submit(c)
	}
	w.did(c, "enters planning mode")
	_, err := w.service.EnterPlanMode(w.Context(), c, verbs.EnterPlanMode{Reason: "to look first"})
	return err
}

func (w *walker) fails(c verbs.Caller) error {
	if err := w.setsUp(c); err != nil || w.state().Plan.Steps.Len() == 0 {
		return err
	}
	w.did(c, "sees S001 fail, which is critical")
	critical := true
	if _, err := w.service.EditStep(w.Context(), c, 1, plan.Patch{Critical: &critical}); err != nil {
		return err
	}
	_, err := w.service.Mark(w.Context(), c, plan.MarkStep{Step: 1, Status: plan.Failed})
	return err
}

func (w *walker) drifts(verbs.Caller) error {
	w.rules.state = "outdated"
	return nil
}

func (w *walker) submit(c verbs.Caller) error {
	title, feature, hints, paths := "Change the handler of the login page", plan.Feature, []string{"Read `go.mod`"}, []string{"go.mod"}
	_, err := w.service.SubmitPlan(w.Context(), c, verbs.SubmitPlan{Summary: "Change it.",
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: &title, Type: &feature, ContextHints: &hints,
			RelevantFilePaths: &paths}}}})
	return err
}

func (w *walker) asks(c verbs.Caller) error {
	w.did(c, "asks")
	_, err := w.service.AskUser(w.Context(), c, verbs.AskUser{Question: "Which one?"})
	return err
}

func (w *walker) answers(verbs.Caller) error {
	for _, q := range w.state().OpenQuestions() {
		w.did(person, "answers %s", q.ID)
		if _, err := w.service.Answer(w.Context(), person, q.ID, "this one"); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) state() plan.State {
	state, err := w.service.State(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return state
}

// walk follows the next action to the end. A status comes first each time, as the
// rule book asks.
func (w *walker) walk() {
	for range 80 {
		reply, err := w.service.Status(w.Context(), w.me, verbs.Status{})
		if err != nil {
			w.Fatal(err)
		}
		state := w.state()
		if reply.Now.Reason == verbs.Closed || reply.Now.Reason == verbs.PlanCompleted && strings.Contains(reply.NextAction, "report it") {
			return
		}
		before := state.Revision
		w.did(w.me, "is told %s: %s", reply.Now.Reason, reply.NextAction)
		if err := w.follow(reply); err != nil {
			w.Fatalf("following %q: %v\n%s", reply.NextAction, err, strings.Join(w.trail, "\n"))
		}
		if w.state().Revision == before && reply.Now.Reason != verbs.SyncInstructions {
			w.Fatalf("following %q changed nothing\n%s", reply.NextAction, strings.Join(w.trail, "\n"))
		}
	}
	w.Fatalf("there is no end:\n%s", strings.Join(w.trail, "\n"))
}

func (w *walker) follow(reply verbs.StatusReply) error {
	next := withoutPreface(reply.NextAction)
	if read, then, ok := strings.Cut(next, ", revise it, then "); ok {
		next = then
		if w.me.Face.Brief() {
			if err := w.tool(read, reply); err != nil {
				return err
			}
		}
	}
	switch {
	case strings.Contains(next, ", then planloop run"):
		return w.command(next)
	case strings.Contains(next, "planning_execute_plan"), strings.Contains(next, "planloop run"):
		who := w.me
		if strings.Contains(next, "until a person runs ") || strings.Contains(next, "ask the user to run ") {
			who = person
		}
		return w.engineRuns(who)
	case strings.HasPrefix(next, "Wait while S"):
		return w.engineRuns(w.me)
	case strings.Contains(next, "until a person runs ") && reply.Now.Reason == verbs.StepAsks:
		return w.asksEnd()
	case strings.Contains(next, "planloop step skip ") && w.me.Face.Brief():
		return w.asUser(next)
	case reply.Now.Reason == verbs.SyncInstructions:
		if w.me.Face.Brief() && reply.Now.InstructionsContent != "the rules\n" {
			return fmt.Errorf("the content is %q", reply.Now.InstructionsContent)
		}
		w.rules.state = ""
		return nil
	case strings.HasPrefix(next, "Wait for a person's decision: "), strings.HasPrefix(next, "Review the plan and decide: "):
		return w.isDecided()
	case next == verbs.NoDecision:
		return w.tellsMore()
	case strings.HasPrefix(next, "Wait until an agent submits its plan: "):
		return w.submit(carl)
	case strings.HasPrefix(next, "Wait for the user's answer: "):
		return w.answers(person)
	case strings.Contains(next, "ask the user to run planloop plan cancel"):
		return w.cancels(person)
	case strings.Contains(next, "ask the user to run planloop clear"):
		return w.clears(person)
	case strings.Contains(next, "ask the user to run planloop update"):
		return w.asUser(next)
	case strings.Contains(next, " revises the proposed change: "):
		return w.isRevised()
	case strings.HasPrefix(next, "Wait for "), strings.Contains(next, " is working on "):
		return w.othersFinish(map[string]bool{})
	case strings.Contains(next, "ask the user to run planloop alert --clear"):
		return w.clearAll()
	case !w.me.Face.Brief():
		return w.command(next)
	}
	return w.tool(next, reply)
}

// othersFinish has those who are waited for do what they are told to.
func (w *walker) othersFinish(asked map[string]bool) error {
	asked[w.me.Actor.Name] = true
	for step := range w.state().Plan.Steps.Running() {
		if step.ClaimedBy == "" || asked[step.ClaimedBy] {
			continue
		}
		other := *w
		other.me.Actor.Name = step.ClaimedBy
		reply, err := w.service.Status(w.Context(), other.me, verbs.Status{})
		if err != nil {
			return err
		}
		w.did(other.me, "is told %s: %s", reply.Now.Reason, reply.NextAction)
		if reply.Now.Reason == verbs.WaitingOnAgent {
			return other.othersFinish(asked)
		}
		return other.follow(reply)
	}
	return errors.New("everybody waits for each other")
}

func (w *walker) clearAll() error {
	for _, signal := range w.state().OpenSignals(plan.Blocker) {
		if _, err := w.service.Alert(w.Context(), person, verbs.Alert{ID: signal.ID, Clear: true}); err != nil {
			return err
		}
	}
	return nil
}

const oneTask = `[{"title":"Change the handler of the login page","type":"feature",` +
	`"context_hints":["Read the handler"],"relevant_file_paths":["go.mod"]}]`

// tool calls the tool that is named, with the arguments that are given or, where
// they are the caller's to think up, with some.
func (w *walker) tool(next string, reply verbs.StatusReply) error {
	at, name := len(next), ""
	for _, row := range verbs.Table() {
		if i := strings.Index(next, row.Name); i >= 0 && i < at {
			at, name = i, row.Name
		}
	}
	if name == "" {
		return errors.New("no tool is named")
	}
	call := next[at+len(name):]
	if name == "planning_add_step" && strings.Contains(call, "planning_mark_step") {
		if err := w.row(name, `{"steps":[{"title":"A step"}]}`); err != nil {
			return err
		}
		return w.tool(call, reply)
	}
	return w.row(name, arguments(name, call, reply))
}

func arguments(name, call string, reply verbs.StatusReply) string {
	switch name {
	case "planning_mark_step":
		words := strings.FieldsFunc(call, func(r rune) bool { return strings.ContainsRune(" .,;", r) })
		return fmt.Sprintf(`{"step_id":%q,"status":%q}`, words[0], words[1])
	case "planning_setup_plan":
		return `{"objective":"Another","initial_steps":[{"title":"A step"}]}`
	case "planning_ask_user":
		return `{"question":"What instead?"}`
	case "planning_add_step":
		return `{"steps":[{"title":"A step"}]}`
	case "planloop_start":
		return `{"goal":"Another"}`
	case "planning_submit_plan":
		return `{"summary":"Change it.","steps":` + oneTask + `}`
	case "planloop_update":
		return object(strings.Replace(call, "[...]", oneTask, 1))
	case "planloop_alert":
		if strings.Contains(call, "with its id") {
			id, _ := json.Marshal(reply.Signal.ID)
			return `{"clear":true,"id":` + string(id) + `}`
		}
	}
	return object(call)
}

// object returns the JSON object that a text begins with.
func object(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return text
	}
	return string(raw)
}

func (w *walker) row(name, arguments string) error {
	arguments = regexp.MustCompile(`"(<[^"]*>|\.\.\.)"`).ReplaceAllString(arguments, `"filled in"`) // as whoever is told does
	w.did(w.me, "calls %s %s", name, arguments)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err == nil && w.schemas != nil {
		err = w.schemas[name].Validate(value)
	}
	if err != nil {
		return err
	}
	for _, row := range verbs.Table() {
		if row.Name == name {
			_, err := row.Call(w.Context(), w.service, w.me, []byte(arguments))
			return err
		}
	}
	return errors.New("there is no such tool")
}

// command carries out the command line that is named, taken apart as a shell does.
func (w *walker) command(next string) error {
	i := strings.Index(next, "planloop ")
	if i < 0 {
		return w.tool(next, verbs.StatusReply{}) // planning mode's tools are an agent's alone
	}
	line := strings.TrimSuffix(next[i:], ".")
	if j := strings.Index(line, ", "); j > 0 && !strings.Contains(line[:j], "'") {
		line = line[:j]
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return err
	}
	var words []string
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && words == nil {
			words, err = expand.Fields(nil, call.Args...)
		}
		return true
	})
	if err != nil {
		return err
	}
	return w.perform(words[1:])
}

// asUser has the user run the command that an agent asks for.
func (w *walker) asUser(next string) error {
	user := *w
	user.me = person
	return user.command(next)
}

func (w *walker) recovers(words []string) error {
	id, err := plan.ParseStepID(words[1])
	if err != nil {
		return err
	}
	choice, text := plan.Choice(words[0]), ""
	switch words[0] {
	case "reject":
		choice = plan.Deny
	case "answer":
		choice, text = plan.Reply, words[2]
	}
	if i := slices.Index(words, "--choice"); i > 0 {
		choice = plan.Choice(words[i+1])
	}
	_, err = w.engines.session.Do(w.Context(), w.me.Actor, plan.AnswerStep{Step: id, Choice: choice, Text: text}, nil)
	return err
}

func (w *walker) perform(words []string) error {
	w.did(w.me, "runs %q", words)
	ctx := w.Context()
	var err error
	switch {
	case words[0] == "start":
		_, err = w.service.SetupPlan(ctx, w.me, verbs.SetupPlan{Objective: "Another", InitialSteps: []verbs.NewStep{{Title: "A step"}}})
	case words[0] == "step" && words[1] == "add":
		_, err = w.service.AddStep(ctx, w.me, verbs.AddStep{Steps: []verbs.AddedStep{{NewStep: verbs.NewStep{Title: "A step"}}}})
	case words[0] == "step" && words[1] == "mark":
		var id plan.StepID
		if id, err = plan.ParseStepID(words[2]); err == nil {
			_, err = w.service.Mark(ctx, w.me, plan.MarkStep{Step: id, Status: plan.StepStatus(words[3])})
		}
	case words[0] == "alert":
		_, err = w.service.Alert(ctx, w.me, verbs.Alert{ID: words[slices.Index(words, "--id")+1], Clear: slices.Contains(words, "--clear")})
	case words[0] == "step" && slices.Contains([]string{"retry", "skip", "settle"}, words[1]):
		err = w.recovers(words[1:])
	case slices.Contains([]string{"approve", "reject", "answer"}, words[0]):
		err = w.recovers(words)
	case words[0] == "submit":
		err = w.submit(w.me)
	case words[0] == "update":
		err = w.row("planloop_update", strings.Replace(words[2], "[...]", oneTask, 1))
	default:
		err = fmt.Errorf("%q is no command to follow", words)
	}
	return err
}
