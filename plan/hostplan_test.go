package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// todos is a host's list: titles, with a plus before the finished ones.
func todos(session string, titles ...string) plan.AdoptHostPlan {
	a := plan.AdoptHostPlan{Outline: plan.Outline{Objective: "To-do list"}, IsOutlineGenerated: true, Host: "claude", Session: session}
	for _, title := range titles {
		step := titled(title)
		if title[0] == '+' {
			step.Title, step.Status = title[1:], plan.Done
		}
		a.Steps = append(a.Steps, step)
	}
	return a
}

func draftSteps(w *workspace) (list []string) {
	for step := range w.state.Draft.Steps.All() {
		list = append(list, step.ID.String()+" "+step.Title+" "+string(step.Status))
	}
	return list
}

// TestAHostsListBecomesADraft: later lists of the session update the draft, ids stay, and the same
// list again changes nothing.
func TestAHostsListBecomesADraft(t *testing.T) {
	w := newWorkspace(t)
	w.unchanged(ann, todos("s"))
	w.do(ann, todos("s", "a", "b"))
	id := w.state.Draft.ID
	if w.state.Plan != nil || w.state.PhaseNow() != plan.PhaseInactive || w.state.Draft.HostList.SessionKey() != "claude s" {
		t.Fatalf("%+v", w.state)
	}
	w.unchanged(ann, todos("s", "a", "b"))
	w.do(ann, todos("s", "+a", "c", "b"))
	if got, want := draftSteps(w), []string{"S001 a done", "S003 c pending", "S002 b pending"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if w.state.Draft.ID != id || len(w.state.Past) != 0 {
		t.Errorf("another draft: %+v", w.state)
	}
	w.unchanged(ann, todos("s")) // an emptied list changes nothing
	w.refused(ann, todos("other", "x"))

	// A plan keeps a summary of its own.
	named := todos("s", "a")
	named.Objective, named.IsOutlineGenerated, named.IsHostApproved = "Ship it", false, true
	w.do(ann, named)
	w.unchanged(ann, named)
	if d := w.state.Draft; d.Objective != "Ship it" || d.HostList.ApprovedAt.IsZero() || d.Approval != nil {
		t.Errorf("draft %+v", d)
	}
	w.do(ann, todos("s", "+a"))
	if d := w.state.Draft; d.Objective != "Ship it" || d.HostList.ApprovedAt.IsZero() {
		t.Errorf("what was agreed to has not changed: %+v", d.HostList)
	}
	w.do(ann, todos("s", "a", "more"))
	if d := w.state.Draft; !d.HostList.ApprovedAt.IsZero() {
		t.Errorf("nobody has agreed to this: %+v", d.HostList)
	}
}

// TestOtherPlansStayAsTheyAre: an open plan, another draft, a read-only phase, a decision.
func TestOtherPlansStayAsTheyAre(t *testing.T) {
	open := withPlan(t, titled("a"))
	open.refused(ann, todos("s", "a"))
	open.mark(1, plan.Done)
	open.do(ann, todos("s", "next")) // next to a completed plan
	open.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Other"}, Steps: []plan.NewStep{titled("x")}})
	before := open.state.Plan
	open.do(ann, todos("s", "+next")) // its own draft
	if open.state.Plan != before {
		t.Error("the plan has changed")
	}

	drafted := newWorkspace(t)
	drafted.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Mine"}, Draft: true, Steps: []plan.NewStep{titled("x")}})
	drafted.refused(ann, todos("s", "a"))

	reading := newWorkspace(t)
	reading.do(ann, plan.EnterMode{})
	reading.refused(ann, todos("s", "a"))

	rejected := newWorkspace(t)
	rejected.do(ann, todos("s", "a"))
	rejected.do(person, plan.DecideDraft{Outcome: plan.Rejected, Digest: plan.Digest(rejected.state.Draft)})
	rejected.refused(ann, todos("s", "a", "b"))
	rejected.do(ann, todos("another", "a"))
	rejected.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(rejected.state.Draft)})
	rejected.refused(ann, todos("another", "+a"))
	if p := rejected.state.Plan; p.Approval == nil || p.HostList.SessionKey() != "claude another" {
		t.Errorf("%+v", p)
	}
}

// TestTasksOneByOne: some hosts report one task at a time, by their own names.
func TestTasksOneByOne(t *testing.T) {
	w := newWorkspace(t)
	one := func(change plan.TaskChange) plan.AdoptHostPlan {
		a := todos("s")
		a.Task = &change
		return a
	}
	w.unchanged(ann, one(plan.TaskChange{Name: "7", Status: plan.Done}))
	w.do(ann, one(plan.TaskChange{Name: "7", Title: text("Write it"), Details: text("fast")}))
	w.do(ann, one(plan.TaskChange{Name: "8", Title: text("Try it")}))
	w.do(ann, one(plan.TaskChange{Name: "8", DependsOn: []string{"7", "9"}, Status: plan.InProgress}))
	w.unchanged(ann, one(plan.TaskChange{Name: "8", DependsOn: []string{"7"}, Status: plan.InProgress}))
	if d := w.state.Draft.Steps; d.At(0).Details != "fast" || !slices.Equal(d.At(1).DependsOn, []plan.StepID{1}) ||
		d.At(1).Status != plan.InProgress {
		t.Errorf("%+v %+v", d.At(0), d.At(1))
	}
	w.refused(ann, one(plan.TaskChange{Name: "8", Dependents: []string{"7"}})) // a circle
	w.do(ann, one(plan.TaskChange{Name: "7", IsRemoved: true}))
	w.unchanged(ann, one(plan.TaskChange{Name: "8", IsRemoved: true})) // nothing would be left
	w.do(ann, one(plan.TaskChange{Name: "9", Title: text("Tell")}))
	if got, want := draftSteps(w), []string{"S002 Try it in_progress", "S003 Tell pending"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAListIsNoEvidence: if evidence is required, a host's mark is noted and does not count.
func TestAListIsNoEvidence(t *testing.T) {
	w := newWorkspace(t)
	w.limits.Evidence = true
	w.do(ann, todos("s", "+a"))
	if step := w.state.Draft.Steps.At(0); step.Status != plan.Pending || len(step.Notes) != 1 {
		t.Errorf("%+v", step)
	}
	w.unchanged(ann, todos("s", "+a"))
}

// TestAdoptionProperty: whatever lists come, only the draft of their session changes, and it has
// the steps of the last list in order; the same list twice is one record.
func TestAdoptionProperty(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := newWorkspace(t)
		for range rapid.IntRange(1, 8).Draw(t, "lists") {
			titles := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "+a", "+c", "d"}), 1, 6).Draw(t, "list")
			list := todos("s", titles...)
			testenv.Must(w.try(ann, list))(t)
			w.unchanged(ann, list)
			var told []string
			for _, step := range list.Steps {
				told = append(told, step.Title)
			}
			var kept []string
			seen := map[plan.StepID]bool{}
			for step := range w.state.Draft.Steps.All() {
				if seen[step.ID] || step.ID > w.state.Draft.Steps.Highest() {
					t.Fatalf("%s twice, or too high", step.ID)
				}
				seen[step.ID] = true
				kept = append(kept, step.Title)
			}
			if !slices.Equal(told, kept) || w.state.Plan != nil || w.state.PhaseNow() != plan.PhaseInactive {
				t.Fatalf("told %v, kept %v", told, kept)
			}
		}
	})
}
