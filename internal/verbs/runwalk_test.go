package verbs_test

import (
	"context"
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// engines stand in for engines: during the walk they find random results, at the end only good ones.
type engines struct {
	session *session.Session
	seen    presence
	clock   *clock
	living  string // the live engine, or ""
	born    int
	agents  bool // agents are configured that engines start
}

// For returns the same agent for all steps, if agents are configured.
func (e *engines) For(string) (string, bool) { return "default", e.agents }
func (*engines) Starts(string) int           { return 0 }
func (*engines) Program(string) string       { return "agent" }
func (*engines) Check(string) error          { return nil }
func (*engines) Unset(string) []string       { return nil }

func (e *engines) begin() plan.Actor {
	if e.living == "" {
		e.born++
		e.living = fmt.Sprintf("engine#%d", e.born)
		e.seen[e.living] = plan.Sighting{At: e.clock.now()}
	}
	return plan.NewActor(plan.ChannelEngine, e.living)
}

func (e *engines) Lives() bool                { return e.living != "" }
func (*engines) Running() []verbs.RunningStep { return nil }

// SettleLost settles the steps of dead engines, as engines do.
func (e *engines) SettleLost(ctx context.Context) error {
	state, err := e.session.State(ctx)
	if err != nil {
		return err
	}
	var lost []plan.Attempt
	for step := range state.Plan.Steps.Running() {
		if step.IsRunning() && e.seen[step.ClaimedBy].IsGone {
			lost = append(lost, plan.Attempt{Plan: state.Plan.Root(), Step: step.ID, Attempt: step.Attempts})
		}
	}
	_, err = e.session.Do(ctx, plan.NewActor(plan.ChannelEngine, "planloop"), plan.Schedule{Lost: lost}, nil)
	return err
}

func (e *engines) leave() {
	if e.living != "" {
		e.seen[e.living] = plan.Sighting{At: e.clock.now(), IsGone: true}
		e.living = ""
	}
}

// advance records results and starts ready steps, like an engine.
func (w *walker) advance(a plan.Schedule, agents bool, found func(*plan.Step, *plan.Resolution)) error {
	starts := func(step *plan.Step) bool { return agents && w.engines.agents && step.IsForAgents() }
	_, err := w.engines.session.Do(w.Context(), w.engines.begin(), a, func(state plan.State, facts *plan.Facts) error {
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		for _, step := range plan.StartableStepsWithAgents(a.ApplyResults(state, *facts), a.MaxStarts, starts, nil) {
			args := step.Args
			if grant := step.Execution; grant != nil && grant.Approval != nil && len(grant.Approval.Args) > 0 {
				args = grant.Approval.Args
			}
			r := plan.Resolution{Digest: plan.StartDigest(step, args, ""), Args: args, LoopDigest: "list"}
			if step.ForEach != "" && step.Loop() == 0 {
				r.Items = []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}
			}
			if starts(step) {
				r.Agent, r.IsRepeatable, r.WritesFiles = "default", true, true
			}
			found(step, &r)
			facts.Resolutions[step.ID] = r
		}
		return nil
	})
	return err
}

func (w *walker) begun() (own []plan.AttemptResult, lost []plan.Attempt) {
	state := w.state()
	if state.Plan == nil {
		return nil, nil
	}
	for step := range state.Plan.Steps.Running() {
		attempt := plan.Attempt{Plan: state.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
		switch {
		case !step.IsRunning():
		case step.ClaimedBy == w.engines.living:
			own = append(own, plan.AttemptResult{Attempt: attempt, Result: plan.Result{OK: true}})
		default:
			lost = append(lost, attempt)
		}
	}
	return own, lost
}

// engineActs lets an engine act, with many possible failures.
func (w *walker) engineActs(who verbs.Caller) error {
	switch rapid.IntRange(0, 9).Draw(w.T, "the engine") {
	case 0:
		w.did(who, "sees the engine die")
		w.engines.leave()
		return nil
	case 1:
		w.did(who, "pauses the run")
		_, err := w.engines.session.Do(w.Context(), who.Actor, plan.PauseRun{}, nil)
		return err
	case 2, 3, 4:
		w.did(who, "begins a run")
		if _, err := w.engines.session.Do(w.Context(), who.Actor, plan.BeginRun{}, nil); err != nil {
			return err
		}
	}
	w.engines.begin()
	finished, lost := w.begun()
	for i := range finished {
		switch f := &finished[i]; rapid.IntRange(0, 7).Draw(w.T, "result") {
		case 0, 1:
			f.Result = plan.Result{Error: "it does not work"}
		case 2:
			f.Result, f.IsInterrupted = plan.Result{Error: "killed"}, true
		case 3:
			f.Result, f.IsTransient = plan.Result{Error: "busy"}, true
		case 4:
			f.Result, f.IsBlocked = plan.Result{Error: "no credentials"}, true
		}
	}
	if rapid.Bool().Draw(w.T, "still at work") {
		finished = nil
	}
	w.did(who, "sees %s tell %d results", w.engines.living, len(finished))
	return w.advance(plan.Schedule{Results: finished, Lost: lost, MaxStarts: rapid.IntRange(0, 3).Draw(w.T, "room")}, true,
		func(step *plan.Step, r *plan.Resolution) {
			r.IsRepeatable = r.Agent != "" || rapid.Bool().Draw(w.T, "safe")
			r.IsDestructive = rapid.Bool().Draw(w.T, "destructive")
			r.ConditionFalse = step.When != "" && rapid.Bool().Draw(w.T, "unmet")
			if rapid.IntRange(0, 9).Draw(w.T, "wrong") == 0 {
				r.Problem = "its reference has no value"
			}
		})
}

// stepAnswers lets a person answer a step's question, or an agent recover a step.
func (w *walker) stepAnswers(who verbs.Caller) error {
	id := plan.StepID(rapid.IntRange(1, 7).Draw(w.T, "step"))
	choice := plan.Choice(rapid.SampledFrom(plan.Choice("").Values()).Draw(w.T, "choice"))
	a := plan.AnswerStep{Step: id, Choice: choice}
	switch choice {
	case plan.Reply:
		a.Text = "yes"
	case plan.Insert:
		a.Steps = []plan.NewStep{{Spec: plan.Spec{Title: "First this"}}}
	}
	w.did(who, "answers %s: %s", id, choice)
	_, err := w.engines.session.Do(w.Context(), who.Actor, a, nil)
	return err
}

func (w *walker) replans(who verbs.Caller) error {
	w.did(who, "replans")
	_, err := w.engines.session.Do(w.Context(), who.Actor, plan.Replan{Changes: "another way"}, nil)
	return err
}

// engineRuns has an engine take part in the run until nothing more happens. A person may resume runs that an agent may
// not.
func (w *walker) engineRuns(who verbs.Caller) error {
	_, _ = w.engines.session.Do(w.Context(), who.Actor, plan.BeginRun{}, nil) // a refusal shows as no change
	engine := w.engines.begin()
	defer w.engines.leave()
	for range 200 {
		before := w.state().Revision
		finished, lost := w.begun()
		if err := w.advance(plan.Schedule{Results: finished, Lost: lost, MaxStarts: 4}, who.Actor.Kind != plan.Agent,
			func(*plan.Step, *plan.Resolution) {}); err != nil {
			return err
		}
		if w.state().Revision > before {
			continue
		}
		why := plan.FindStopReason(w.state())
		if why == "" {
			return fmt.Errorf("the run neither goes on nor ends")
		}
		_, _ = w.engines.session.Do(w.Context(), engine, plan.PauseRun{Reason: why}, nil) // if it is open
		return nil
	}
	return fmt.Errorf("the run has no end")
}

// asksEnd has a person answer the waiting items, mostly so that the step runs.
func (w *walker) asksEnd() error {
	for step := range w.state().Plan.Steps.All() {
		a := plan.AnswerStep{Step: step.ID, Choice: plan.Approve}
		switch ask := step.OpenQuestion(); {
		case step.IsUnknown():
			continue
		case step.NeedsReply() && (ask != nil || w.state().Plan.Steps.IsReady(step.ID)):
			a.Choice, a.Text = plan.Reply, "yes"
		case ask == nil && !(step.RequiresApproval && step.Status == plan.Pending && !step.HasApproval()):
			continue
		case rapid.IntRange(0, 4).Draw(w.T, "denied") == 0:
			a.Choice = plan.Deny
		}
		w.did(person, "answers %s: %s", step.ID, a.Choice)
		_, err := w.engines.session.Do(w.Context(), person.Actor, a, nil)
		return err
	}
	return fmt.Errorf("nothing waits for a person")
}
