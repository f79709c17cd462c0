package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// threeWait returns a workspace with a waiting plan of three steps, each depending on the one before.
func threeWait(t failer) *workspace {
	w := gatheringWithin(t, halfAnHour())
	a := submission("Look", "Build", "Check")
	a.Steps[1].DependsOn, a.Steps[2].DependsOn = []plan.StepID{1}, []plan.StepID{2}
	w.do(ann, a)
	return w
}

// edit returns a change of the draft as it waits now.
func (w *workspace) edit(change plan.Action) plan.EditDraft {
	return plan.EditDraft{Digest: plan.Digest(w.state.Draft), Change: change}
}

func (w *workspace) adding(after *plan.StepID, titles ...string) plan.EditDraft {
	var steps []plan.NewStep
	for _, title := range titles {
		steps = append(steps, titled(title))
	}
	e := w.edit(plan.AddSteps{Steps: steps})
	e.After = after
	return e
}

func (w *workspace) removing(id plan.StepID) plan.EditDraft {
	e := w.edit(nil)
	e.Remove = id
	return e
}

// lines lists the steps of a plan with their dependencies.
func lines(p *plan.Plan) string {
	var all []string
	for step := range p.Steps.All() {
		text := fmt.Sprintf("%d %s", int(step.ID), step.Title)
		if len(step.DependsOn) > 0 {
			text += " after " + plan.ListIDs(step.DependsOn)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestEditDraft(t *testing.T) {
	retitle := func(id plan.StepID, title string) plan.UpdateStep {
		return plan.UpdateStep{Step: id, Patch: plan.Patch{Title: &title}}
	}
	type change = func(*workspace) plan.EditDraft
	for name, c := range map[string]struct {
		changes []change
		want    string
		edits   string
	}{
		"a title": {[]change{func(w *workspace) plan.EditDraft { return w.edit(retitle(2, "Build it")) }},
			"1 Look; 2 Build it after S001; 3 Check after S002", "S002 changed"},
		"a step behind another": {[]change{func(w *workspace) plan.EditDraft { return w.adding(new(plan.StepID(1)), "a", "b") }},
			"1 Look; 4 a; 5 b; 2 Build after S001; 3 Check after S002", "S004 and S005 added"},
		"a step before all": {[]change{func(w *workspace) plan.EditDraft { return w.adding(new(plan.StepID(0)), "a") }},
			"4 a; 1 Look; 2 Build after S001; 3 Check after S002", "S004 added"},
		"a step that is removed": {[]change{func(w *workspace) plan.EditDraft { return w.removing(2) }},
			"1 Look; 3 Check after S001", "S003 changed, S002 removed"},
		"what came and went, and the next has another id": {[]change{
			func(w *workspace) plan.EditDraft { return w.adding(nil, "a") },
			func(w *workspace) plan.EditDraft { return w.removing(4) },
			func(w *workspace) plan.EditDraft { return w.adding(nil, "b") },
			func(w *workspace) plan.EditDraft { return w.edit(plan.MoveStep{Step: 5, After: 1}) },
		}, "1 Look; 5 b; 2 Build after S001; 3 Check after S002", "S005 added"},
	} {
		for way, by := range deciders() {
			w := threeWait(t)
			request := *w.state.ModeNow().Request
			for _, change := range c.changes {
				w.do(by, change(w))
			}
			now := *w.state.ModeNow().Request
			if got := lines(w.state.Draft); got != c.want || w.state.Draft.Edits.String() != c.edits {
				t.Errorf("%s: %s (%s), want %s (%s)", name, got, w.state.Draft.Edits, c.want, c.edits)
			}
			if now.ID != request.ID || now.Digest != plan.Digest(w.state.Draft) || w.state.PhaseNow() != plan.PhaseSubmitted {
				t.Errorf("%s: the request is %+v in %s", name, now, w.state.PhaseNow())
			}
			old := w.answer("")
			old.Digest = request.Digest
			told := way.Decider(by.Name) + " changed it, the last time 1 s ago"
			if err := w.refused(by, decided(plan.Approved, old)); !strings.Contains(err.Problem, told) {
				t.Errorf("%s: %v", name, err)
			}
			w.do(by, decided(plan.Approved, w.answer("")))
			p := w.state.Plan
			if got := p.Approval.Edits.String(); got != c.edits || w.state.ModeNow().Decision.Edits.String() != c.edits || p.Edits != nil ||
				plan.Digest(p) != p.Approval.Digest || lines(p) != c.want {
				t.Errorf("%s: approved with %q: %s", name, got, lines(p))
			}
		}
	}
}

func TestEditDraftIsRefused(t *testing.T) {
	w := threeWait(t)
	retitle := plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: text("Other")}}
	for _, actor := range append(pretenders(), ann, ci, itself) {
		w.refused(actor, w.edit(retitle))
	}
	stale := w.edit(retitle)
	w.do(person, w.edit(plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: text("Look well")}}))
	w.do(person, w.edit(plan.UpdateStep{Step: 3, Patch: plan.Patch{Tool: text("view"), Args: new(json.RawMessage(`{"path":"$S002"}`))}}))
	for name, c := range map[string]struct {
		edit plan.EditDraft
		want string
	}{
		"what was shown is another": {stale, "has changed since it was shown: petra changed it"},
		"without what was shown":    {plan.EditDraft{Change: retitle}, "has changed since it was shown"},
		"no change":                 {plan.EditDraft{Digest: "x"}, "is missing"},
		"a change that is none":     {w.edit(plan.Clear{}), "is not possible in a draft"},
		"no such step":              {w.removing(9), "step S009 does not exist"},
		"behind no such step":       {w.adding(new(plan.StepID(9)), "a"), "step S009 does not exist"},
		"before what it waits for":  {w.edit(plan.MoveStep{Step: 3}), "S003 needs S002 and has to come later"},
		"behind what waits for it":  {w.edit(plan.MoveStep{Step: 1, After: 3}), "S001 is needed by S002 and has to come earlier"},
		"what another makes use of": {w.removing(2), "its result is used by S003"},
		"a circle": {w.edit(plan.UpdateStep{Step: 1, Patch: plan.Patch{DependsOn: &[]plan.StepID{3}}}),
			"S001 -> S003 -> S002 -> S001"},
		"what does not exist is used": {w.edit(plan.UpdateStep{Step: 1, Patch: plan.Patch{Tool: text("view"),
			Args: new(json.RawMessage(`{"path":"$S009"}`))}}), "S009"},
	} {
		if err := w.refused(person, c.edit); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	w.unchanged(person, w.edit(plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: text("Build")}}))
	w.do(person, decided(plan.Returned, w.answer("split it")))
	if d := w.state.ModeNow().Decision; d.Edits.String() != "S001 and S003 changed" {
		t.Errorf("returned with %s", d.Edits)
	}
	if err := w.refused(person, w.edit(retitle)); !strings.Contains(err.Problem, "the next submission replaces") {
		t.Error(err)
	}
	w.do(person, decided(plan.Rejected, w.answer("")))
	if err := w.refused(person, plan.EditDraft{Digest: "x", Change: retitle}); !strings.Contains(err.Problem, "petra rejected it 1 s ago") {
		t.Error(err)
	}
	only := waitingWithin(t, plan.Limits{PersonOnly: true})
	only.refused(client, only.edit(retitle))
	only.do(person, only.removing(2))
	if err := only.refused(person, only.removing(1)); !strings.Contains(err.Problem, "the only step") {
		t.Error(err)
	}
}

// A waiting change of an approved plan can be edited as well. The approved plan stays as it is.
func TestEditDraftOfAChange(t *testing.T) {
	w := executing(t)
	w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("More"), titled("Even more", 3)}})
	base := w.state.ModeNow().Request.Base
	if err := w.refused(person, w.removing(2)); !strings.Contains(err.Fix, "mark it skipped instead") {
		t.Error(err)
	}
	w.do(person, w.removing(3))
	w.do(person, plan.MarkStep{Step: 1, Status: plan.Done})
	if err := w.refused(person, w.removing(1)); err.Kind != plan.Conflict {
		t.Error(err)
	}
	w.do(person, w.adding(new(plan.StepID(1)), "Between"))
	w.do(person, decided(plan.Approved, w.answer("")))
	if got := lines(w.state.Plan); got != "1 Look; 5 Between; 2 Do; 4 Even more" || base == "" {
		t.Errorf("%s (%s)", got, base)
	}
	if step, _ := w.state.Plan.Steps.Get(1); step.Status != plan.Done {
		t.Errorf("progress is lost: %+v", step)
	}
}

// An imported draft waits without a request, and an edited draft of a host's list no longer follows
// it.
func TestEditDraftThatNobodySubmitted(t *testing.T) {
	w := newWorkspace(t)
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Imported"}, Steps: []plan.NewStep{titled("a"), titled("b")}, Draft: true})
	before := w.state.Mode
	w.do(person, w.removing(1))
	if w.state.Mode != before || w.state.PhaseNow() != plan.PhaseInactive || lines(w.state.Draft) != "2 b" {
		t.Errorf("%+v %s", w.state.Mode, lines(w.state.Draft))
	}
	w = newWorkspace(t)
	list := plan.AdoptHostPlan{Outline: plan.Outline{Objective: "List"}, Steps: []plan.NewStep{titled("a"), titled("b")},
		Host: "claude", Session: "s"}
	w.do(ann, list)
	w.do(person, w.edit(plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: text("first")}}))
	list.Steps = append(list.Steps, titled("c"))
	w.refused(ann, list)
	w.do(person, decided(plan.Rejected, w.answer("")))
	w.refused(ann, list) // that session's list was rejected
}

// The difference to the submission can be read from the log.
func TestEditsTellWhereTheDraftWas(t *testing.T) {
	w := threeWait(t)
	submitted := lines(w.state.Draft)
	w.do(person, w.removing(2))
	w.do(plan.NewActor(plan.ChannelPage, "quinn"), w.adding(nil, "a"))
	edits := w.state.Draft.Edits
	if got := lines(foldAll(w.log[:edits.After]).Draft); got != submitted {
		t.Errorf("%s, want %s", got, submitted)
	}
	if !slices.Equal(edits.By, []string{"petra", "quinn"}) || !edits.At.Equal(w.now.Add(-time.Second)) {
		t.Errorf("%+v", edits)
	}
}

// Whatever a person changes: ids are never reused, the order is kept, a refusal changes nothing,
// the request names the waiting draft, and the log folds to the same state.
func TestAnyEditsOfADraft(t *testing.T) {
	rapidtest.Check(t, func(r *rapid.T) {
		w := threeWait(r)
		if rapid.Bool().Draw(r, "a change of a plan") {
			w.do(person, decided(plan.Approved, w.answer("")))
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("More", 2)}})
		}
		used := map[plan.StepID]bool{}
		for step := range w.state.Draft.Steps.All() {
			used[step.ID] = true
		}
		anyStep := func() plan.StepID {
			return plan.StepID(rapid.IntRange(0, int(w.state.Draft.Steps.Highest())+1).Draw(r, "step"))
		}
		for range rapid.IntRange(1, 12).Draw(r, "edits") {
			before, now := written(r, w.state), w.state.Draft
			var e plan.EditDraft
			switch rapid.IntRange(0, 4).Draw(r, "kind") {
			case 0:
				e = w.removing(anyStep())
			case 1:
				e = w.adding(new(anyStep()), "new")
			case 2:
				e = w.edit(plan.MoveStep{Step: anyStep(), After: anyStep()})
			case 3:
				e = w.edit(plan.UpdateStep{Step: anyStep(), Patch: plan.Patch{DependsOn: &[]plan.StepID{anyStep()}}})
			case 4:
				e = w.edit(plan.UpdateStep{Step: anyStep(), Patch: plan.Patch{Details: text("x")}})
			}
			events, err := w.try(person, e)
			if err != nil || len(events) == 0 {
				if written(r, w.state) != before {
					r.Fatalf("%+v changed something: %v", e, err)
				}
				if move, is := e.Change.(plan.MoveStep); is && err != nil {
					wantOutOfPlace(r, now.Steps, move)
				}
				continue
			}
			draft := w.state.Draft
			checkCounts(r, draft.Steps)
			for step := range draft.Steps.All() {
				if now.Steps.Position(step.ID) < 0 && used[step.ID] {
					r.Fatalf("%s is used again", step.ID)
				}
				used[step.ID] = true
				first, last := positionRange(draft.Steps, step.ID)
				if at := draft.Steps.Position(step.ID); at < first || at > last {
					r.Fatalf("%s stands at %d, not within %d to %d", step.ID, at, first, last)
				}
			}
			if request := w.state.ModeNow().Request; request.Digest != plan.Digest(draft) {
				r.Fatalf("the request is about something else: %+v", request)
			}
		}
		if diff := cmp.Diff(written(r, w.state), written(r, foldAll(w.log))); diff != "" {
			r.Fatalf("the log folds to something else: %s", diff)
		}
		w.do(person, decided(plan.Approved, w.answer("")))
	})
}

// wantOutOfPlace checks that a refused move leads outside the range of Places.
func wantOutOfPlace(t failer, steps plan.Steps, a plan.MoveStep) {
	at, to := steps.Position(a.Step), steps.Position(a.After)
	if a.Step == a.After || at < 0 || a.After != 0 && to < 0 {
		return
	}
	if to < at {
		to++
	}
	if first, last := positionRange(steps, a.Step); to >= first && to <= last {
		t.Fatalf("%s may stand at %d to %d, and not at %d", a.Step, first, last, to)
	}
}

// Comments come with the decision, in one record, and replace its own text if that is blank.
func TestDecisionWithComments(t *testing.T) {
	on := func(steps ...plan.StepID) (comments []plan.AddComment) {
		for _, step := range steps {
			comments = append(comments, plan.AddComment{Text: "mind it", Step: step})
		}
		return comments
	}
	for name, c := range map[string]struct {
		comments []plan.AddComment
		words    string
		want     string // on a return
	}{
		"steps":         {on(3, 1, 3), "", "See the comments on S001 and S003."},
		"the whole":     {on(0), "", "See the comments."},
		"both":          {on(0, 2), "", "See the comments on S002."},
		"words besides": {on(2), "split it", "split it"},
	} {
		for way, by := range deciders() {
			for _, outcome := range []plan.Outcome{plan.Approved, plan.Rejected, plan.Returned} {
				w := threeWait(t)
				draft, a := w.state.Draft.ID, decided(outcome, w.answer(c.words))
				a.Comments = c.comments
				w.do(by, a)
				want := c.words
				if outcome == plan.Returned {
					want = c.want
				}
				w.wantDecision(outcome, by.Name, way, want)
				if len(w.state.Comments) != len(c.comments) {
					t.Fatalf("%s: %+v", name, w.state.Comments)
				}
				for i, said := range w.state.Comments {
					if said.ID != fmt.Sprintf("C%d", i+1) || said.PlanID != draft || said.Step != c.comments[i].Step ||
						said.Revision != w.state.Revision || said.Way != way {
						t.Errorf("%s: %+v", name, said)
					}
				}
			}
		}
	}
	w := threeWait(t)
	a := decided(plan.Returned, w.answer(""))
	w.refused(person, a)
	a.Comments = on(1, 9)
	if err := w.refused(person, a); err.Field != "/comments/1/step_id" {
		t.Error(err)
	}
	a.Comments = on(1)
	a.Comments[0].Text = " "
	if err := w.refused(person, a); err.Field != "/comments/0/comment" {
		t.Error(err)
	}
	only := waitingWithin(t, plan.Limits{PersonOnly: true})
	a = decided(plan.Returned, only.answer(""))
	a.Comments = on(1)
	only.refused(client, a)
}

// The second person to decide learns of the first.
func TestSecondDecision(t *testing.T) {
	second := plan.NewActor(plan.ChannelPage, "quinn")
	for outcome, want := range map[plan.Outcome]string{plan.Approved: "petra approved it 12 s ago",
		plan.Rejected: "petra rejected it 12 s ago", plan.Returned: "petra requested changes 12 s ago"} {
		for _, late := range []plan.Outcome{plan.Approved, plan.Rejected, plan.Returned} {
			w := threeWait(t)
			a := w.answer("words")
			w.do(person, decided(outcome, a))
			w.now = w.now.Add(11 * time.Second)
			if outcome == plan.Returned && late == plan.Rejected {
				a.Request = "R1"
			}
			if err := w.refused(second, decided(late, a)); err.Kind != plan.Conflict || !strings.Contains(err.Problem, want) {
				t.Errorf("%s after %s: %v", late, outcome, err)
			}
		}
	}
	w := threeWait(t)
	a := w.answer("")
	w.do(ann, submission("Another"))
	w.now = w.now.Add(20 * time.Minute)
	replaced := "ann submitted a newer plan 20 min ago"
	if err := w.refused(second, decided(plan.Approved, a)); !strings.Contains(err.Problem, replaced) {
		t.Error(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	if err := w.refused(second, decided(plan.Approved, a)); !strings.Contains(err.Problem, "planning mode expired 1 h ago") {
		t.Error(err)
	}
}

// TestWarningsStandWithTheRequest: the warnings of the gates are kept for the person who decides,
// and go when their step changes or is removed.
func TestWarningsStandWithTheRequest(t *testing.T) {
	w := gathering(t)
	w.do(ann, plan.Batch{Word: "submit_plan", Parts: []plan.Part{{Action: submission("Look", "Build", "Check")}},
		Findings: plan.GateFindings{Score: 90, Warnings: []plan.GateWarning{{Text: "It is long."}, {Step: 1, Text: "is vague."},
			{Step: 2, Text: "has no way back."}, {Step: 3, Text: "is large."}, {Step: 3, Text: "is vague."}}}})
	for _, c := range []struct {
		change plan.EditDraft
		want   string
	}{
		{want: "It is long. It is vague. It has no way back. It is large. It is vague."},
		{w.edit(plan.UpdateStep{Step: 2, Patch: plan.Patch{Details: new("Back: git revert")}}),
			"It is long. It is vague. It is large. It is vague."},
		{w.removing(1), "It is long. It is large. It is vague."},
		{w.edit(plan.UpdateStep{Step: 3, Patch: plan.Patch{Title: new("Check the login")}}), "It is long."},
	} {
		if c.change.Digest != "" {
			c.change.Digest = plan.Digest(w.state.Draft)
			w.do(person, c.change)
		}
		var shown []string
		for step := range plan.StepID(4) {
			for _, warning := range w.state.ModeNow().DraftFindings().WarningsOn(step) {
				shown = append(shown, warning.Text)
			}
		}
		if got := strings.Join(shown, " "); got != c.want {
			t.Errorf("after %+v: %s, want %s", c.change, got, c.want)
		}
	}
}

// positionRange returns the first and the last position of a step, counted from 0, between its
// dependencies and its dependents. Those out of order already are ignored.
func positionRange(steps plan.Steps, id plan.StepID) (first, last int) {
	at := steps.Position(id)
	if at < 0 {
		return 0, -1
	}
	last = steps.Len() - 1
	for _, dep := range steps.At(at).DependsOn {
		if place := steps.Position(dep); place >= 0 && place < at {
			first = max(first, place+1)
		}
	}
	for _, dependent := range steps.Dependents(id) {
		if place := steps.Position(dependent); place > at {
			last = min(last, place-1)
		}
	}
	return first, last
}
