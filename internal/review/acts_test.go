package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// workspaces is a workspace with a history made by tests.
type workspaces struct {
	*review.Workspace
	t       *testing.T
	session *session.Session
}

func newDesk(t *testing.T) *workspaces {
	now := time.Now()
	s := session.New(store.NewMemory(), session.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	t.Cleanup(func() { _ = s.Close() })
	d := &workspaces{t: t, session: s, Workspace: &review.Workspace{Place: review.Place{ID: "w1", Name: "shop"},
		Service: verbs.New(s, verbs.Options{Gates: func(string) gates.Level { return gates.Off }, Engine: begins{}})}}
	d.Start = func(ctx context.Context, of string) error {
		c := page().Caller
		var background sync.WaitGroup
		defer background.Wait()
		c.Of, c.Background = of, func(work func(context.Context)) { background.Go(func() { work(ctx) }) }
		return d.Service.StartRun(ctx, c, verbs.EngineOptions{})
	}
	return d
}

// begins is an engine that begins a run and starts nothing.
type begins struct{}

func (begins) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	return "", o.Begin(ctx)
}

func (d *workspaces) do(by plan.Actor, a plan.Action) {
	d.t.Helper()
	_, err := d.session.Do(d.t.Context(), by, a, func(state plan.State, facts *plan.Facts) error {
		if advance, is := a.(plan.Schedule); is {
			facts.Resolutions = map[plan.StepID]plan.Resolution{}
			for _, step := range plan.StartableSteps(advance.ApplyResults(state, *facts), advance.MaxStarts) {
				facts.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args,
					IsDestructive: strings.Contains(step.Title, "Delete")}
			}
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func engine() plan.Actor { return plan.NewActor(plan.ChannelEngine, "engine#1") }

// active sets up a plan with some steps.
func (d *workspaces) active(steps ...plan.Spec) *workspaces {
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Release it"}}
	for _, spec := range steps {
		setUp.Steps = append(setUp.Steps, plan.NewStep{Spec: spec})
	}
	d.do(ann().Actor, setUp)
	return d
}

// running begins a run of a plan, and starts its ready steps.
func (d *workspaces) running(steps ...plan.Spec) *workspaces {
	d.active(steps...).do(engine(), plan.BeginRun{})
	d.do(engine(), plan.Schedule{MaxStarts: 4})
	return d
}

// interrupt ends the first attempt of the first step with an unknown outcome.
func (d *workspaces) interrupt() {
	d.t.Helper()
	state := must[plan.State](d.t)(d.Service.State(d.t.Context()))
	d.do(engine(), plan.Schedule{Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: state.Plan.Root(), Step: 1, Attempt: 1},
		IsInterrupted: true}}})
}

func (d *workspaces) waiting() *workspaces {
	submit(d.t, d.Workspace, "Move them", "Test them")
	return d
}

// edit retitles the first step of the waiting draft.
func (d *workspaces) edit(title string) {
	d.t.Helper()
	state := must[plan.State](d.t)(d.Workspace.Service.State(d.t.Context()))
	must[verbs.DraftEditReply](d.t)(d.Workspace.Service.EditDraft(d.t.Context(), page().Caller, plan.EditDraft{
		Digest: plan.Digest(state.Draft), Change: plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}}))
}

func tool(title string) plan.Spec {
	return plan.Spec{Title: title, Tool: "bash_execute", Args: json.RawMessage(`{"command":"rm -r old"}`)}
}

// fields are the fields of an input; input makes them from the content shown.
type (
	fields = map[string]any
	input  = func(review.View) fields
)

func draftOf(v review.View) fields {
	return fields{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest}
}

func with(of fields, more fields) fields {
	all := fields{}
	for _, one := range []fields{of, more} {
		for name, value := range one {
			all[name] = value
		}
	}
	return all
}

// tried is an act to do once: its place, its input, and the result to see.
type tried struct {
	in   func(*workspaces) *workspaces
	with input
	bad  []input // inputs that are refused before, and change nothing
	then func(review.View) bool
}

func constant(f fields) input { return func(review.View) fields { return f } }

// more returns an input about the waiting draft with further fields.
func more(f fields) input {
	return func(v review.View) fields { return with(draftOf(v), f) }
}

// edit returns an input with the digest of the draft and further fields.
func edit(f fields) input {
	return func(v review.View) fields { return with(fields{"digest": v.Draft.Plan.Digest}, f) }
}

// asked returns an input about the first step's question with further fields.
func asked(f fields) input {
	return func(v review.View) fields { return with(fields{"step": 1, "digest": v.Plan.Steps[0].Ask.Digest}, f) }
}

func step(v review.View) review.Step { return v.Plan.Steps[0] }

func tries() map[string]tried {
	waiting := func(d *workspaces) *workspaces { return d.waiting() }
	undone := func(d *workspaces) *workspaces {
		d.waiting().edit("Shift them")
		submit(d.t, d.Workspace, "Move them", "Test them")
		return d
	}
	undoneEdit := func(v review.View) fields {
		return fields{"digest": v.Draft.Plan.Digest, "key": v.Draft.Undone[0].Key}
	}
	plainly := func(d *workspaces) *workspaces { return d.active(plan.Spec{Title: "One"}, plan.Spec{Title: "Two"}) }
	asking := func(d *workspaces) *workspaces {
		return d.running(tool("Delete the folder"), plan.Spec{Title: "Check it"})
	}
	failing := func(d *workspaces) *workspaces {
		d.running(tool("Build it"))
		state := must[plan.State](d.t)(d.Service.State(d.t.Context()))
		d.do(engine(), plan.Schedule{Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: state.Plan.Root(), Step: 1, Attempt: 1},
			Result: plan.Result{Error: "the disk is full"}}}})
		return d
	}
	lost := func(d *workspaces) *workspaces {
		d.running(tool("Send it")).interrupt()
		return d
	}
	blocked := func(d *workspaces) *workspaces {
		d.active(plan.Spec{Title: "One"}).do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Blocked, Note: "no key"})
		return d
	}
	return map[string]tried{
		"approve": {waiting, more(nil), []input{more(fields{"digest": "x"}), more(fields{"request": "R9"}),
			constant(fields{}), more(fields{"digst": "x"})}, func(v review.View) bool { return v.Plan.Approval.Way == plan.WayPerson }},
		"return": {waiting, more(fields{"comments": []fields{{"step": 2, "text": "tests first"}, {"text": "soon"}}}), []input{more(nil),
			more(fields{"comments": []fields{{"step": 9, "text": "x"}}}), more(fields{"comments": []fields{{"step": 2, "text": " "}}})},
			func(v review.View) bool {
				return v.Phase == plan.PhaseGathering && len(v.Comments) == 2 && v.Draft.Returned != nil
			}},
		"regenerate": {waiting, more(fields{"comment": "smaller"}), []input{more(fields{"digest": ""})},
			func(v review.View) bool { return strings.HasSuffix(v.Decision.Comment, ": smaller") }},
		"reject": {waiting, more(fields{"comment": "no"}), []input{more(fields{"digest": "x"})},
			func(v review.View) bool { return v.Draft == nil && v.Decision.Outcome == plan.Rejected }},
		"edit_step": {waiting, edit(fields{"step": 1, "fields": fields{"title": "Copy them", "risk": "high"}}),
			[]input{edit(fields{"step": 9, "fields": fields{"title": "x"}}),
				edit(fields{"step": 1, "fields": fields{"titel": "x"}}),
				constant(fields{"step": 1, "digest": "x", "fields": fields{"title": "x"}}),
				edit(fields{"step": 1, "fields": fields{"title": " "}})},
			func(v review.View) bool {
				s := v.Draft.Plan.Steps[0]
				return s.Title == "Copy them" && s.Risk == plan.HighRisk && s.Edited != "" && v.Draft.Edited.By == "alice"
			}},
		"add_step": {waiting, edit(fields{"after": 0, "fields": fields{"title": "Back up"}}),
			[]input{edit(fields{"fields": fields{"details": "x"}}), edit(fields{"after": 9, "fields": fields{"title": "x"}})},
			func(v review.View) bool {
				return v.Draft.Plan.Steps[0].Title == "Back up" && v.Draft.Plan.Steps[0].Number == 3
			}},
		"move_step": {waiting, edit(fields{"step": 2, "after": 0}), []input{edit(fields{"step": 2, "after": 9}), edit(fields{"step": 2})},
			func(v review.View) bool { return v.Draft.Plan.Steps[0].Number == 2 }},
		"remove_step": {waiting, edit(fields{"step": 1}), []input{edit(fields{"step": 9}), constant(fields{"step": 1, "digest": "x"})},
			func(v review.View) bool { return len(v.Draft.Plan.Steps) == 1 }},
		"answer": {func(d *workspaces) *workspaces { d.do(ann().Actor, plan.AskUser{Text: "Which store?"}); return d },
			constant(fields{"id": "Q1", "text": "Postgres"}), []input{constant(fields{"id": "Q2", "text": "x"}),
				constant(fields{"id": "Q1", "text": " "})}, func(v review.View) bool {
				return len(v.Questions) == 0 && strings.HasSuffix(v.Situation[0].Texts[0], ": Postgres")
			}},
		"comment": {plainly, constant(fields{"text": "mind the shop"}), []input{constant(fields{"text": " "}),
			constant(fields{"text": "\x1b[2J"})}, func(v review.View) bool { return v.Comments[0].Text == "mind the shop" }},
		"ask": {waiting, constant(fields{"step": 2, "text": "why this one?"}), []input{constant(fields{"step": 9, "text": "x"}),
			constant(fields{"text": " "}), constant(fields{"text": "x", "plan": "another"})},
			func(v review.View) bool {
				c := v.Comments[0]
				return c.Question && c.Step == 2 && c.Met == verbs.CommentOpen
			}},
		"meet": {func(d *workspaces) *workspaces {
			d.waiting().do(page().Actor, plan.AddComment{Step: 1, Text: "smaller"})
			return d
		},
			constant(fields{"id": "C1", "met": true}), []input{constant(fields{"id": "C7", "met": true}), constant(fields{"id": "C1"})},
			func(v review.View) bool { return v.Comments[0].Met == verbs.CommentMet }},
		"approve_step": {asking, asked(fields{"args": `{"command":"rm -r older"}`}), []input{
			asked(fields{"digest": "x"}), constant(fields{"step": 1}), asked(fields{"step": 2}), asked(fields{"args": 7})},
			func(v review.View) bool { return step(v).Ask == nil && fmt.Sprint(step(v).Other) != "[]" }},
		"deny_step": {asking, asked(fields{"text": "keep it"}), []input{asked(fields{"digest": "x"}),
			constant(fields{"step": 2})}, func(v review.View) bool { return step(v).Status == plan.Skipped }},
		"answer_step": {blocked, constant(fields{"step": 1, "text": "it is in the vault"}), []input{
			constant(fields{"step": 1}), constant(fields{"step": 2, "text": "x"})},
			func(v review.View) bool { return step(v).Status == plan.Pending }},
		"retry_step": {failing, constant(fields{"step": 1}), []input{constant(fields{}), constant(fields{"step": 1,
			"plan": "another"})}, func(v review.View) bool { return step(v).Status == plan.Pending }},
		"happened_step": {lost, asked(nil), []input{asked(fields{"digest": "x"})},
			func(v review.View) bool { return step(v).Status == plan.Done }},
		"stop_step": {func(d *workspaces) *workspaces { return d.running(tool("Build it"), plan.Spec{Title: "Check it"}) },
			constant(fields{"step": 1}), []input{constant(fields{}), constant(fields{"step": 2}),
				constant(fields{"step": 1, "plan": "another"})},
			func(v review.View) bool {
				return step(v).Ask.Kind == review.AskKind(plan.AskUnknown) && step(v).Ask.Text == "stopped by alice"
			}},
		"keep_step": {func(d *workspaces) *workspaces {
			d.builtAndShipped().do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Pending})
			return d
		}, constant(fields{"step": 2}), []input{constant(fields{}), constant(fields{"step": 1}), constant(fields{"step": 9}),
			constant(fields{"step": 2, "plan": "another"})},
			func(v review.View) bool { return v.Plan.Steps[1].Status == plan.Done && !v.Plan.Steps[1].Stale }},
		"skip_step": {plainly, func(v review.View) fields { return fields{"plan": v.Plan.ID, "step": 1, "reason": "not needed"} },
			[]input{constant(fields{"step": 1}), constant(fields{"step": 1, "reason": " "}),
				constant(fields{"step": 1, "reason": "x", "plan": "another"})},
			func(v review.View) bool { return step(v).Status == plan.Skipped }},
		"restore_edit": {undone, undoneEdit, []input{edit(fields{"key": "other"}), constant(fields{"digest": "x"})},
			func(v review.View) bool {
				return len(v.Draft.Undone) == 0 && v.Draft.Plan.Steps[0].Title == "Shift them"
			}},
		"accept_edit": {undone, undoneEdit, []input{edit(fields{"key": "other"}), constant(fields{"digest": "x"})},
			func(v review.View) bool {
				return len(v.Draft.Undone) == 0 && v.Draft.Plan.Steps[0].Title == "Move them"
			}},
		"start_run": {func(d *workspaces) *workspaces { return d.active(tool("Build it")) }, constant(fields{}),
			[]input{constant(fields{"now": true}), constant(fields{"plan": "another"})},
			func(v review.View) bool { return v.Run.State == review.RunGoesOn }},
		"pause_run": {asking, constant(nil), []input{constant(fields{"x": 1})},
			func(v review.View) bool { return v.Run.State == review.RunPaused }},
		"end_run": {asking, constant(nil), []input{constant(fields{"x": 1})},
			func(v review.View) bool { return v.Run.State == review.RunOver && v.Run.Reason == plan.StopCancelled }},
		"ask_replan": {asking, constant(fields{"text": "another way"}), []input{constant(fields{"text": ""})},
			func(v review.View) bool {
				return v.Run.State == review.RunPaused && v.Comments[0].Text == "another way"
			}},
		"clear_signal": {func(d *workspaces) *workspaces {
			d.do(ann().Actor, plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "red"})
			return d
		},
			constant(fields{"id": "ci"}), []input{constant(fields{"id": "other"}), constant(fields{})},
			func(v review.View) bool { return len(v.Signals) == 0 }},
		"enter_mode": {plainly, constant(fields{"task": "the next release"}), []input{
			constant(fields{"task": strings.Repeat("x", 3000)})}, func(v review.View) bool { return v.Phase == plan.PhaseGathering }},
		"cancel_mode": {waiting, constant(nil), []input{constant(fields{"x": 1})},
			func(v review.View) bool { return v.Phase == plan.PhaseInactive && v.Draft == nil }},
	}
}

// TestEachActIsDoneOnce: each act has its effect; bad input and callers without permission are refused, and a refusal
// changes nothing.
func TestEachActIsDoneOnce(t *testing.T) {
	all := tries()
	for _, name := range review.ActNames() {
		t.Run(name, func(t *testing.T) {
			try, known := all[name]
			if !known {
				t.Fatal("nobody tries it")
			}
			d := try.in(newDesk(t))
			before := look(t, d.Workspace)
			good := try.with(before)
			agent := page()
			agent.Actor = ann().Actor
			var mayNot *review.ForbiddenError
			if _, err := act(t.Context(), d.Workspace, agent, name, good); !errors.As(err, &mayNot) {
				t.Errorf("an agent: %v", err)
			}
			stranger := page()
			stranger.Can.Code = true
			if _, err := act(t.Context(), d.Workspace, stranger, name, good); !errors.As(err, &mayNot) || !mayNot.Code {
				t.Errorf("without the code: %v", err)
			}
			for _, bad := range try.bad {
				given := bad(before)
				var refused *plan.ValidationError
				if done, err := act(t.Context(), d.Workspace, page(), name, given); !errors.As(err, &refused) {
					t.Errorf("%v was taken: %+v, %v", given, done, err)
				}
			}
			if now := look(t, d.Workspace); now.Revision != before.Revision {
				t.Errorf("what was refused was recorded: %+v", now)
			}
			person := page()
			person.Progress = func(int, int, string) { d.interrupt() } // the engine's answer to a stop
			done, err := act(t.Context(), d.Workspace, person, name, good)
			if err != nil {
				t.Fatal(err)
			}
			v := look(t, d.Workspace)
			if done.Revision != v.Revision || v.Revision == before.Revision || done.Message == "" {
				t.Errorf("%+v, now %d", done, v.Revision)
			}
			if !try.then(v) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestActsAreOfThePlanThatIsShown: an act on the current plan is accepted immediately, whatever the caller saw before;
// an act on a former plan is refused with a reason.
func TestActsAreOfThePlanThatIsShown(t *testing.T) {
	d := newDesk(t).active(tool("Build it"))
	was := look(t, d.Workspace).Plan.ID
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "start_run", fields{"plan": was}))
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "end_run", nil))
	d.active(tool("Ship it"))
	for name, input := range map[string]fields{"start_run": {}, "skip_step": {"step": 1, "reason": "x"}, "ask_replan": {"text": "x"},
		"move_step": {"step": 1, "after": 0}, "retry_step": {"step": 1}} {
		input["plan"] = was
		if _, err := act(t.Context(), d.Workspace, page(), name, input); err == nil || !strings.Contains(err.Error(), "plan") ||
			name != "ask_replan" && !strings.Contains(err.Error(), `was replaced by "Release it"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.active(tool("Ship it, too"))
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "start_run", fields{"plan": look(t, d.Workspace).Plan.ID}))
}

// TestRunListsItsAsks: the run lists everything that it waits for, and how to answer where a step's buttons do not show it.
func TestRunListsItsAsks(t *testing.T) {
	d := newDesk(t).running(tool("Delete the folder"), plan.Spec{Title: "Check it"})
	d.do(ann().Actor, plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "red"})
	asks := look(t, d.Workspace).Run.Asks
	if len(asks) < 2 || asks[0].Step != "" || asks[0].Why != "red" || asks[0].How == "" {
		t.Fatalf("%+v", asks)
	}
	if asks[1].Step != "S001" || asks[1].How != "" || !strings.Contains(asks[1].What, "asks for a person's approval") {
		t.Errorf("%+v", asks)
	}
}

// builtAndShipped runs two steps, the second with the value of the first; a third is open.
func (d *workspaces) builtAndShipped() *workspaces {
	d.active(tool("Build it"), plan.Spec{Title: "Ship it", Tool: "bash_execute",
		Args: json.RawMessage(`{"command":"$S001"}`)}, plan.Spec{Title: "Announce it"}).do(engine(), plan.BeginRun{})
	for id := plan.StepID(1); id <= 2; id++ {
		d.do(engine(), plan.Schedule{MaxStarts: 4})
		root := must[plan.State](d.t)(d.Service.State(d.t.Context())).Plan.Root()
		d.do(engine(), plan.Schedule{Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: root, Step: id, Attempt: 1},
			Result: plan.Result{OK: true, Value: json.RawMessage(`"x"`)}}}})
	}
	return d
}

// TestStepIsDoneAgainWithItsDependents: a step whose value another one used is redone with that one, which is stale if it is not.
func TestStepIsDoneAgainWithItsDependents(t *testing.T) {
	d := newDesk(t).builtAndShipped()
	if done, err := act(t.Context(), d.Workspace, page(), "retry_step", fields{"step": 1}); err == nil {
		t.Errorf("its dependent keeps the old value: %+v", done)
	}
	d.do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Pending})
	if steps := look(t, d.Workspace).Plan.Steps; !steps[1].Stale {
		t.Fatalf("%+v", steps[1])
	}
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "retry_step", fields{"step": 2, "with_dependents": true}))
	if steps := look(t, d.Workspace).Plan.Steps; steps[1].Stale || steps[1].Status != plan.Pending {
		t.Errorf("%+v", steps[1])
	}
}
