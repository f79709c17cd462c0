package verbs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/plan"
)

// The next actions if something blocks the plan: an open signal, a failed step, a question, a run, or no ready step.

func (v view) waitingOnSignal(signal plan.Signal) NextAction {
	var step *plan.Step
	on := ""
	if id := v.state.SignalStep(signal); id != 0 {
		step, _ = v.state.Plan.Steps.Get(id)
		on = " on task " + id.Number()
	}
	n := newAction(WaitingOnSignal, fmt.Sprintf("Waiting for signal '%s'%s to be cleared.", signal.ID, on),
		"Blocked by a signal: fix its cause, then ", Call{Kind: CallClear, ID: signal.ID}, ".").withStep(step)
	n.signal = signal
	return n
}

// replanning returns the next action after a critical step failed; of a loop it names the entry that failed.
func (v view) replanning(p *plan.Plan) NextAction {
	revise := Call{Kind: CallReplan}
	if _, can := v.Can(revise); !can {
		revise.Kind = CallSetUp
	}
	for step := range p.Steps.All() {
		if step.Status != plan.Failed || !step.Critical {
			continue
		}
		failed := step
		for _, id := range step.Instances() {
			if instance, ok := p.Steps.Get(id); ok && instance.Status == plan.Failed {
				failed = instance
				break
			}
		}
		retry, other := v.retryCall(p, failed), any(revise)
		if v.brief() && len(v.word(retry)) > longCall { // no room for another call; agent_instructions has it
			other = "replan"
		}
		way := []any{"Critical ", failed, " failed: retry with ", retry, ", or ", other, "."}
		if source, missing := redoSource(p, failed); missing {
			way = []any{"Critical ", failed, " failed: redo ", source.Step, " for its value: ", source, ", or ", other, "."}
		}
		return newAction(Replanning, fmt.Sprintf("The critical step %s failed.", step.ID), way...).withStep(failed)
	}
	return newAction(Replanning, "The plan must be revised.", "The plan must be revised: ", revise, ".")
}

// retry returns the call that retries a step, and the run if that has to start an agent for it.
func (v view) retry(p *plan.Plan, step *plan.Step) []Phrase {
	call := v.retryCall(p, step)
	phrases := say(call)
	if call.Kind == CallRecover && v.startsAgent(step) && !v.engine {
		phrases = say(call, ", then ", Call{Kind: CallRun})
	}
	if source, ok := redoSource(p, step); ok && call.Step == step.ID {
		phrases = append(phrases, say("; or redo ", source.Step, " for its value: ", source)...)
	}
	if v.decides() && step.NeedsUnblocking() {
		phrases = append(phrases, say("; or give instructions: ", Call{Kind: CallAnswerStep, Step: step.ID})...)
	}
	return append(phrases, say(".")...)
}

// retryCall returns the call that begins a step again, or the one that has to come before.
func (v view) retryCall(p *plan.Plan, step *plan.Step) Call {
	_, runs := v.Can(Call{Kind: CallRun})
	source, missing := redoSource(p, step)
	switch {
	case missing && !strings.HasPrefix(step.Error, runnable.InvalidArgs): // its condition or loop, which no arguments replace
		return source
	case len(p.Steps.UnmetDependencies(step.ID)) > 0:
		return mark(step.ID, plan.Pending)
	case v.needsApproval(step), step.Tool != "" && (runs || v.engine || v.isPausedByPerson()), v.startsAgent(step):
		return Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry, JSON: v.otherArgs(step)}
	}
	return mark(step.ID, plan.InProgress)
}

// otherArgs returns the arguments of a failed step that its tool refused, with placeholders for the wrong ones: the same
// arguments would fail again. It returns "" for other steps.
func (v view) otherArgs(step *plan.Step) string {
	args := map[string]json.RawMessage{}
	if !strings.HasPrefix(step.Error, runnable.InvalidArgs) || len(step.Args) > 0 && json.Unmarshal(step.Args, &args) != nil {
		return ""
	}
	isReference := func(text string) bool { _, is := plan.ParseReference(text); return is }
	var faults []*plan.ValidationError
	if v.opts.StepTools != nil {
		if tool, known := v.opts.StepTools.Tool(step.Tool); known {
			faults = tool.CheckWith(step.Args, isReference)
		}
	}
	placeholder := func(name string) json.RawMessage { return json.RawMessage(strconv.Quote("<" + name + ">")) }
	for _, fault := range faults {
		name, _, _ := strings.Cut(strings.TrimPrefix(fault.Field, "/"), "/")
		if args[cmp.Or(name, "arguments")] = placeholder(cmp.Or(name, "arguments")); strings.HasPrefix(fault.Problem, "unknown field") {
			delete(args, name)
		}
	}
	if len(faults) > 0 {
		return object(args)
	}
	for name, value := range args { // the value of a reference is missing, or does not fit
		args[name] = withoutReferences(name, value)
	}
	return object(args)
}

// withoutReferences returns a part of arguments with a placeholder for each reference; name is that of the part.
func withoutReferences(name string, part json.RawMessage) json.RawMessage {
	if len(plan.References(part)) == 0 {
		return part
	}
	return mapTexts(name, part, func(name, text string) string {
		if _, is := plan.ParseReference(text); is {
			return "<" + name + ">"
		}
		return text
	})
}

// refuseUnfilled adds a fault for each placeholder of otherArgs that the caller left in the arguments.
func refuseUnfilled(faults *plan.Faults, args json.RawMessage) {
	mapTexts("", args, func(name, text string) string {
		if text == "<"+name+">" {
			faults.Add(plan.Refuse(plan.InvalidInput, "/args", plan.Quote(text)+" is a placeholder", "give the value itself"))
		}
		return text
	})
}

// mapTexts returns a part of arguments with f applied to each text and its name.
func mapTexts(name string, part json.RawMessage, f func(name, text string) string) json.RawMessage {
	var text string
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	switch {
	case string(part) == "null": // would be decoded as each of them
		return part
	case json.Unmarshal(part, &text) == nil:
		return json.RawMessage(object(f(name, text)))
	case json.Unmarshal(part, &list) == nil:
		for i := range list {
			list[i] = mapTexts(name, list[i], f)
		}
		return json.RawMessage(object(list))
	case json.Unmarshal(part, &fields) == nil:
		for name := range fields {
			fields[name] = mapTexts(name, fields[name], f)
		}
		return json.RawMessage(object(fields))
	}
	return part
}

// redoSource returns the call that does again a finished step without a value, if a step failed because it refers to that.
func redoSource(p *plan.Plan, step *plan.Step) (Call, bool) {
	if !strings.HasPrefix(step.Error, runnable.ConditionFails) && !strings.Contains(step.Error, plan.ErrNoValue.Error()) {
		return Call{}, false
	}
	for _, id := range step.ReferencedSteps() {
		_, err := p.ValueOf(id, func(string) (json.RawMessage, error) { return nil, nil })
		if source, ok := p.Steps.Get(id); ok && source.Status == plan.Done && errors.Is(err, plan.ErrNoValue) {
			return Call{Kind: CallRecover, Step: id, Choice: plan.Retry, WithDependents: true}, true
		}
	}
	return Call{}, false
}

// isPausedByPerson reports whether a person paused the run, so that neither engines nor agents may continue it.
func (v view) isPausedByPerson() bool {
	run := v.state.OpenRun()
	return run != nil && run.IsPaused && run.PausedByPerson && !v.decides()
}

// questionForCaller returns the question the caller may answer, of all steps if match is nil.
func (v view) questionForCaller(p *plan.Plan, match func(*plan.Step) bool) (NextAction, bool) {
	for step := range p.Steps.WithQuestion() {
		if (match == nil || match(step)) && (v.decides() || step.IsUnknown()) {
			return v.question(step), true
		}
	}
	return NextAction{}, false
}

// settleUnknown returns the next action for a step that an engine started and whose outcome is unknown.
func (v view) settleUnknown(step *plan.Step) NextAction {
	retry := any(Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry})
	if v.brief() { // agent_instructions has the call
		retry = "retry it"
	}
	return newAction(StepUnknown, fmt.Sprintf("Step %s was started, and its outcome is unknown.", step.ID), "Look if ", step,
		" happened: if so ", Call{Kind: CallRecover, Step: step.ID, Choice: plan.Happened}, ", else ", retry, ".").withStep(step)
}

// running returns the step that an engine runs, is about to start, or left when it ended.
func (v view) running(p *plan.Plan) (NextAction, bool) {
	var runs *plan.Step
	for step := range p.Steps.Running() {
		switch {
		case !step.IsRunning():
		case v.engineGone(step):
			run := Call{Kind: CallRun} // another engine settles it
			return newAction(RunStopped, fmt.Sprintf("The engine that ran step %s has ended before it.", step.ID),
				"The engine of ", step, " has ended: ", v.leaveToUser(run), run, ".").withStep(step), true
		case runs == nil:
			runs = step
		}
	}
	if runs == nil && v.engine {
		if steps := plan.StartableStepsWithAgents(v.state, 1, v.startsAgent, nil); len(steps) > 0 {
			runs = steps[0]
		}
	}
	if runs == nil {
		return NextAction{}, false
	}
	return newAction(Running, fmt.Sprintf("Planloop runs step %s.", runs.ID), "Wait while ", runs, " is run: ", Call{Kind: CallWait},
		".").withStep(runs), true
}

// leaveToUser returns the words before a call that only the user can make, "" if the caller can.
func (v view) leaveToUser(call Call) string {
	if _, can := v.Can(call); can {
		return ""
	}
	return "ask the user to run "
}

// waitForAnswer returns the next action while a person has to answer a step's question, or to approve it.
func (v view) waitForAnswer(step *plan.Step, kind CallKind) NextAction {
	return newAction(StepAsks, fmt.Sprintf("Step %s waits for a person.", step.ID), step,
		" waits until a person runs ", Call{Kind: kind, Step: step.ID}, ": ", Call{Kind: CallWait}, ".").withStep(step)
}

// waitForPerson returns the ready step for which the caller waits for a person: for an answer, an approval, or to resume the
// run.
func (v view) waitForPerson(p *plan.Plan) (NextAction, bool) {
	for step := range p.Steps.Ready() {
		switch {
		case v.isPausedByPerson() && step.NeedsEngine():
			return newAction(RunPaused, "A person has paused the run.", "The run is paused before ", step.ID, " until a person runs ",
				Call{Kind: CallResume}, ": ", Call{Kind: CallWait}, ".").withStep(step), true
		case v.needsApproval(step):
			return v.waitForAnswer(step, CallApproveStep), true
		case v.needsAnswer(step):
			return v.waitForAnswer(step, CallAnswerStep), true
		}
	}
	return NextAction{}, false
}

// nothingReady returns the next action if no step is ready and the caller has none to finish: a step to retry, another
// agent or a person to wait for, or a step that waits for one that will never be done.
func (v view) nothingReady(p *plan.Plan) NextAction {
	if n, ok := v.firstAsk(p, nil); ok {
		return n
	}
	if n, ok := v.waitForPerson(p); ok {
		return n
	}
	for step := range p.Steps.Running() {
		if !step.IsLooping() && v.isOthers(step) && len(p.Steps.UnmetDependencies(step.ID)) == 0 {
			return v.waitForOwner(step)
		}
	}
	return v.deadlock(p)
}

// blockedReason returns the first line of a blocked step's reason in brackets, "" without a reason.
func blockedReason(step *plan.Step) string {
	if step.Error == "" {
		return ""
	}
	first, _, _ := strings.Cut(step.Error, "\n")
	return " (" + plan.Shorten(first, messageShown) + ")"
}

// isOthers reports whether another agent works on a step in progress.
func (v view) isOthers(step *plan.Step) bool {
	return step.ClaimedBy != v.Actor.Name && !v.isUnowned(step)
}

// waitForOwner returns the next action while another agent works: only a person can take the step over.
func (v view) waitForOwner(step *plan.Step) NextAction {
	takeOver := "; a person can run "
	if v.decides() {
		takeOver = "; take it over: "
	}
	message := fmt.Sprintf("%s is working on step %s, and no other step is ready.", plan.Quote(step.ClaimedBy), step.ID)
	return newAction(WaitingOnAgent, message, name(step.ClaimedBy), " is working on ", step.ID, ". Wait: ", Call{Kind: CallWait}, takeOver,
		Call{Kind: CallTakeOver, Step: step.ID}, ".").withStep(step)
}

// deadlock names a step that waits for one that was skipped, denied or cancelled, and how to reopen that.
func (v view) deadlock(p *plan.Plan) NextAction {
	for step := range p.Steps.All() {
		if step.Status.IsFinished() {
			continue
		}
		for _, id := range p.Steps.UnmetDependencies(step.ID) {
			if dep, ok := p.Steps.Get(id); ok && dep.Status.IsFinished() {
				return v.waitsForever(p, step, dep)
			}
		}
	}
	return newAction(Deadlocked, "No step is ready.", "No step is ready; read the plan to find the cause: ", Call{Kind: CallRead}, ".")
}

// isUnrecoverable reports whether a finished step cannot be reopened: an expanded loop, a step that a person denied, or
// one that waits for such a step.
func isUnrecoverable(p *plan.Plan, step *plan.Step, seen map[plan.StepID]bool) bool {
	if seen[step.ID] || !step.Status.IsFinished() {
		return false
	}
	seen[step.ID] = true
	blocks := func(id plan.StepID) bool {
		dep, ok := p.Steps.Get(id)
		return ok && isUnrecoverable(p, dep, seen)
	}
	return step.IsExpanded() || step.Error == plan.UserDenied || slices.ContainsFunc(p.Steps.UnmetDependencies(step.ID), blocks)
}

// waitsForever returns the next action for a step with a dependency that ended without being done.
func (v view) waitsForever(p *plan.Plan, step, dep *plan.Step) NextAction {
	how := string(dep.Status)
	if dep.Error == plan.UserDenied {
		how = "denied"
	}
	waits := fmt.Sprintf("%s waits for %s, which was %s", step.ID, dep.ID, how)
	newAction := func(parts ...any) NextAction {
		return newAction(Deadlocked, "Step "+waits+".", append([]any{waits + ": "}, parts...)...).withStep(step)
	}
	switch {
	case !isUnrecoverable(p, dep, map[plan.StepID]bool{}):
		return newAction(mark(dep.ID, plan.Pending), ", drop the dependency or skip ", step.ID, ".")
	case step.Status != plan.InProgress:
		return newAction("replan, or ", Call{Kind: CallRecover, Step: step.ID, Choice: plan.Skip}, ".")
	case v.isOthers(step):
		return v.waitForOwner(step)
	}
	return newAction("replan, or leave it: ", mark(step.ID, plan.Pending), ".") // a step in progress cannot be skipped
}
