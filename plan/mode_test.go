package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/plan"
)

// Other actors: a person without a terminal, which includes scripts, CI, and planloop itself.
var (
	script = plan.NewActor(plan.ChannelScript, "petra")
	ci     = plan.NewActor(plan.ChannelCI, "ci")
	itself = plan.NewActor(plan.ChannelEngine, "planloop")
	client = plan.NewActor(plan.ChannelClient, "ann") // a person, through ann's client
)

// pretenders claim a door that their kind does not come in by.
func pretenders() []plan.Actor {
	return []plan.Actor{{Kind: plan.Agent, Name: "petra", Channel: plan.ChannelTerminal},
		{Kind: plan.CI, Name: "ci", Channel: plan.ChannelPage},
		{Kind: plan.Person, Name: "petra", Channel: plan.ChannelClient}, {Kind: plan.Person, Name: "petra"}}
}

// deciders are the actors that may decide, by the recorded way.
func deciders() map[plan.Way]plan.Actor {
	return map[plan.Way]plan.Actor{plan.WayPerson: person, plan.WayClient: client}
}

func submission(titles ...string) plan.SubmitPlan {
	a := plan.SubmitPlan{Outline: plan.Outline{Objective: "Move the sessions", Summary: "In parts."}}
	for _, title := range titles {
		a.Steps = append(a.Steps, plan.NewStep{Spec: plan.Spec{Title: title, Tools: []string{"view"}, Risk: plan.MediumRisk,
			AcceptanceCriteria: []string{"it works", "it is fast"}}})
	}
	return a
}

// gathering returns a workspace in which ann has entered planning mode.
func gathering(t failer) *workspace { return gatheringWithin(t, plan.Limits{}) }

// gatheringWithin is gathering with other limits from the beginning.
func gatheringWithin(t failer, limits plan.Limits) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.limits = limits
	w.do(ann, plan.EnterMode{Reason: "it is large"})
	return w
}

// halfAnHour limits how long a submitted plan waits; by default it waits for ever.
func halfAnHour() plan.Limits { return plan.Limits{ApprovalTimeout: 30 * time.Minute} }

// waiting returns a workspace in which ann's plan of two steps waits half an hour for a decision.
func waiting(t failer) *workspace { return waitingWithin(t, halfAnHour()) }

func waitingWithin(t failer, limits plan.Limits) *workspace {
	t.Helper()
	w := gatheringWithin(t, limits)
	w.do(ann, submission("Look", "Do"))
	return w
}

// executing returns a workspace in which that plan was approved.
func executing(t failer) *workspace {
	t.Helper()
	w := waiting(t)
	w.do(person, decided(plan.Approved, w.answer("")))
	return w
}

// decided returns an answer with that outcome.
func decided(outcome plan.Outcome, a plan.DecideDraft) plan.DecideDraft {
	a.Outcome = outcome
	return a
}

// answers returns an answer with each outcome.
func answers(a plan.DecideDraft) []plan.DecideDraft {
	return []plan.DecideDraft{decided(plan.Approved, a), decided(plan.Rejected, a), decided(plan.Returned, a)}
}

// answer returns an answer to the waiting draft.
func (w *workspace) answer(comment string) plan.DecideDraft {
	a := plan.DecideDraft{Comment: comment}
	if w.state.Draft != nil {
		a.Digest = plan.Digest(w.state.Draft)
	}
	if request := w.state.ModeNow().Request; request != nil {
		a.Request = request.ID
	}
	return a
}

func (w *workspace) wantPhase(want plan.Phase) {
	w.t.Helper()
	if got := w.state.PhaseNow(); got != want {
		w.t.Fatalf("the phase is %s, want %s", got, want)
	}
}

// wantDecision checks how the last request, or the mode, ended.
func (w *workspace) wantDecision(outcome plan.Outcome, by string, way plan.Way, comment string) {
	w.t.Helper()
	d := w.state.ModeNow().Decision
	if d == nil || d.Outcome != outcome || d.By != by || d.Way != way || d.Comment != comment || d.Revision != w.state.Revision {
		w.t.Fatalf("the decision is %+v at revision %d, want %s by %s (%s) %q", d, w.state.Revision, outcome, by, way, comment)
	}
	if w.state.ModeNow().Request != nil {
		w.t.Fatalf("the request is open still: %+v", w.state.ModeNow().Request)
	}
}

// changes lists an action of every kind that changes the plan or something related to it.
func changes() []plan.Action {
	title := "another"
	return []plan.Action{
		plan.SetUp{Outline: plan.Outline{Objective: "Something else"}}, plan.SetUp{Outline: plan.Outline{Objective: "A draft"},
			Draft: true},
		plan.AddSteps{Steps: []plan.NewStep{titled("More")}}, plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}},
		plan.MarkStep{Step: 1, Status: plan.Done}, plan.ClaimStep{Step: 1}, plan.ReportStep{Step: 1, Note: "n"},
		plan.Clear{}, plan.Close{Summary: "done"}, plan.Judge{Approved: true, Way: plan.WayAgent},
		plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red"}, plan.ClearSignal{ID: "build"},
		plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.MarkStep{Step: 1, Status: plan.Done}}}},
		plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.AddComment{Text: "x"}}}},
	}
}

// restricted returns the read-only phases, each with an active plan.
func restricted(t failer) map[plan.Phase]*workspace {
	t.Helper()
	phases := map[plan.Phase]*workspace{}
	for _, phase := range []plan.Phase{plan.PhaseGathering, plan.PhaseSubmitted} {
		w := withPlan(t, titled("One"))
		w.do(ann, plan.RaiseSignal{ID: "build", Level: plan.Warning, Message: "slow"})
		w.do(ann, plan.EnterMode{Reason: "it is large"})
		if phase == plan.PhaseSubmitted {
			w.do(ann, submission("Look"))
		}
		w.wantPhase(phase)
		phases[phase] = w
	}
	return phases
}

func TestEnterPlanningModeRestrictsTools(t *testing.T) {
	for phase, w := range restricted(t) {
		for _, a := range changes() {
			for _, actor := range []plan.Actor{ann, bob, script, ci, itself} {
				name := plan.ActionWord(a)
				if actor.Kind == plan.CI && (name == "raise_signal" || name == "clear_signal") {
					continue
				}
				refusal := w.refused(actor, a)
				if refusal.Kind != plan.Conflict {
					t.Errorf("%s: %s of %s is refused as %s", phase, name, actor.Kind, refusal.Kind)
				}
			}
		}
	}
}

func TestExitPlanningModeRestoresTools(t *testing.T) {
	for name, leave := range map[string]func(*workspace){
		"cancelled": func(w *workspace) { w.do(person, plan.CancelMode{}) },
		"rejected": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Rejected, w.answer("no")))
		},
		"approved": func(w *workspace) {
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Approved, w.answer("")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := gathering(t)
			leave(w)
			if w.state.PhaseNow().IsRestricted() {
				t.Fatalf("the phase is %s", w.state.PhaseNow())
			}
			w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Go on"}, Steps: []plan.NewStep{titled("One")}})
			w.do(bob, plan.MarkStep{Step: 1, Status: plan.InProgress})
		})
	}
}

func TestPlanCancelRestoresNormalMode(t *testing.T) {
	for name, begin := range map[string]func(failer) *workspace{"gathering": gathering, "submitted": waiting, "executing": executing} {
		for way, actor := range deciders() {
			t.Run(name+" "+string(way), func(t *testing.T) {
				w := begin(t)
				before := w.state.Plan
				w.do(actor, plan.CancelMode{})
				w.wantPhase(plan.PhaseInactive)
				w.wantDecision(plan.CalledOff, actor.Name, way, "")
				if w.state.Draft != nil || w.state.Plan != before {
					t.Errorf("a draft is left, or the current plan is another: %v, %v", w.state.Draft, w.state.Plan)
				}
			})
		}
	}
	wantRefusal(t, newWorkspace(t).refused(person, plan.CancelMode{}), plan.Conflict, "", "not on")
}

// TestAnAgentLeavesItsOwnMode: until it submits or a person takes part.
func TestAnAgentLeavesItsOwnMode(t *testing.T) {
	enter := plan.EnterMode{Reason: "it is large"}
	for name, c := range map[string]struct {
		before func(*workspace)
		by     plan.Actor
		why    string // "" if it may leave
	}{
		"at once":           {func(w *workspace) { w.do(ann, enter) }, ann, ""},
		"asked in between":  {func(w *workspace) { w.do(ann, enter); w.do(ann, plan.AskUser{Text: "when?"}) }, ann, ""},
		"its agent is gone": {func(w *workspace) { w.do(ann, enter); w.seen["ann"] = plan.Sighting{IsGone: true} }, bob, ""},
		"another agent":     {func(w *workspace) { w.do(ann, enter) }, bob, "another agent takes part"},
		"a person entered":  {func(w *workspace) { w.do(person, plan.EnterMode{Task: "it"}) }, ann, "takes part"},
		"a user's prompt":   {func(w *workspace) { w.do(client, plan.EnterMode{Task: "it"}) }, ann, "takes part"},
		"a person commented": {func(w *workspace) { w.do(ann, enter); w.do(person, plan.AddComment{Text: "mind it"}) }, ann,
			"takes part"},
		"a person answered": {func(w *workspace) {
			w.do(ann, enter)
			w.do(ann, plan.AskUser{Text: "when?"})
			w.do(client, plan.AnswerQuestion{Answer: "now"})
		}, ann, "takes part"},
		"submitted": {func(w *workspace) { w.do(ann, enter); w.do(ann, submission("Look")) }, ann, "waiting for the user's decision"},
		"returned": {func(w *workspace) {
			w.do(ann, enter)
			w.do(ann, submission("Look"))
			w.do(person, decided(plan.Returned, w.answer("more")))
		}, ann, "takes part"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.seen = map[string]plan.Sighting{}
			c.before(w)
			if c.why != "" {
				wantRefusal(t, w.refused(c.by, plan.EndMode{Leaves: true}), plan.Conflict, "", c.why)
				return
			}
			w.do(c.by, plan.EndMode{Leaves: true})
			w.wantPhase(plan.PhaseInactive)
			w.unchanged(c.by, plan.EndMode{Leaves: true})
		})
	}
	w := approvedPlan(t)
	w.unchanged(ann, plan.EndMode{Leaves: true})
	w.wantPhase(plan.PhaseExecuting)
}

// TestLeavingKeepsADraftFromElsewhere.
func TestLeavingKeepsADraftFromElsewhere(t *testing.T) {
	w := newWorkspace(t)
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Imported"}, Steps: []plan.NewStep{titled("a")}, Draft: true})
	w.do(ann, plan.EnterMode{Reason: "it is large"})
	w.do(ann, plan.EndMode{Leaves: true})
	if w.state.Draft == nil || len(w.state.Past) != 0 {
		t.Errorf("the draft is gone: %+v", w.state.Past)
	}
}

// TestOnlyAPersonCancels refuses all other actors, whatever they claim.
func TestOnlyAPersonCancels(t *testing.T) {
	for _, actor := range append(pretenders(), ann, script, ci, itself) {
		wantRefusal(t, gathering(t).refused(actor, plan.CancelMode{}), plan.Conflict, "", "no person confirmed this decision")
	}
	w := gathering(t)
	w.limits.PersonOnly = true
	wantRefusal(t, w.refused(client, plan.CancelMode{}), plan.Conflict, "", "approval: person")
	w.do(person, plan.CancelMode{})
}

func TestPlanAlreadyActiveIsNoop(t *testing.T) {
	for name, begin := range map[string]func(failer) *workspace{"gathering": gathering, "submitted": waiting, "executing": executing} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			for _, actor := range []plan.Actor{ann, bob, person} {
				w.unchanged(actor, plan.EnterMode{Task: "something else", Reason: "again"})
			}
		})
	}
}

func TestEnterRemembersTaskAndReason(t *testing.T) {
	w := newWorkspace(t)
	now := w.now
	w.do(person, plan.EnterMode{Task: "Move the sessions"})
	want := plan.Mode{Task: "Move the sessions", By: "petra", ByPerson: true, Since: now, IdleTimeout: plan.Limit(time.Hour),
		ApprovalTimeout: -1}
	if diff := cmp.Diff(want, w.state.ModeNow()); diff != "" {
		t.Error(diff)
	}
	w.do(person, plan.CancelMode{})
	now = w.now
	w.do(ann, plan.EnterMode{Reason: "it is large"}) // nothing of the former mode is left
	want = plan.Mode{Reason: "it is large", By: "ann", Since: now, IsAgentsOwn: true, IdleTimeout: plan.Limit(time.Hour),
		ApprovalTimeout: -1}
	if diff := cmp.Diff(want, w.state.ModeNow()); diff != "" {
		t.Error(diff)
	}
}

func TestAskUserAllowedInPlanning(t *testing.T) {
	for phase, w := range restricted(t) {
		w.do(bob, plan.AskUser{Text: "When?"})
		w.unchanged(ann, plan.AskUser{Text: "When?"})
		w.wantPhase(phase)
		w.refused(ann, plan.AnswerQuestion{Answer: "now"})
		w.refused(script, plan.AnswerQuestion{Answer: "now"})
		w.refused(person, plan.AnswerQuestion{ID: "Q9", Answer: "now"})
		w.do(person, plan.AnswerQuestion{Answer: "now"})
		w.refused(person, plan.AnswerQuestion{ID: "Q1", Answer: "later"})
		q := w.state.Questions[0]
		if q.Answer != "now" || q.AnsweredBy != "petra" || q.Way != plan.WayPerson || len(w.state.OpenQuestions()) != 0 {
			t.Errorf("%s: %+v", phase, q)
		}
		w.refused(ann, plan.AddComment{Text: "the user agreed"})
		w.refused(script, plan.AddComment{Text: "the user agreed"})
		w.do(person, plan.AddComment{Text: "mind the gap"})
	}
}

// TestOpenQuestionsAreBounded asks more than the limit.
func TestOpenQuestionsAreBounded(t *testing.T) {
	w := gathering(t)
	for i := range plan.MaxOpenQuestions {
		w.do(ann, plan.AskUser{Text: fmt.Sprint("Question ", i)})
	}
	w.refused(ann, plan.AskUser{Text: "One more?"})
	w.refused(person, plan.AnswerQuestion{Answer: "yes"}) // which of them?
	w.do(person, plan.AnswerQuestion{ID: "Q7", Answer: "yes"})
	w.do(ann, plan.AskUser{Text: "One more?"})
	if open := w.state.OpenQuestions(); len(open) != plan.MaxOpenQuestions ||
		open[len(open)-1].ID != fmt.Sprint("Q", plan.MaxOpenQuestions+1) {
		t.Errorf("%+v", open)
	}
}

func TestCIMayTellOfSignalsWhileRestricted(t *testing.T) {
	for phase, w := range restricted(t) {
		w.do(ci, plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red"})
		w.do(ci, plan.ClearSignal{ID: "tests"})
		w.wantPhase(phase)
		w.refused(ci, plan.MarkStep{Step: 1, Status: plan.Done})
		w.refused(ci, decided(plan.Approved, w.answer("")))
		w.refused(ann, plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red"})
	}
}

func TestPersonAtATerminalMayChangeThings(t *testing.T) {
	for phase, w := range restricted(t) {
		w.do(person, plan.RaiseSignal{ID: "tests", Level: plan.Warning, Message: "red"})
		w.do(person, plan.AddSteps{Steps: []plan.NewStep{titled("More")}})
		w.do(person, plan.MarkStep{Step: 1, Status: plan.InProgress})
		w.wantPhase(phase)
	}
}

func TestSubmitPlanCreatesPlanObject(t *testing.T) {
	w := gathering(t)
	now := w.now
	a := submission("Look", "Do")
	a.Questions, a.ContextNotes = []string{"EU first?"}, "sessions live in Postgres"
	w.do(ann, a)
	w.wantPhase(plan.PhaseSubmitted)
	p := w.state.Draft
	if p == nil || p.Status != plan.StatusDraft || p.Summary != a.Summary || p.ContextNotes != a.ContextNotes ||
		!slices.Equal(p.Questions, a.Questions) || p.CreatedBy != "ann" || p.Approval != nil {
		t.Fatalf("the draft is %+v", p)
	}
	if diff := cmp.Diff([]plan.StepID{1, 2}, stepIDs(p.Steps)); diff != "" {
		t.Error(diff)
	}
	want := &plan.Request{ID: "R2", Plan: p.ID, Digest: plan.Digest(p), By: "ann", At: now, Limit: -1}
	if diff := cmp.Diff(want, w.state.ModeNow().Request); diff != "" {
		t.Error(diff)
	}
	if w.state.Plan != nil {
		t.Error("a draft became the current plan")
	}
}

func TestSubmitPlanValidatesStructure(t *testing.T) {
	w := gathering(t)
	wantRefusal(t, w.refused(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "o", Summary: "s"}}), plan.InvalidInput, "/steps",
		"empty")
	circle := submission("A", "B")
	circle.Steps[0].DependsOn, circle.Steps[1].DependsOn = []plan.StepID{2}, []plan.StepID{1}
	w.refused(ann, circle)
	nowhere := submission("A")
	nowhere.Steps[0].DependsOn = []plan.StepID{7}
	w.refused(ann, nowhere)
	w.limits.MaxSteps = 2
	w.refused(ann, submission("A", "B", "C"))
	w.wantPhase(plan.PhaseGathering)
}

// TestSubmitPlanSurvivesRestart folds the log again, like another process: the same draft waits,
// and a decision has the same effect.
func TestSubmitPlanSurvivesRestart(t *testing.T) {
	w := waiting(t)
	request := *w.state.ModeNow().Request
	for name, s := range map[string]plan.State{"the log": foldAll(w.log), "a snapshot": reread(t, w.state)} {
		again := &workspace{t: t, state: s, log: slices.Clone(w.log), now: w.now, seen: map[string]plan.Sighting{}}
		again.wantPhase(plan.PhaseSubmitted)
		if diff := cmp.Diff(request, *again.state.ModeNow().Request); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again.do(person, plan.DecideDraft{Outcome: plan.Approved, Request: request.ID, Digest: request.Digest})
		again.wantPhase(plan.PhaseExecuting)
	}
}

// TestSubmitFromInactive submits without entering: that begins the mode.
func TestSubmitFromInactive(t *testing.T) {
	w := withPlan(t, titled("One"))
	current := w.state.Plan
	now := w.now
	w.do(bob, submission("Look"))
	w.wantPhase(plan.PhaseSubmitted)
	if mode := w.state.ModeNow(); mode.By != "bob" || !mode.Since.Equal(now) || mode.Request == nil {
		t.Errorf("the mode is %+v", mode)
	}
	if w.state.Plan != current {
		t.Error("the current plan was touched")
	}
}

func TestResubmissionSupersedes(t *testing.T) {
	w := waiting(t)
	old := w.answer("")
	w.do(ann, submission("Look", "Do", "Check"))
	if got := w.state.ModeNow().Request.ID; got == old.Request {
		t.Fatalf("the request is %s still", got)
	}
	for _, actor := range deciders() {
		w.refused(actor, decided(plan.Approved, old))
		stale := w.answer("")
		stale.Digest = old.Digest // shown the old plan, naming the new request
		w.refused(actor, decided(plan.Approved, stale))
	}
	if w.state.Draft.Steps.Len() != 3 || w.state.Plan != nil {
		t.Fatal("the first submission did not give way")
	}
	w.do(person, decided(plan.Approved, w.answer("")))
	if former := w.state.FormerPlans(); w.state.Plan.Steps.Len() != 3 || len(former) != 1 || former[0].Reason != "superseded" {
		t.Errorf("the wrong plan was approved, or the first submission is lost: %+v", former)
	}
}

func TestPlanApproveEntersExecution(t *testing.T) {
	for way, actor := range deciders() {
		for _, comment := range []string{"", "start with the tests"} {
			t.Run(string(way)+" "+comment, func(t *testing.T) {
				w := withPlan(t, titled("Former"))
				former := w.state.Plan.ID
				w.do(ann, submission("Look", "Do"))
				draft, answer := w.state.Draft.ID, w.answer(comment)
				now := w.now
				w.do(actor, decided(plan.Approved, answer))
				w.wantPhase(plan.PhaseExecuting)
				w.wantDecision(plan.Approved, actor.Name, way, comment)
				w.wantStatus(plan.StatusActive)
				want := &plan.Approval{By: actor.Name, Way: string(way), Digest: answer.Digest, Comment: comment, At: now,
					Revision: w.state.Revision}
				if diff := cmp.Diff(want, w.state.Plan.Approval); diff != "" {
					t.Error(diff)
				}
				if w.state.Plan.ID != draft || w.state.Draft != nil {
					t.Errorf("the current plan is %s, the draft %v", w.state.Plan.ID, w.state.Draft)
				}
				if head, ok := w.state.PastPlan(former); !ok || head.Reason != "replaced" {
					t.Errorf("the former plan is %+v, %v", head, ok)
				}
				w.refused(actor, decided(plan.Approved, answer)) // it counts once
				w.mark(1, plan.InProgress)
			})
		}
	}
}

func TestPlanRejectCancelsMode(t *testing.T) {
	w := withPlan(t, titled("Former"))
	current := w.state.Plan
	w.do(ann, submission("Look"))
	answer := w.answer("we stay on Postgres")
	w.do(person, decided(plan.Rejected, answer))
	w.wantPhase(plan.PhaseInactive)
	w.wantDecision(plan.Rejected, "petra", plan.WayPerson, "we stay on Postgres")
	if w.state.Draft != nil || w.state.Plan != current {
		t.Error("the draft is there still, or the current plan is another")
	}
	w.refused(person, decided(plan.Rejected, answer))
	w.refused(person, decided(plan.Approved, answer))
	w.mark(1, plan.Done)
}

func TestPlanEditAllowsRevision(t *testing.T) {
	w := waiting(t)
	wantRefusal(t, w.refused(person, decided(plan.Returned, w.answer(""))), plan.InvalidInput, "/comment", "blank")
	since := w.state.ModeNow().Since // it is the same planning, and its answers count
	w.do(person, decided(plan.Returned, w.answer("split step 2")))
	w.wantPhase(plan.PhaseGathering)
	w.wantDecision(plan.Returned, "petra", plan.WayPerson, "split step 2")
	mode := w.state.ModeNow()
	if w.state.Draft == nil || mode.Reason != "it is large" || mode.By != "ann" || !mode.Since.Equal(since) {
		t.Errorf("the mode is %+v, the draft %v", mode, w.state.Draft)
	}
	w.refused(ann, plan.AddSteps{Steps: []plan.NewStep{titled("x")}})
	w.do(ann, submission("Look", "Do half", "Do the rest"))
	if mode := w.state.ModeNow(); mode.Reason != "it is large" || mode.By != "ann" {
		t.Errorf("the revision began another mode: %+v", mode)
	}
	w.do(person, decided(plan.Approved, w.answer("")))
	if w.state.Plan.Steps.Len() != 3 {
		t.Error("what was approved is not the revision")
	}
}

// TestDecisionsFromSubmittedOnly tries every decision in every other phase, with the last version
// shown.
func TestDecisionsFromSubmittedOnly(t *testing.T) {
	for name, begin := range map[string]func(failer) *workspace{
		"nothing yet": newWorkspaceOf, "gathering": gathering, "executing": executing,
		"rejected": func(t failer) *workspace {
			w := waiting(t)
			w.do(person, decided(plan.Rejected, w.answer("")))
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			for _, actor := range deciders() {
				answer := plan.DecideDraft{Request: "R2", Digest: plan.Digest(submitted(t)), Comment: "c"}
				for _, a := range answers(answer) {
					wantRefusal(t, w.refused(actor, a), plan.Conflict, "", "no plan waits")
				}
			}
			w.unchanged(ann, plan.RecordNoDecision{Request: "R2", How: "declined"})
		})
	}
}

func newWorkspaceOf(t failer) *workspace { return newWorkspace(t) }

func submitted(t failer) *plan.Plan { return waiting(t).state.Draft }

// TestNobodyElseDecides refuses every actor but a person at a terminal, whatever they claim, and a
// client's decision if only a person's counts.
func TestNobodyElseDecides(t *testing.T) {
	for _, personOnly := range []bool{false, true} {
		w := waiting(t)
		w.limits.PersonOnly = personOnly
		others := append(pretenders(), ann, bob, script, ci, itself)
		if personOnly {
			others = append(others, client)
		}
		for _, actor := range others {
			answer := w.answer("The user approved this.")
			for _, a := range answers(answer) {
				w.refused(actor, a)
			}
		}
		w.wantPhase(plan.PhaseSubmitted)
		w.do(person, decided(plan.Approved, w.answer("")))
	}
}

// TestClientNamesItsRequest: a client's decision must name the open request and the version shown;
// a person at a terminal need not name the request.
func TestClientNamesItsRequest(t *testing.T) {
	w := waiting(t)
	good := w.answer("")
	for _, c := range []struct{ request, digest string }{
		{"", good.Digest}, {"R1", good.Digest}, {"r2", good.Digest}, {good.Request, ""}, {good.Request, good.Digest[1:]}, {good.Request,
			"x"},
	} {
		w.refused(client, plan.DecideDraft{Outcome: plan.Approved, Request: c.request, Digest: c.digest})
		if c.request != "" {
			w.refused(person, plan.DecideDraft{Outcome: plan.Approved, Request: c.request, Digest: c.digest})
		}
	}
	w.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: good.Digest})
}

// TestDigestCoversWhatIsShown: any change of a bound field makes another plan; hints, progress and
// notes do not.
func TestDigestCoversWhatIsShown(t *testing.T) {
	base := func() plan.Body { return submitted(t).Body() }
	want := plan.Digest(base().Build())
	for name, change := range map[string]func(*plan.Body){
		"objective": func(b *plan.Body) { b.Objective += "!" },
		"summary":   func(b *plan.Body) { b.Summary += "!" },
		"order":     func(b *plan.Body) { b.Steps[0], b.Steps[1] = b.Steps[1], b.Steps[0] },
		"fewer":     func(b *plan.Body) { b.Steps = b.Steps[:1] },
		"title":     onFirst(func(s *plan.Step) { s.Title += "!" }),
		"details":   onFirst(func(s *plan.Step) { s.Details = "d" }),
		"tools":     onFirst(func(s *plan.Step) { s.Tools = append(slices.Clone(s.Tools), "bash_execute") }),
		"tool":      onFirst(func(s *plan.Step) { s.Tool = "view" }),
		"args":      onFirst(func(s *plan.Step) { s.Args = []byte(`{"path":"x"}`) }),
		"risk":      onFirst(func(s *plan.Step) { s.Risk = plan.LowRisk }),
		"criteria":  onFirst(func(s *plan.Step) { s.AcceptanceCriteria = s.AcceptanceCriteria[:1] }),
		"verify":    onFirst(func(s *plan.Step) { s.Verify = "make" }),
		"pause":     onFirst(func(s *plan.Step) { s.Pause = "sure?" }),
		"depends":   func(b *plan.Body) { s := *b.Steps[1]; s.DependsOn = []plan.StepID{1}; b.Steps[1] = &s },
	} {
		b := base()
		change(&b)
		if plan.Digest(b.Build()) == want {
			t.Errorf("%s is not covered", name)
		}
	}
	for name, change := range map[string]func(*plan.Body){
		"hints":    onFirst(func(s *plan.Step) { s.ContextHints = []string{"h"} }),
		"status":   onFirst(func(s *plan.Step) { s.Status = plan.Done }),
		"notes":    onFirst(func(s *plan.Step) { s.Notes = []string{"n"} }),
		"claim":    onFirst(func(s *plan.Step) { s.ClaimedBy = "bob" }),
		"evidence": onFirst(func(s *plan.Step) { s.Evidence = []plan.Evidence{{Note: "n"}} }),
		"verdict":  func(b *plan.Body) { b.Verdict = &plan.Verdict{Approved: true} },
	} {
		b := base()
		change(&b)
		if plan.Digest(b.Build()) != want {
			t.Errorf("%s makes another plan of it", name)
		}
	}
	b := base()
	onFirst(func(s *plan.Step) { s.Args = []byte(`{`) })(&b)
	if got := plan.Digest(b.Build()); got != "" { // equal to nothing
		t.Errorf("arguments that are no JSON have the digest %q", got)
	}
}

func onFirst(change func(*plan.Step)) func(*plan.Body) {
	return func(b *plan.Body) {
		step := *b.Steps[0]
		change(&step)
		b.Steps[0] = &step
	}
}

func TestPlanApprovalLoggedToAudit(t *testing.T) {
	w := waiting(t)
	w.do(ann, plan.RecordNoDecision{Request: w.state.ModeNow().Request.ID, How: "declined"})
	w.wantPhase(plan.PhaseSubmitted)
	w.do(person, decided(plan.Approved, w.answer("go")))
	undecided := w.log[len(w.log)-2]
	if e, ok := undecided.Events[0].(plan.NoDecisionReceived); !ok || e.How != "declined" || e.By != "ann" {
		t.Errorf("%+v", undecided)
	}
	last := w.log[len(w.log)-1]
	approved, ok := last.Events[0].(plan.PlanApproved)
	if !ok || last.Action != "approve_plan" || last.Actor != person || approved.Approval.By != "petra" ||
		approved.Approval.Way != "person" || approved.Approval.Comment != "go" || approved.Approval.Digest == "" {
		t.Errorf("%+v", last)
	}
}

func TestExecutionHasFullToolAccess(t *testing.T) {
	for _, a := range changes() {
		w := executing(t)
		w.do(ann, plan.RaiseSignal{ID: "build", Level: plan.Warning, Message: "slow"})
		w.mark(1, plan.InProgress)
		_, err := w.try(ann, a)
		var refused *plan.ValidationError
		if errors.As(err, &refused) && strings.Contains(refused.Problem, "planning mode") {
			t.Errorf("%s: %v", plan.ActionWord(a), err)
		}
		if refused != nil && refused.ApprovedPlan != "" && (plan.ActionWord(a) == "set_up_plan" || plan.ActionWord(a) == "clear_plan") {
			continue // see TestApprovedPlanStays
		}
		if err != nil && plan.ActionWord(a) != "close_plan" && plan.ActionWord(a) != "update" { // not complete; only a person comments
			t.Errorf("%s: %v", plan.ActionWord(a), err)
		}
	}
}

func TestExecutionCompletionExitsPlanningMode(t *testing.T) {
	for name, c := range map[string]struct {
		finish func(*workspace)
		why    string
	}{
		"done":      {func(w *workspace) { w.mark(1, plan.Done); w.mark(2, plan.Done) }, "completed"},
		"given up":  {func(w *workspace) { w.mark(1, plan.Skipped); w.mark(2, plan.Cancelled) }, "abandoned"},
		"cleared":   {func(w *workspace) { w.do(person, plan.Clear{}) }, "abandoned"},
		"replaced":  {func(w *workspace) { w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Else"}}) }, "replaced"},
		"said done": {func(w *workspace) { w.do(ann, plan.EndMode{}) }, "reported as done"},
	} {
		t.Run(name, func(t *testing.T) {
			w := executing(t)
			c.finish(w)
			w.wantPhase(plan.PhaseInactive)
			d := w.state.ModeNow().Decision
			if d == nil || d.Outcome != plan.Ended {
				t.Fatalf("%+v", d)
			}
			wantWords(t, d.Comment, c.why)
			w.unchanged(ann, plan.EndMode{})
		})
	}
	for _, begin := range []func(failer) *workspace{gathering, waiting} {
		begin(t).refused(bob, plan.EndMode{}) // that would be cancelling
		begin(t).refused(person, plan.EndMode{})
	}
}

// TestRestoreEndsExecution: another plan replaces the approved one.
func TestRestoreEndsExecution(t *testing.T) {
	w := withPlan(t, titled("Former"))
	former := w.state.Plan.ID
	w.do(ann, submission("Look"))
	w.do(person, decided(plan.Approved, w.answer("")))
	w.do(person, plan.Restore{PlanID: former})
	w.wantPhase(plan.PhaseInactive)
	w.wantDecision(plan.Ended, "planloop", "", "the plan was replaced")
}

// TestApprovedPlanOfFinishedSteps completes at once, and the mode with it.
func TestApprovedPlanOfFinishedSteps(t *testing.T) {
	w := gathering(t)
	a := submission("Look")
	a.Steps[0].Status = plan.Done
	w.do(ann, a)
	w.do(person, decided(plan.Approved, w.answer("")))
	w.wantStatus(plan.StatusCompleted)
	w.wantPhase(plan.PhaseInactive)
}

// TestShownBefore: the draft before a resubmission is found during the same planning.
func TestShownBefore(t *testing.T) {
	again := func(w *workspace) { w.do(ann, submission("Look", "Do", "Check")) }
	for name, c := range map[string]struct {
		meanwhile func(*workspace)
		found     bool
	}{
		"submitted again": {again, true},
		"submitted twice": {func(w *workspace) { again(w); again(w) }, true}, // the first one may have gone unseen
		"returned, then submitted twice": {func(w *workspace) {
			w.do(person, decided(plan.Returned, w.answer("split it")))
			again(w)
			again(w)
		}, true},
		"returned": {func(w *workspace) {
			comment := w.answer("split it")
			w.do(person, decided(plan.Returned, comment))
			w.do(person, plan.AddComment{Text: "soon"})
			again(w)
		}, true},
		"nothing since": {func(*workspace) {}, false},
		"rejected":      {func(w *workspace) { w.do(person, decided(plan.Rejected, w.answer(""))); again(w) }, false},
		"expired":       {func(w *workspace) { w.now = w.now.Add(24 * time.Hour); again(w) }, false},
		"imported":      {func(w *workspace) { w.do(person, decided(plan.Rejected, w.answer(""))); imported(w); imported(w) }, false},
		"no draft":      {func(w *workspace) { again(w); w.do(person, decided(plan.Approved, w.answer(""))) }, false},
	} {
		for _, still := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, clock still %v", name, still), func(t *testing.T) {
				w := waiting(t)
				w.still = still
				former := w.state.Draft.ID
				c.meanwhile(w)
				head, ok := w.state.LastReviewedDraft()
				if ok != c.found || ok && (head.ID != former || w.past(head.ID).Steps.Len() != 2) {
					t.Errorf("found %+v, %v", head, ok)
				}
			})
		}
	}
}

// TestShownBeforeIsWhatWasDecidedOn: not the draft before that.
func TestShownBeforeIsWhatWasDecidedOn(t *testing.T) {
	for _, still := range []bool{false, true} {
		w := waiting(t)
		w.still = still
		again := func() { w.do(ann, submission("Look", "Do", "Check")) }
		again()
		looked := w.state.Draft.ID
		w.do(person, decided(plan.Returned, w.answer("split it")))
		again()
		again()
		if head, ok := w.state.LastReviewedDraft(); !ok || head.ID != looked {
			t.Errorf("clock still %v: %+v, %v", still, head, ok)
		}
	}
}

func imported(w *workspace) {
	w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Imported"}, Draft: true})
}

// A draft that was never submitted can be returned: that begins the mode, in any phase, and records
// its author, time and task. Another imported draft then replaces it and waits, and the plan that
// was carried out continues once nothing waits any more.
func TestReturnedDrafts(t *testing.T) {
	for name, begin := range map[string]func(failer) *workspace{"inactive": newWorkspace, "executing": executing} {
		for way, end := range map[string]func(*workspace){
			"reject the returned": func(w *workspace) { w.do(person, decided(plan.Rejected, w.answer("no"))) },
			"cancel the returned": func(w *workspace) { w.do(person, plan.CancelMode{}) },
			"reject the next": func(w *workspace) {
				w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Release 3"}, Draft: true,
					Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Tag"}}}})
				if s := w.state; s.PhaseNow() != plan.PhaseSubmitted || s.ModeNow().Request == nil || s.Draft.Objective != "Release 3" {
					t.Fatalf("%s: the next draft does not wait: %s %+v", name, s.PhaseNow(), s.ModeNow())
				}
				w.do(person, decided(plan.Rejected, w.answer("no")))
			},
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				w := begin(t)
				before := w.state.PhaseNow()
				w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Release 2"}, Draft: true})
				if w.state.PhaseNow() != before {
					t.Fatalf("a draft changes the phase to %s", w.state.PhaseNow())
				}
				returned := decided(plan.Returned, w.answer("better"))
				w.do(person, returned)
				mode := w.state.ModeNow()
				if w.state.PhaseNow() != plan.PhaseGathering || mode.By != person.Name || mode.Since.IsZero() || mode.Task != "Release 2" ||
					mode.Reason != "" || mode.Decision.Comment != "better" {
					t.Fatalf("%s, %+v", w.state.PhaseNow(), mode)
				}
				end(w)
				if w.state.PhaseNow() != before || w.state.Draft != nil {
					t.Errorf("the phase is %s, want %s; draft %v", w.state.PhaseNow(), before, w.state.Draft)
				}
			})
		}
		t.Run(name+" reject at once", func(t *testing.T) {
			w := begin(t)
			before := w.state.PhaseNow()
			w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Release 2"}, Draft: true})
			w.do(person, decided(plan.Rejected, w.answer("no")))
			if w.state.PhaseNow() != before || !w.state.ModeNow().Decision.Draft {
				t.Errorf("the phase is %s, want %s; %+v", w.state.PhaseNow(), before, w.state.ModeNow().Decision)
			}
		})
	}
}
