package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// aside bounds how many candidates besides those there is room for are looked at in one record.
const aside = 64

// Startable lists the steps that an engine may start or do something else about now, in order:
// the ready ones that have a tool, a condition, a list or a question, and no open question.
// room is how many can be started.
func Startable(s State, room int) []*Step { return upNext(s, room, nil) }

// StartableWithAgents lists as well the first of those that agents do for which may is true, for an engine
// that starts agents.
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

// ConcernsEngine reports whether a ready step is more than work for an agent.
func (step *Step) ConcernsEngine() bool {
	x := step.execution()
	instance := x.Of != 0
	return step.Tool != "" || !instance && step.ForEach != "" || step.When != "" && !x.Met ||
		!instance && step.Pause != "" && !x.Answered || step.RequiresApproval && x.Grant == nil
}

// start starts the steps that may be started, or does what else becomes of them.
func (a Advance) start(c *course) {
	if !c.state.Runs() {
		return
	}
	room, held := a.Room, false // for an agent that waits for what writes to end
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

// started returns what becomes of one ready step.
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
		return nil // an agent's
	case needsGrant(s, step, r, f.Limits) && !granted(s, step, r):
		return ask(AskApproval, r.Digest, ToolChanged(s, step, r.Definition))
	case step.Tool == "" && r.Agent == "" || !room:
		return nil
	}
	return []Event{StepStarted{Step: step.ID, Attempt: step.Attempts + 1, Digest: r.Digest, Safe: r.Safe, Agent: r.Agent, Writes: r.Writes,
		By: f.Actor.Name, At: f.Now, LeaseUntil: f.Now.Add(f.Limits.Lease)}}
}

// maxShownArgs bounds the arguments that stand in a question, in bytes.
const maxShownArgs = 16 << 10

// askFor is a question of a kind about the next attempt of a step. Arguments that are too large to
// stand in it are left out, and whoever is asked is told of that.
func (r Resolution) askFor(step *Step, kind AskKind, digest, text string, at time.Time) Event {
	ask := Ask{Kind: kind, Attempt: step.Attempts + 1, Digest: digest, Args: r.Args, Text: text, At: at, Definition: r.Definition}
	if len(ask.Args) > maxShownArgs {
		ask.Args = nil
		ask.Text = joined(text, fmt.Sprintf("with arguments of %d bytes, too large to be shown: look at what it refers to", len(r.Args)))
	}
	return StepAsked{Step: step.ID, Ask: ask}
}

// joined is reasons in one sentence, without those that are "".
func joined(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
}

// listed says what a loop goes over, each entry whole, for whoever is asked about it.
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

// itemText is an entry as people read it.
func itemText(item json.RawMessage) string {
	var text string
	if json.Unmarshal(item, &text) == nil {
		return text
	}
	return string(item)
}

// needsGrant reports whether a person has to agree before the step is started.
func needsGrant(s State, step *Step, r Resolution, l Limits) bool {
	switch {
	case ToolChanged(s, step, r.Definition) != "":
		return true
	case l.NeverAsk:
		return false
	case step.RequiresApproval:
		return true
	case !r.Destructive && step.Verify == "":
		return false
	}
	return !agreed(s, step, l)
}

// ToolChanged says that the tool of a step is not what it was when the plan was approved that is being
// carried out; "" where it is, or none was. How the tool is defined now is "" where it is planloop's own.
func ToolChanged(s State, step *Step, definition string) string {
	if definition == "" || s.PhaseNow() != PhaseExecuting || !s.carriesOut() || s.Plan.Approval.Tools[step.Tool] == definition {
		return ""
	}
	return "what the server says of " + step.Tool + " is not what it said when the plan was approved"
}

// agreed reports whether the approval of the plan, which is being carried out, showed all that the
// step is going to do: its arguments refer to nothing but the entries of a list that stood there.
func agreed(s State, step *Step, l Limits) bool {
	approval := s.Plan.Approval
	if step.Result != nil && step.Result.OK { // it was agreed to once
		return false
	}
	if s.PhaseNow() != PhaseExecuting || !s.carriesOut() || l.PersonOnly && approval.Way != string(ByPerson) || UsesSteps(step.Args) {
		return false
	}
	shown := step
	if loop := step.Loop(); loop != 0 {
		parent, ok := s.Plan.Steps.Get(loop)
		if !ok || !step.asIn(parent) {
			return false
		}
		shown = parent
	}
	if approval.NotSeen(shown.ID) != "" {
		return false
	}
	return shown.ForEach == "" || json.Valid([]byte(shown.ForEach)) // a list that is written down
}

// asIn reports whether an instance does what its loop says.
func (step *Step) asIn(loop *Step) bool {
	return loop.Tool == step.Tool && loop.Verify == step.Verify && bytes.Equal(loop.Args, step.Args)
}

// granted reports whether a person agreed to just this, for the step or for the loop it is of.
func granted(s State, step *Step, r Resolution) bool {
	if step.execution().Grant.covers(r.Digest) {
		return true
	}
	loop, ok := s.Plan.Steps.Get(step.Loop())
	if !ok || step.Attempts > 0 || !step.asIn(loop) { // which the grant was not for
		return false
	}
	return loop.execution().Grant.covers(r.List)
}

// Foreseen is a question that a step is going to ask a person before it is started.
type Foreseen struct {
	Step  *Step
	Kind  AskKind
	Known bool // what would be approved: it does not depend on values of other steps, or on a list that has yet to be found

	Definition string // of its tool, where it is another server's
	Reason     string // why, where the person agreed to something else; see ToolChanged
}

// Foresee lists what is going to be asked, as far as can be told before it comes to it.
// about says of a tool whether it may do what cannot be undone, and, where it is another server's, how it is defined.
func Foresee(s State, about func(tool string) (destructive bool, definition string), l Limits) []Foreseen {
	if s.Plan == nil {
		return nil
	}
	var list []Foreseen
	for step := range s.Plan.Steps.All() {
		x := step.execution()
		loop, _ := s.Plan.Steps.Get(x.Of)
		if step.Status != Pending || x.Ask != nil && x.Ask.Kind == AskUnknown {
			continue
		}
		if step.Pause != "" && !x.Answered && x.Of == 0 {
			list = append(list, Foreseen{Step: step, Kind: AskPause})
		}
		agreed := x.Grant != nil || loop != nil && loop.execution().Grant != nil && step.Attempts == 0
		r := Resolution{}
		r.Destructive, r.Definition = about(step.Tool)
		if !agreed && needsGrant(s, step, r, l) {
			known := !UsesSteps(step.Args) && (step.ForEach == "" || json.Valid([]byte(step.ForEach)))
			list = append(list, Foreseen{Step: step, Kind: AskApproval, Known: known, Definition: r.Definition,
				Reason: ToolChanged(s, step, r.Definition)})
		}
	}
	return list
}

// StepStarted gives a step to an engine.
type StepStarted struct {
	Step       StepID    `json:"step_id"`
	Attempt    int       `json:"attempt"`
	Digest     string    `json:"digest"`
	Safe       bool      `json:"safe,omitempty"`
	Agent      string    `json:"agent,omitempty"`  // that is started for it
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

// ConditionUnmet skips a step whose own condition is false: what depends on it may go on.
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

// ConditionMet leaves a step whose condition is true to agents.
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

// expanded returns the event that puts the instances of a loop into the plan.
func expanded(p *Plan, loop *Step, items []json.RawMessage, at time.Time) Event {
	e := LoopExpanded{Step: loop.ID, At: at}
	next := p.Steps.Highest() + 1
	for i, item := range items[:min(len(items), MaxItems)] {
		spec := loop.Spec
		spec.ForEach, spec.Pause, spec.RequiresApproval = "", "", false
		if loop.RequiresApproval && loop.execution().Grant == nil {
			spec.RequiresApproval = true
		}
		spec.Critical = false
		spec.Title = instanceTitle(loop.Title, item)
		e.Instances = append(e.Instances, &Step{ID: next + StepID(i), Spec: spec, Progress: Progress{Status: Pending},
			Execution: &Execution{Of: loop.ID, Item: item}})
	}
	return e
}

// instanceTitle names an instance after its loop and its entry.
func instanceTitle(title string, item json.RawMessage) string {
	clean, err := Text{Max: MaxLongLine}.Clean(fmt.Sprintf("%s: %s", title, Shorten(itemText(item), 80)))
	if err != nil || utf8.RuneCountInString(clean) > MaxLongLine {
		return title
	}
	return clean
}

// LoopExpanded begins a loop: its list is known, and each entry has a step of its own.
type LoopExpanded struct {
	Step      StepID    `json:"step_id"`
	Instances []*Step   `json:"instances,omitempty"`
	At        time.Time `json:"at"`
}

func (e LoopExpanded) marks() StepID { return e.Step }

func (e LoopExpanded) apply(s State) State {
	if s.Plan == nil {
		return s
	}
	if _, ok := s.Plan.Steps.Get(e.Step); !ok {
		return s
	}
	ids := make([]StepID, len(e.Instances))
	for i, step := range e.Instances {
		ids[i] = step.ID
	}
	s = s.withSteps(e.At, func(edit *stepsEdit) { edit.add(e.Instances) })
	return s.withStep(e.Step, e.At, func(step *Step) {
		grant := step.execution().Grant // which is for each instance
		step.become(StepMarked{Step: e.Step, Status: InProgress, At: e.At})
		step.execute(func(x *Execution) { x.Expanded, x.Instances, x.Grant = true, ids, grant })
	})
}

// settledLoop returns the event that settles a loop after a change of one of its instances, or
// of itself; nil when that changes nothing.
func settledLoop(s State, id StepID) *LoopSettled {
	if s.Plan == nil {
		return nil
	}
	step, ok := s.Plan.Steps.Get(id)
	if ok && step.Loop() != 0 {
		step, ok = s.Plan.Steps.Get(step.Loop())
	}
	if !ok || !step.execution().Expanded || step.Status != InProgress && step.Status != Done && step.Status != Failed {
		return nil
	}
	e := LoopSettled{Step: step.ID, Status: Done, At: s.Plan.UpdatedAt}
	for _, id := range step.execution().Instances {
		instance, ok := s.Plan.Steps.Get(id)
		switch {
		case !ok || instance.Status.Finished():
		case instance.Status == Failed:
			e.Failed = append(e.Failed, id)
		default:
			e.Status = InProgress
		}
	}
	if e.Status == Done && len(e.Failed) > 0 {
		e.Status = Failed
	}
	if e.Status == step.Status {
		return nil
	}
	return &e
}

// LoopSettled gives a loop the status that follows from its instances: done or failed when all
// have ended, in progress when one is taken up again.
type LoopSettled struct {
	Step   StepID     `json:"step_id"`
	Status StepStatus `json:"status"`
	Failed []StepID   `json:"failed,omitempty"`
	At     time.Time  `json:"at"`
}

func (e LoopSettled) marks() StepID { return e.Step }

func (e LoopSettled) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: e.Status, At: e.At})
		step.Result, step.Error = nil, ""
		if e.Status == InProgress {
			return
		}
		if e.Status == Failed {
			step.Error = IDs(e.Failed) + " failed"
		}
		step.Result = &Result{OK: e.Status == Done, Error: step.Error, Timestamp: e.At}
	})
}
