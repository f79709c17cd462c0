package review_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// kinds returns the waiting items with their ids, in the order of the list.
func kinds(v review.View) string {
	var all []string
	for _, w := range v.Waiting {
		all = append(all, fmt.Sprint(w.Kind, " ", w.ID))
	}
	return strings.Join(all, ", ")
}

// TestWhatWaitsForAPerson: the agent's next action is not listed as waiting for a person.
func TestWhatWaitsForAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		in   func(*workspaces) *workspaces
		want string
		says string // the headline
	}{
		"nothing": {func(d *workspaces) *workspaces { return d }, "", "The workspace has no plan."},
		"a plan": {func(d *workspaces) *workspaces { return d.waiting() }, "plan R1",
			`A plan is submitted and waits for a person's decision: "Move the`},
		"work to do":   {func(d *workspaces) *workspaces { return d.active(plan.Spec{Title: "One"}) }, "", `Next is S001 "One".`},
		"work is done": {func(d *workspaces) *workspaces { return begun(d) }, "", `ann is working on S001 "One".`},
		"a returned plan": {func(d *workspaces) *workspaces {
			d.waiting()
			v := look(d.t, d.Workspace)
			must[review.Done](d.t)(act(d.t.Context(), d.Workspace, page(), "return", with(draftOf(v), fields{"comment": "smaller"})))
			return d
		}, "", "Planning mode is gathering"},
		"a question": {func(d *workspaces) *workspaces { begun(d).do(ann().Actor, plan.AskUser{Text: "Which?"}); return d }, "question Q1",
			`ann is working on`},
		"a blocker": {func(d *workspaces) *workspaces {
			begun(d).do(ann().Actor, plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "red", Step: 1})
			return d
		}, "blocker ci", "Waiting for signal 'ci' on task 1"},
		"a warning": {func(d *workspaces) *workspaces {
			begun(d).do(ann().Actor, plan.RaiseSignal{ID: "ci", Level: plan.Warning, Message: "slow"})
			return d
		}, "", "ann is working on"},
		"a step": {func(d *workspaces) *workspaces { return d.running(tool("Delete it"), plan.Spec{Title: "Two"}) }, "step S001",
			`S001 "Delete it" waits for your approval.`},
		"a pause": {func(d *workspaces) *workspaces { return d.running(plan.Spec{Title: "Ask", Pause: "Go?"}) },
			"step S001", `S001 "Ask" asks: Go?`},
		"a blocked step": {func(d *workspaces) *workspaces {
			d.active(plan.Spec{Title: "One"}).do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Blocked, Note: "no key"})
			return d
		}, "step S001", `S001 "One" is blocked`},
		"a question to the agent": {func(d *workspaces) *workspaces {
			d.waiting().do(page().Actor, plan.AddComment{Text: "Why?", IsQuestion: true})
			return d
		}, "plan R1", "A plan is submitted"},
		"a reply of the agent": {func(d *workspaces) *workspaces {
			d.active(plan.Spec{Title: "One"}).do(page().Actor, plan.AddComment{Text: "Why?", IsQuestion: true})
			d.do(ann().Actor, plan.ReplyToComment{Comment: "C1", Text: "It is faster."})
			return d
		}, "reply C1", "Next is"},
		"a run that stands still": {func(d *workspaces) *workspaces {
			d.active(plan.Spec{Title: "One"}, plan.Spec{Title: "Two"}).do(engine(), plan.BeginRun{})
			d.do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "exit 3"})
			d.do(engine(), plan.PauseRun{Reason: plan.StopDeadlocked})
			return d
		}, "step S001", "Next is"},
		"a step that waits for a skipped one": {func(d *workspaces) *workspaces {
			d.active(plan.Spec{Title: "One"}, plan.Spec{Title: "Two", DependsOn: []plan.StepID{1}}).do(engine(), plan.BeginRun{})
			must[review.Done](d.t)(act(d.t.Context(), d.Workspace, page(), "skip_step", fields{"step": 1, "reason": "not now"}))
			d.do(engine(), plan.PauseRun{Reason: plan.StopDeadlocked})
			return d
		}, "step S002", ""},
		"a run that may begin": {func(d *workspaces) *workspaces { return d.active(tool("Build it")) }, "", ""},
		"a reply that was read": {func(d *workspaces) *workspaces {
			d.active(plan.Spec{Title: "One"}).do(page().Actor, plan.AddComment{Text: "Why?", IsQuestion: true})
			d.do(ann().Actor, plan.ReplyToComment{Comment: "C1", Text: "It is faster."})
			must[review.Done](d.t)(act(d.t.Context(), d.Workspace, page(), "meet", fields{"id": "C1", "met": true}))
			return d
		}, "", "Next is"},
		"a later step": {func(d *workspaces) *workspaces {
			return d.active(plan.Spec{Title: "One"}, plan.Spec{Title: "Two", RequiresApproval: true, DependsOn: []plan.StepID{1}})
		}, "", "Next is"},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.in(newDesk(t))
			v := look(t, d.Workspace)
			if got := kinds(v); got != c.want || !strings.HasPrefix(v.Headline, c.says) {
				t.Errorf("%q waits, want %q: %s", got, c.want, v.Headline)
			}
			waiting := must[[]review.Waiting](t)(review.WaitingIn(t.Context(), d.Workspace))
			if !slices.EqualFunc(waiting, v.Waiting, func(a, b review.Waiting) bool { return a == b }) {
				t.Errorf("%+v is not %+v", waiting, v.Waiting)
			}
			for _, w := range waiting {
				if w.Workspace != "w1" || w.Name != "shop" || w.Title == "" || w.At.IsZero() {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

func begun(d *workspaces) *workspaces {
	d.active(plan.Spec{Title: "One"}).do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.InProgress})
	return d
}

func TestCriteriaHaveTheirEvidence(t *testing.T) {
	d := newDesk(t).active(plan.Spec{Title: "One", AcceptanceCriteria: []string{"no session is lost", "it is fast"}, Verify: "go test"})
	d.do(ann().Actor, plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Criterion: "no session is lost", Note: "counted them"},
		{Note: "looked around"}}})
	got := look(t, d.Workspace).Plan.Steps[0]
	if len(got.Criteria) != 2 || len(got.Criteria[0].Evidence) != 1 || got.Criteria[0].Evidence[0].Note != "counted them" ||
		got.Criteria[1].Evidence != nil || len(got.Evidence) != 1 || got.Verified {
		t.Errorf("%+v", got)
	}
}

// TestNextVersionIsShownWithTheDifference: steps are matched by title, and comments are shown next to them.
func TestNextVersionIsShownWithTheDifference(t *testing.T) {
	d := newDesk(t).waiting()
	v := look(t, d.Workspace)
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "return", with(draftOf(v), fields{"comment": "back up first",
		"comments": []fields{{"step": 1, "text": "slowly"}, {"step": 2, "text": "in CI, too"}}})))
	submit(t, d.Workspace, "Back up", "Move them", "Test them")
	v = look(t, d.Workspace)
	if v.Draft.Plan.Difference == nil || v.Draft.Returned == nil || v.Draft.Returned.By != "alice" || !v.Draft.Decidable {
		t.Fatalf("%+v", v.Draft)
	}
	var told []string
	for _, change := range v.Draft.Plan.Difference.Steps {
		told = append(told, fmt.Sprint(change.Change, " ", change.ID, " ", change.Was))
	}
	if c := v.Comments; len(c) != 2 || c[0].Step != 2 || c[0].Title != "Move them" || c[0].Met != verbs.CommentOpen || c[1].Step != 3 {
		t.Errorf("%+v", c)
	}
	if got := strings.Join(told, ", "); got != "added S001 S000, changed S002 S001, changed S003 S002" {
		t.Errorf("%s", got)
	}
}

// TestReplanIsShownWithTheDifference: a next version that exceeds the approval waits next to the plan in force.
func TestReplanIsShownWithTheDifference(t *testing.T) {
	d := newDesk(t).waiting()
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "approve", draftOf(look(t, d.Workspace))))
	d.do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.InProgress})
	d.do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Done})
	d.do(ann().Actor, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: "In two halves"}},
		{Action: plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: new("Test one half")}}}}})
	v := look(t, d.Workspace)
	if v.Draft == nil || v.Draft.Plan.Version != 2 || v.Draft.Plan.Difference == nil || v.Draft.Plan.Difference.From.Version != 1 {
		t.Fatalf("%+v", v.Draft)
	}
	if c := v.Draft.Plan.Difference.Steps; len(c) != 1 || c[0].ID != 2 || c[0].Change != "changed" {
		t.Errorf("%+v", c)
	}
	state, former, err := d.Workspace.Service.Draft(t.Context())
	text := d.Workspace.Service.Review(t.Context(), state, former, nil)
	if err != nil || !strings.Contains(text, "Changes since version 1:") {
		t.Errorf("%s %v", text, err)
	}
}

// TestFormerPlansAreReadAsTheyStood: with the comments of that time, and their own part of the log; the plan in force
// shows its differences from the approved version.
func TestFormerPlansAreReadAsTheyStood(t *testing.T) {
	d := newDesk(t).active(plan.Spec{Title: "Before"}).waiting()
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "approve", draftOf(look(t, d.Workspace))))
	if p := look(t, d.Workspace).Plan; p.Difference != nil {
		t.Errorf("a first version differs from %+v", p.Difference.From)
	}
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "comment", fields{"step": 1, "text": "mind the sessions"}))
	d.do(ann().Actor, plan.MarkStep{Step: 1, Status: plan.Blocked, Note: "no key"})
	for _, changes := range []string{"In two halves", "In three"} {
		d.do(ann().Actor, plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: changes}},
			{Action: plan.UpdateStep{Step: 1, Patch: plan.Patch{ContextHints: &[]string{changes}}}}}})
	}
	v := look(t, d.Workspace)
	if v.Plan.Version != 3 || v.Plan.Difference == nil || v.Plan.Difference.From.Version != 1 || len(v.Plan.Difference.Steps) != 1 {
		t.Fatalf("%+v", v.Plan)
	}
	var became []string
	for _, past := range v.Plans {
		became = append(became, past.Became)
	}
	if got := strings.Join(became, ", "); got != "replaced by version 3, replaced by version 2, replaced" {
		t.Fatal(got)
	}
	f := must[review.Former](t)(review.ReadFormer(t.Context(), d.Workspace, v.Plans[1].ID))
	if f.Plan.Version != 1 || f.Plan.Steps[0].Status != plan.Blocked || f.Plan.Steps[0].Ask != nil || f.Plan.Difference != nil ||
		f.Plan.Approval == nil || len(f.Comments) != 1 || f.Comments[0].Step != 1 {
		t.Errorf("%+v", f)
	}
	if f = must[review.Former](t)(review.ReadFormer(t.Context(), d.Workspace, v.Plans[0].ID)); f.Plan.Difference.From.Version != 1 {
		t.Errorf("%+v", f.Plan.Difference)
	}
	log := must[review.Log](t)(review.ReadLog(t.Context(), d.Workspace, v.Plans[1].ID, 0, 100))
	if first, last := log.Lines[len(log.Lines)-1], log.Lines[0]; log.More || !strings.Contains(first.Text, "submitted") ||
		!strings.Contains(last.Text, "In two halves") {
		t.Errorf("from %q to %q", first.Text, last.Text)
	}
	for _, id := range []string{"", "none", v.Plan.ID} {
		_, err := review.ReadFormer(t.Context(), d.Workspace, id)
		if err == nil || !strings.Contains(err.Error(), "unknown earlier plan") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestCommentIsShownWhereverItIsMade: before there is a plan, next to one, and during planning of another.
func TestCommentIsShownWhereverItIsMade(t *testing.T) {
	d := newDesk(t)
	say := func(text string, want ...string) {
		t.Helper()
		must[review.Done](t)(act(t.Context(), d.Workspace, page(), "comment", fields{"text": text}))
		var got []string
		for _, c := range look(t, d.Workspace).Comments {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	say("before", "before")
	d.active(plan.Spec{Title: "One"})
	say("beside", "before", "beside")
	d.do(page().Actor, plan.EnterMode{Task: "the next"})
	say("for the next", "before", "beside", "for the next")
	d.waiting()
	say("on the draft", "for the next", "on the draft")
}

// crew is an engine at work.
type crew struct{}

func (crew) Lives() bool                      { return true }
func (crew) SettleLost(context.Context) error { return nil }
func (crew) Running() []verbs.RunningStep {
	return []verbs.RunningStep{{Step: 1, Percent: 40, What: "compiling", Log: "ok 1\nok 2\n"}, {Step: 9}}
}

func TestRunIsShownWithItsSteps(t *testing.T) {
	d := newDesk(t)
	d.Service = verbs.New(d.session, verbs.Options{Engines: crew{}, Now: time.Now})
	d.running(tool("Build it"), plan.Spec{Title: "Two"})
	v := look(t, d.Workspace)
	if r := v.Run; r == nil || r.State != review.RunGoesOn || len(r.Steps) != 1 || r.Steps[0].Tail != "ok 1\nok 2\n" || !r.CanHere {
		t.Errorf("%+v", r)
	}
	if v.Plan.Progress.Counts["in_progress"] != 1 || v.Plan.Progress.Of != 2 {
		t.Errorf("%+v", v.Plan.Progress)
	}
}

// TestOutdatedRevision: a draft shows that it is outdated before a person presses Approve.
func TestOutdatedRevision(t *testing.T) {
	d := newDesk(t).waiting()
	must[review.Done](t)(act(t.Context(), d.Workspace, page(), "approve", draftOf(look(t, d.Workspace))))
	d.do(ann().Actor, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Delete them", Tools: []string{"bash_execute"}}}}})
	v := look(t, d.Workspace)
	if v.Draft == nil || !v.Draft.Changes || v.Draft.Outdated != "" {
		t.Fatalf("%+v", v.Draft)
	}
	d.do(page().Caller.Actor, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Mine"}}}})
	v = look(t, d.Workspace)
	_, err := act(t.Context(), d.Workspace, page(), "approve", draftOf(v))
	if err == nil || v.Draft.Outdated != err.Error() {
		t.Errorf("%q, refused with %v", v.Draft.Outdated, err)
	}
}

func TestLogIsReadBackwards(t *testing.T) {
	d := newDesk(t).active(plan.Spec{Title: "One"})
	for i := range 5 {
		d.do(ann().Actor, plan.ReportStep{Step: 1, Note: fmt.Sprint("note ", i)})
	}
	var all []string
	for before := plan.Revision(0); ; {
		page := must[review.Log](t)(review.ReadLog(t.Context(), d.Workspace, "", before, 4))
		for _, line := range page.Lines {
			all, before = append(all, line.Text), line.Revision
		}
		if !page.More {
			break
		}
	}
	if len(all) != 6 || !strings.Contains(all[0], "note 4") || !strings.Contains(all[5], "set up with 1 step by ann") {
		t.Errorf("%q", all)
	}
}

// TestWarningsStayWithAReturnedPlan: the gates' warnings are kept until the next submission, on the page and in the
// draft on a terminal; an approval removes them.
func TestWarningsStayWithAReturnedPlan(t *testing.T) {
	workspace := open(t, verbs.Options{})
	s := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() { _ = s.Close() })
	workspace.Service = verbs.New(s, verbs.Options{Gates: func(string) gates.Level { return gates.Warning }})
	submit(t, workspace, "Move them", "Test them")
	found := func(v review.View) string {
		all := slices.Clone(v.Draft.Warnings)
		for _, step := range v.Draft.Plan.Steps {
			all = append(all, step.Warnings...)
		}
		return fmt.Sprint(all)
	}
	told := func() string {
		state, former, err := workspace.Service.Draft(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return workspace.Service.ReviewDraft(t.Context(), state, former, nil)
	}
	v, text := look(t, workspace), told()
	submitted := found(v)
	if !strings.Contains(submitted, "verifiable") || !strings.Contains(text, "warning: ") {
		t.Fatalf("the gates found nothing: %s", text)
	}
	must[review.Done](t)(act(t.Context(), workspace, page(), "return", with(draftOf(v), fields{"comment": "smaller"})))
	v = look(t, workspace)
	if got := found(v); got != submitted {
		t.Errorf("once it is returned the page warns of %q, want %q", got, submitted)
	}
	if got := told(); got != text {
		t.Errorf("once it is returned the terminal shows\n%s\nwant\n%s", got, text)
	}
	submit(t, workspace, "Copy the sessions of each user to Redis")
	v = look(t, workspace)
	if got := found(v); got == submitted {
		t.Errorf("the next submission has the warnings of the one before: %s", got)
	}
	must[review.Done](t)(act(t.Context(), workspace, page(), "approve", draftOf(v)))
	if left := look(t, workspace).Plan.Steps[0].Warnings; left != nil {
		t.Errorf("what is approved is warned of: %s", left)
	}
}
