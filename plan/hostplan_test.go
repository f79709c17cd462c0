package plan_test

import (
	"cmp"
	"slices"
	"strings"
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
	open.refused(ann, todos("s", "b"))
	open.unchanged(ann, todos("s", "a"))
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
	rejected.refused(ann, todos("another", "+b"))
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

// statuses lists the plan's steps with their statuses and owners.
func statuses(w *workspace) (list []string) {
	for step := range w.state.Plan.Steps.All() {
		list = append(list, strings.TrimSpace(step.Title+" "+string(step.Status)+" "+step.ClaimedBy))
	}
	return list
}

// entries is a list like "completed: Build it".
func entries(lines ...string) plan.AdoptHostPlan {
	a := todos("s")
	for _, line := range lines {
		status, title, _ := strings.Cut(line, ": ")
		step := titled(title)
		step.Status = plan.ReadStatus(status)
		a.Steps = append(a.Steps, step)
	}
	return a
}

// TestAListMarksThePlanInForce: entries name steps by title or id, and are marked by the rules of marks.
func TestAListMarksThePlanInForce(t *testing.T) {
	verified, created, after := titled("Test it"), titled("Build it"), titled("Ship it")
	verified.Verify, created.Creates, after.DependsOn = "go test ./...", []string{"a.go"}, []plan.StepID{1}
	steps := []plan.NewStep{titled("Look"), verified, created, after, titled("Twice"), titled("Twice")}
	for name, c := range map[string]struct {
		list     []string
		approved bool
		want     map[int]string // by position; the others stay pending
	}{
		"titles":           {list: []string{"in_progress: look."}, want: map[int]string{0: "in_progress ann"}},
		"without approval": {list: []string{"completed: Test it", "completed: Build it"}, want: map[int]string{1: "done", 2: "done"}},
		"evidence is demanded": {list: []string{"completed: Test it", "completed: Build it", "completed: Look"}, approved: true,
			want: map[int]string{0: "done", 1: "in_progress ann", 2: "in_progress ann"}},
		"ids": {list: []string{"in_progress: S001: any", "completed: 2. Test it now", "completed: task 3 (Build it)"},
			want: map[int]string{0: "in_progress ann", 1: "done"}},
		"the list's numbers": {list: []string{"completed: 2. Look", "completed: 1. Ship the rest", "completed: 2 tests fail"},
			want: map[int]string{0: "done"}},
		"the same title twice": {list: []string{"completed: Twice", "completed: 6. Twice"}, want: map[int]string{5: "done"}},
		"dependencies":         {list: []string{"completed: Ship it"}},
		"in any order": {list: []string{"in_progress: Ship it", "completed: Look"},
			want: map[int]string{0: "done", 3: "in_progress ann"}},
		"other statuses": {list: []string{"cancelled: Look", "skipped: Test it", "blocked: Build it", "failed: Twice"}},
		"other entries":  {list: []string{"completed: Sleep", "in_progress: Look"}, want: map[int]string{0: "in_progress ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := withPlan(t, steps...)
			if c.approved {
				w = newWorkspace(t)
				w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship"}, Draft: true, Steps: steps})
				w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state.Draft)})
			}
			var want []string
			for i, step := range steps {
				status := cmp.Or(c.want[i], "pending")
				want = append(want, step.Title+" "+status)
			}
			before := w.state.Revision
			if len(c.want) == 0 {
				w.unchanged(ann, entries(c.list...))
			} else {
				w.do(ann, entries(c.list...))
				w.unchanged(ann, entries(c.list...))
			}
			if got := statuses(w); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if w.state.Draft != nil || w.state.Plan.Steps.Len() != len(steps) || w.state.Revision > before+1 {
				t.Errorf("%+v", w.state)
			}
			for step := range w.state.Plan.Steps.All() {
				if len(step.Evidence) > 0 {
					t.Errorf("%s has evidence: %+v", step.ID, step.Evidence)
				}
			}
		})
	}
}

// TestAListReopensAndTakesNothing: done, blocked, failed and other agents' steps stay as they are, and blockers hold.
func TestAListReopensAndTakesNothing(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b"), titled("c"), titled("d"), titled("e"))
	w.mark(1, plan.Done)
	w.mark(2, plan.Blocked)
	w.mark(3, plan.Failed)
	w.do(bob, plan.MarkStep{Step: 4, Status: plan.InProgress})
	w.unchanged(ann, entries("pending: a", "in_progress: a", "in_progress: b", "completed: c", "in_progress: d", "completed: d"))
	w.do(ann, plan.RaiseSignal{ID: "ci", Level: plan.Blocker, Message: "red"})
	w.unchanged(ann, entries("in_progress: e"))
	w.refused(ann, entries("in_progress: something else"))

	w = withPlan(t, titled("a"), titled("b"))
	w.limits.Evidence = true
	w.do(ann, entries("completed: a"))
	w.do(ann, plan.EnterMode{})
	w.refused(ann, entries("in_progress: b"))
	if got := statuses(w); !slices.Equal(got, []string{"a in_progress ann", "b pending"}) {
		t.Error(got)
	}

	w = withPlan(t, titled("a"))
	w.do(ann, entries("completed: a"))
	w.unchanged(ann, entries("completed: a")) // the list of a finished plan makes no draft
	if w.state.Plan.Status != plan.StatusCompleted || w.state.Draft != nil {
		t.Errorf("%+v", w.state)
	}
}

// TestTasksMarkThePlanInForce: a host names a task's title once, and its name later.
func TestTasksMarkThePlanInForce(t *testing.T) {
	w := withPlan(t, titled("Look"), titled("Build it"))
	one := func(change plan.TaskChange) plan.AdoptHostPlan {
		a := todos("s")
		a.Task = &change
		return a
	}
	w.refused(ann, one(plan.TaskChange{Name: "7", Status: plan.Done}))
	w.do(ann, one(plan.TaskChange{Name: "7", Title: text("build it")}))
	w.refused(ann, one(plan.TaskChange{Name: "8", Title: text("Sleep")}))
	w.do(ann, one(plan.TaskChange{Name: "7", Status: plan.InProgress}))
	w.unchanged(ann, one(plan.TaskChange{Name: "7", Status: plan.InProgress}))
	w.unchanged(ann, one(plan.TaskChange{Name: "7", Title: text("Build it, really")}))
	w.refused(ann, one(plan.TaskChange{Name: "7", IsRemoved: true}))
	other := one(plan.TaskChange{Name: "7", Status: plan.Done})
	other.Session = "t"
	w.refused(ann, other)
	w.do(ann, one(plan.TaskChange{Name: "7", Status: plan.Done}))
	if got := statuses(w); !slices.Equal(got, []string{"Look pending", "Build it done"}) {
		t.Error(got)
	}
}
