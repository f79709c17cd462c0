package verbs_test

import (
	"errors"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// clock is the walk's time: it stands still between acts, so that only waits end leases and time-outs.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// pass lets time pass. A live engine gives signs of life.
func (w *walker) pass(d time.Duration) {
	w.clock.time = w.clock.time.Add(d)
	if living := w.engines.living; living != "" {
		w.engines.seen[living] = plan.Sighting{At: w.clock.time}
	}
}

// begins sets a scene that random acts alone would rarely reach.
func (w *walker) begins() {
	scenes := []func() error{
		func() error { return nil },
		func() error { return w.plans(w.me) },
		func() error { return w.submit(w.me) },
		w.approves, w.approves, w.completesBesideProposal, w.failsBesideProposal, w.isReturned,
	}
	if err := rapid.SampledFrom(scenes).Draw(w.T, "scene")(); err != nil && !isRefused(err) {
		w.Fatal(err)
	}
}

// isRefused reports whether an act was refused, or proposed instead of done.
func isRefused(err error) bool {
	_, refused := errors.AsType[*plan.ValidationError](err)
	_, asks := errors.AsType[*verbs.ChangeProposed](err)
	return refused || asks
}

// approves has a person approve a plan.
func (w *walker) approves() error {
	steps := append(w.randomSteps(), plan.NewStep{Spec: plan.Spec{Title: "The last"}})
	for i := range steps {
		steps[i].Progress = plan.Progress{}
	}
	w.did(w.me, "has a plan of %d steps approved", len(steps))
	if _, err := w.service.SetUp(w.Context(), w.me, plan.SetUp{Outline: plan.Outline{Objective: "Any"}, Draft: true,
		Steps: steps}); err != nil {
		return err
	}
	_, err := w.service.Decide(w.Context(), person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(w.state().Draft)})
	return err
}

// proposes adds a step, edits one or submits another plan; beside an approved plan that is a proposal.
func (w *walker) proposes(c verbs.Caller) error {
	switch rapid.IntRange(0, 3).Draw(w.T, "proposal") {
	case 0:
		return w.adds(c)
	case 1:
		w.did(c, "submits another plan")
		return w.submit(c)
	case 2:
		return w.replans(c)
	}
	w.did(c, "edits S001")
	title := rapid.SampledFrom([]string{"Another title", "A third title"}).Draw(w.T, "title")
	_, err := w.service.EditStep(w.Context(), c, 1, plan.Patch{Title: &title})
	return err
}

func (w *walker) completesBesideProposal() error {
	if err := w.approves(); err != nil {
		return err
	}
	if err := w.proposes(w.drawAgent()); err != nil && !isRefused(err) {
		return err
	}
	for step := range w.state().Plan.Steps.All() {
		w.did(person, "marks %s done", step.ID)
		if _, err := w.service.Mark(w.Context(), person, plan.MarkStep{Step: step.ID, Status: plan.Done}); err != nil && !isRefused(err) {
			return err
		}
	}
	return nil
}

func (w *walker) failsBesideProposal() error {
	if err := w.approves(); err != nil {
		return err
	}
	critical := true
	if _, err := w.service.EditStep(w.Context(), person, 1, plan.Patch{Critical: &critical}); err != nil {
		return err
	}
	if err := w.proposes(w.drawAgent()); err != nil && !isRefused(err) {
		return err
	}
	w.did(w.me, "sees S001 fail, which is critical")
	_, err := w.service.Mark(w.Context(), person, plan.MarkStep{Step: 1, Status: plan.Failed})
	return err
}

func (w *walker) isReturned() error {
	if rapid.Bool().Draw(w.T, "beside a plan") {
		if err := w.approves(); err != nil {
			return err
		}
	}
	if err := w.proposes(w.drawAgent()); err != nil && !isRefused(err) || w.state().Draft == nil {
		return err
	}
	w.did(person, "requests changes")
	_, err := w.service.Decide(w.Context(), person, plan.DecideDraft{Outcome: plan.Returned, Digest: plan.Digest(w.state().Draft),
		Comment: "smaller steps"})
	return err
}

func (w *walker) drawAgent() verbs.Caller {
	return rapid.SampledFrom([]verbs.Caller{w.me, carl}).Draw(w.T, "author")
}

func (w *walker) withdraws(c verbs.Caller) error {
	w.did(c, "withdraws the proposal")
	_, err := w.service.Update(w.Context(), c, verbs.Update{Withdraw: true})
	return err
}

func (w *walker) leaves(c verbs.Caller) error {
	w.did(c, "leaves planning mode")
	_, err := w.service.EnterPlanMode(w.Context(), c, verbs.EnterPlanMode{Leave: true})
	return err
}

func (w *walker) ends(c verbs.Caller) error {
	w.did(c, "ends the mode")
	_, err := w.service.Update(w.Context(), c, verbs.Update{EndMode: true})
	return err
}

// waits lets enough time pass for leases and time-outs, or not quite.
func (w *walker) waits(c verbs.Caller) error {
	d := rapid.SampledFrom([]time.Duration{time.Minute, 29 * time.Minute, 31 * time.Minute, 2 * time.Hour}).Draw(w.T, "time")
	w.did(c, "waits %s", d)
	w.pass(d)
	return nil
}

// isDecided has a person decide, or the time-out, if one is configured.
func (w *walker) isDecided() error {
	_, expires := w.service.ModeEnds(w.state())
	if !expires || rapid.Bool().Draw(w.T, "a person decides") {
		err := w.decides(person)
		if err != nil && strings.Contains(err.Error(), "reject ") { // as the refusal of an approval advises
			_, err = w.service.Decide(w.Context(), person, plan.DecideDraft{Outcome: plan.Rejected, Digest: plan.Digest(w.state().Draft)})
		}
		return err
	}
	w.did(person, "does not decide in time")
	w.pass(2 * time.Hour)
	return nil
}

// isRevised has the author of a returned proposal revise or withdraw it, or a person drop it.
func (w *walker) isRevised() error {
	author := verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: w.state().ProposalAuthor()}, Face: mcpserver.Tools{}}
	switch rapid.IntRange(0, 2).Draw(w.T, "revision") {
	case 0:
		return w.withdraws(author)
	case 1:
		return w.cancels(person)
	}
	return w.submit(author)
}

// tellsMore has the user tell an agent how to continue after a decision that did not come.
func (w *walker) tellsMore() error {
	w.did(person, "comments")
	_, err := w.service.Comment(w.Context(), person, plan.AddComment{Text: "Leave that, and carry on."})
	return err
}

// withoutPreface strips the sentences about a decision before a next action.
func withoutPreface(next string) string {
	for _, preface := range []string{"Rejected: ask the user. ", "Dropped: ask the user. ", "Your change was rejected. ",
		"Your change was not decided; leave it out. ", "Revise or withdraw your proposed change. "} {
		next = strings.TrimPrefix(next, preface)
	}
	return next
}
