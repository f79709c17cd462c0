package verbs_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

var (
	ann = verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}, Face: mcpserver.Tools{User: terminal.CommandLine{}}}
	bob = verbs.Caller{Actor: plan.Actor{Kind: plan.Person, Name: "bob"}, Face: terminal.CommandLine{}}
)

// presence returns the sightings that a test sets.
type presence map[string]plan.Sighting

func (p presence) Touch(string)                   {}
func (p presence) Join(string) func()             { return func() {} }
func (p presence) Seen(name string) plan.Sighting { return p[name] }
func (presence) LastActivity() time.Time          { return time.Time{} }

func service(now func() time.Time, seen presence) *verbs.Service {
	s := session.New(store.NewMemory(), session.Options{Now: now, Presence: seen, Limits: plan.Limits{MaxReplans: 1}})
	return verbs.New(s, verbs.Options{Now: now, Presence: seen})
}

// TestNextAction pins the next action in every kind of state, for the working agent and for a person at a terminal.
func TestNextAction(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	seen := presence{}
	s := service(func() time.Time { return now }, seen)
	var out strings.Builder
	note := func(what string) {
		fmt.Fprintf(&out, "# %s\n", what)
		for _, c := range []verbs.Caller{ann, bob} {
			next, err := s.NextAction(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s: %s\n", c.Actor.Name, next.For(c))
		}
		out.WriteString("\n")
	}
	mark := func(id plan.StepID, status plan.StepStatus) {
		t.Helper()
		if _, err := s.Mark(t.Context(), ann, plan.MarkStep{Step: id, Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	setUp := func(steps ...plan.NewStep) {
		t.Helper()
		if _, err := s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps}); err != nil {
			t.Fatal(err)
		}
	}
	step := func(title string, deps ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: title, DependsOn: deps}}
	}
	note("no plan")
	setUp()
	note("no steps")
	setUp(step("Build"), step("Test", 1), step("Publish", 2))
	note("the first step is ready")
	mark(1, plan.InProgress)
	note("ann works on the first, the others wait for it")
	seen["ann"] = plan.Sighting{IsGone: true}
	note("ann's connection is gone")
	delete(seen, "ann")
	now = now.Add(31 * time.Minute)
	note("ann's lease has run out")
	mark(1, plan.Blocked)
	note("the only step that could start is blocked")
	mark(1, plan.Failed)
	note("it failed")
	mark(1, plan.Skipped)
	note("it was skipped: the others would wait for ever")
	mark(1, plan.Done)
	mark(2, plan.Done)
	mark(3, plan.Done)
	note("all done")
	mark(3, plan.Pending)
	note("opened again")
	if _, err := s.ClearPlan(t.Context(), ann, verbs.ClearPlan{}); err != nil {
		t.Fatal(err)
	}
	note("cleared")
	setUp(plan.NewStep{Spec: plan.Spec{Title: "Migrate", Critical: true}}, step("Tell"))
	mark(1, plan.Failed)
	note("a critical step failed")
	setUp(step("Draw"), step("Paint"))
	mark(1, plan.InProgress)
	seen["ann"] = plan.Sighting{IsGone: true}
	if _, err := s.Mark(t.Context(), bob, plan.MarkStep{Step: 2, Status: plan.InProgress}); err != nil {
		t.Fatal(err)
	}
	note("ann has left the first, bob works on the second")
	alert := func(in verbs.Alert) {
		t.Helper()
		if _, err := s.Alert(t.Context(), ann, in); err != nil {
			t.Fatal(err)
		}
	}
	alert(verbs.Alert{ID: "test failure", Message: "TestPaint fails"})
	note("a blocker")
	alert(verbs.Alert{ID: "test failure", Clear: true})
	alert(verbs.Alert{ID: `the "nightly" build of $(hostname) on all of its platforms`, Message: "red"})
	note("a blocker whose id is long and not to be trusted")
	alert(verbs.Alert{ID: `the "nightly" build of $(hostname) on all of its platforms`, Clear: true})
	if _, err := s.Start(t.Context(), ann, verbs.Start{Goal: "Implement spec.md"}); err != nil {
		t.Fatal(err)
	}
	note("the goal is to be broken down")
	setUp(step("Only"))
	mark(1, plan.Done)
	summary := "Done and tested."
	if _, err := s.Update(t.Context(), ann, verbs.Update{FinalSummary: &summary}); err != nil {
		t.Fatal(err)
	}
	note("closed")
	if _, err := s.SetUp(t.Context(), ann, plan.SetUp{
		Outline: plan.Outline{Objective: "Drafted"}, Steps: []plan.NewStep{step("Draw")}, Draft: true}); err != nil {
		t.Fatal(err)
	}
	note("a draft waits")
	golden(t, "next.txt", out.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// TestNextActionLeadsToTheEnd takes plans in random states and follows the next action, as a model would read it, until
// the plan is finished.
func TestNextActionLeadsToTheEnd(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		s := service(time.Now, nil)
		ctx := context.Background()
		n := rapid.IntRange(1, 8).Draw(t, "steps")
		var steps []plan.NewStep
		for i := range n {
			spec := plan.Spec{Title: fmt.Sprintf("Step %d", i), Critical: rapid.Bool().Draw(t, "critical")}
			if i > 0 && rapid.Bool().Draw(t, "depends") {
				spec.DependsOn = []plan.StepID{plan.StepID(rapid.IntRange(1, i).Draw(t, "on"))}
			}
			status := rapid.SampledFrom([]plan.StepStatus{plan.Pending, plan.Pending, plan.Blocked, plan.Failed,
				plan.Skipped, plan.Done, plan.InProgress}).Draw(t, "status")
			steps = append(steps, plan.NewStep{Spec: spec, Progress: plan.Progress{Status: status}})
		}
		if _, err := s.SetUp(ctx, ann, plan.SetUp{Outline: plan.Outline{Objective: "Any"}, Steps: steps}); err != nil {
			t.Fatal(err)
		}
		for range 6 * n {
			state, err := s.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if state.Plan.Status == plan.StatusCompleted || state.Plan.Status == plan.StatusAbandoned {
				return
			}
			next, err := s.NextAction(ctx, ann)
			if err != nil {
				t.Fatal(err)
			}
			follow(t, s, next.For(ann))
		}
		next, _ := s.NextAction(ctx, ann)
		t.Fatalf("the plan does not come to an end; the last word was: %s", next.For(ann))
	})
}

// follow calls the tool that a next action names.
func follow(t *rapid.T, s *verbs.Service, next string) {
	_, call, found := strings.Cut(next, "planning_mark_step ")
	if !found {
		t.Fatalf("no call to follow in: %s", next)
	}
	words := strings.FieldsFunc(call, func(r rune) bool { return r == ' ' || r == '.' || r == ',' })
	arguments, err := json.Marshal(map[string]string{"step_id": words[0], "status": words[1]})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range verbs.Table() {
		if row.Name == "planning_mark_step" {
			if _, err := row.Call(context.Background(), s, ann, arguments); err != nil {
				t.Fatalf("following %q: %v", next, err)
			}
		}
	}
}

// TestAStatusTellsTheGoalWhole: the end of a goal may matter most.
func TestAStatusTellsTheGoalWhole(t *testing.T) {
	s := service(time.Now, nil)
	goal := strings.Repeat("Limit the attempts to log in. ", 10) + "Never touch production."
	if _, err := s.Start(t.Context(), ann, verbs.Start{Goal: goal}); err != nil {
		t.Fatal(err)
	}
	reply, err := s.Status(t.Context(), ann, verbs.Status{})
	if err != nil || reply.Session.Goal != goal || !strings.Contains(reply.Text(), goal) {
		t.Errorf("told %v (%v)", reply.Text(), err)
	}
}
