package verbs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/tokens"
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
	ChooseTrack      Reason = "choose_track"  // of several, since the session is on none
	PlanReplaced     Reason = "plan_replaced" // by another session
	StepUnknown      Reason = "step_unknown"  // its outcome is unknown
	ReadyToRun       Reason = "ready_to_run"  // by an engine
	Running          Reason = "running"
	RunStopped       Reason = "run_stopped" // its engine ended before the step did
	StepAsks         Reason = "step_asks"   // needs a person
	RunPaused        Reason = "run_paused"
	WaitingOnAgent   Reason = "waiting_on_agent"
	StepFailed       Reason = "step_failed" // and no other step is ready
	Deadlocked       Reason = "deadlocked"
	PlanCompleted    Reason = "plan_completed"
	Closed           Reason = "closed"
	Failed           Reason = "failed"
	NoPlan           Reason = "no_plan"
	Ended            Reason = "ended" // for an agent started for one step: the step ended
)

// NextAction is the one thing to do next, with alternatives: a sentence with calls that each face writes in its own form.
type NextAction struct {
	Reason  Reason
	Phrases []Phrase

	message  string      // the obstacle, if there is one
	step     *plan.Step  // the step it is about
	signal   plan.Signal // with WaitingOnSignal
	rejected bool        // the agent must ask the user for other work
}

// Phrase is a piece of a sentence: a text, a call, or a user-given name that may be shortened.
type Phrase struct {
	Text string
	Call *Call
	Name string
}

// Calls lists the calls in the sentence, the next one first.
func (n NextAction) Calls() []Call {
	var calls []Call
	for _, p := range n.Phrases {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Limits of user-given names in a reply, in tokens.
const (
	titleTokens      = 13
	titleTokensShort = 4  // beside a long call
	longCall         = 40 // characters
	nameTokens       = 10
)

// titleShown is the maximum length of a title that a reply repeats, in characters.
const titleShown = 60

// For returns the sentence in the caller's words. It is never empty.
func (n NextAction) For(c Caller) string {
	room := titleTokens
	for _, call := range n.Calls() {
		if c.brief() && len(c.word(call)) > longCall {
			room = titleTokensShort
		}
	}
	var b strings.Builder
	for _, p := range n.Phrases {
		switch {
		case p.Call != nil:
			b.WriteString(c.word(*p.Call))
		case p.Name != "":
			b.WriteString(strconv.QuoteToGraphic(tokens.Shorten(p.Name, room, titleShown)))
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// name is a user-given part of a sentence.
type name string

// say builds a sentence of texts, names, calls, and steps, which it names by id and title.
func say(parts ...any) []Phrase {
	phrases := make([]Phrase, 0, len(parts))
	for _, part := range parts {
		switch part := part.(type) {
		case Call:
			phrases = append(phrases, Phrase{Call: &part})
		case name:
			phrases = append(phrases, Phrase{Name: string(part)})
		case *plan.Step:
			phrases = append(phrases, Phrase{Text: part.ID.String() + " "}, Phrase{Name: part.Title})
		default:
			phrases = append(phrases, Phrase{Text: fmt.Sprint(part)})
		}
	}
	return phrases
}

// newAction returns the next action for a reason and its obstacle; the parts are those of say.
func newAction(reason Reason, message string, parts ...any) NextAction {
	return NextAction{Reason: reason, message: message, Phrases: say(parts...)}
}

// withStep returns the next action with its step.
func (n NextAction) withStep(step *plan.Step) NextAction {
	n.step = step
	return n
}

// NextAction returns the caller's next action.
func (s *Service) NextAction(ctx context.Context, c Caller) (NextAction, error) {
	state, err := s.State(ctx)
	if err != nil {
		return NextAction{}, err
	}
	if open, _, err := s.choices(ctx, c); err != nil || len(open) > 0 {
		return chooseTrack(), err
	}
	return s.NextActionIn(state, c), nil
}

// chooseTrack is the next action of a session that is on none of several tracks.
func chooseTrack() NextAction {
	return newAction(ChooseTrack, "", "Join one of these tracks to help, or begin your own for another task: ", Call{Kind: CallSetUp}, ".")
}

// NextActionIn is NextAction for a state that was already read.
func (s *Service) NextActionIn(state plan.State, c Caller) NextAction {
	return s.view(state, c, Rules{}).nextAction()
}

// view is the input that a next action is computed from.
type view struct {
	*Service
	Caller
	state  plan.State
	rules  Rules // the rule book on disk; the zero value is in sync
	engine bool  // an engine starts steps of the plan
	waited bool  // the caller's wait for a decision has ended
}

// view returns the state as the caller sees it. Only a status passes rules; if they are out of sync, they come before
// the plan.
func (s *Service) view(state plan.State, c Caller, rules Rules) view {
	return view{Service: s, Caller: c, state: state, rules: rules, engine: s.hasEngine(state)}
}

func (v view) nextAction() NextAction {
	if v.scoped() {
		return v.scopedAction()
	}
	n, id := v.unscopedAction(), firstUnreplied(v.state)
	reply := Call{Kind: CallReply, ID: id}
	if _, can := v.Can(reply); id == "" || v.decides() || !can {
		return n
	}
	switch n.Reason { // an agent that has to wait replies to people's questions first
	case AwaitingApproval, Running, RunPaused, StepAsks, WaitingOnAgent:
		n.Phrases = say("The user asks: reply with ", reply, ", then wait again.")
	}
	return n
}

func (v view) unscopedAction() NextAction {
	switch v.state.PhaseNow() {
	case plan.PhaseGathering:
		return v.gathering()
	case plan.PhaseSubmitted:
		return v.awaitingApproval()
	}
	if v.rules.State != "" {
		return newAction(SyncInstructions, "`"+v.rules.File+"` is "+v.rules.State+".", Call{Kind: CallSyncRules, File: v.rules.File}, ".")
	}
	if blockers := v.state.OpenSignals(plan.Blocker); len(blockers) > 0 {
		return v.waitingOnSignal(blockers[0])
	}
	return v.afterDecisions()
}

// afterDecisions returns the next action of the plan, after a pending decision about a draft or a rejection.
func (v view) afterDecisions() NextAction {
	switch n := v.planAction(); {
	case v.state.HasProposal() && !v.state.HasHostProposal() && (!v.decides() || v.state.IsReturned()):
		return v.besideProposal(n)
	case v.mustDecideDraft():
		return v.awaitingApproval() // a proposal, or a draft without planning mode, from a model or an import
	case v.decides() || !isRejected(v.state):
		return n
	case v.state.ModeNow().Decision.Change:
		outcome := "Your change was rejected. "
		if v.state.ModeNow().Decision.Outcome == plan.Expired {
			outcome = "Your change was not decided; leave it out. "
		}
		n.Phrases = append(say(outcome), n.Phrases...)
		return n
	default:
		return v.askInstead(n)
	}
}

// mustDecideDraft reports whether the caller has to wait for the decision about a draft, or to make it. A host's own
// list or plan blocks no agent, since no agent submitted it here.
func (v view) mustDecideDraft() bool {
	draft, none := v.state.Draft, isOver(v.state.Plan)
	if v.state.IsReturned() {
		return false
	}
	if draft == nil || draft.HostList == nil && draft.HostPlan == nil {
		return draft != nil && (none || v.decides())
	}
	return none && v.decides()
}

// besideProposal returns the next action while a proposal waits for a decision, or for its author. Approved work, of which n
// is next, continues; without any left the proposal comes first.
func (v view) besideProposal(n NextAction) NextAction {
	isStuck := slices.Contains([]Reason{NoPlan, PlanCompleted, Closed, Failed, Replanning, StepFailed, Deadlocked}, n.Reason)
	returned, author := v.state.IsReturned(), v.state.ProposalAuthor()
	switch isAuthor := !v.decides() && plan.MayWithdraw(v.Actor, author, v.seenLast(author)); {
	case v.decides() && n.Reason != PlanCompleted: // a person can do all else beside the proposal
	case isStuck && !returned:
		n = v.awaitingApproval()
		n.message = "No approved work is left. Tell the user that the proposed change waits for a decision."
	case isStuck && isAuthor:
		withdraw := Call{Kind: CallUpdate, JSON: `{"withdraw":true}`}
		return newAction(AwaitingApproval, "Changes were requested for the proposal.", "Revise your proposed change, or withdraw it: ",
			v.leaveToUser(withdraw), withdraw, ".")
	case isStuck:
		return v.waitForAuthor(author)
	case returned && isAuthor:
		n.Phrases = append(say("Revise or withdraw your proposed change. "), n.Phrases...)
	}
	return n
}

// waitForAuthor returns the next action while the author of a returned proposal has to revise it: only the author or a person
// can withdraw it.
func (v view) waitForAuthor(author string) NextAction {
	drop := "; a person can drop it: "
	if v.decides() {
		drop = "; drop it: "
	}
	return newAction(AwaitingApproval, "Changes were requested for the proposal.", "Wait until ", name(author),
		" revises the proposed change: ", Call{Kind: CallWait}, drop, Call{Kind: CallCancelMode}, ".")
}

const noReplans = "The plan has failed: a critical step failed, and no replans are left."

// planAction returns the next action of the plan, without regard to drafts and rejections.
func (v view) planAction() NextAction {
	p, setUp := v.state.Plan, Call{Kind: CallSetUp}
	switch {
	case p == nil:
		return newAction(NoPlan, "The workspace has no plan.", "Set up a plan: ", setUp, ".")
	case p.Status == plan.StatusAbandoned: // possibly after it was closed
		return newAction(NoPlan, "The plan was abandoned.", "Set up a new plan: ", setUp, ".")
	case p.FinalSummary != "":
		return newAction(Closed, "The plan is closed with its final summary.", "For new work, set up another plan: ", setUp, ".")
	case p.Status == plan.StatusCompleted:
		return newAction(PlanCompleted, "All tasks are complete. The agent should provide a final summary.",
			"All steps are finished: check the outcome, then ", Call{Kind: CallSummarise}, ".")
	case p.Status != plan.StatusActive && v.state.OpenRun() != nil && plan.HasCleanup(v.state):
		if n, ok := v.questionForCaller(p, p.Steps.IsCleanup); ok { // it comes before the next plan or version
			return n
		}
		if n, ok := v.beginReady(p); ok {
			return n
		}
		if n, ok := v.firstAsk(p, func(a AskView) bool { return a.kind != askQuestion && p.Steps.IsCleanup(a.next.step) }); ok {
			return n
		}
	}
	switch {
	case p.Status == plan.StatusFailed && p.IsBinding() && !v.decides():
		return newAction(Failed, noReplans, slices.Concat([]any{"The approved plan has failed: tell the user, then "}, v.anotherPlan(),
			[]any{"."})...)
	case p.Status == plan.StatusFailed:
		return newAction(Failed, noReplans, "The plan has failed: set up a new one with ", setUp, ".")
	case p.Steps.Len() == 0:
		return newAction(NoPlan, "The plan has no steps yet.", "Add the first steps: ", v.addSteps(), ".")
	case p.Status == plan.StatusReplanning:
		return v.replanning(p)
	}
	if n, ok := v.endedRun(p); ok {
		return n
	}
	if n, ok := v.stepAction(p); ok {
		return n
	}
	for step := range p.Steps.Stale() {
		return v.staleAction(step)
	}
	return v.nothingReady(p)
}

// staleAction returns the next action for a step with a replaced value: do it again, or keep its result.
func (v view) staleAction(step *plan.Step) NextAction {
	again := Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry, WithDependents: true}
	return newAction(StepAsks, fmt.Sprintf("Step %s used a value that was replaced.", step.ID), step, " used a value that was replaced: ",
		"do it again: ", v.leaveToUser(again), again, ", or keep its result: ", mark(step.ID, plan.Done), ".").withStep(step)
}

// anotherPlan returns the call, as a part of say, that replaces a plan that is over. Only a person may replace an approved,
// unfinished one; an agent submits another.
func (v view) anotherPlan() []any {
	if v.decides() || v.state.Plan == nil || !v.state.Plan.IsBinding() {
		return []any{Call{Kind: CallSetUp}}
	}
	if _, can := v.Can(Call{Kind: CallSubmit}); can {
		return []any{Call{Kind: CallSubmit}}
	}
	return []any{"ask the user to run ", Call{Kind: CallDiscard}}
}

// isOver reports whether a plan has nothing left to do.
func isOver(p *plan.Plan) bool { return p == nil || p.IsOver() }

// isRejected reports whether a rejection, or a decision that did not come in time, is the last input from people, and
// nothing has happened since: the current plan was not changed, and people said no more.
func isRejected(state plan.State) bool {
	d, p := state.ModeNow().Decision, state.Plan
	if !d.IsRejection() && !wasLetGo(state) || p != nil && p.UpdatedAt.After(d.At) || d.Draft && !isOver(p) {
		return false
	}
	return !hasInputSince(state, d)
}

// wasLetGo reports whether a person ended planning mode without a decision about the plan that waited.
func wasLetGo(state plan.State) bool {
	d := state.ModeNow().Decision
	return d != nil && d.Outcome == plan.CalledOff && slices.ContainsFunc(state.Past, func(head plan.PastPlan) bool {
		return head.Reason == string(plan.CalledOff) && head.ArchivedAt.Equal(d.At)
	})
}

func hasInputSince(state plan.State, d *plan.Decision) bool {
	answered := func(q plan.Question) bool { return q.Revision > d.Revision }
	commented := func(c plan.Comment) bool { return c.Revision > d.Revision && !c.IsQuestion }
	return slices.ContainsFunc(state.Questions, answered) || slices.ContainsFunc(state.Comments, commented)
}

// askInstead makes the agent ask the user for other work after a rejection, before it continues with the current plan.
func (v view) askInstead(n NextAction) NextAction {
	outcome := "rejected"
	if wasLetGo(v.state) {
		outcome = "dropped"
	}
	what := "Your plan was " + outcome + ": ask the user what to do instead"
	alone := append(say(strings.ToUpper(outcome[:1])+outcome[1:]+": ask the user. "), n.Phrases...)
	if n.rejected, n.message = true, "The submitted plan was "+outcome+"."; isOver(v.state.Plan) {
		n.Reason, alone = NoPlan, say(append([]any{what, ", then "}, append(v.anotherPlan(), ".")...)...)
	}
	if n.Phrases = v.askUser(what, alone); v.state.ModeNow().Decision.Outcome == plan.Expired {
		n.Reason, n.Phrases = AwaitingApproval, say(NoDecision)
		n.message = "The submitted plan was not decided in time, which counts as a rejection."
	}
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

// stepAction returns the step to work on: the caller's own, one with a lapsed claim, or the first ready one.
func (v view) stepAction(p *plan.Plan) (NextAction, bool) {
	own := func(step *plan.Step) bool { return step.ClaimedBy != "" && step.ClaimedBy == v.Actor.Name }
	if step := begunStep(p, own); step != nil {
		return v.workOn(step, "Do ", step, "; once verified: ", mark(step.ID, plan.Done), "."), true
	}
	if n, ok := v.questionForCaller(p, nil); ok {
		return n, true
	}
	if step := begunStep(p, v.isUnowned); step != nil { // claim it first: other agents are offered it too
		return newAction(ReadyForTask, "", "Take over ", step, " (claim lapsed): ", mark(step.ID, plan.InProgress),
			".").withStep(step), true
	}
	return v.beginReady(p)
}

// beginReady returns the next action for a step that may start, or that an engine runs.
func (v view) beginReady(p *plan.Plan) (NextAction, bool) {
	for step := range plan.ReadySteps(v.state) {
		if n, ok := v.begin(step); ok {
			return n, true
		}
	}
	return v.running(p)
}

// begunStep returns the first step in progress that matches and can be finished now.
func begunStep(p *plan.Plan, match func(*plan.Step) bool) *plan.Step {
	return plan.First(p.Steps.Running(), func(step *plan.Step) bool {
		return !step.IsRunning() && !step.IsLooping() && len(p.Steps.UnmetDependencies(step.ID)) == 0 && match(step)
	})
}

// begin returns the next action for a ready step, false if an engine or a person has to act first.
func (v view) begin(step *plan.Step) (NextAction, bool) {
	agents := v.startsAgent(step)
	engines := agents || step.NeedsEngine()
	onlyApproval := step.Tool == "" && step.When == "" && step.Pause == "" && step.ForEach == "" // makes it concern an engine
	_, runs := v.Can(Call{Kind: CallRun})
	switch {
	case step.OpenQuestion() != nil, !engines && v.state.LockHolder(step) != 0, engines && (v.engine || v.isPausedByPerson()):
		return NextAction{}, false
	case engines && runs && (agents || !onlyApproval):
		return newAction(ReadyToRun, fmt.Sprintf("Planloop runs step %s.", step.ID), "Run the plan; ", step, " comes next: ",
			Call{Kind: CallRun}, ".").withStep(step), true
	case v.needsApproval(step), v.needsAnswer(step):
		return NextAction{}, false
	}
	start := mark(step.ID, plan.InProgress)
	if step.Tool != "" { // the caller cannot run it; the sentence has no room for the title
		return v.workOn(step, step.ID, ": ask the user to run ", Call{Kind: CallResume}, ", or by hand: ", start, "."), true
	}
	return v.workOn(step, "Start ", step, ": ", start, "."), true
}

// needsApproval reports whether the step needs a person's approval before the caller may start it.
func (v view) needsApproval(step *plan.Step) bool {
	return step.RequiresApproval && !step.HasApproval() && !v.opts.Limits.NeverAsk && !v.decides()
}

// needsAnswer reports whether the step needs a person's answer before the caller may start it.
func (v view) needsAnswer(step *plan.Step) bool { return step.NeedsReply() && !v.decides() }

// workOn returns the parts as the action for a step, or, for a step that asks for a plan, the calls that add steps.
func (v view) workOn(step *plan.Step, parts ...any) NextAction {
	update := addTasks(`,"update_tasks":[{"id":` + step.ID.Number() + `,"status":"DONE"}]`)
	if _, can := v.Can(update); plan.IsMeta(step.Title) && can {
		parts = []any{"Break the goal down, then ", update, "."}
	} else if plan.IsMeta(step.Title) {
		parts = []any{"Break the goal down into steps: ", Call{Kind: CallAddSteps}, ", then ", mark(step.ID, plan.Done), "."}
	}
	return newAction(ReadyForTask, "", parts...).withStep(step)
}

func mark(id plan.StepID, status plan.StepStatus) Call {
	return Call{Kind: CallMark, Step: id, Status: status}
}

// addTasks returns the call that adds tasks; more is appended to its JSON.
func addTasks(more string) Call {
	return Call{Kind: CallUpdate, JSON: `{"add_tasks":[...]` + more + `}`}
}

// addSteps returns the call that adds steps: the one with room for the gates' fields, if they judge all steps.
func (v view) addSteps() Call {
	if call := addTasks(""); v.opts.GateAll {
		if _, can := v.Can(call); can {
			return call
		}
	}
	return Call{Kind: CallAddSteps}
}

// scopedAction returns the next action of an agent that planloop started for one step.
func (v view) scopedAction() NextAction {
	scope := v.Actor.Scope
	step := scope.AgentStep(v.state)
	switch {
	case step == nil:
		return newAction(Ended, fmt.Sprintf("The attempt at step %s is over.", scope.Step), "Your step has ended: end now.")
	case step.AgentReport() != nil:
		return newAction(Ended, fmt.Sprintf("Step %s is reported.", step.ID), step.ID, " is reported: end now.")
	case v.state.PhaseNow().IsRestricted(): // calls are hidden now, but the agent's final answer still counts
		return newAction(ReadyForTask, "", "Do ", step.ID, ", then report it in the last line of your answer and end.").withStep(step)
	}
	report := Call{Kind: CallUpdate, JSON: fmt.Sprintf(`{"update_tasks":[{"id":%s,"status":"DONE","output":"..."}]}`, step.ID.Number())}
	if _, can := v.Can(report); !can {
		report = mark(step.ID, plan.Done)
	}
	return newAction(ReadyForTask, "", "Do ", step.ID, ", then report it and end: ", report, ".").withStep(step)
}

func (v view) gathering() NextAction {
	if v.decides() {
		return newAction(Gathering, "Planning mode: nothing can change until you approve a plan.", "Wait until an agent submits its plan: ",
			Call{Kind: CallWait, For: 10 * time.Minute}, "; ", Call{Kind: CallCancelMode}, " leaves the mode.")
	}
	submit := Call{Kind: CallSubmit}
	n := newAction(Gathering, "", "Gather context, then ", submit, ".")
	switch d := v.state.ModeNow().Decision; {
	case d != nil && d.Outcome == plan.Returned && d.Comment == "" && !hasInputSince(v.state, d):
		const what = "Changes were requested without a comment: ask the user what to change"
		n.Phrases = v.askUser(what, say(what, ", then ", submit, "."))
	case len(v.state.CurrentQuestions()) > 0:
		n.Phrases = say("Gather context, then ", submit, "; wait for the answer: ", Call{Kind: CallWait}, ".")
	case d != nil && d.Outcome == plan.Returned && v.state.Draft != nil:
		n.Phrases = say("Changes were requested: revise the draft, then ", submit, "; read it with ",
			Call{Kind: CallRead, ID: string(DraftPlan)}, ".")
	}
	return n
}

// NoDecision is the next action of an agent whose wait for a decision has ended. Silence is not consent.
const NoDecision = "No decision yet. Stop here and tell the user; do not start this work."

func (v view) awaitingApproval() NextAction {
	votes := v.state.VotingText(nil)
	if v.decides() {
		page := ""
		if command, can := v.Can(Call{Kind: CallReview}); can { // the page itself does not offer it
			page = ", or " + command + " in a browser"
		}
		return newAction(AwaitingApproval, "The submitted plan waits for your decision.",
			strings.TrimSpace(votes+" Review the plan and decide: ")+" ",
			Call{Kind: CallApprove}, page, ". Or: ", Call{Kind: CallReturn}, " requests changes, ", Call{Kind: CallReject}, " rejects it.")
	}
	message := "The submitted plan waits for a person's decision." + prefixed(" ", votes)
	if v.waited {
		return newAction(AwaitingApproval, message, NoDecision)
	}
	return newAction(AwaitingApproval, message, "Wait for a person's decision: ", Call{Kind: CallWait}, "; the person runs ",
		Call{Kind: CallReview}, " or ", Call{Kind: CallApprove}, ".")
}
