package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// commented returns the latest comment.
func (w *workspace) commented() plan.Comment { return w.state.Comments[len(w.state.Comments)-1] }

// TestCommentOn comments on plans and drafts, by number and by name.
func TestCommentOn(t *testing.T) {
	w := newWorkspace(t)
	wantRefusal(t, w.refused(person, plan.AddComment{Text: "x", Step: 1}), plan.NotFound, "", "no plan exists yet")
	w.do(person, plan.AddComment{Text: "keep it small"})
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{titled("Build"), titled("Test")}})
	current := w.state.Plan.ID
	step := func(p *plan.Plan, id plan.StepID) plan.About {
		s, _ := p.Steps.Get(id)
		return plan.About{PlanID: p.ID, Step: id, Title: s.Title, StepDigest: plan.StepDigest(s)}
	}
	want := func(about plan.About) {
		t.Helper()
		c := w.commented()
		if c.ID != fmt.Sprint("C", w.state.CommentCount) || c.About != about || c.By != person.Name {
			t.Errorf("%+v is about %+v, want %+v", c, c.About, about)
		}
	}
	want(plan.About{}) // made before there was a plan
	on := func(id plan.StepID, of string) {
		t.Helper()
		w.do(person, plan.AddComment{Text: "x", Step: id, PlanID: of})
	}
	on(0, "")
	want(plan.About{PlanID: current})
	on(2, "")
	want(step(w.state.Plan, 2))
	wantRefusal(t, w.refused(person, plan.AddComment{Text: "x", Step: 3}), plan.NotFound, "/step_id", "step S003 does not exist")

	w.do(ann, plan.EnterMode{Task: "more"})
	on(0, "") // the plan yet to come
	want(plan.About{})
	on(0, current)
	want(plan.About{PlanID: current})
	w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "More", Summary: "in one"}, Steps: []plan.NewStep{titled("Ask")}})
	on(1, "")
	want(step(w.state.Draft, 1))
	on(1, current)
	want(step(w.state.Plan, 1))
	on(2, "") // which the draft does not have
	want(step(w.state.Plan, 2))
	first := w.state.Draft.ID
	w.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Most", Summary: "in one"}, Steps: []plan.NewStep{titled("Ask")}})
	wantRefusal(t, w.refused(person, plan.AddComment{Text: "x", PlanID: first}), plan.Conflict, "", "neither current nor waiting",
		"check the current plan")
	w.do(person, decided(plan.Approved, w.answer("")))
	if c := w.state.Comments[5]; c.PlanID != first || c.Step != 1 || c.Title != "Ask" || c.Revision == 0 {
		t.Errorf("a comment on the draft is %+v when another is approved", c)
	}
}

// TestWhoComments: only a person may comment or mark a comment as met; any actor may reply.
func TestWhoComments(t *testing.T) {
	for phase, w := range restricted(t) {
		w.do(client, plan.AddComment{Text: "why so many?", IsQuestion: true})
		if c := w.commented(); c.Way != plan.WayClient || !c.IsOpenQuestion() {
			t.Errorf("%s: %+v", phase, c)
		}
		for _, actor := range []plan.Actor{ann, script, plan.NewActor(plan.ChannelCI, "ci"), plan.NewActor(plan.ChannelEngine, "e"),
			plan.NewActor(plan.ChannelAgentShell, "ann")} {
			w.refused(actor, plan.AddComment{Text: "the user agreed"})
			w.refused(actor, plan.ResolveComment{ID: "C1", IsResolved: true})
		}
		wantRefusal(t, w.refused(ann, plan.ReplyToComment{Comment: "C2", Text: "x"}), plan.NotFound, "/reply_to",
			`comment "C2" does not exist`, "C1")
		w.do(ann, plan.ReplyToComment{Comment: " c1", Text: "they are small"})
		w.unchanged(ann, plan.ReplyToComment{Comment: "C1", Text: "they are small"})
		w.wantPhase(phase)
		if c := w.commented(); c.IsOpenQuestion() || c.Reply.By != "ann" || c.Reply.Revision != w.state.Revision {
			t.Errorf("%s: %+v", phase, c)
		}
		w.do(bob, plan.ReplyToComment{Comment: "C1", Text: "they are two"})
		w.do(person, plan.ResolveComment{ID: "c1", IsResolved: true})
		w.unchanged(person, plan.ResolveComment{ID: "C1", IsResolved: true})
		if c := w.commented(); !c.IsResolved || c.Reply.Text != "they are two" {
			t.Errorf("%s: %+v", phase, c)
		}
		w.do(client, plan.ResolveComment{ID: "C1"})
		if w.commented().IsResolved {
			t.Errorf("%s: is not open again", phase)
		}
	}
}

// TestCommentsAreBounded makes more comments than are kept: an open question outlasts the others.
func TestCommentsAreBounded(t *testing.T) {
	w := newWorkspace(t)
	w.do(person, plan.AddComment{Text: "why?", IsQuestion: true})
	for range 300 {
		w.do(person, plan.AddComment{Text: "x"})
	}
	if n := len(w.state.Comments); n != 200 || w.state.Comments[0].ID != "C1" || w.commented().ID != "C301" {
		t.Errorf("%d comments are kept, from %s to %s", n, w.state.Comments[0].ID, w.commented().ID)
	}
}

// TestCommentsOfTheFirstLogs have no id: they cannot be replied to or met, and fold as before.
func TestCommentsOfTheFirstLogs(t *testing.T) {
	var s plan.State
	for i := range 60 {
		s = plan.Fold(s, plan.Record{Seq: plan.Revision(i + 1), Events: []plan.Event{plan.CommentAdded{Text: fmt.Sprint(i), By: "bob"}}})
	}
	if n := len(s.Comments); n != 50 || s.Comments[0].Text != "10" || s.CommentCount != 0 {
		t.Fatalf("%d comments are kept from %q, %d counted", n, s.Comments[0].Text, s.CommentCount)
	}
	w := newWorkspace(t)
	w.state = s
	w.refused(ann, plan.ReplyToComment{Text: "x"})
	w.do(person, plan.AddComment{Text: strings.Repeat("x", 9)})
	if n := len(w.state.Comments); n != 51 || w.commented().ID != "C1" {
		t.Errorf("%d comments are kept, the last is %s", n, w.commented().ID)
	}
}
