package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Choice is the answer to a question about a step, or the settlement of a failed step (execution:
// Strategy 3).
type Choice string

// The choices.
const (
	Approve  Choice = "approve"  // run it, perhaps with other arguments
	Deny     Choice = "deny"     // do not run it; it is skipped
	Reply    Choice = "reply"    // answer its own question, or the reason it is blocked
	Retry    Choice = "retry"    // try it again, perhaps with other arguments
	Skip     Choice = "skip"     // continue without it
	Happened Choice = "happened" // the outcome was unknown, and the step is done
	Insert   Choice = "insert"   // do other steps first, then try it again
	Abort    Choice = "abort"    // give up the run, and stop its steps
	Stop     Choice = "stop"     // end the running step
)

// Values lists the choices.
func (Choice) Values() []string {
	return []string{"approve", "deny", "reply", "retry", "skip", "happened", "insert", "abort", "stop"}
}

// UserDenied is the error of a step that a person refused to approve (execution: executeStep).
const UserDenied = "User denied approval"

// AnswerStep asks to answer a step's question, or to settle a failed step.
type AnswerStep struct {
	Step   StepID
	Digest string // of the question as shown; "" for a person, who sees the current one
	Choice Choice
	Args   json.RawMessage // with Approve and Retry: replace the step's own; empty keeps those
	Text   string          // the reply, or the reason
	Steps  []NewStep       // with Insert

	WithDependents bool // with Retry: ended steps that depend on it are done again, too
}

func (a AnswerStep) clean(c *cleaner) Action {
	c.oneOf("choice", string(a.Choice), a.Choice.Values())
	c.block(&a.Text, "text")
	c.object(&a.Args, "args")
	c.steps(&a.Steps, "steps")
	switch {
	case len(a.Args) > 0 && a.Choice != Approve && a.Choice != Retry:
		c.refuse("args", "does not go with "+string(a.Choice), "leave it out, or choose approve or retry")
	case (a.Choice == Insert) != (len(a.Steps) > 0):
		c.refuse("steps", "goes with insert, and with nothing else", "give the steps to insert, and choose insert")
	case a.WithDependents && a.Choice != Retry:
		c.refuse("with_dependents", "goes with retry, and with nothing else", "leave it out, or choose retry")
	case a.Choice == Reply && a.Text == "":
		c.refuse("text", "is blank", "give an answer")
	}
	return a
}

func (a AnswerStep) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	if err != nil {
		return nil, err
	}
	step, err := findStep(p, a.Step, "/step_id")
	if err != nil {
		return nil, err
	}
	if err := a.checkChoice(s, step, f); err != nil {
		return nil, err
	}
	if a.Choice == Happened && !f.Actor.IsPresent() {
		if err := checkEvidence(s, step, MarkStep{Status: Done, Note: a.Text}, f); err != nil {
			return nil, err
		}
	}
	answered := StepAnswered{Step: a.Step, Attempt: max(step.Attempts, 1), Choice: a.Choice, Text: a.Text, By: f.Actor.Name,
		Way: f.Actor.Way(), At: f.Now}
	if ask := step.OpenQuestion(); ask != nil {
		answered.Attempt, answered.Digest = ask.Attempt, ask.Digest
	}
	switch a.Choice {
	case Approve:
		return a.approve(step, answered, f), nil
	case Retry:
		return a.retry(p, step, answered, f)
	case Insert:
		return a.insert(p, step, answered, f)
	case Abort:
		return append(s.stopAll(f), answered, s.end(f)), nil
	case Stop:
		return a.stop(step, f), nil
	}
	return []Event{answered}, nil
}

// checkChoice refuses a choice that does not fit the step's state, or that its actor may not make.
func (a AnswerStep) checkChoice(s State, step *Step, f Facts) error {
	ask, name := step.OpenQuestion(), step.ID.String()
	kind := AskKind("")
	if ask != nil {
		kind = ask.Kind
	}
	unasked := ask == nil && step.NeedsApproval() // no run has reached it
	switch {
	case a.Choice == Stop:
		return s.checkStop(step, f)
	case s.Plan.FinalSummary != "" || s.Plan.Status == StatusDraft,
		s.Plan.Status == StatusFailed && (a.Choice == Insert || !s.Plan.Steps.IsCleanup(step)):
		return conflict("the plan "+s.Plan.Status.Predicate()+", so no decision is possible about "+name, remedy(s.Plan))
	case a.Choice == Abort && s.OpenRun() == nil:
		return conflict("no run is open", "clear the plan to give it up")
	case a.Choice == Abort && s.runningStep() != 0:
		return s.checkMayStop(f)
	case a.Choice == Abort:
	case step.IsRunning():
		return isRunError(step)
	case (a.Choice == Approve || a.Choice == Deny) && kind != AskApproval && !unasked,
		a.Choice == Reply && !step.NeedsReply() && !step.NeedsUnblocking(), a.Choice == Happened && kind != AskUnknown:
		return a.nothingAskedError(s, step)
	case a.Digest != "" && ask != nil && a.Digest != ask.Digest,
		a.Digest != "" && unasked && a.Digest != StartDigest(step, step.Args, f.Definitions[step.Tool]):
		return conflict("the question of "+name+" has changed since it was shown", "look at it again, then decide")
	case a.Choice == Approve && len(a.Args) > 0 && step.ForEach != "" && step.Loop() == 0:
		return Refuse(InvalidInput, "/args", "belong to a loop, and each of its entries has its own", "approve it as it is, or deny it")
	case a.Choice == Approve, a.Choice == Deny, a.Choice == Reply:
		if err := a.checkAuthority(step, f); err != nil || a.Choice != Reply || step.NeedsReply() {
			return err
		}
		return roomForNote(step, a.Text)
	case step.Status == Done && a.Choice == Retry, step.Status == Pending && a.WithDependents:
		return a.checkRedo(s, step)
	case step.Status == Done:
		return conflict(name+" is done", "mark it pending to do it again")
	case a.Choice == Insert && (step.Status == Failed || kind == AskUnknown):
	case a.Choice == Insert:
		return conflict(name+" "+step.Status.Predicate()+", so no step can be inserted for it",
			"add steps that depend on it, or that it depends on")
	case step.Status == InProgress:
		return conflict(name+" is in progress", "wait for its owner's report")
	case a.Choice == Retry && step.Status == Pending:
		return conflict(name+" is pending already", "run the plan, or start it")
	}
	return nil
}

// checkAuthority refuses an answer to a person's question from anyone but a person.
func (a AnswerStep) checkAuthority(step *Step, f Facts) error {
	ask, t := step.OpenQuestion(), traits{authority: personOrClient, activity: "approval of the step"}
	if a.Choice == Reply {
		t = traits{authority: confirmedByPerson, activity: "answer"}
	}
	if f.Actor.Way() == WayClient && ask != nil && a.Digest != ask.Digest {
		return conflict("the answer does not name the question that was shown", "ask again")
	}
	return t.permit(f)
}

func (a AnswerStep) nothingAskedError(s State, step *Step) error {
	fix := "nothing waits for an answer"
	for other := range s.Plan.Steps.WithQuestion() {
		fix = "the open question is about " + other.ID.String()
		break
	}
	if ask := step.OpenQuestion(); ask != nil {
		var can []string
		for _, choice := range ask.Kind.Choices() {
			can = append(can, map[Choice]string{Approve: "approve it", Deny: "reject it", Reply: "answer it", Retry: "try it again",
				Happened: "confirm that it happened", Skip: "skip it", Abort: "give the run up"}[choice])
		}
		fix = strings.Join(can, ", or ")
	}
	name := step.ID.String()
	return conflict(map[Choice]string{Approve: name + " asks for no approval", Deny: name + " asks for no approval",
		Reply: name + " has no question and is not blocked", Happened: "the outcome of " + name + " is known"}[a.Choice], fix)
}

func (a AnswerStep) approve(step *Step, answered StepAnswered, f Facts) []Event {
	definition := f.Definitions[step.Tool]
	if ask := step.OpenQuestion(); ask != nil {
		definition = ask.Definition // the definition that was shown
	}
	switch {
	case len(a.Args) > 0:
		answered.Args, answered.Digest = a.Args, StartDigest(step, a.Args, definition)
	case step.OpenQuestion() == nil:
		answered.Digest = StartDigest(step, step.Args, definition)
	}
	return []Event{answered}
}

// retry tries the step again; for a loop, its failed instances.
func (a AnswerStep) retry(p *Plan, step *Step, answered StepAnswered, f Facts) ([]Event, error) {
	var events []Event
	if len(a.Args) > 0 && string(a.Args) != string(step.Args) {
		if step.Tool == "" || step.execution().IsExpanded || step.Loop() != 0 { // a loop's arguments are approved as a whole
			return nil, Refuse(InvalidInput, "/args", step.ID.String()+" has no arguments of its own", "leave them out, or replan")
		}
		events = append(events, StepUpdated{Step: step.ID, Patch: Patch{Args: &a.Args}, At: f.Now})
	}
	events = append(append(events, answered), a.redo(p.Steps, step, answered.At)...)
	if step.execution().IsExpanded {
		for _, id := range step.execution().Instances {
			if instance, ok := p.Steps.Get(id); ok && instance.Status == Failed {
				retried := answered
				retried.Step, retried.Attempt = id, instance.Attempts
				events = append(events, retried)
			}
		}
	}
	return events, nil
}

// insert adds steps that the failed one depends on from then on.
func (a AnswerStep) insert(p *Plan, step *Step, answered StepAnswered, f Facts) ([]Event, error) {
	steps, err := mint(p.Steps, a.Steps, "/steps", f.Limits)
	if err != nil {
		return nil, err
	}
	deps := slices.Clone(step.DependsOn)
	for _, added := range steps {
		if slices.Contains(added.DependsOn, step.ID) {
			return nil, Refuse(InvalidInput, "/steps", "would wait for "+step.ID.String()+", which must wait for them",
				"drop that dependency")
		}
		deps = append(deps, added.ID)
	}
	waits := StepUpdated{Step: step.ID, Patch: Patch{DependsOn: &deps}, At: f.Now}
	return []Event{StepsAdded{Steps: steps, At: f.Now}, waits, answered}, nil
}

// StepAnswered records the answer to a step's question, and with it the settlement of the step.
type StepAnswered struct {
	Step    StepID          `json:"step_id"`
	Attempt int             `json:"attempt"` // that it is about
	Digest  string          `json:"digest,omitempty"`
	Choice  Choice          `json:"choice"`
	Args    json.RawMessage `json:"args,omitempty"`
	Text    string          `json:"text,omitempty"`
	By      string          `json:"by"`
	Way     Way             `json:"way,omitempty"`
	At      time.Time       `json:"at"`
}

func (e StepAnswered) marks() StepID { return e.Step }

func (e StepAnswered) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		become := func(status StepStatus) {
			step.become(StepMarked{Step: e.Step, Status: status, By: e.By, At: e.At})
		}
		result := func(ok bool, value, problem string) {
			step.Result = &Result{OK: ok, Error: problem, Timestamp: e.At}
			if text, err := json.Marshal(value); err == nil && value != "" {
				step.Result.Value = text
			}
		}
		unblocked := e.Choice == Reply && step.NeedsUnblocking()
		switch e.Choice {
		case Approve:
			step.execute(func(x *Execution) {
				x.Ask, x.Approval = nil, &StepApproval{Digest: e.Digest, Args: e.Args, By: e.By, Way: e.Way, At: e.At}
			})
		case Deny:
			become(Skipped)
			result(false, "", UserDenied)
			step.Error = UserDenied
		case Reply:
			if unblocked {
				become(Pending)
				break
			}
			step.execute(func(x *Execution) { x.Ask, x.IsAnswered = nil, true })
			if step.Tool == "" { // the answer completes the step
				become(Done)
				result(true, e.Text, "")
				step.Output = e.Text
			}
		case Retry, Insert:
			if !step.execution().IsExpanded {
				become(Pending)
			}
		case Skip:
			become(Skipped)
		case Happened:
			become(Done)
			result(true, "", "")
		case Abort, Stop:
		}
		if e.Text != "" && (e.Choice != Reply || unblocked) && len(step.Notes) < MaxNotes {
			step.Notes = append(slices.Clip(step.Notes), e.Text)
		}
	})
}

// AskKind is the kind of a step's question.
type AskKind string

// The kinds of question.
const (
	AskApproval AskKind = "approval" // may it run with these arguments?
	AskPause    AskKind = "pause"    // its own question to a person
	AskUnknown  AskKind = "unknown"  // it was started, and the outcome is unknown
)

// Values lists the kinds.
func (AskKind) Values() []string { return []string{"approval", "pause", "unknown"} }

// Ask is an open question about a step.
type Ask struct {
	Kind    AskKind         `json:"kind"`
	Attempt int             `json:"attempt"`          // the attempt it is about
	Digest  string          `json:"digest,omitempty"` // of the attempt that an approval covers
	Args    json.RawMessage `json:"args,omitempty"`   // of that attempt, as far as they can be shown
	Text    string          `json:"text,omitempty"`
	At      time.Time       `json:"at"`

	Definition string `json:"definition,omitempty"` // of the tool, if another server provides it
}

// Choices lists the valid answers to a question.
func (k AskKind) Choices() []Choice {
	return map[AskKind][]Choice{AskApproval: {Approve, Deny, Skip}, AskPause: {Reply, Skip},
		AskUnknown: {Retry, Happened, Skip, Abort}}[k]
}

// StepAsked keeps a question about a step until it is answered.
type StepAsked struct {
	Step StepID `json:"step_id"`
	Ask  Ask    `json:"ask"`
}

func (e StepAsked) apply(s State) State {
	return s.withStep(e.Step, e.Ask.At, func(step *Step) { step.execute(func(x *Execution) { x.Ask = &e.Ask }) })
}

// needsApproval reports whether a person has to approve the step before it starts.
func needsApproval(s State, step *Step, r Resolution, l Limits) bool {
	switch {
	case ToolChanged(s, step, r.Definition) != "":
		return true
	case l.NeverAsk:
		return false
	case step.RequiresApproval:
		return true
	case !r.IsDestructive && step.Verify == "":
		return false
	}
	return !isCoveredByPlan(s, step, l)
}

// ToolChanged says that a step's tool has changed since the plan being carried out was approved; "" if it has
// not, or if there is no approved plan. definition is the tool's current one, "" for a tool of planloop.
func ToolChanged(s State, step *Step, definition string) string {
	if definition == "" || s.PhaseNow() != PhaseExecuting || !s.executesApprovedPlan() || s.Plan.Approval.Tools[step.Tool] == definition {
		return ""
	}
	return "the server's description of " + step.Tool + " has changed since the plan was approved"
}

// isCoveredByPlan reports whether the approval of the plan being carried out showed everything the step will
// do: its arguments refer to nothing but the entries of a literal list.
func isCoveredByPlan(s State, step *Step, l Limits) bool {
	if step.Result != nil && step.Result.OK { // it was agreed to for one run
		return false
	}
	return !UsesSteps(step.Args) && isShownByPlan(s, step, l)
}

// MayVerify reports whether a step's verify command may be run without asking a person, as in a run.
func MayVerify(s State, step *Step, l Limits) bool {
	return !s.PhaseNow().IsRestricted() && s.Plan.Approval != nil && (l.NeverAsk || isShownByPlan(s, step, l))
}

// isShownByPlan reports whether the approver of the plan being carried out was shown the step as it is.
func isShownByPlan(s State, step *Step, l Limits) bool {
	approval := s.Plan.Approval
	if s.PhaseNow() != PhaseExecuting || !s.executesApprovedPlan() || l.PersonOnly && approval.Way != string(WayPerson) {
		return false
	}
	shown := step
	if loop := step.Loop(); loop != 0 {
		parent, ok := s.Plan.Steps.Get(loop)
		if !ok || !step.matchesLoop(parent) {
			return false
		}
		shown = parent
	}
	if approval.UnseenNote(shown.ID) != "" {
		return false
	}
	return shown.ForEach == "" || json.Valid([]byte(shown.ForEach)) // a literal list
}

// matchesLoop reports whether an instance has the same tool, verification and arguments as its loop.
func (step *Step) matchesLoop(loop *Step) bool {
	return loop.Tool == step.Tool && loop.Verify == step.Verify && bytes.Equal(loop.Args, step.Args)
}

// isApproved reports whether a person approved exactly this, for the step or for its loop.
func isApproved(s State, step *Step, r Resolution) bool {
	if step.execution().Approval.covers(r.Digest) {
		return true
	}
	loop, ok := s.Plan.Steps.Get(step.Loop())
	if !ok || step.Attempts > 0 || !step.matchesLoop(loop) { // the loop's grant does not cover it
		return false
	}
	return loop.execution().Approval.covers(r.LoopDigest)
}

// ExpectedQuestion is a question that a step will ask a person before it starts.
type ExpectedQuestion struct {
	Step    *Step
	Kind    AskKind
	IsKnown bool // the subject of the approval is known now: it depends neither on values of other steps nor on a list yet to be computed

	Definition string // of its tool, if another server provides it
	Reason     string // why an earlier agreement does not count; see ToolChanged
}

// ExpectedQuestions lists the questions to come, as far as they can be foreseen. about reports whether a tool
// may do something irreversible and, if another server provides it, its definition.
func ExpectedQuestions(s State, about func(tool string) (destructive bool, definition string), l Limits) []ExpectedQuestion {
	if s.Plan == nil {
		return nil
	}
	var list []ExpectedQuestion
	for step := range s.Plan.Steps.All() {
		x := step.execution()
		loop, _ := s.Plan.Steps.Get(x.Loop)
		if step.Status != Pending || x.Ask != nil && x.Ask.Kind == AskUnknown {
			continue
		}
		if step.Pause != "" && !x.IsAnswered && x.Loop == 0 {
			list = append(list, ExpectedQuestion{Step: step, Kind: AskPause})
		}
		agreed := x.Approval != nil || loop != nil && loop.execution().Approval != nil && step.Attempts == 0
		r := Resolution{}
		r.IsDestructive, r.Definition = about(step.Tool)
		if !agreed && needsApproval(s, step, r, l) {
			known := !UsesSteps(step.Args) && (step.ForEach == "" || json.Valid([]byte(step.ForEach)))
			list = append(list, ExpectedQuestion{Step: step, Kind: AskApproval, IsKnown: known, Definition: r.Definition,
				Reason: ToolChanged(s, step, r.Definition)})
		}
	}
	return list
}

// StepApproval is a person's permission to run a step once, with the arguments shown or with those the
// person gave instead.
type StepApproval struct {
	Digest string          `json:"digest"`
	Args   json.RawMessage `json:"args,omitempty"` // replace the step's own; empty keeps those
	By     string          `json:"by"`
	Way    Way             `json:"way"`
	At     time.Time       `json:"at"`
}

func (g *StepApproval) covers(digest string) bool { return g != nil && g.Digest == digest }
