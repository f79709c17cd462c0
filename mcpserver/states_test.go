package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// kindOfState is a kind of state and the calls that lead to it.
type kindOfState struct {
	name    string
	replans int // plan.Limits.MaxReplans
	reach   func(b builder)
}

// builder makes the calls that lead to a state.
type builder struct {
	t       testing.TB
	service *verbs.Service
	titled  string // titles of its steps

	session *session.Session // for the actions of engines
	seen    signsOfLife
}

var (
	tester  = verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "tester"}, Face: mcpserver.Tools{}}
	another = verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "another-agent"}}
)

func (b builder) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// setUp sets up a plan of n steps, each depending on the previous one; critical applies to the first.
func (b builder) setUp(n int, critical bool) {
	b.t.Helper()
	b.must(b.trySetUp(n, critical, false))
}

func (b builder) trySetUp(n int, critical, draft bool) error {
	var steps []plan.NewStep
	for i := range n {
		spec := plan.Spec{Title: b.titled, Critical: critical && i == 0, Type: plan.Feature}
		if i > 0 {
			spec.DependsOn = []plan.StepID{plan.StepID(i)}
		}
		steps = append(steps, plan.NewStep{Spec: spec})
	}
	_, err := b.service.SetUp(b.t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: b.titled}, Steps: steps, Draft: draft})
	return err
}

func (b builder) mark(c verbs.Caller, id plan.StepID, status plan.StepStatus) {
	b.t.Helper()
	_, err := b.service.Mark(b.t.Context(), c, plan.MarkStep{Step: id, Status: status})
	b.must(err)
}

func (b builder) alert(in verbs.Alert) {
	b.t.Helper()
	_, err := b.service.Alert(b.t.Context(), another, in)
	b.must(err)
}

func (b builder) complete() {
	b.t.Helper()
	b.setUp(2, false)
	b.mark(tester, 1, plan.Done)
	b.mark(tester, 2, plan.Done)
}

func (b builder) plans() {
	b.t.Helper()
	_, err := b.service.EnterPlanMode(b.t.Context(), tester, verbs.EnterPlanMode{Reason: b.titled})
	b.must(err)
}

func (b builder) submits() {
	b.t.Helper()
	title := "Change the handler of the login page"
	_, err := b.service.SubmitPlan(b.t.Context(), tester, verbs.SubmitPlan{Summary: b.titled,
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: &title, Type: new(plan.Feature),
			ContextHints: &[]string{"Read `go.mod`"}, RelevantFilePaths: &[]string{"go.mod"}}}}})
	b.must(err)
}

func (b builder) rejects() {
	b.t.Helper()
	state, err := b.service.State(b.t.Context())
	b.must(err)
	_, err = b.service.Decide(b.t.Context(), petra, plan.DecideDraft{Outcome: plan.Rejected, Digest: plan.Digest(state.Draft)})
	b.must(err)
}

// kindsOfState lists every kind of state that calls can lead to.
func kindsOfState() []kindOfState { return append(plainStates(), runStates()...) }

func plainStates() []kindOfState {
	task := verbs.TaskID(2)
	warning := plan.Warning
	return []kindOfState{
		{name: "no plan", reach: func(builder) {}},
		{name: "no steps", reach: func(b builder) { b.setUp(0, false) }},
		{name: "meta-task", reach: func(b builder) {
			_, err := b.service.Start(b.t.Context(), tester, verbs.Start{Goal: b.titled})
			b.must(err)
		}},
		{name: "meta-task begun", reach: func(b builder) {
			_, err := b.service.Start(b.t.Context(), tester, verbs.Start{Goal: b.titled})
			b.must(err)
			b.mark(tester, 1, plan.InProgress)
		}},
		{name: "ready", reach: func(b builder) { b.setUp(3, false) }},
		{name: "in progress", reach: func(b builder) { b.setUp(3, false); b.mark(tester, 1, plan.InProgress) }},
		{name: "another agent works", reach: func(b builder) { b.setUp(3, false); b.mark(another, 1, plan.InProgress) }},
		{name: "left by nobody known", reach: func(b builder) {
			spec := plan.NewStep{Spec: plan.Spec{Title: b.titled}, Progress: plan.Progress{Status: plan.InProgress}}
			_, err := b.service.SetUp(b.t.Context(), tester, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{spec}})
			b.must(err)
		}},
		{name: "blocked step", reach: func(b builder) { b.setUp(3, false); b.mark(tester, 1, plan.Blocked) }},
		{name: "failed step", reach: func(b builder) { b.setUp(3, false); b.mark(tester, 1, plan.Failed) }},
		{name: "deadlock", reach: func(b builder) { b.setUp(3, false); b.mark(tester, 1, plan.Skipped) }},
		{name: "replanning", reach: func(b builder) { b.setUp(3, true); b.mark(tester, 1, plan.Failed) }},
		{name: "failed plan", replans: -1, reach: func(b builder) { b.setUp(3, true); b.mark(tester, 1, plan.Failed) }},
		{name: "completed", reach: func(b builder) { b.complete() }},
		{name: "closed", reach: func(b builder) {
			b.complete()
			summary := "done"
			_, err := b.service.Update(b.t.Context(), tester, verbs.Update{FinalSummary: &summary})
			b.must(err)
		}},
		{name: "abandoned", reach: func(b builder) {
			b.setUp(3, false)
			_, err := b.service.ClearPlan(b.t.Context(), tester, verbs.ClearPlan{})
			b.must(err)
		}},
		{name: "abandoned by itself", reach: func(b builder) { b.setUp(1, false); b.mark(tester, 1, plan.Skipped) }},
		{name: "blocker", reach: func(b builder) {
			b.setUp(3, false)
			b.alert(verbs.Alert{ID: strings.Repeat("test failure ", 10)[:80], Message: strings.Repeat("the tests of the login page fail ",
				20), TaskID: &task})
		}},
		{name: "warning", reach: func(b builder) {
			b.setUp(3, false)
			b.alert(verbs.Alert{ID: "lint", Level: &warning, Message: "unused variable"})
		}},
		{name: "blocker without a plan", reach: func(b builder) { b.alert(verbs.Alert{ID: "ci", Message: "the build is red"}) }},
		{name: "gathering", reach: func(b builder) { b.plans() }},
		{name: "submitted", reach: func(b builder) { b.plans(); b.submits() }},
		{name: "rejected", reach: func(b builder) { b.plans(); b.submits(); b.rejects() }},
		{name: "asked after a rejection", reach: func(b builder) {
			b.plans()
			b.submits()
			b.rejects()
			_, err := b.service.AskUser(b.t.Context(), tester, verbs.AskUser{Question: b.titled})
			b.must(err)
		}},
		{name: "draft alone", reach: func(b builder) { b.must(b.trySetUp(3, false, true)) }},
		{name: "draft beside a plan", reach: func(b builder) { b.setUp(3, false); b.must(b.trySetUp(3, false, true)) }},
	}
}

// inState returns a service with a workspace in that kind of state.
func inState(t testing.TB, kind kindOfState, titled string) *verbs.Service {
	t.Helper()
	seen := signsOfLife{}
	s := session.New(store.NewMemory(), session.Options{Limits: plan.Limits{MaxReplans: kind.replans}, Presence: seen})
	t.Cleanup(func() { s.Close() })
	service := verbs.New(s, verbs.Options{Presence: seen, Engines: seen})
	kind.reach(builder{t, service, titled, s, seen})
	return service
}
