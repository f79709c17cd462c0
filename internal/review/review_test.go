package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ann() verbs.Caller { return verbs.Caller{Actor: plan.NewActor(plan.ChannelMCP, "ann")} }

// page returns a person on the page with all permissions.
func page() review.Caller {
	return review.Caller{Caller: verbs.Caller{Actor: plan.NewActor(plan.ChannelPage, "alice"), Face: review.Face{}},
		Can: review.Can{Decide: true}}
}

func open(t *testing.T, o verbs.Options) *review.Workspace {
	o.Gates = func(string) gates.Level { return gates.Off }
	s := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return &review.Workspace{Place: review.Place{ID: "w1", Name: "shop"}, Service: verbs.New(s, o)}
}

// submit submits a plan with some titles.
func submit(t *testing.T, workspace *review.Workspace, titles ...string) {
	t.Helper()
	in := verbs.SubmitPlan{Summary: "Move the sessions."}
	for _, title := range titles {
		in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title}})
	}
	must[verbs.SubmitPlanReply](t)(workspace.Service.SubmitPlan(t.Context(), ann(), in))
}

func look(t *testing.T, workspace *review.Workspace) review.View {
	t.Helper()
	view := must[review.View](t)(review.ReadView(t.Context(), workspace))
	if data := must[[]byte](t)(json.Marshal(view)); bytes.Contains(data, []byte(`"0001-01-01T`)) {
		t.Errorf("what never was has a time: %s", data)
	}
	return view
}

// act carries out an act on the present log, with its input as pairs.
func act(ctx context.Context, workspace *review.Workspace, c review.Caller, name string, input map[string]any) (review.Done, error) {
	data, err := json.Marshal(input)
	if err != nil {
		return review.Done{}, err
	}
	if c.Log, err = workspace.Service.LogID(ctx); err != nil {
		return review.Done{}, err
	}
	return review.Act(ctx, workspace, c, name, data)
}

// TestActOnAnotherLog decides about a plan, as shown, on the log of another one that is the same and has the same request.
func TestActOnAnotherLog(t *testing.T) {
	shown, other := open(t, verbs.Options{}), open(t, verbs.Options{})
	submit(t, shown, "Move them")
	submit(t, other, "Move them")
	v, before := look(t, shown), look(t, other)
	if v.Draft.Request != before.Draft.Request || v.Draft.Plan.Digest != before.Draft.Plan.Digest || v.Log == before.Log || v.Log == "" {
		t.Fatalf("%s, %s", v.Log, before.Log)
	}
	caller := page()
	caller.Log = v.Log
	input := must[[]byte](t)(json.Marshal(map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest}))
	for _, name := range []string{"approve", "return", "reject"} {
		done, err := review.Act(t.Context(), other, caller, name, input)
		if refused, _ := errors.AsType[*plan.ValidationError](err); refused == nil || refused.Problem != "this page shows another plan" {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	if after := look(t, other); after.Revision != before.Revision {
		t.Errorf("revision %d", after.Revision)
	}
	must[review.Done](t)(review.Act(t.Context(), shown, caller, "approve", input))
}

// TestEachPlanHasItsFacts: beside a draft the current plan keeps its own facts, and what a plan asks is shown once in each of its states.
func TestEachPlanHasItsFacts(t *testing.T) {
	workspace := open(t, verbs.Options{})
	must[verbs.StartReply](t)(workspace.Service.Start(t.Context(), ann(), verbs.Start{Goal: "Move the sessions",
		Facts: verbs.Facts{Constraints: []string{"no downtime"}}}))
	title := "Move them"
	must[verbs.SubmitPlanReply](t)(workspace.Service.SubmitPlan(t.Context(), ann(), verbs.SubmitPlan{Summary: "Move the sessions.",
		Facts: verbs.Facts{Constraints: []string{"one night"}}, Questions: []string{"Which night?"},
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: &title}}}}))
	constraints := func(facts []verbs.PageFact) string {
		i := slices.IndexFunc(facts, func(f verbs.PageFact) bool { return f.Label == "Constraints" })
		return strings.Join(facts[i].Texts, ", ")
	}
	asks := func(p review.Plan) bool {
		return slices.ContainsFunc(p.Other, func(o verbs.LabelledText) bool { return o.Text == "Which night?" })
	}
	v := look(t, workspace)
	if old, next := constraints(v.Situation), constraints(v.Draft.Situation); old != "no downtime" || next != "one night" {
		t.Errorf("%q and %q", old, next)
	}
	if len(v.Draft.Unanswered) != 1 || asks(v.Draft.Plan) {
		t.Errorf("waiting: %+v, %+v", v.Draft.Unanswered, v.Draft.Plan.Other)
	}
	must[review.Done](t)(act(t.Context(), workspace, page(), "return",
		map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest, "comment": "smaller steps"}))
	if v = look(t, workspace); !asks(v.Draft.Plan) {
		t.Errorf("returned: %+v", v.Draft.Plan.Other)
	}
}

func TestDraftIsDecided(t *testing.T) {
	workspace := open(t, verbs.Options{})
	submit(t, workspace, "Move them", "Test them")
	v := look(t, workspace)
	if len(v.Waiting) != 1 || v.Waiting[0].Kind != review.PlanWaits || v.Draft == nil || len(v.Draft.Plan.Steps) != 2 {
		t.Fatalf("%+v", v)
	}
	input := map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest}
	for what, c := range map[string]review.Caller{
		"an agent":         {Caller: ann(), Can: review.Can{Decide: true}},
		"who only looks":   {Caller: page().Caller, Can: review.Can{Why: "nobody sits here"}},
		"without the code": {Caller: page().Caller, Can: review.Can{Decide: true, Code: true}},
	} {
		var mayNot *review.ForbiddenError
		if _, err := act(t.Context(), workspace, c, "approve", input); !errors.As(err, &mayNot) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := act(t.Context(), workspace, page(), "approve", map[string]any{"digest": "other", "request": v.Draft.Request}); err == nil {
		t.Error("what was not shown was approved")
	}
	if after := look(t, workspace); after.Revision != v.Revision {
		t.Errorf("a refusal changed something: %+v", after)
	}
	done := must[review.Done](t)(act(t.Context(), workspace, page(), "approve", input))
	if done.Revision != v.Revision+1 || !strings.Contains(done.Message, "approved by alice") {
		t.Errorf("%+v", done)
	}
	if v = look(t, workspace); v.Draft != nil || v.Plan == nil || v.Plan.Approval.Way != plan.WayPerson || len(v.Waiting) != 0 {
		t.Errorf("%+v", v)
	}
	if _, err := act(t.Context(), workspace, page(), "approve", input); err == nil {
		t.Error("it was approved twice")
	}
}
