package verbs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"pgregory.net/rapid"
)

// binding is a workspace whose plan has facts in all fields that bind the work.
type binding struct {
	t     *testing.T
	s     *verbs.Service
	facts []string
}

// fact returns a line that occurs nowhere else.
func (b *binding) fact(of string) string {
	f := fmt.Sprintf("%s number %d", of, len(b.facts)+1)
	b.facts = append(b.facts, f)
	return f
}

func (b *binding) many(n int, of string) (texts []string) {
	for range n {
		texts = append(texts, b.fact(of))
	}
	return texts
}

// bindingWork returns a plan with n facts of each kind that comes in lists.
func bindingWork(t *testing.T, n int) *binding {
	t.Helper()
	b := &binding{t: t, s: service(time.Now, nil)}
	outline := plan.Outline{Objective: b.fact("objective"), ContextNotes: strings.Join(b.many(n, "finding"), "\n"),
		Reasoning: b.fact("reasoning"), Metadata: plan.Metadata{Constraints: b.many(n, "constraint")}}
	var steps []plan.NewStep
	for i, notes := range b.many(n, "decision noted") {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprint("Done ", i)},
			Progress: plan.Progress{Status: plan.Done, Notes: []string{notes}}})
	}
	for i, reason := range b.many(max(1, n/4), "blocked because of") {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprint("Blocked ", i)},
			Progress: plan.Progress{Status: plan.Blocked, Notes: []string{reason}}})
	}
	for i, reason := range b.many(max(1, n/4), "failed because of") {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprint("Failed ", i)},
			Progress: plan.Progress{Status: plan.Failed, Error: reason}})
	}
	steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: b.fact("current step"), Details: b.fact("detail")}})
	must[verbs.SetupPlanReply](t)(b.s.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: steps,
		Import: plan.Import{Discoveries: b.many(n, "discovery")}}))
	for range n {
		question := must[verbs.AskUserReply](t)(b.s.AskUser(t.Context(), ann, verbs.AskUser{Question: b.fact("question") + "?"}))
		must[verbs.AskUserReply](t)(b.s.Answer(t.Context(), person, question.QuestionID, b.fact("answer")))
		must[verbs.CommentReply](t)(b.s.Comment(t.Context(), person, plan.AddComment{Text: b.fact("comment")}))
	}
	for i := range max(1, n/4) {
		must[verbs.AlertReply](t)(b.s.Alert(t.Context(), ann, verbs.Alert{ID: fmt.Sprint("signal", i), Level: new(plan.Warning),
			Message: b.fact("warning")}))
	}
	return b
}

// accounts returns all renderings of the situation: the second status of a connection, the first of a new one, in text
// and structured, the resume prompt and the briefing of a new session.
func (b *binding) accounts() map[string]string {
	b.t.Helper()
	state := must[plan.State](b.t)(b.s.State(b.t.Context()))
	must[verbs.StatusReply](b.t)(b.s.Status(b.t.Context(), ann, verbs.Status{}))
	second := must[verbs.StatusReply](b.t)(b.s.Status(b.t.Context(), ann, verbs.Status{}))
	fresh := must[verbs.StatusReply](b.t)(b.s.Status(b.t.Context(), carl, verbs.Status{}))
	_, structured := counted(b.t)(b.t, second)
	if text, _ := counted(b.t)(b.t, second); text > 1_500 || structured > 1_500 {
		b.t.Errorf("%d tokens of text, %d of structured content", text, structured)
	}
	return map[string]string{"the second status": second.Text(),
		"the second status, structured":  string(must[[]byte](b.t)(second.MarshalJSON())),
		"the status of a new connection": fresh.Text(), "resume": resume(b.t, b.s, carl),
		"briefing": must[string](b.t)(b.s.Briefing(b.t.Context(), state, carl))}
}

// TestEveryBindingFactIsInEveryAccount: after compaction the connection lives on and the memory is gone.
func TestEveryBindingFactIsInEveryAccount(t *testing.T) {
	b := bindingWork(t, 5)
	if len(b.facts) < 40 {
		t.Fatalf("%d facts, want at least 40", len(b.facts))
	}
	for name, text := range b.accounts() {
		for _, f := range b.facts {
			if !strings.Contains(text, f) {
				t.Errorf("%s lacks %q:\n%s", name, f, text)
			}
		}
		if !strings.Contains(text, "evision") {
			t.Errorf("%s does not name the revision", name)
		}
	}
}

// TestFactsWithoutRoomAreCounted: with 200 facts, every text is shown or counted, with a call that shows it.
func TestFactsWithoutRoomAreCounted(t *testing.T) {
	b := bindingWork(t, 28)
	if len(b.facts) < 200 {
		t.Fatalf("%d facts, want at least 200", len(b.facts))
	}
	for name, text := range b.accounts() {
		shown, counted := 0, 0
		for _, f := range b.facts {
			if strings.Contains(text, f+"\n") || strings.Contains(text, f+`\n`) ||
				strings.Contains(text, f+`"`) || strings.Contains(text, f+"?") {
				shown++
			}
		}
		_, rest, _ := strings.Cut(text, "Left out")
		for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ':' || r == '\n' || r == '"' }) {
			n := 0
			if _, err := fmt.Sscanf(strings.TrimLeft(part, "- "), "%d more", &n); err == nil {
				if counted += n; strings.HasSuffix(part, "answers") { // with their questions
					counted += n
				}
			}
		}
		if !strings.Contains(rest, "planloop_status") || shown+counted < len(b.facts) {
			t.Errorf("%s: %d shown, %d counted, want %d in all:\n%s", name, shown, counted, len(b.facts), text)
		}
	}
}

// TestLeftOutFactsAreShown: the call named beside the facts left out shows them, of every kind, a page at a time.
func TestLeftOutFactsAreShown(t *testing.T) {
	b := bindingWork(t, 28)
	for range 8 {
		must[verbs.AskUserReply](t)(b.s.AskUser(t.Context(), ann, verbs.AskUser{Question: b.fact("open question") + "?"}))
	}
	for name, caller := range map[string]verbs.Caller{"a known connection": ann, "a new one": carl} {
		reply := must[verbs.StatusReply](t)(b.s.Status(t.Context(), caller, verbs.Status{}))
		text, pages := reply.Text(), 0
		for all := text; ; pages++ {
			arguments, isMore := leftOutCall(t, text)
			if !isMore {
				for _, f := range b.facts {
					isOfTask := strings.HasPrefix(f, "current step") || strings.HasPrefix(f, "detail") // a call of its own shows it
					if !isOfTask && !strings.Contains(all, f) {
						t.Errorf("%s: no page shows %q", name, f)
					}
				}
				break
			}
			var in verbs.Status
			if err := json.Unmarshal([]byte(arguments), &in); err != nil || in.Page != pages+1 {
				t.Fatalf("%s: page %d names %s: %v", name, pages, arguments, err)
			}
			reply = must[verbs.StatusReply](t)(b.s.Status(t.Context(), caller, in))
			if text, structured := counted(t)(t, reply); text > 1_500 || structured > 1_500 {
				t.Errorf("%s, page %d: %d tokens of text, %d of structured content", name, in.Page, text, structured)
			}
			text = reply.Text()
			if all += text; pages == 0 {
				all = text // the pages are complete without the status
			}
		}
		if pages < 2 || pages > 6 {
			t.Errorf("%s: %d pages", name, pages)
		}
		_, err := b.s.Status(t.Context(), caller, verbs.Status{Page: pages + 1})
		if err == nil || !strings.Contains(err.Error(), "has no page") {
			t.Errorf("%s: a page after the last: %v", name, err)
		}
	}
}

// leftOutCall returns the arguments of the status that a status names beside the facts left out.
func leftOutCall(t *testing.T, text string) (arguments string, isMore bool) {
	t.Helper()
	_, rest, isMore := strings.Cut(text, "Left out: ")
	line, _, _ := strings.Cut(rest, "\n")
	_, arguments, isNamed := strings.Cut(line, ": planloop_status ")
	if isMore && !isNamed {
		t.Fatalf("no call: %s", text)
	}
	return arguments, isMore
}

// TestOrdinarySituationIsCheap: 12 steps and 15 binding facts cost at most 900 tokens.
func TestOrdinarySituationIsCheap(t *testing.T) {
	b := bindingWork(t, 1)
	for i := range 8 {
		must[verbs.AddStepReply](t)(b.s.AddStep(t.Context(), ann, verbs.AddStep{Steps: []verbs.AddedStep{
			{NewStep: verbs.NewStep{Title: fmt.Sprint("Refuse expired sessions in handler ", i)}}}}))
	}
	for range 3 {
		must[verbs.CommentReply](t)(b.s.Comment(t.Context(), person, plan.AddComment{Text: b.fact("keep the log lines short")}))
	}
	reply := must[verbs.StatusReply](t)(b.s.Status(t.Context(), ann, verbs.Status{}))
	if text, structured := counted(t)(t, reply); text > 900 || structured > 900 {
		t.Errorf("%d tokens of text, %d of structured content:\n%s", text, structured, reply.Text())
	}
}

// TestStatusSinceARevision has the changes after it and the next action alone.
func TestStatusSinceARevision(t *testing.T) {
	b := bindingWork(t, 2)
	before := must[verbs.StatusReply](t)(b.s.Status(t.Context(), ann, verbs.Status{}))
	must[verbs.CommentReply](t)(b.s.Comment(t.Context(), person, plan.AddComment{Text: "mind the clock"}))
	reply := must[verbs.StatusReply](t)(b.s.Status(t.Context(), ann, verbs.Status{Since: before.Revision}))
	text := reply.Text()
	if len(reply.Changes) != 1 || !strings.Contains(text, "mind the clock") || !strings.Contains(text, "\nNext: "+before.NextAction) ||
		strings.Contains(text, b.facts[0]) {
		t.Error(text)
	}
	for _, since := range []plan.Revision{-1, reply.Revision + 1} {
		if _, err := b.s.Status(t.Context(), ann, verbs.Status{Since: since}); err == nil ||
			!strings.Contains(err.Error(), "leave out since") {
			t.Errorf("since %d: %v", since, err)
		}
	}
	rapidtest.Check(t, func(t *rapid.T) {
		s := anyWork(t)
		state := must[plan.State](t)(s.State(context.Background()))
		since := plan.Revision(rapid.IntRange(1, int(state.Revision)).Draw(t, "since"))
		reply := must[verbs.StatusReply](t)(s.Status(context.Background(), ann, verbs.Status{Since: since}))
		if text, structured := counted(t)(t, reply); text > 1_500 || structured > 1_500 {
			t.Errorf("%d tokens of text, %d of structured content:\n%s", text, structured, reply.Text())
		}
	})
}

// TestStatusLeavesTheStateAlone: states are shared, so their texts are marked in copies.
func TestStatusLeavesTheStateAlone(t *testing.T) {
	lists := [][]string{{"first\nsecond"}, {"third\nfourth"}}
	p := &plan.Plan{ID: "p-1", Status: plan.StatusActive, Discoveries: lists[0], Outline: plan.Outline{Objective: "o",
		Metadata: plan.Metadata{Constraints: lists[1]}}, Steps: plan.NewSteps([]*plan.Step{{ID: 1, Spec: plan.Spec{Title: "Do it"}}})}
	s := service(time.Now, nil)
	resume := func() string { return must[string](t)(s.Resume(t.Context(), plan.State{Plan: p}, ann)) }
	if first := resume(); first != resume() || lists[0][0] != "first\nsecond" || lists[1][0] != "third\nfourth" {
		t.Errorf("%q\n%s", lists, first)
	}
}

// TestPartialStatusTellsNoInput: an answer that only a partial status could have told is in the next whole one.
func TestPartialStatusTellsNoInput(t *testing.T) {
	for name, partial := range map[string]verbs.Status{"a task": {Task: new(verbs.TaskID(1))}, "since": {Since: 1}} {
		clock := time.Now()
		s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
		setUp := func(objective string) {
			must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: objective},
				Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Do it"}}}}))
		}
		must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{}))
		must[verbs.AskUserReply](t)(s.AskUser(t.Context(), ann, verbs.AskUser{Question: "Which region?"}))
		must[verbs.AskUserReply](t)(s.Answer(t.Context(), person, "", "the EU"))
		setUp("first")
		setUp("second")
		must[verbs.StatusReply](t)(s.Status(t.Context(), ann, partial))
		if text := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{})).Text(); !strings.Contains(text, "the EU") {
			t.Errorf("after %s:\n%s", name, text)
		}
	}
}

// TestCommentOnAProposalIsNotTakenForTheCurrentStep of the same number.
func TestCommentOnAProposalIsNotTakenForTheCurrentStep(t *testing.T) {
	s := ungated()
	must[verbs.SubmitPlanReply](t)(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Do it.",
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: new("Do it")}}}}))
	must[verbs.DecisionReply](t)(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: digest(t, s)}))
	must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.InProgress}))
	must[verbs.SubmitPlanReply](t)(s.SubmitPlan(t.Context(), carl, verbs.SubmitPlan{Summary: "Other.",
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: new("Do something else")}}}}))
	must[verbs.CommentReply](t)(s.Comment(t.Context(), person, plan.AddComment{Text: "mind the clock", Step: 1}))
	if text := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{})).Text(); !strings.Contains(text, "mind the clock") {
		t.Error(text)
	}
}

// TestCurrentStepIsInEveryFormUnderABlocker: some hosts show a model the structured content alone.
func TestCurrentStepIsInEveryFormUnderABlocker(t *testing.T) {
	s := handed(t)
	called[verbs.MarkStepReply](t, s, "planning_mark_step", `{"step_id":"S002","status":"in_progress"}`)
	must[verbs.AlertReply](t)(s.Alert(t.Context(), ann, verbs.Alert{ID: "ci", Message: "the runner is gone"}))
	reply := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{}))
	for name, text := range map[string]string{"text": reply.Text(), "structured": string(must[[]byte](t)(reply.MarshalJSON()))} {
		if strings.Count(text, "Mind the clock.") != 1 || !strings.Contains(text, "the runner is gone") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestUnverifiedStepsStayInSight: before the final summary, when it can still be corrected, and after it.
func TestUnverifiedStepsStayInSight(t *testing.T) {
	s := service(time.Now, nil)
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Limit logins"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Count them", AcceptanceCriteria: []string{"It counts"}}}}}))
	sees := func(want string) {
		t.Helper()
		status := must[verbs.StatusReply](t)(s.Status(t.Context(), carl, verbs.Status{}))
		for name, text := range map[string]string{"status": status.Text(), "resume": resume(t, s, carl)} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, text)
			}
		}
	}
	const unverified = `Done, but not verified: S001 (no note for the criterion "It counts")`
	must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.Done}))
	sees(unverified)
	must[verbs.UpdateReply](t)(s.Update(t.Context(), ann, verbs.Update{FinalSummary: new("It counts.")}))
	sees(unverified)
}

// TestOthersStepsAreNamed: a step that another living agent has begun, and the way on from one that failed.
func TestOthersStepsAreNamed(t *testing.T) {
	s := service(time.Now, nil)
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Limit logins"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Count them"}}, {Spec: plan.Spec{Title: "Limit them"}}}}))
	must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.InProgress}))
	state := must[plan.State](t)(s.State(t.Context()))
	status := must[verbs.StatusReply](t)(s.Status(t.Context(), carl, verbs.Status{}))
	for name, text := range map[string]string{"status": status.Text(), "resume": resume(t, s, carl),
		"briefing": must[string](t)(s.Briefing(t.Context(), state, carl))} {
		if want := "S001 Count them, in progress by " + ann.Actor.Name; !strings.Contains(text, want) {
			t.Errorf("the %s lacks %q:\n%s", name, want, text)
		}
	}
	for _, id := range []plan.StepID{1, 2} {
		must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: id, Status: plan.Failed, Note: "no Redis"}))
	}
	failed := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{}))
	if text := failed.Text(); failed.Now.Reason != verbs.StepFailed || !strings.Contains(text, "skip it and say why, or replan") {
		t.Error(text)
	}
}

// TestPageFactsFollowTheStatus: the head of the page has the kinds of facts in the status's order, whole and without marks.
func TestPageFactsFollowTheStatus(t *testing.T) {
	b := bindingWork(t, 5)
	state := must[plan.State](t)(b.s.State(t.Context()))
	facts := must[[]verbs.PageFact](t)(b.s.PageFacts(t.Context(), state, state.Plan, person))
	var order, text []string
	for _, f := range must[verbs.StatusReply](t)(b.s.StatusIn(t.Context(), state, person)).Situation {
		order = append(order, f.Name)
	}
	last := -1
	for _, f := range facts {
		at := slices.Index(order, f.Label)
		if at <= last {
			t.Errorf("%s is at %d of the status, after %d", f.Label, at, last)
		}
		last, text = at, append(text, f.Texts...)
		if strings.Contains(strings.Join(f.Texts, "\n"), safetext.Mark) {
			t.Errorf("%s is marked: %q", f.Label, f.Texts)
		}
	}
	kinds := regexp.MustCompile("^(finding|reasoning|constraint|discovery|answer|blocked because of|failed because of)")
	for _, fact := range b.facts {
		if is := strings.Contains(strings.Join(text, "\n"), fact); is != kinds.MatchString(fact) && !strings.HasPrefix(fact, "question") {
			t.Errorf("%q is in the head: %t", fact, is)
		}
	}
}
