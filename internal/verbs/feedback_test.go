package verbs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestAnAnswerReachesWhoAsked: whatever is called between a question and the status after
// its answer, by whom and in which order, that status tells the answer. A status whose
// reply never reached its caller has told nothing.
func TestAnAnswerReachesWhoAsked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := time.Now()
		tick := func() time.Time { clock = clock.Add(time.Second); return clock }
		w := &walker{T: rt, rules: &book{}, service: service(tick, nil), me: ann}
		anything := func() {
			for range rapid.IntRange(0, 5).Draw(rt, "calls") {
				who := rapid.SampledFrom([]verbs.Caller{ann, ann, carl, person}).Draw(rt, "who")
				call := rapid.SampledFrom([]func(verbs.Caller, bool) error{w.setsUp, w.marks, w.starts, w.clears, w.closes, w.drafts,
					w.adds, w.plans, w.decides, w.cancels, w.reads, w.givesUpWaiting}).Draw(rt, "call")
				err := call(who, true)
				_, refused := errors.AsType[*plan.ValidationError](err)
				_, asks := errors.AsType[*verbs.AskedAgain](err)
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
		w.status(ann)
		if !slices.Contains(w.heard, "the EU") {
			rt.Fatalf("the answer is not told:\n%s", strings.Join(w.trail, "\n"))
		}
		if w.heard = nil; w.status(ann).Phase != plan.PhaseGathering && w.heard != nil {
			rt.Fatalf("the answer is told again:\n%s", strings.Join(w.trail, "\n"))
		}
	})
}

func (w *walker) status(c verbs.Caller) verbs.StatusReply {
	reply, err := w.service.Status(w.Context(), c, verbs.Status{})
	if err != nil {
		w.Fatal(err)
	}
	w.hears(c, reply)
	return reply
}

// hears notes what a status tells the walker itself.
func (w *walker) hears(c verbs.Caller, reply verbs.StatusReply) {
	for _, a := range reply.Answers {
		if c.Actor == w.me.Actor {
			w.heard = append(w.heard, a.Answer)
		}
	}
}

func (w *walker) decides(verbs.Caller, bool) error {
	if w.state().Draft == nil {
		return nil
	}
	outcome := rapid.SampledFrom([]plan.Outcome{plan.Approved, plan.Rejected, plan.Returned}).Draw(w.T, "decision")
	w.did(person, "decides: %s", outcome)
	_, err := w.service.Decide(w.Context(), person, plan.Answer{Outcome: outcome, Digest: plan.Digest(w.state().Draft), Comment: "so"})
	return err
}

func (w *walker) cancels(verbs.Caller, bool) error {
	w.did(person, "cancels planning mode")
	_, err := w.service.CancelPlanMode(w.Context(), person)
	return err
}

func (w *walker) reads(c verbs.Caller, _ bool) error {
	w.did(c, "reads")
	_, err := w.service.ReadPlan(w.Context(), c, verbs.ReadPlan{})
	return err
}

// givesUpWaiting cancels a status that waits: its reply is thrown away.
func (w *walker) givesUpWaiting(c verbs.Caller, _ bool) error {
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
	w.hears(c, reply) // it had not to wait
	return err
}
