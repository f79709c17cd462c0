package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// aside bounds the candidates considered in one record.
const aside = 64

// Startable lists the steps that an engine may start or otherwise handle now, in order: the ready
// ones with a tool, a condition, a loop or a question, unless one is open. room is the number of
// steps that can be started.
func Startable(s State, room int) []*Step { return upNext(s, room, nil) }

// StartableWithAgents also lists the first step for agents that may accepts, for an engine that
// starts agents.
func StartableWithAgents(s State, room int, may func(*Step) bool) []*Step {
	return upNext(s, room, may)
}

func upNext(s State, room int, may func(*Step) bool) []*Step {
	if s.Plan == nil || s.Plan.Status != StatusActive || s.PhaseNow().Restricted() || len(s.OpenSignals(Blocker)) > 0 {
		return nil
	}
	var list []*Step
	for step := range s.Plan.Steps.Ready() {
		if step.Asking() != nil {
			continue
		}
		if !step.ConcernsEngine() {
			if may == nil || room < 1 || !may(step) {
				continue
			}
			may = nil
		}
		if step.Tool != "" && step.ForEach == "" {
			if room--; room < 0 {
				return list
			}
		}
		if list = append(list, step); len(list) == aside {
			return list
		}
	}
	return list
}

// ConcernsEngine reports whether a ready step needs more than the work of an agent.
func (step *Step) ConcernsEngine() bool {
	x := step.execution()
	instance := x.Of != 0
	return step.Tool != "" || !instance && step.ForEach != "" || step.When != "" && !x.Met ||
		!instance && step.Pause != "" && !x.Answered || step.RequiresApproval && x.Grant == nil
}

// start starts the steps that may start, and otherwise handles the rest.
func (a Advance) start(c *course) {
	if !c.state.Runs() {
		return
	}
	room, held := a.Room, false // an agent waits until nothing writes
	for _, step := range StartableWithAgents(c.state, room, func(step *Step) bool { return c.facts.Resolved[step.ID].Agent != "" }) {
		r, resolved := c.facts.Resolved[step.ID]
		if !resolved {
			continue
		}
		beside := c.state.beside(r)
		held = held || r.Agent != "" && !beside
		for _, e := range started(c.state, step, r, c.facts, room > 0 && beside && !(held && r.Writes)) {
			if _, begun := e.(StepStarted); begun {
				room--
			}
			c.take(e)
		}
		if c.state.Plan.Status != StatusActive {
			return
		}
	}
}

// started returns the events for one ready step.
func started(s State, step *Step, r Resolution, f Facts, room bool) []Event {
	x := step.execution()
	ask := func(kind AskKind, digest, text string) []Event {
		return []Event{r.askFor(step, kind, digest, text, f.Now)}
	}
	loop := step.ForEach != "" && x.Of == 0
	switch {
	case r.Problem != "":
		return []Event{StepMarked{Step: step.ID, Status: Failed, Note: Shorten(r.Problem, MaxLongText), By: f.Actor.Name, At: f.Now}}
	case r.Unmet:
		return []Event{ConditionUnmet{Step: step.ID, By: f.Actor.Name, At: f.Now}}
	case step.Pause != "" && !x.Answered && x.Of == 0:
		return ask(AskPause, "", step.Pause)
	case loop && needsGrant(s, step, r, f.Limits) && !x.Grant.covers(r.List):
		return ask(AskApproval, r.List, joined(ToolChanged(s, step, r.Definition), listed(r.Items)))
	case loop:
		return []Event{expanded(s.Plan, step, r.Items, f.Now)}
	case step.Tool == "" && step.When != "" && !x.Met:
		return []Event{ConditionMet{Step: step.ID, By: f.Actor.Name, At: f.Now}}
	case step.Tool == "" && step.RequiresApproval && x.Grant == nil && f.Limits.NeverAsk:
		return []Event{StepAnswered{Step: step.ID, Attempt: step.Attempts + 1, Digest: r.Digest, Choice: Approve, By: f.Actor.Name,
			At: f.Now}}
	case step.Tool == "" && r.Agent == "" && (!step.RequiresApproval || x.Grant != nil):
		return nil // it is for an agent
	case needsGrant(s, step, r, f.Limits) && !granted(s, step, r):
		return ask(AskApproval, r.Digest, ToolChanged(s, step, r.Definition))
	case step.Tool == "" && r.Agent == "" || !room:
		return nil
	}
	return []Event{StepStarted{Step: step.ID, Attempt: step.Attempts + 1, Digest: r.Digest, Safe: r.Safe, Agent: r.Agent, Writes: r.Writes,
		By: f.Actor.Name, At: f.Now, LeaseUntil: f.Now.Add(f.Limits.Lease)}}
}

// maxShownArgs bounds the arguments shown in a question, in bytes.
const maxShownArgs = 16 << 10

// askFor returns a question about the next attempt of a step. Arguments too large to show are left
// out, and the text says so.
func (r Resolution) askFor(step *Step, kind AskKind, digest, text string, at time.Time) Event {
	ask := Ask{Kind: kind, Attempt: step.Attempts + 1, Digest: digest, Args: r.Args, Text: text, At: at, Definition: r.Definition}
	if len(ask.Args) > maxShownArgs {
		ask.Args = nil
		ask.Text = joined(text, fmt.Sprintf("with arguments of %d bytes, too large to be shown: look at what it refers to", len(r.Args)))
	}
	return StepAsked{Step: step.ID, Ask: ask}
}

// joined joins reasons into one sentence, leaving out empty ones.
func joined(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
}

// listed describes a loop's entries, each in full, for the person asked.
func listed(items []json.RawMessage) string {
	text := "for " + Counted(len(items), "entry")
	for i, item := range items {
		joint := ", "
		if i == 0 {
			joint = ": "
		}
		if shown := joint + QuoteWhole(itemText(item)); len(text)+len(shown) <= MaxLongText-100 {
			text += shown
			continue
		}
		return text + fmt.Sprintf(" and %d more", len(items)-i)
	}
	return text
}

// itemText returns an entry as people read it.
func itemText(item json.RawMessage) string {
	var text string
	if json.Unmarshal(item, &text) == nil {
		return text
	}
	return string(item)
}

// StepStarted gives a step to an engine.
type StepStarted struct {
	Step       StepID    `json:"step_id"`
	Attempt    int       `json:"attempt"`
	Digest     string    `json:"digest"`
	Safe       bool      `json:"safe,omitempty"`
	Agent      string    `json:"agent,omitempty"`  // started for it
	Writes     bool      `json:"writes,omitempty"` // it may change files
	By         string    `json:"by"`
	At         time.Time `json:"at"`
	LeaseUntil time.Time `json:"lease_until"`
}

func (e StepStarted) apply(s State) State {
	if e.Agent != "" {
		s = s.withRun(func(r *Run) { r.startedAgent(e.Agent) })
	}
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: InProgress, By: e.By, At: e.At, LeaseUntil: e.LeaseUntil})
		step.Attempts, step.Result = e.Attempt, nil
		step.execute(func(x *Execution) {
			x.Started, x.Safe, x.Digest, x.Grant, x.Ask = true, e.Safe, e.Digest, nil, nil
			x.Agent, x.Writes, x.Outside, x.Moved, x.Unseen = e.Agent, e.Writes, nil, false, false
		})
	})
}

// ConditionUnmet skips a step with a false condition; its dependents may start.
type ConditionUnmet struct {
	Step StepID    `json:"step_id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e ConditionUnmet) marks() StepID { return e.Step }

func (e ConditionUnmet) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: Skipped, By: e.By, At: e.At})
		step.execute(func(x *Execution) { x.Unmet = true })
	})
}

// ConditionMet leaves a step with a true condition to agents.
type ConditionMet struct {
	Step StepID    `json:"step_id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e ConditionMet) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.execute(func(x *Execution) { x.Met = true }) })
}

// StepAsked keeps a question about a step until it is answered.
type StepAsked struct {
	Step StepID `json:"step_id"`
	Ask  Ask    `json:"ask"`
}

func (e StepAsked) apply(s State) State {
	return s.withStep(e.Step, e.Ask.At, func(step *Step) { step.execute(func(x *Execution) { x.Ask = &e.Ask }) })
}
