package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

func TestSetUpSeedsStepsAndActivates(t *testing.T) {
	w := newWorkspace(t)
	at := w.now
	outline := plan.Outline{Objective: "Ship it", Summary: "soon", Metadata: plan.Metadata{Complexity: 3, Tags: []string{"x"}}}
	events := w.do(ann, plan.SetUp{Outline: outline, Steps: []plan.NewStep{titled("a"), titled("b", 1), titled("c")}})
	if got := kinds(events); !slices.Equal(got, []string{"plan_set_up"}) {
		t.Errorf("events %v", got)
	}
	p := w.state.Plan
	if p.Status != plan.StatusActive || p.Version != 1 || p.CreatedBy != "ann" || !p.CreatedAt.Equal(at) || !p.UpdatedAt.Equal(at) {
		t.Errorf("plan %+v", p)
	}
	if p.Objective != "Ship it" || p.Summary != "soon" || p.Metadata.Complexity != 3 || p.PreviousPlanID != "" || p.Root() != p.ID {
		t.Errorf("outline %+v", p.Outline)
	}
	if got := stepIDs(p.Steps); !slices.Equal(got, []plan.StepID{1, 2, 3}) {
		t.Errorf("ids %v", got)
	}
	for i, title := range []string{"a", "b", "c"} {
		step := p.Steps.At(i)
		if step.Title != title || step.Status != plan.Pending || step.Attempts != 0 || len(step.Notes) != 0 {
			t.Errorf("step %d: %+v", i, step)
		}
	}
	if w.state.Revision != 1 || w.state.Draft != nil || !w.state.UpdatedAt.Equal(at) {
		t.Errorf("state %+v", w.state)
	}
}

func TestSetUpWithoutStepsStaysActive(t *testing.T) {
	w := withPlan(t)
	w.wantStatus(plan.StatusActive)
	if got := w.state.Plan.Steps; got.Len() != 0 || got.Highest() != 0 || got.Next() != nil {
		t.Errorf("steps %v", got.List())
	}
}

func TestSetUpArchivesTheFormerWhateverItsStatus(t *testing.T) {
	for _, status := range plan.PlanStatus("").Values() {
		t.Run(status, func(t *testing.T) {
			w := withPlan(t, titled("a"), titled("b"), titled("c"))
			w.mark(1, plan.Done)
			w.inStatus(plan.PlanStatus(status))
			former, at := w.state.Plan, w.now
			events := w.do(bob, plan.SetUp{Outline: plan.Outline{Objective: "Next"}, Steps: []plan.NewStep{titled("d")}})
			if got := kinds(events); !slices.Equal(got, []string{"plan_archived", "plan_set_up"}) {
				t.Errorf("events %v", got)
			}
			want := plan.PastPlan{ID: former.ID, Objective: "Ship it", Status: plan.PlanStatus(status), Version: 1, Steps: 3, Done: 1,
				CreatedAt: former.CreatedAt, ArchivedAt: at, Revision: 2, Reason: "replaced"}
			if got, ok := w.state.PastPlan(former.ID); !ok || got != want {
				t.Errorf("head %+v, want %+v", got, want)
			}
			if got := stepIDs(w.state.Plan.Steps); !slices.Equal(got, []plan.StepID{1}) || w.state.Plan.CreatedBy != "bob" {
				t.Errorf("the new plan: ids %v by %s", got, w.state.Plan.CreatedBy)
			}
			w.wantStatus(plan.StatusActive)
		})
	}
}

func TestSetUpAfterClearArchivesOnce(t *testing.T) {
	w := withPlan(t, titled("a"))
	w.do(ann, plan.Clear{})
	events := w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Next"}})
	if got := kinds(events); !slices.Equal(got, []string{"plan_set_up"}) {
		t.Errorf("events %v", got)
	}
	if got := w.state.Past; len(got) != 1 || got[0].Reason != "cleared" || got[0].Steps != 1 {
		t.Errorf("archive %+v", got)
	}
}

func TestPlanIDsAreUniqueWithinOneSecond(t *testing.T) {
	w := newWorkspace(t)
	at := w.now
	seen := map[string]bool{}
	for i := range 200 { // more than one chunk of the archive
		w.now = at
		w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Draft: i == 100})
		seen[w.state.Plan.ID] = true
		if w.state.Draft != nil {
			seen[w.state.Draft.ID] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d ids for 200 plans", len(seen))
	}
	if want := fmt.Sprintf("ship-it-%d", at.Unix()); !seen[want] {
		t.Errorf("no plan has the id %s", want)
	}
	heads := w.state.Past
	for i, head := range heads {
		if i > 0 && head.Revision <= heads[i-1].Revision {
			t.Fatalf("head %d at revision %d follows %d", i, head.Revision, heads[i-1].Revision)
		}
		if got, ok := w.state.PastPlan(head.ID); !ok || got != head {
			t.Errorf("%s is found as %+v", head.ID, got)
		}
	}
}

func TestPlanIDIsASlugOfTheObjective(t *testing.T) {
	for objective, want := range map[string]string{
		"Ship it":                   "ship-it",
		"  --Add OAuth 2.0 (PKCE)!": "add-oauth-2-0-pkce",
		"日本語":                       "plan",
		"Grüße":                     "gr-e",
		strings.Repeat("a", 100):    strings.Repeat("a", 40),
	} {
		w := newWorkspace(t)
		w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: objective}})
		if got := w.state.Plan.ID; got != fmt.Sprintf("%s-%d", want, w.state.UpdatedAt.Unix()) {
			t.Errorf("%q: id %s", objective, got)
		}
	}
}

func TestPlanIDSlugIsBounded(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-[0-9]+$`)
	for lead := range 45 {
		w := newWorkspace(t)
		w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: strings.Repeat("a", lead) + " b c " + strings.Repeat("d", 60)}})
		id := w.state.Plan.ID
		slug := id[:strings.LastIndexByte(id, '-')]
		if !form.MatchString(id) || len(slug) > 40 {
			t.Errorf("id %s: the slug has %d characters", id, len(slug))
		}
	}
}

func TestSetUpDraftStandsBesideThePlan(t *testing.T) {
	w := withPlan(t, titled("a"))
	current := w.state.Plan
	events := w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{titled("b")}, Draft: true})
	if got := kinds(events); !slices.Equal(got, []string{"draft_made"}) {
		t.Errorf("events %v", got)
	}
	if w.state.Plan != current || len(w.state.Past) != 0 {
		t.Error("the draft touched the current plan")
	}
	if d := w.state.Draft; d.Status != plan.StatusDraft || d.ID == current.ID || d.Steps.Len() != 1 {
		t.Errorf("draft %+v", d)
	}
}

func TestSetUpWithProgress(t *testing.T) {
	with := func(status plan.StepStatus) plan.NewStep {
		step := titled(string(status))
		step.Status, step.ClaimedBy, step.LeaseUntil = status, "someone", time.Unix(9, 0)
		return step
	}
	tests := map[string]struct {
		steps []plan.NewStep
		want  plan.PlanStatus
	}{
		"all done":             {[]plan.NewStep{with(plan.Done), with(plan.Done)}, plan.StatusCompleted},
		"one done, rest gone":  {[]plan.NewStep{with(plan.Skipped), with(plan.Done), with(plan.Cancelled)}, plan.StatusCompleted},
		"all skipped":          {[]plan.NewStep{with(plan.Skipped), with(plan.Cancelled)}, plan.StatusAbandoned},
		"something left":       {[]plan.NewStep{with(plan.Done), with(plan.Pending)}, plan.StatusActive},
		"failed, not critical": {[]plan.NewStep{with(plan.Done), with(plan.Failed)}, plan.StatusActive},
		"blocked":              {[]plan.NewStep{with(plan.Done), with(plan.Blocked)}, plan.StatusActive},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := withPlan(t, test.steps...)
			w.wantStatus(test.want)
			for step := range w.state.Plan.Steps.All() {
				if step.ClaimedBy != "" || !step.LeaseUntil.IsZero() {
					t.Errorf("%s came with a claim of %s", step.ID, step.ClaimedBy)
				}
			}
		})
	}
}

func TestSetUpRefuses(t *testing.T) {
	many := slices.Repeat([]plan.NewStep{titled("one of many")}, plan.DefaultMaxSteps+1)
	tests := map[string]struct {
		steps  []plan.NewStep
		limits plan.Limits
		kind   plan.ErrorKind
		field  string
		words  []string
	}{
		"too many by default": {steps: many, kind: plan.Conflict, words: []string{"2001 steps", "at most 2000"}},
		"too many": {steps: many[:3], limits: plan.Limits{MaxSteps: 2}, kind: plan.Conflict,
			words: []string{"3 steps", "at most 2"}},
		"unknown dependency": {steps: []plan.NewStep{titled("a"), titled("b", 1, 3)}, kind: plan.NotFound,
			field: "/initial_steps/1/depends_on/1", words: []string{"step S003 does not exist"}},
		"no dependency": {steps: []plan.NewStep{titled("a", 0)}, kind: plan.InvalidInput, field: "/initial_steps/0/depends_on/0"},
		"on itself": {steps: []plan.NewStep{titled("a", 1)}, kind: plan.InvalidInput, field: "/initial_steps",
			words: []string{"circle: S001 -> S001"}},
		"cycle": {steps: []plan.NewStep{titled("a"), titled("b", 4), titled("c", 2), titled("d", 1, 3)}, kind: plan.InvalidInput,
			field: "/initial_steps", words: []string{"circle: S002 -> S004 -> S003 -> S002"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, draft := range []bool{false, true} {
				w := withPlan(t, titled("kept"))
				w.limits = test.limits
				got := w.refused(ann, plan.SetUp{Outline: plan.Outline{Objective: "x"}, Steps: test.steps, Draft: draft})
				wantRefusal(t, got, test.kind, test.field, test.words...)
			}
		})
	}
}

func TestSetUpTakesAsManyStepsAsAllowed(t *testing.T) {
	w := withPlan(t, slices.Repeat([]plan.NewStep{titled("one of many")}, plan.DefaultMaxSteps)...)
	if got := w.state.Plan.Steps.Highest().String(); got != "S2000" {
		t.Errorf("the last step is %s", got)
	}
}

func TestLongCycleIsShortened(t *testing.T) {
	steps := make([]plan.NewStep, 100)
	for i := range steps {
		steps[i] = titled("x", plan.StepID((i+1)%100+1))
	}
	got := newWorkspace(t).refused(ann, plan.SetUp{Outline: plan.Outline{Objective: "x"}, Steps: steps})
	wantRefusal(t, got, plan.InvalidInput, "/initial_steps", "S001 -> S002", "…", "S100 -> S001")
	if len(got.Problem) > 200 {
		t.Errorf("the problem is %d bytes long", len(got.Problem))
	}
}

func TestDecideKeepsTimeInMillisecondsUTC(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 123_456_789, time.FixedZone("CET", 3600))
	events, err := plan.Decide(plan.State{}, plan.SetUp{Outline: plan.Outline{Objective: "x"}}, plan.Facts{Now: now, Actor: ann})
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 3, 1, 9, 0, 0, 123_000_000, time.UTC)
	if got := events[0].(plan.PlanSetUp).Plan.CreatedAt; got != want {
		t.Errorf("created at %v, want %v", got, want)
	}
}

func TestRepeatedDependenciesCountOnce(t *testing.T) {
	w := withPlan(t, titled("a"), titled("b", 1, 1))
	if got := w.step(2).DependsOn; !slices.Equal(got, []plan.StepID{1}) {
		t.Errorf("depends on %v", got)
	}
	w.unchanged(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{1, 1, 1}}})
	w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{}}})
	w.do(ann, plan.UpdateStep{Step: 2, Patch: plan.Patch{DependsOn: &[]plan.StepID{1, 1, 1}}})
	if got := w.step(2).DependsOn; !slices.Equal(got, []plan.StepID{1}) {
		t.Errorf("after an update depends on %v", got)
	}
	w.mark(1, plan.Done)
	if !w.state.Plan.Steps.IsReady(2) || w.state.Plan.Steps.ReadyCount() != 1 {
		t.Error("the step is not ready though its only dependency is done")
	}
}

func TestTimeOfNext(t *testing.T) {
	last := time.Date(2026, 3, 1, 9, 0, 0, int(5*time.Millisecond), time.UTC)
	next := last.Add(time.Millisecond)
	for name, c := range map[string]struct{ clock, want time.Time }{
		"later":                            {last.Add(time.Second), last.Add(time.Second)},
		"in the next millisecond":          {next.Add(700 * time.Microsecond), next},
		"in the same millisecond":          {last.Add(700 * time.Microsecond), next},
		"set back a little":                {last.Add(-30 * time.Second), next},
		"set back a day":                   {last.AddDate(0, 0, -1), last.AddDate(0, 0, -1)},
		"right again after years too late": {last.AddDate(-10, 0, 0), last.AddDate(-10, 0, 0)},
		"elsewhere":                        {last.Add(time.Second).In(time.FixedZone("there", 3600)), last.Add(time.Second)},
	} {
		if got := (plan.State{UpdatedAt: last}).NextTime(c.clock); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := (plan.State{}).NextTime(last); got != last {
		t.Errorf("the first: %v", got)
	}
}

// TestABlockerHalts: with an open blocker no other step starts and no summary is accepted; its own
// step can be worked on, steps in progress can be finished, and a person may insist.
func TestABlockerHalts(t *testing.T) {
	blocker := func(on plan.StepID) plan.RaiseSignal {
		return plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red", Step: on}
	}
	lint := func(level plan.SignalLevel) plan.RaiseSignal {
		return plan.RaiseSignal{ID: "lint", Level: level, Message: "unused", Step: 2}
	}
	mark := func(id plan.StepID, status plan.StepStatus) plan.MarkStep {
		return plan.MarkStep{Step: id, Status: status}
	}
	force := plan.MarkStep{Step: 1, Status: plan.InProgress, Force: true}
	for name, c := range map[string]struct {
		before []plan.Action
		by     plan.Actor
		does   plan.Action
		halts  bool
	}{
		"starting another":              {[]plan.Action{blocker(2)}, ann, mark(1, plan.InProgress), true},
		"starting one of all":           {[]plan.Action{blocker(0)}, ann, mark(1, plan.InProgress), true},
		"starting a failed one again":   {[]plan.Action{mark(1, plan.Failed), blocker(2)}, ann, mark(1, plan.InProgress), true},
		"a person starts another":       {[]plan.Action{blocker(2)}, person, mark(1, plan.InProgress), true},
		"a person insists":              {[]plan.Action{blocker(2)}, person, force, false},
		"an agent insists":              {[]plan.Action{blocker(2)}, ann, force, true},
		"starting what it concerns":     {[]plan.Action{blocker(1)}, ann, mark(1, plan.InProgress), false},
		"a second one concerns another": {[]plan.Action{blocker(1), lint(plan.Blocker)}, ann, mark(2, plan.InProgress), false},
		"a warning":                     {[]plan.Action{lint(plan.Warning)}, ann, mark(1, plan.InProgress), false},
		"cleared":                       {[]plan.Action{blocker(0), plan.ClearSignal{ID: "tests"}}, ann, mark(1, plan.InProgress), false},
		"finishing":                     {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann, mark(1, plan.Done), false},
		"finishing without a start":     {[]plan.Action{blocker(2)}, ann, mark(1, plan.Done), true},
		"finishing what it concerns":    {[]plan.Action{blocker(1)}, ann, mark(1, plan.Done), false},
		"failing":                       {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann, mark(1, plan.Failed), false},
		"a note while in progress": {[]plan.Action{mark(1, plan.InProgress), blocker(2)}, ann,
			plan.MarkStep{Step: 1, Status: plan.InProgress, Note: "on it"}, false},
		"the final summary": {[]plan.Action{mark(1, plan.Done), mark(2, plan.Done), blocker(0)}, ann, plan.Close{Summary: "done"},
			true},
		"the final summary after it": {[]plan.Action{mark(1, plan.Done), mark(2, plan.Done), blocker(0),
			plan.ClearSignal{ID: "tests"}}, ann, plan.Close{Summary: "done"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: []plan.NewStep{titled("One"), titled("Two")}})
			for _, a := range c.before {
				w.do(ann, a)
			}
			if !c.halts {
				w.do(c.by, c.does)
				return
			}
			if refusal := w.refused(c.by, c.does); !strings.Contains(refusal.Problem, `the blocker "tests"`) {
				t.Errorf("refused by: %v", refusal)
			}
		})
	}
}
