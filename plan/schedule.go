package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxCandidates bounds the candidates considered in one record.
const MaxCandidates = 64

// StartableSteps lists the steps that an engine may start or otherwise handle now, in order: the ready
// ones with a tool, a condition, a loop or a question, unless one is open. room is the number of
// steps that can be started.
func StartableSteps(s State, room int) []*Step { return StartableStepsWithAgents(s, room, nil, nil) }

// StartableStepsWithAgents also lists the first step for agents that may accepts, for an engine that
// starts agents. It lists only steps that only accepts; nil: all.
func StartableStepsWithAgents(s State, room int, may, only func(*Step) bool) []*Step {
	if s.Plan == nil || s.isHalted() ||
		!slices.Contains([]PlanStatus{StatusActive, StatusReplanning, StatusFailed}, s.Plan.Status) {
		return nil
	}
	return s.startable(s.isClosing(), room, may, only)
}

func (s State) startable(closing bool, room int, may, only func(*Step) bool) []*Step {
	var list []*Step
	for step := range s.Plan.Steps.readySteps(closing) {
		if step.OpenQuestion() != nil || !s.mayStart(step, closing) || s.LockHolder(step) != 0 || only != nil && !only(step) {
			continue
		}
		if !step.NeedsEngine() {
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
		if list = append(list, step); len(list) == MaxCandidates {
			return list
		}
	}
	return list
}

// NeedsEngine reports whether a ready step needs more than the work of an agent.
func (step *Step) NeedsEngine() bool {
	x := step.execution()
	instance := x.Loop != 0
	return step.Tool != "" || !instance && step.ForEach != "" || step.When != "" && !x.ConditionTrue ||
		!instance && step.Pause != "" && !x.IsAnswered || step.RequiresApproval && x.Approval == nil
}

// startSteps starts the steps that may start, and otherwise handles the rest.
func (a Schedule) startSteps(c *stateFold) {
	if !c.state.HasActiveRun() {
		return
	}
	room, agentWaits := a.MaxStarts, false // an agent waits until nothing writes
	hasAgent := func(step *Step) bool { return c.facts.Resolutions[step.ID].Agent != "" }
	status := c.state.Plan.Status
	isResolved := func(step *Step) bool { _, resolved := c.facts.Resolutions[step.ID]; return resolved }
	for _, step := range StartableStepsWithAgents(c.state, room, hasAgent, isResolved) {
		r := c.facts.Resolutions[step.ID]
		canStart := c.state.mayRunAlongside(r)
		agentWaits = agentWaits || r.Agent != "" && !canStart
		canStart = canStart && !(agentWaits && r.WritesFiles) && c.state.LockHolder(step) == 0 // another start may have taken it
		for _, e := range startEvents(c.state, step, r, c.facts, room > 0 && canStart) {
			if _, begun := e.(StepStarted); begun {
				room--
			}
			c.record(e)
		}
		if c.state.Plan.Status != status || c.state.OpenRun() == nil {
			return
		}
	}
}

// startEvents returns the events for one ready step.
func startEvents(s State, step *Step, r Resolution, f Facts, room bool) []Event {
	x := step.execution()
	ask := func(kind AskKind, digest, text string) []Event {
		args := r.Args
		if len(args) > maxShownArgs {
			args, text = nil, joinReasons(text, fmt.Sprintf("with arguments of %d bytes, too large to show: "+
				"read the values that they refer to", len(r.Args)))
		}
		return []Event{StepAsked{Step: step.ID, Ask: Ask{Kind: kind, Attempt: step.Attempts + 1, Digest: digest, Args: args, Text: text,
			At: f.Now, Definition: r.Definition}}}
	}
	loop := step.ForEach != "" && x.Loop == 0
	switch {
	case r.Problem != "":
		return []Event{StepMarked{Step: step.ID, Status: Failed, Note: Shorten(r.Problem, MaxLongText), By: f.Actor.Name, At: f.Now}}
	case r.ConditionFalse:
		return []Event{ConditionUnmet{Step: step.ID, By: f.Actor.Name, At: f.Now}}
	case step.Pause != "" && !x.IsAnswered && x.Loop == 0:
		return ask(AskPause, "", step.Pause)
	case loop && needsApproval(s, step, r, f.Limits) && !x.Approval.covers(r.LoopDigest):
		return ask(AskApproval, r.LoopDigest, joinReasons(ToolChanged(s, step, r.Definition), describeItems(r.Items)))
	case loop:
		return []Event{expandLoop(s.Plan, step, r.Items, f.Now)}
	case step.Tool == "" && step.When != "" && !x.ConditionTrue:
		return []Event{ConditionMet{Step: step.ID, By: f.Actor.Name, At: f.Now}}
	case step.Tool == "" && step.RequiresApproval && x.Approval == nil && f.Limits.NeverAsk:
		return []Event{StepAnswered{Step: step.ID, Attempt: step.Attempts + 1, Digest: r.Digest, Choice: Approve, By: f.Actor.Name,
			At: f.Now}}
	case step.Tool == "" && r.Agent == "" && (!step.RequiresApproval || x.Approval != nil):
		return nil // it is for an agent
	case needsApproval(s, step, r, f.Limits) && !isApproved(s, step, r):
		return ask(AskApproval, r.Digest, ToolChanged(s, step, r.Definition))
	case step.Tool == "" && r.Agent == "" || !room:
		return nil
	}
	return []Event{StepStarted{Step: step.ID, Attempt: step.Attempts + 1, Digest: r.Digest, IsRepeatable: r.IsRepeatable, Agent: r.Agent,
		WritesFiles: r.WritesFiles,
		By:          f.Actor.Name, At: f.Now, LeaseUntil: f.Now.Add(f.Limits.Lease)}}
}

// maxShownArgs bounds the arguments shown in a question, in bytes.
const maxShownArgs = 16 << 10

// joinReasons joins reasons into one sentence, leaving out empty ones.
func joinReasons(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
}

// describeItems describes a loop's entries, each in full, for the person asked.
func describeItems(items []json.RawMessage) string {
	text := "for " + Pluralize(len(items), "entry")
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
	Step         StepID    `json:"step_id"`
	Attempt      int       `json:"attempt"`
	Digest       string    `json:"digest"`
	IsRepeatable bool      `json:"safe,omitempty"`
	Agent        string    `json:"agent,omitempty"`  // started for it
	WritesFiles  bool      `json:"writes,omitempty"` // it may change files
	By           string    `json:"by"`
	At           time.Time `json:"at"`
	LeaseUntil   time.Time `json:"lease_until"`
}

func (e StepStarted) apply(s State) State {
	if e.Agent != "" {
		s = s.withRun(func(r *Run) {
			starts := map[string]int{}
			maps.Copy(starts, r.Starts) // former states share the old map
			starts[e.Agent]++
			r.Starts = starts
		})
	}
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: InProgress, By: e.By, At: e.At, LeaseUntil: e.LeaseUntil})
		step.Attempts, step.Result = e.Attempt, nil
		step.execute(func(x *Execution) {
			x.IsStarted, x.IsRepeatable, x.Digest, x.Approval, x.Ask = true, e.IsRepeatable, e.Digest, nil, nil
			x.Agent, x.WritesFiles, x.OutOfScopeFiles, x.CommitMoved, x.ChangesUnknown = e.Agent, e.WritesFiles, nil, false, false
		})
	})
}

// Resolution is an engine's findings about a step that could be started, in the state that is
// decided about.
type Resolution struct {
	Problem string // why the step cannot run; it fails with this

	ConditionFalse bool              // its condition is false
	Items          []json.RawMessage // of a loop
	LoopDigest     string            // identifies the items and everything the loop's arguments refer to: see StartDigest

	Digest        string          // see StartDigest
	Args          json.RawMessage // as shown to the person asked
	IsDestructive bool            // the tool may do something irreversible
	IsRepeatable  bool            // the attempt can be repeated
	WritesFiles   bool            // the attempt may change files
	Agent         string          // to start for it; "" if a tool or nothing carries it out
	Definition    string          // of the tool, if another server provides it
}

// Schedule is an engine's request to record the results of its steps, take over the steps of dead
// engines, and start the steps that may start, all in one record. Only steps in Facts.Resolved may
// start.
type Schedule struct {
	Results   []AttemptResult
	Lost      []Attempt // of dead engines; the processes they left have been ended
	MaxStarts int       // steps to start at most
}

func (a Schedule) clean(c *cleaner) Action {
	a.Results = slices.Clone(a.Results)
	for i := range a.Results {
		done := &a.Results[i]
		inner := cleaner{field: fmt.Sprintf("/finished/%d", i)}
		result := &done.Result
		inner.result(&result)
		inner.report(&done.Output, "output")
		inner.report(&done.Note, "note")
		inner.list(&done.AffectedFiles, "affected_files", LinesField, MaxPath, MaxNotes)
		inner.list(&done.OutOfScopeFiles, "outside", LinesField, MaxPath, MaxNotes)
		inner.line(&done.Plan, "plan", MaxHint)
		inner.count(int(done.Step), "step", int(MaxStepID))
		inner.count(done.Attempt.Attempt, "attempt", maxSeconds)
		inner.count(done.Tokens, "tokens", maxTokens)
		if len(result.Value) > MaxInlineValue {
			inner.refuse("result/value", "is too large for the log", "store it separately")
		}
		done.Result = *result
		c.Add(inner.Err())
	}
	return a
}

func (a Schedule) decide(s State, f Facts) ([]Event, error) {
	if f.Actor.Kind != Planloop {
		return nil, conflict("only an engine can report the results of its steps", "run the plan")
	}
	c := stateFold{state: s, facts: f}
	a.recordResults(&c)
	a.startSteps(&c)
	return c.events, nil
}

// ApplyResults returns the state with the ended attempts of a recorded and nothing started. The steps to
// start are resolved in that state.
func (a Schedule) ApplyResults(s State, f Facts) State {
	f.Limits = f.Limits.withDefaults()
	c := stateFold{state: s, facts: f}
	a.recordResults(&c)
	return c.state
}

// recordResults records results and takes over the attempts of dead engines.
func (a Schedule) recordResults(c *stateFold) {
	for _, done := range a.Results {
		c.record(done.events(c.state, c.facts)...)
	}
	for _, lost := range a.Lost {
		step := lost.RunningStep(c.state)
		if step == nil || step.ClaimedBy == c.facts.Actor.Name || !c.facts.Sightings[step.ClaimedBy].IsGone {
			continue
		}
		c.record(StepLost{Step: step.ID, Attempt: step.Attempts, From: step.ClaimedBy, Unknown: !step.execution().IsRepeatable,
			AttemptEnd: AttemptEnd{By: c.facts.Actor.Name, At: c.facts.Now}})
	}
}
