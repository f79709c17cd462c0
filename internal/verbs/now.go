package verbs

import (
	"fmt"
	"strconv"

	"github.com/planloop/planloop/plan"
)

// Reason says why a caller is told what it is told (planloop: API Contract,
// now.reason).
type Reason string

// The reasons, in the order they are looked for.
const (
	Gathering        Reason = "gathering"
	AwaitingApproval Reason = "awaiting_approval"
	SyncInstructions Reason = "sync_instructions"
	WaitingOnSignal  Reason = "waiting_on_signal"
	Replanning       Reason = "replanning"
	ReadyForTask     Reason = "ready_for_task"
	WaitingOnAgent   Reason = "waiting_on_agent"
	Deadlocked       Reason = "deadlocked"
	PlanCompleted    Reason = "plan_completed"
	Closed           Reason = "closed"
	Failed           Reason = "failed"
	NoPlan           Reason = "no_plan"
)

// now is what a state means for one caller. It is never without a next action.
type now struct {
	reason  Reason
	message string      // what stands in the way, when something does
	step    *plan.Step  // the task it is about
	signal  plan.Signal // with WaitingOnSignal
	next    string      // one sentence that names the tool or command
}

// view is what a now follows from.
type view struct {
	state plan.State
	who   string                // the caller's name
	words words                 // the caller's
	left  func(*plan.Step) bool // nobody works on the step in progress
	rules Rules                 // the rule book on disk; the zero value is in sync
}

// now finds the first reason that applies.
func (v view) now() now {
	switch v.state.PhaseNow() {
	case plan.PhaseGathering:
		return v.gathering()
	case plan.PhaseSubmitted:
		return v.awaitingApproval()
	}
	if v.rules.State != "" {
		return v.outOfSync()
	}
	if blockers := v.state.OpenSignals(plan.Blocker); len(blockers) > 0 {
		return v.waiting(blockers[0])
	}
	return v.ofPlan()
}

// ofPlan is what the plan alone says.
func (v view) ofPlan() now {
	p := v.state.Plan
	switch {
	case v.state.Draft != nil && (p == nil || p.FinalSummary != "" || p.Status == plan.StatusAbandoned || p.Status == plan.StatusFailed):
		return v.awaitingApproval() // a draft without planning mode: one that a model made, or an import
	case p == nil:
		return now{reason: NoPlan, message: "There is no plan.", next: "Set up a plan: " + v.words.setup() + "."}
	case p.FinalSummary != "":
		return now{reason: Closed, message: "The plan is closed with its final summary.",
			next: "The plan is closed; for new work set up another: " + v.words.setup() + "."}
	case p.Status == plan.StatusCompleted:
		return now{reason: PlanCompleted, message: "All tasks are complete. The agent should provide a final summary.",
			next: "All steps are finished: check the outcome, then " + v.words.summary() + "."}
	case p.Status == plan.StatusFailed:
		return now{reason: Failed, message: "The plan has failed: a critical step failed and no replan is left.",
			next: "The plan is failed: set up a new one with " + v.words.setup() + "."}
	case p.Status == plan.StatusAbandoned:
		return now{reason: NoPlan, message: "The plan was abandoned.",
			next: "The plan is abandoned: set up a new one with " + v.words.setup() + "."}
	case p.Steps.Len() == 0:
		return now{reason: NoPlan, message: "The plan has no tasks yet.", next: "Add the first steps: " + v.words.add() + "."}
	}
	if p.Status == plan.StatusReplanning {
		return v.replanning(p)
	}
	if task, ok := v.task(p); ok {
		return task
	}
	return v.stuck(p)
}

// task is the step to work on: the caller's own, one that nobody works on any
// more, or the first that is ready.
func (v view) task(p *plan.Plan) (now, bool) {
	own := func(step *plan.Step) bool { return step.ClaimedBy != "" && step.ClaimedBy == v.who }
	if step := begun(p, own); step != nil {
		next := fmt.Sprintf("Do %s; when it is verified: %s.", v.named(step), v.words.mark(step.ID, plan.Done))
		if plan.IsMeta(step.Title) {
			next = v.decompose(step)
		}
		return now{reason: ReadyForTask, step: step, next: next}, true
	}
	if step := begun(p, v.left); step != nil { // to be claimed first: others are told of it too
		return now{reason: ReadyForTask, step: step,
			next: fmt.Sprintf("Take over %s, which was left: %s.", v.named(step), v.words.mark(step.ID, plan.InProgress))}, true
	}
	step := p.Steps.NextReady()
	if step == nil {
		return now{}, false
	}
	next := fmt.Sprintf("Start %s: %s.", v.named(step), v.words.mark(step.ID, plan.InProgress))
	if plan.IsMeta(step.Title) {
		next = v.decompose(step)
	}
	return now{reason: ReadyForTask, step: step, next: next}, true
}

// decompose is the way on from the task that asks for a plan.
func (v view) decompose(step *plan.Step) string {
	if v.words.withoutLoop() {
		return fmt.Sprintf("Break the goal down into steps: %s, then %s.", v.words.add(), v.words.mark(step.ID, plan.Done))
	}
	return fmt.Sprintf("Break the goal down, then %s, and %s done in the same call.", v.words.addTasks(), step.ID)
}

func (v view) waiting(signal plan.Signal) now {
	on := ""
	if id := v.state.Concerns(signal); id != 0 {
		on = " on task " + id.Number()
	}
	return now{reason: WaitingOnSignal, signal: signal,
		message: fmt.Sprintf("Waiting for signal '%s'%s to be cleared.", signal.ID, on),
		next:    fmt.Sprintf("Blocked by a signal: fix its cause, then %s.", v.words.clear(signal.ID))}
}

func (v view) outOfSync() now {
	return now{reason: SyncInstructions, message: "`" + v.rules.File + "` is " + v.rules.State + ".", next: v.words.sync(v.rules)}
}

// replanning is the way on after a critical step failed.
func (v view) replanning(p *plan.Plan) now {
	if task, ok := v.retry(p); ok {
		return task
	}
	return now{reason: Replanning, message: "The plan has to be revised.",
		next: "The plan has to be revised: set up a new one with " + v.words.setup() + "."}
}

func (v view) retry(p *plan.Plan) (now, bool) {
	for step := range p.Steps.All() {
		if step.Status != plan.Failed || !step.Critical {
			continue
		}
		status := plan.InProgress
		if len(p.Steps.WaitingOn(step.ID)) > 0 {
			status = plan.Pending
		}
		return now{reason: Replanning, step: step, message: fmt.Sprintf("The critical task %s failed.", step.ID),
			next: fmt.Sprintf("Critical %s failed: retry by %s, or %s.",
				v.named(step), v.words.mark(step.ID, status), v.words.setup())}, true
	}
	return now{}, false
}

// stuck names a way on when no step is ready and none is the caller's to finish:
// a step to take up again, another actor to wait for, or what will never be done
// although a step waits for it.
func (v view) stuck(p *plan.Plan) now {
	for step := range p.Steps.All() {
		if len(p.Steps.WaitingOn(step.ID)) > 0 {
			continue
		}
		switch step.Status {
		case plan.Blocked:
			return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s is blocked and nothing else is ready.", step.ID),
				next: fmt.Sprintf("%s is blocked: resolve that, then %s.", v.named(step), v.words.mark(step.ID, plan.InProgress))}
		case plan.Failed:
			return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s failed and nothing else is ready.", step.ID),
				next: fmt.Sprintf("%s failed: try it again with %s.", v.named(step), v.words.mark(step.ID, plan.InProgress))}
		}
	}
	for step := range p.Steps.Running() {
		if step.ClaimedBy != v.who && !v.left(step) && len(p.Steps.WaitingOn(step.ID)) == 0 {
			return now{reason: WaitingOnAgent, step: step, message: fmt.Sprintf("%s is working on task %s and nothing else is ready.", plan.Quote(step.ClaimedBy), step.ID),
				next: fmt.Sprintf("Wait for %s, which works on %s: %s.", strconv.QuoteToGraphic(brief(step.ClaimedBy, nameTokens)), step.ID, v.words.wait())}
		}
	}
	return v.deadlock(p)
}

// deadlock names a step that waits for one that was given up, and how to take
// that up again.
func (v view) deadlock(p *plan.Plan) now {
	for step := range p.Steps.All() {
		if step.Status.Finished() {
			continue
		}
		for _, id := range p.Steps.WaitingOn(step.ID) {
			if dep, ok := p.Steps.Get(id); ok && dep.Status.Finished() {
				return now{reason: Deadlocked, step: step, message: fmt.Sprintf("Task %s waits for %s, which was %s.", step.ID, id, dep.Status),
					next: fmt.Sprintf("%s waits for %s, which was %s: %s, drop the dependency or skip %s.",
						step.ID, id, dep.Status, v.words.mark(id, plan.Pending), step.ID)}
			}
		}
	}
	return now{reason: Deadlocked, message: "Nothing is ready.", next: "Read the plan to see what it waits for: " + v.words.read() + "."}
}

func (v view) gathering() now {
	if v.words.person {
		return now{reason: Gathering, message: "Planning mode: nothing is changed until you approve a plan.",
			next: "Wait until an agent submits its plan: planloop status --wait 10m; planloop plan cancel leaves the mode."}
	}
	return now{reason: Gathering, message: "Planning mode: read-only until a plan is approved.",
		next: "Planning mode: look and ask only, then " + v.words.submit() + "."}
}

func (v view) awaitingApproval() now {
	if v.words.person {
		return now{reason: AwaitingApproval, message: "The submitted plan waits for your decision.",
			next: "Look at it and decide: planloop approve. Or: planloop edit COMMENT has it revised, planloop reject drops it."}
	}
	return now{reason: AwaitingApproval, message: "The submitted plan waits for a person's decision.",
		next: "Wait for a person's decision: " + v.words.wait() + "."}
}

// named is a step by its id and as much of its title as the call that follows
// leaves room for.
func (v view) named(step *plan.Step) string {
	return step.ID.String() + " " + strconv.QuoteToGraphic(brief(step.Title, v.words.titleTokens()))
}

// begun returns the first step in progress that matches and can be finished.
func begun(p *plan.Plan, match func(*plan.Step) bool) *plan.Step {
	for step := range p.Steps.Running() {
		if len(p.Steps.WaitingOn(step.ID)) == 0 && match(step) {
			return step
		}
	}
	return nil
}
