package verbs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestAnAnswerReachesWhoAsked: for any calls between a question and the status after its answer, that status has the
// answer. A status with a reply that never reached its caller does not count.
func TestAnAnswerReachesWhoAsked(t *testing.T) {
	rapidtest.Check(t, func(rt *rapid.T) {
		clock := time.Now()
		tick := func() time.Time { clock = clock.Add(time.Second); return clock }
		w := &walker{T: rt, rules: &book{}, service: service(tick, nil), me: ann}
		anything := func() {
			for range rapid.IntRange(0, 5).Draw(rt, "calls") {
				who := rapid.SampledFrom([]verbs.Caller{ann, ann, carl, person}).Draw(rt, "who")
				call := rapid.SampledFrom([]func(verbs.Caller) error{w.setsUp, w.marks, w.starts, w.clears, w.closes, w.drafts,
					w.adds, w.plans, w.decides, w.cancels, w.reads, w.givesUpWaiting}).Draw(rt, "call")
				err := call(who)
				_, refused := errors.AsType[*plan.ValidationError](err)
				_, asks := errors.AsType[*verbs.ChangeProposed](err)
				if err != nil && !refused && !asks {
					rt.Fatal(err)
				}
			}
		}
		if rapid.Bool().Draw(rt, "status before") {
			w.status(ann)
		}
		anything()
		if _, err := w.service.AskUser(w.Context(), ann, verbs.AskUser{Question: "Which region?"}); err != nil {
			rt.Fatal(err)
		}
		anything()
		if _, err := w.service.Answer(w.Context(), person, "", "the EU"); err != nil {
			rt.Fatal(err)
		}
		anything()
		if w.status(ann); !slices.Contains(w.heard, "the EU") {
			rt.Fatalf("the answer is not told:\n%s", strings.Join(w.trail, "\n"))
		}
	})
}

// TestAnswersGivenWhilePlanningReachWhoeverCarriesThePlanOut: even if the draft was replaced several times before the
// approval, a new agent gets the answers given during planning.
func TestAnswersGivenWhilePlanningReachWhoeverCarriesThePlanOut(t *testing.T) {
	clock := time.Now()
	s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(s.EnterPlanModeFor(t.Context(), ann, verbs.PlanFor{Task: "Limit login attempts"}))
	do(s.AskUser(t.Context(), ann, verbs.AskUser{Question: "Redis?"}))
	do(s.Answer(t.Context(), person, "", "memory is enough"))
	for _, title := range []string{"List the sessions", "Move the sessions"} {
		do(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move.", Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{
			Title: &title, Type: new(plan.Feature), ContextHints: &[]string{"Read `go.mod`"}, RelevantFilePaths: &[]string{"go.mod"}}}}}))
	}
	state, err := s.State(t.Context())
	do(state, err)
	do(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)}))
	reply, err := s.Status(t.Context(), carl, verbs.Status{})
	if do(reply, err); len(reply.Answers) != 1 || reply.Answers[0].Answer != "memory is enough" {
		t.Errorf("%+v", reply.Answers)
	}
}

// TestGatheringTells: while planning mode gathers, every status has its subject, the open questions, the answers and the requested
// changes, which still apply to the next submission.
func TestGatheringTells(t *testing.T) {
	s := service(time.Now, nil)
	tells := func(who verbs.Caller, words ...string) {
		t.Helper()
		for range 2 {
			reply, err := s.Status(t.Context(), who, verbs.Status{})
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range words {
				unwanted, not := strings.CutPrefix(word, "not ")
				if strings.Contains(reply.Text(), unwanted) == not {
					t.Errorf("%q in the status of %s:\n%s", word, who.Actor.Name, reply.Text())
				}
			}
		}
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	submit := func() {
		t.Helper()
		title := "Move the sessions"
		task := verbs.TaskFields{Title: &title, Type: new(plan.Feature), ContextHints: &[]string{"Read `go.mod`"},
			RelevantFilePaths: &[]string{"go.mod"}}
		do(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move them.", Steps: []verbs.SubmittedStep{{TaskFields: task}}}))
	}
	do(s.EnterPlanModeFor(t.Context(), person, verbs.PlanFor{Task: "Keep the sessions in Redis"}))
	do(s.AskUser(t.Context(), ann, verbs.AskUser{Question: "Which region?"}))
	tells(ann, "task: Keep the sessions in Redis", "Open questions: Q1: Which region?")
	do(s.Answer(t.Context(), person, "", "the EU"))
	for _, who := range []verbs.Caller{ann, carl} {
		tells(who, "task: Keep the sessions in Redis", "not Open question", `pat answered "Which region?": the EU`)
	}
	submit()
	tells(ann, `pat answered "Which region?": the EU`)
	state, _ := s.State(t.Context())
	do(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Returned, Digest: plan.Digest(state.Draft),
		Comment: "say how we go back"}))
	for _, who := range []verbs.Caller{ann, carl} {
		tells(who, "say how we go back", "the EU", "task: Keep the sessions in Redis")
	}
	submit()
	tells(ann, "changes requested by pat: say how we go back", "the EU")
}

// TestCommentsOfDecisionsStay: people's comments with decisions apply until the plan is replaced, whatever is decided later.
func TestCommentsOfDecisionsStay(t *testing.T) {
	clock := time.Now()
	s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tells := func(when string, words ...string) {
		t.Helper()
		status, err := s.Status(t.Context(), ann, verbs.Status{})
		do(status, err)
		comments, err := s.ReadPlan(t.Context(), ann, verbs.ReadPlan{Of: new(verbs.CommentsOnly)})
		do(comments, err)
		for _, word := range words {
			if strings.Count(status.Text(), word) != 1 || strings.Count(comments.Text(), word) != 1 {
				t.Errorf("%s, want %q once in each of\n%s\nand\n%s", when, word, status.Text(), comments.Text())
			}
		}
	}
	decide := func(outcome plan.Outcome, comment string) {
		t.Helper()
		state, err := s.State(t.Context())
		do(state, err)
		do(s.Decide(t.Context(), person, plan.DecideDraft{Outcome: outcome, Digest: plan.Digest(state.Draft), Comment: comment}))
	}
	submit := func(title string) {
		t.Helper()
		do(s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move.", Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{
			Title: &title, Type: new(plan.Feature), ContextHints: &[]string{"Read `go.mod`"}, RelevantFilePaths: &[]string{"go.mod"}}}}}))
	}
	propose := func(title string) {
		t.Helper()
		_, err := s.Update(t.Context(), ann, verbs.Update{AddTasks: []verbs.NewTask{{TaskFields: verbs.TaskFields{Title: &title,
			Type: new(plan.Feature), ContextHints: &[]string{"Read `go.mod`"}, RelevantFilePaths: &[]string{"go.mod"}}}}})
		if _, proposed := errors.AsType[*verbs.ChangeProposed](err); !proposed {
			t.Fatal(err)
		}
	}
	submit("Move the sessions")
	decide(plan.Returned, "keep the old names")
	tells("returned", "keep the old names")
	submit("Move the old sessions")
	tells("submitted again", "keep the old names")
	decide(plan.Approved, "no new modules")
	tells("approved", "keep the old names", "no new modules")
	propose("Limit the sessions")
	tells("a change is proposed", "keep the old names", "no new modules")
	do(s.Update(t.Context(), ann, verbs.Update{Withdraw: true}))
	tells("it is withdrawn", "keep the old names", "no new modules")
	propose("Count the sessions")
	decide(plan.Returned, "count them by user")
	tells("changes are requested", "keep the old names", "no new modules", "count them by user")
	propose("Count the users' sessions")
	decide(plan.Approved, "by the hour")
	all := []string{"keep the old names", "no new modules", "count them by user", "by the hour"}
	tells("the change is approved", all...)
	state, err := s.State(t.Context())
	do(state, err)
	for step := range state.Plan.Steps.All() {
		do(s.Mark(t.Context(), ann, plan.MarkStep{Step: step.ID, Status: plan.Done}))
	}
	tells("completed", all...)
}

// TestAfterARejection: an agent asks the person for the alternative, and sets up no plan before the answer.
func TestAfterARejection(t *testing.T) {
	clock := time.Now()
	s := service(func() time.Time { clock = clock.Add(time.Second); return clock }, nil)
	next := func(want string) {
		t.Helper()
		reply, err := s.Status(t.Context(), ann, verbs.Status{})
		if err != nil || !strings.Contains(reply.NextAction, want) {
			t.Errorf("told %q, want %q (%v)", reply.NextAction, want, err)
		}
	}
	title := "Move the sessions"
	task := verbs.TaskFields{Title: &title, Type: new(plan.Feature), ContextHints: &[]string{"Read it"},
		RelevantFilePaths: &[]string{"go.mod"}}
	if _, err := s.SubmitPlan(t.Context(), ann, verbs.SubmitPlan{Summary: "Move them.",
		Steps: []verbs.SubmittedStep{{TaskFields: task}}}); err != nil {
		t.Fatal(err)
	}
	next("Wait for a person's decision: planloop_status {\"wait\":50}; the person runs planloop review or planloop approve.")
	state, _ := s.State(t.Context())
	if _, err := s.Decide(t.Context(), person, plan.DecideDraft{Outcome: plan.Rejected, Digest: plan.Digest(state.Draft)}); err != nil {
		t.Fatal(err)
	}
	next("Your plan was rejected: ask the user what to do instead: planning_ask_user.")
	next("Your plan was rejected: ask the user what to do instead: planning_ask_user.")
	if _, err := s.AskUser(t.Context(), ann, verbs.AskUser{Question: "What instead?"}); err != nil {
		t.Fatal(err)
	}
	next("Wait for the user's answer: planloop_status")
	if _, err := s.Answer(t.Context(), person, "", "Use files."); err != nil {
		t.Fatal(err)
	}
	next("Set up a plan: planning_setup_plan.")
	if _, err := s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "Use files"}); err != nil {
		t.Fatal(err)
	}
	if reply, err := s.Status(t.Context(), carl, verbs.Status{}); err != nil || reply.Decision != nil {
		t.Errorf("of the plan before, carl is told %v (%v)", reply.Decision, err)
	}
}

func (w *walker) status(c verbs.Caller) verbs.StatusReply {
	reply, err := w.service.Status(w.Context(), c, verbs.Status{})
	if err != nil {
		w.Fatal(err)
	}
	w.hears(c, reply)
	return reply
}

// hears records the content of the walker's own status.
func (w *walker) hears(c verbs.Caller, reply verbs.StatusReply) {
	for _, a := range reply.Answers {
		if c.Actor == w.me.Actor {
			w.heard = append(w.heard, a.Answer)
		}
	}
}

func (w *walker) decides(verbs.Caller) error {
	if w.state().Draft == nil {
		return nil
	}
	outcome := rapid.SampledFrom([]plan.Outcome{plan.Approved, plan.Rejected, plan.Returned}).Draw(w.T, "decision")
	w.did(person, "decides: %s", outcome)
	_, err := w.service.Decide(w.Context(), person, plan.DecideDraft{Outcome: outcome, Digest: plan.Digest(w.state().Draft), Comment: "so"})
	return err
}

func (w *walker) cancels(verbs.Caller) error {
	w.did(person, "cancels planning mode")
	_, err := w.service.CancelPlanMode(w.Context(), person)
	return err
}

func (w *walker) reads(c verbs.Caller) error {
	w.did(c, "reads")
	_, err := w.service.ReadPlan(w.Context(), c, verbs.ReadPlan{})
	return err
}

// givesUpWaiting cancels a waiting status: its reply is lost.
func (w *walker) givesUpWaiting(c verbs.Caller) error {
	w.did(c, "gives up a status that waits")
	ctx, cancel := context.WithCancel(w.Context())
	c.Yield = cancel
	reply, err := w.service.Status(ctx, c, verbs.Status{Wait: 1})
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err == nil && ctx.Err() != nil:
		return errors.New("a cancelled status is answered")
	}
	w.hears(c, reply) // it did not have to wait
	return err
}
