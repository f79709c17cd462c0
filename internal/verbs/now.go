package verbs

import (
	"fmt"
	"slices"
	"time"

	"github.com/planloop/planloop/plan"
)

// Reason is the reason for the next action (planloop: API Contract, now.reason).
type Reason string

// The reasons, in the order of checking.
const (
	Gathering        Reason = "gathering"
	AwaitingApproval Reason = "awaiting_approval"
	SyncInstructions Reason = "sync_instructions"
	WaitingOnSignal  Reason = "waiting_on_signal"
	Replanning       Reason = "replanning"
	ReadyForTask     Reason = "ready_for_task"
	StepUnknown      Reason = "step_unknown" // its outcome is unknown
	ReadyToRun       Reason = "ready_to_run" // by an engine
	Running          Reason = "running"
	RunStopped       Reason = "run_stopped" // its engine ended before the step did
	StepAsks         Reason = "step_asks"   // needs a person
	RunPaused        Reason = "run_paused"
	WaitingOnAgent   Reason = "waiting_on_agent"
	Deadlocked       Reason = "deadlocked"
	PlanCompleted    Reason = "plan_completed"
	Closed           Reason = "closed"
	Failed           Reason = "failed"
	NoPlan           Reason = "no_plan"
	Ended            Reason = "ended" // for an agent started for one step: the step ended
)

// now is the meaning of a state for one caller. It always has a next action.
type now struct {
	reason  Reason
	message string      // the obstacle, if there is one
	step    *plan.Step  // the step it is about
	signal  plan.Signal // with WaitingOnSignal
	next    []Phrase

	rejected bool // a person has to say what to do instead
}

func (n now) action() NextAction { return NextAction{n.reason, n.next} }

// view is the input that a now is computed from.
type view struct {
	state plan.State
	Caller
	left  func(*plan.Step) bool // the step in progress has no active owner
	rules Rules                 // the rule book on disk; the zero value is in sync

	gone     func(*plan.Step) bool // the step's engine has ended
	engine   bool                  // an engine starts steps of the plan
	agentFor func(*plan.Step) string
	strict   bool // the gates judge all steps
	neverAsk bool // no step asks a person before it runs
}

// view returns the state as the caller sees it. Only a status passes rules; if they are out of sync, they come before
// the plan.
func (s *Service) view(state plan.State, c Caller, rules Rules) view {
	return view{state: state, Caller: c, left: s.left, rules: rules, gone: s.gone, engine: s.engineLives(state), strict: s.opts.GateAll,
		neverAsk: s.opts.Limits.NeverAsk, agentFor: func(step *plan.Step) string { return s.agentFor(state, step) }}
}

// left reports whether a step in progress has no active owner: it is unclaimed, or the claim has lapsed.
func (s *Service) left(step *plan.Step) bool { return step.ClaimedBy == "" || s.Lapsed(step) }

// Lapsed reports whether the claim on a step has lapsed: its owner is gone or was silent for a lease, so that any agent
// may take the step over.
func (s *Service) Lapsed(step *plan.Step) bool {
	if step.ClaimedBy == "" {
		return false
	}
	var seen plan.Sighting
	if s.opts.Presence != nil {
		seen = s.opts.Presence.Seen(step.ClaimedBy)
	}
	return plan.IsLeaseExpired(step, seen, s.opts.Now(), s.opts.Lease)
}

func (v view) now() now {
	if v.scoped() {
		return v.assigned()
	}
	return v.replyFirst(v.found())
}

// replyFirst makes an agent that has to wait reply to people's questions first.
func (v view) replyFirst(n now) now {
	id := unreplied(v.state)
	reply := Call{Kind: CallReply, ID: id}
	if _, can := v.Can(reply); id == "" || v.decides() || !can {
		return n
	}
	switch n.reason {
	case AwaitingApproval, Running, RunPaused, StepAsks, WaitingOnAgent:
		n.next = say("The user asks: reply with ", reply, ", then wait on.")
	}
	return n
}

func (v view) found() now {
	switch v.state.PhaseNow() {
	case plan.PhaseGathering:
		return v.gathering()
	case plan.PhaseSubmitted:
		return v.awaitingApproval()
	}
	if v.rules.State != "" {
		return now{reason: SyncInstructions, message: "`" + v.rules.File + "` is " + v.rules.State + ".",
			next: say(Call{Kind: CallSyncRules, File: v.rules.File}, ".")}
	}
	if blockers := v.state.OpenSignals(plan.Blocker); len(blockers) > 0 {
		return v.waiting(blockers[0])
	}
	return v.ofPlan()
}

// ofPlan returns the next action of the plan, after a pending decision about a draft or a rejection.
func (v view) ofPlan() now {
	switch n := v.ofPlanAlone(); {
	case v.draftWaits():
		return v.awaitingApproval() // a draft without planning mode, from a model or an import
	case v.decides() || !isRejected(v.state):
		return n
	case v.state.ModeNow().Decision.Change:
		n.next = append(say("Your change was rejected. "), n.next...)
		return n
	default:
		return v.askInstead(n)
	}
}

// draftWaits reports whether the caller has to wait for the decision about a draft, or to make it. A draft adopted from
// a host's own list blocks no agent, since no agent submitted it.
func (v view) draftWaits() bool {
	draft, none := v.state.Draft, isOver(v.state.Plan)
	if draft == nil || draft.HostList == nil {
		return draft != nil && (none || v.decides())
	}
	return none && v.decides()
}

// ofPlanAlone returns the next action of the plan, without regard to drafts and rejections.
func (v view) ofPlanAlone() now {
	p, setUp := v.state.Plan, Call{Kind: CallSetUp}
	switch {
	case p == nil:
		return now{reason: NoPlan, message: "There is no plan.", next: say("Set up a plan: ", setUp, ".")}
	case p.Status == plan.StatusAbandoned: // possibly after it was closed
		return now{reason: NoPlan, message: "The plan was abandoned.",
			next: say("The plan was abandoned: set up a new one with ", setUp, ".")}
	case p.FinalSummary != "":
		return now{reason: Closed, message: "The plan is closed with its final summary.",
			next: say("The plan is closed; for new work set up another: ", setUp, ".")}
	case p.Status == plan.StatusCompleted:
		return now{reason: PlanCompleted, message: "All tasks are complete. The agent should provide a final summary.",
			next: say("All steps are finished: check the outcome, then ", Call{Kind: CallSummarise}, ".")}
	case p.Status == plan.StatusFailed:
		return now{reason: Failed, message: "The plan has failed: a critical step failed and no replan is left.",
			next: say("The plan has failed: set up a new one with ", setUp, ".")}
	case p.Steps.Len() == 0:
		return now{reason: NoPlan, message: "The plan has no tasks yet.", next: say("Add the first steps: ", v.addSteps(), ".")}
	}
	if p.Status == plan.StatusReplanning {
		return v.replanning(p)
	}
	if task, ok := v.task(p); ok {
		return task
	}
	return v.stuck(p)
}

// isOver reports whether a plan has nothing left to do.
func isOver(p *plan.Plan) bool { return p == nil || p.IsOver() }

// isRejected reports whether a rejection is the last input from people, and nothing has happened since: the current
// plan was not changed, and people said no more.
func isRejected(state plan.State) bool {
	d, p := state.ModeNow().Decision, state.Plan
	if d == nil || d.Outcome != plan.Rejected || p != nil && p.UpdatedAt.After(d.At) || d.Draft && !isOver(p) {
		return false
	}
	return !hasInputSince(state, d)
}

func hasInputSince(state plan.State, d *plan.Decision) bool {
	answered := func(q plan.Question) bool { return q.Revision > d.Revision }
	said := func(c plan.Comment) bool { return c.Revision > d.Revision && !c.IsQuestion }
	return slices.ContainsFunc(state.Questions, answered) || slices.ContainsFunc(state.Comments, said)
}

// askInstead makes the agent ask the person who rejected a plan what to do instead, before it continues with the
// current plan.
func (v view) askInstead(standing now) now {
	const what = "Your plan was rejected: ask the user what to do instead"
	n, alone := standing, append(say("Rejected: ask the user. "), standing.next...)
	n.rejected, n.message = true, "The submitted plan was rejected."
	if isOver(v.state.Plan) {
		n.reason, alone = NoPlan, say(what, ", then ", Call{Kind: CallSetUp}, ".")
	}
	n.next = v.askUser(what, alone)
	return n
}

// askUser asks the user a question, or waits for the answer; a caller without that call gets alone instead.
func (v view) askUser(what string, alone []Phrase) []Phrase {
	ask := Call{Kind: CallAsk}
	switch _, can := v.Can(ask); {
	case !can:
		return alone
	case len(v.state.CurrentQuestions()) > 0:
		return say("Wait for the user's answer: ", Call{Kind: CallWait}, ".")
	}
	return say(what, ": ", ask, ".")
}

// task returns the step to work on: the caller's own, one with a lapsed claim, or the first ready one.
func (v view) task(p *plan.Plan) (now, bool) {
	own := func(step *plan.Step) bool { return step.ClaimedBy != "" && step.ClaimedBy == v.Actor.Name }
	if step := begun(p, own); step != nil {
		return v.start(step, say("Do ", step.ID, " ", name(step.Title), "; when it is verified: ", mark(step.ID, plan.Done), ".")), true
	}
	if n, ok := v.asked(p); ok {
		return n, true
	}
	if step := begun(p, v.left); step != nil { // claim it first: other agents are offered it too
		return now{reason: ReadyForTask, step: step,
			next: say("Take over ", step.ID, " ", name(step.Title), ", whose claim lapsed: ", mark(step.ID, plan.InProgress), ".")}, true
	}
	for step := range p.Steps.Ready() {
		if n, ok := v.begin(step); ok {
			return n, true
		}
	}
	return v.engaged(p)
}

// addTasks returns the call that adds tasks; more is appended to its JSON.
func addTasks(more string) Call {
	return Call{Kind: CallUpdate, JSON: `{"add_tasks":[...]` + more + `}`}
}

// addSteps returns the call that adds steps: the one with room for the gates' fields, if they judge all steps.
func (v view) addSteps() Call {
	if call := addTasks(""); v.strict {
		if _, can := v.Can(call); can {
			return call
		}
	}
	return Call{Kind: CallAddSteps}
}

// start returns next as the action for a step, or, for a step that asks for a plan, the calls that add steps.
func (v view) start(step *plan.Step, next []Phrase) now {
	update := addTasks(`,"update_tasks":[{"id":` + step.ID.Number() + `,"status":"DONE"}]`)
	if _, can := v.Can(update); plan.IsMeta(step.Title) && can {
		next = say("Break the goal down, then ", update, ".")
	} else if plan.IsMeta(step.Title) {
		next = say("Break the goal down into steps: ", Call{Kind: CallAddSteps}, ", then ", mark(step.ID, plan.Done), ".")
	}
	return now{reason: ReadyForTask, step: step, next: next}
}

func (v view) waiting(signal plan.Signal) now {
	var step *plan.Step
	on := ""
	if id := v.state.SignalStep(signal); id != 0 {
		step, _ = v.state.Plan.Steps.Get(id)
		on = " on task " + id.Number()
	}
	return now{reason: WaitingOnSignal, signal: signal, step: step,
		message: fmt.Sprintf("Waiting for signal '%s'%s to be cleared.", signal.ID, on),
		next:    say("Blocked by a signal: fix its cause, then ", Call{Kind: CallClear, ID: signal.ID}, ".")}
}

func (v view) replanning(p *plan.Plan) now {
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
		retry := v.again(p, failed)
		next := say("Critical ", failed.ID, " ", name(failed.Title), " failed: retry by ", retry, ", or ", revise, ".")
		if v.brief() && len(v.word(retry)) > longCall { // no room for another call; agent_instructions has it
			next = say("Critical ", failed.ID, " ", name(failed.Title), " failed: retry by ", retry, ", or replan.")
		}
		return now{reason: Replanning, step: failed, message: fmt.Sprintf("The critical task %s failed.", step.ID), next: next}
	}
	return now{reason: Replanning, message: "The plan has to be revised.",
		next: say("The plan has to be revised: ", revise, ".")}
}

// tryAgain returns the call that retries a step, and the run if that has to start an agent for it.
func (v view) tryAgain(p *plan.Plan, step *plan.Step) []Phrase {
	how := v.again(p, step)
	phrases := say(how)
	if how.Kind == CallRecover && v.starts(step) && !v.engine {
		phrases = say(how, ", then ", Call{Kind: CallRun})
	}
	if v.decides() && step.NeedsUnblocking() {
		phrases = append(phrases, say("; or say what to do: ", Call{Kind: CallAnswerStep, Step: step.ID})...)
	}
	return append(phrases, say(".")...)
}

// again returns the call that retries a step: it is begun, unless something has to come before.
func (v view) again(p *plan.Plan, step *plan.Step) Call {
	_, runs := v.Can(Call{Kind: CallRun})
	switch {
	case len(p.Steps.UnmetDependencies(step.ID)) > 0:
		return mark(step.ID, plan.Pending)
	case v.unapproved(step), step.Tool != "" && (runs || v.engine || v.heldByPerson()), v.starts(step):
		return Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry}
	}
	return mark(step.ID, plan.InProgress)
}

func (v view) gathering() now {
	if v.decides() {
		return now{reason: Gathering, message: "Planning mode: nothing is changed until you approve a plan.",
			next: say("Wait until an agent submits its plan: ", Call{Kind: CallWait, For: 10 * time.Minute}, "; ",
				Call{Kind: CallCancelMode}, " leaves the mode.")}
	}
	n := now{reason: Gathering, message: "Planning mode: read-only until a plan is approved.",
		next: say("Planning mode: only read and ask, then ", Call{Kind: CallSubmit}, ".")}
	switch d, read := v.state.ModeNow().Decision, (Call{Kind: CallRead, ID: string(DraftPlan)}); {
	case d != nil && d.Outcome == plan.Returned && d.Comment == "" && !hasInputSince(v.state, d):
		const what = "Your plan was returned without a comment: ask the user what to change"
		n.next = v.askUser(what, say(what, ", then ", Call{Kind: CallSubmit}, "."))
	case len(v.state.CurrentQuestions()) > 0:
		n.next = say("Planning mode: only read and ask, then ", Call{Kind: CallSubmit}, "; wait for the answer: ",
			Call{Kind: CallWait}, ".")
	case d != nil && d.Outcome == plan.Returned && v.state.Draft != nil:
		n.next = say("Your plan was returned: revise it, then ", Call{Kind: CallSubmit}, "; it stands in: ", read, ".")
	}
	return n
}

func (v view) awaitingApproval() now {
	if v.decides() {
		page := ""
		if command, can := v.Can(Call{Kind: CallReview}); can { // the page itself does not offer it
			page = ", or " + command + " in a browser"
		}
		return now{reason: AwaitingApproval, message: "The submitted plan waits for your decision.",
			next: say("Look at it and decide: ", Call{Kind: CallApprove}, page, ". Or: ", Call{Kind: CallReturn}, " has it revised, ",
				Call{Kind: CallReject}, " drops it.")}
	}
	message := "The submitted plan waits for a person's decision."
	if request := v.state.ModeNow().Request; request != nil && request.Base != "" {
		message = "The submitted change to the approved plan waits for a person's decision: " +
			plan.Shorten(v.state.Draft.Changes, messageShown) + "."
	}
	return now{reason: AwaitingApproval, message: message,
		next: say("Wait for a person's decision: ", Call{Kind: CallWait}, "; the person runs ",
			Call{Kind: CallReview}, " or ", Call{Kind: CallApprove}, ".")}
}

// begun returns the first step in progress that matches and can be finished now.
func begun(p *plan.Plan, match func(*plan.Step) bool) *plan.Step {
	for step := range p.Steps.Running() {
		if !step.IsRunning() && !step.IsLooping() && len(p.Steps.UnmetDependencies(step.ID)) == 0 && match(step) {
			return step
		}
	}
	return nil
}

func mark(id plan.StepID, status plan.StepStatus) Call {
	return Call{Kind: CallMark, Step: id, Status: status}
}
