package verbs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// AskView is something that the plan's run waits for, or that a person has to decide.
type AskView struct {
	Step string `json:"step,omitempty"`
	What string `json:"what"`
	Why  string `json:"why,omitempty"` // the question, the error or the reason
	How  string `json:"how"`           // to answer it, in the caller's words

	next NextAction
	kind askOrder
	fact string // a step's question in full, for a situation
}

// askOrder orders asks.
type askOrder int

const (
	askMode     askOrder = iota // planning mode
	askSignal                   // a blocker
	askPlan                     // a waiting plan, or agents that cannot be started
	askCritical                 // a critical step failed
	askFailed                   // and nothing else can start
	askQuestion                 // of a step
	askStuck                    // a step was reported blocked, or failed while others can start
	askAgent                    // an agent's question to the user
	askDeadlock                 // the remaining steps wait for one that will not be done
)

// The most asks in a reply, and in a reply to a model.
const (
	maxAsks      = 100
	maxBriefAsks = 5
)

// asks lists what the plan asks, for a reply. The first one is the next action of a run that has ended for it.
func (v view) asks() []AskView {
	all, most := v.allAsks(), maxAsks
	if v.brief() {
		most = maxBriefAsks
	}
	for i := range all {
		if all[i].How = all[i].next.For(v.Caller); v.brief() {
			all[i].Why = tokens.ShortenCautiously(oneLine(all[i].Why), replanText, plan.MaxNote)
		}
	}
	if more := len(all) - most; more > 0 {
		all = append(all[:most:most], AskView{What: fmt.Sprintf("and %d more", more), How: v.word(Call{Kind: CallRead})})
	}
	return all
}

func (v view) allAsks() []AskView {
	p := v.state.Plan
	if p == nil || p.IsOver() && p.Status != plan.StatusFailed || p.FinalSummary != "" {
		return nil
	}
	var all []AskView
	run, reason := v.state.Run, plan.FindStopReason(v.state)
	hasRun := run != nil && run.Plan == p.Root()
	add := func(kind askOrder, next NextAction, what, why string) {
		ask := AskView{What: what, Why: why, next: next, kind: kind}
		if next.step != nil {
			ask.Step = next.step.ID.String()
		}
		all = append(all, ask)
	}
	switch phase := v.state.PhaseNow(); {
	case !hasRun:
	case phase == plan.PhaseGathering:
		add(askMode, v.gathering(), "planning mode is on, so no step starts", "")
	case phase == plan.PhaseSubmitted:
		add(askMode, v.awaitingApproval(), "a plan waits for a decision", v.state.VotingText(nil))
	case v.mustDecideDraft():
		add(askPlan, v.awaitingApproval(), "a plan waits for a decision", v.state.VotingText(nil))
	}
	for _, signal := range v.state.OpenSignals(plan.Blocker) {
		if hasRun {
			add(askSignal, v.waitingOnSignal(signal), "the signal "+plan.Quote(signal.ID)+" blocks the plan", signal.Message)
		}
	}
	switch {
	case hasRun && reason == plan.StopAgentUnavailable:
		next := newAction(RunPaused, "Agents ended at once.", "Log in to the agent's program, or wait for its quota; then continue: ",
			Call{Kind: CallResume}, ".")
		add(askPlan, next, fmt.Sprintf("agents ended immediately %d times in a row without doing anything", plan.MaxUnavailable), run.Note)
	case p.Status == plan.StatusReplanning:
		next := v.replanning(p)
		if next.step == nil {
			add(askCritical, next, "the plan must be revised", "")
			break
		}
		add(askCritical, next, named(next.step)+" failed, and it is critical", next.step.Error)
	case p.Status == plan.StatusFailed:
		add(askCritical, v.planAction(), noReplans, "")
	default:
		all = append(all, v.stepAsks(p, reason)...)
	}
	for _, q := range v.state.CurrentQuestions() {
		add(askAgent, newAction(StepAsks, "", "The user answers with ", Call{Kind: CallAnswer}, "."),
			"the question "+q.ID+" waits for an answer", q.Text)
	}
	isEnd := reason == plan.StopFailed || reason == plan.StopDeadlocked || reason == plan.StopWaitingForPerson
	if p.Status == plan.StatusActive && isEnd && !slices.ContainsFunc(all, func(a AskView) bool { return a.kind != askAgent }) {
		next := v.deadlock(p)
		add(askDeadlock, next, "no step can start", strings.TrimSuffix(next.message, "."))
	}
	slices.SortStableFunc(all, func(a, b AskView) int { return cmp.Compare(a.kind, b.kind) })
	return all
}

func named(step *plan.Step) string { return step.ID.String() + " " + plan.QuoteWhole(step.Title) }

// stepAsks lists the questions of steps, and those that failed or are blocked.
func (v view) stepAsks(p *plan.Plan, reason plan.StopReason) []AskView {
	var all []AskView
	for step := range p.Steps.WithQuestion() {
		ask := step.OpenQuestion()
		what := map[plan.AskKind]string{plan.AskApproval: "asks for a person's approval", plan.AskPause: "asks a person",
			plan.AskUnknown: "was started, and its outcome is unknown"}[ask.Kind]
		why, call := ask.Text, ""
		if ask.Kind == plan.AskUnknown {
			why = cmp.Or(why, step.Error)
		}
		if step.Tool != "" {
			call = "\n  " + step.Tool + " " + cmp.Or(string(ask.Args), string(step.Args))
		}
		if ask.Digest != "" {
			call += " (code " + history.ShortDigest(ask.Digest) + ")"
		}
		fact := named(step) + " " + what + prefixed(": ", safetext.AfterLabel(why)) + call
		why = strings.TrimSpace(why + call)
		all = append(all, AskView{Step: step.ID.String(), What: named(step) + " " + what, Why: why, next: v.question(step),
			kind: askQuestion, fact: fact})
	}
	for step := range p.Steps.Stale() {
		all = append(all, AskView{Step: step.ID.String(), What: named(step) + " used a value that was replaced", kind: askStuck,
			next: v.staleAction(step)})
	}
	if p.Steps.Count(plan.Failed)+p.Steps.Count(plan.Blocked) == 0 {
		return all
	}
	for step := range p.Steps.All() {
		if step.OpenQuestion() != nil || step.IsExpanded() || len(p.Steps.UnmetDependencies(step.ID)) > 0 {
			continue
		}
		ask := AskView{Step: step.ID.String(), kind: askStuck}
		switch step.Status {
		case plan.Blocked:
			ask.What, ask.Why = named(step)+" was reported blocked", WhyBlocked(step)
			ask.next = newAction(Deadlocked, fmt.Sprintf("Step %s is blocked%s, and no other step is ready.", step.ID, blockedReason(step)),
				step, " is blocked: resolve that, then ")
		case plan.Failed:
			if ask.What, ask.Why = named(step)+" failed", step.Error; reason == plan.StopFailed {
				ask.kind = askFailed
			}
			ask.next = newAction(StepFailed, fmt.Sprintf("Step %s failed, and no other step is ready.", step.ID),
				step, " failed: retry it with ")
		default:
			continue
		}
		ask.next.Phrases = append(ask.next.Phrases, v.retry(p, step)...)
		ask.next = ask.next.withStep(step)
		all = append(all, ask)
	}
	return all
}

// question returns the next action for a step's open question. Anyone may answer for a step in unknown state.
func (v view) question(step *plan.Step) NextAction {
	answer, approve := Call{Kind: CallAnswerStep, Step: step.ID}, Call{Kind: CallApproveStep, Step: step.ID}
	ask := step.OpenQuestion()
	switch {
	case step.IsUnknown():
		return v.settleUnknown(step)
	case !v.decides() && ask.Kind == plan.AskPause:
		return v.waitForAnswer(step, CallAnswerStep)
	case !v.decides():
		return v.waitForAnswer(step, CallApproveStep)
	case ask.Kind == plan.AskPause:
		return newAction(StepAsks, fmt.Sprintf("Step %s asks: %s", step.ID, ask.Text), step, " asks you: ", answer, ".").withStep(step)
	}
	return newAction(StepAsks, fmt.Sprintf("Step %s waits for your approval.", step.ID), step, " waits for you: ", approve, ", or ",
		Call{Kind: CallRejectStep, Step: step.ID}, ".").withStep(step)
}

// endedRun returns what a run of the plan that has ended asks a person first.
func (v view) endedRun(p *plan.Plan) (NextAction, bool) {
	run := v.state.Run
	if !v.decides() || run == nil || run.Plan != p.Root() {
		return NextAction{}, false
	}
	switch plan.FindStopReason(v.state) {
	case plan.StopFailed, plan.StopDeadlocked, plan.StopWaitingForPerson:
		if all := v.allAsks(); len(all) > 0 {
			return all[0].next, true
		}
	}
	return NextAction{}, false
}

// firstAsk returns the first matching ask of a step that the caller can answer, else the first; nil matches all.
func (v view) firstAsk(p *plan.Plan, match func(AskView) bool) (NextAction, bool) {
	all := v.stepAsks(p, plan.StopFailed)
	if match != nil {
		all = slices.DeleteFunc(all, func(a AskView) bool { return !match(a) })
	}
	slices.SortStableFunc(all, func(a, b AskView) int { return cmp.Compare(v.rank(a), v.rank(b)) })
	if len(all) == 0 {
		return NextAction{}, false
	}
	return all[0].next, true
}

// rank puts the questions that only a person can answer last.
func (v view) rank(a AskView) int {
	if a.kind == askQuestion && !a.next.step.IsUnknown() {
		return 1
	}
	return 0
}

// lines returns the ask and how to answer it, unless the reply's next action says so.
func (a AskView) lines(next string) string {
	if a.How == next {
		return "Asks: " + a.text()
	}
	return "Asks: " + a.text() + "\n  " + a.How
}

// text returns the ask in a line, with the question or reason marked as data.
func (a AskView) text() string { return a.What + prefixed(": ", safetext.AfterLabel(a.Why)) }
