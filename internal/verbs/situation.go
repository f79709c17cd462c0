package verbs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// situation is everything that binds a caller's next action. planloop_status, planloop resume, the resume prompt, the
// session-start hook and the head of the review page render it. Nothing in it depends on earlier replies, because an agent
// forgets them when its conversation is compacted.
type situation struct {
	facts    []fact                // in order of importance
	task     *Task                 // at hand, whole
	showTask string                // the call that shows the task whole
	more     func(page int) string // the call that shows a page of the facts left out
	input    Feedback
}

// fact is one kind of fact: its heading and texts.
type fact struct {
	heading string
	isLines bool // the texts are the lines of one text
	tokens.Part
}

const goalHeading = "Goal"

// Token limits of a situation: of the whole, by a cautious estimate, and the share that its task is sure of.
const (
	maxStatus     = 1_500
	situationRoom = maxStatus - 20
	taskShare     = 700
)

// situation returns the caller's situation, with all input from people newer than told; next is its next action. It is about plan p, and
// its task is step; either may be nil.
func (v view) situation(ctx context.Context, next NextAction, p *plan.Plan, step *plan.Step, told plan.Revision) (situation, error) {
	remarks, err := v.OpenComments(ctx, v.state)
	if err != nil {
		return situation{}, err
	}
	edited, _, err := v.editsAfter(ctx, v.Caller, v.state, max(0, v.state.Revision-editsBefore), false)
	if err != nil {
		return situation{}, err
	}
	x := situation{more: func(page int) string { return v.word(Call{Kind: CallAskStatus, Page: page}) }}
	if step != nil {
		task := v.wholeTask(v.state.Plan, v.Caller, step, remarks)
		x.task, x.showTask = &task, v.word(Call{Kind: CallShowTask, Step: step.ID})
	}
	input := collectFeedback(v.state, remarks, told)
	if v.scoped() { // it is about the work of others
		input.Decision = nil
	}
	input.Edited = strings.TrimPrefix(line(input.Edited)+line(edited), "\n")
	x.input = input
	x.addPlan(v, p)
	x.addInput(v, step)
	if !v.scoped() {
		x.addRun(v.runState(v.state, v.Caller))
	}
	x.addSteps(v, next, step, v.unverifiedSteps(ctx))
	return x, nil
}

// add adds a kind of fact; texts of others are marked. name is the word for counting, as in tokens.Part.
func (x *situation) add(heading, name string, texts ...string) *fact {
	texts = slices.Clone(texts) // they may be the state's own
	for i := range texts {
		texts[i] = safetext.AfterLabel(texts[i])
	}
	return x.addOwn(heading, name, texts...)
}

// addOwn is add for texts that are marked where necessary.
func (x *situation) addOwn(heading, name string, texts ...string) *fact {
	x.facts = append(x.facts, fact{heading: heading, Part: tokens.Part{Name: name, Texts: nonEmpty(texts...)}})
	return &x.facts[len(x.facts)-1]
}

func (x *situation) addPlan(v view, p *plan.Plan) {
	if p != nil {
		x.add(goalHeading, "the goal", p.Objective).Long = true
	}
	if mode := v.state.ModeNow(); v.state.PhaseNow() != plan.PhaseInactive && !v.scoped() {
		x.add("Planning mode", "planning mode", string(v.state.PhaseNow())+", entered by "+mode.By+prefixed("; task: ", mode.Task)+
			prefixed("; reason: ", mode.Reason)).Long = true
	}
	if p == nil {
		return
	}
	x.add("Constraints", "constraint", p.Metadata.Constraints...)
	x.add("Findings", "finding", strings.Split(p.ContextNotes, "\n")...).isLines = true
	x.add("Discoveries", "discovery", p.Discoveries...)
	x.add("Reasoning", "the reasoning", p.Reasoning).Long = true
}

// addInput adds people's decisions, answers and comments, and the questions to them.
func (x *situation) addInput(v view, step *plan.Step) {
	input := x.input
	if input.Decision != nil {
		x.add("Decided", "a decision", DecisionText(input.Decision.decision)).Long = true
	}
	if !v.scoped() {
		x.add("Decided earlier", "earlier decisions", input.decidedEarlier(v.state)...).Long = true
	}
	var answers, comments, open []string
	for _, a := range input.Answers {
		answers = append(answers, a.line())
	}
	for _, c := range input.Comments {
		if step == nil || !c.placed.isOn(step.ID) { // else it is with the task
			comments = append(comments, c.placed.Lines(false)[0])
		}
	}
	for _, q := range v.state.CurrentQuestions() {
		open = append(open, q.ID+": "+q.Text)
	}
	x.add("Restored; earlier decision", "an earlier decision", earlierDecision(v.state)).Long = true
	answered := x.add("Answers", "answers", answers...)
	answered.Long, answered.Newest = true, true
	commented := x.add("Comments", "comments", comments...)
	commented.Long, commented.Newest = true, true
	x.add("Edits", "edits", input.Edited).Long = true
	x.add("Open questions", "open questions", open...).Long = true
}

func (x *situation) addRun(run RunState) {
	if run.Run != nil {
		x.add("Run", "the run", run.Run.Text()).Long = true
	}
	var asks []string
	for _, ask := range run.Asks {
		if ask.kind == askQuestion { // the others have facts of their own
			asks = append(asks, ask.fact)
		}
	}
	x.addOwn("Questions of steps", "questions of steps", asks...).Long = true
}

// addSteps adds the steps other than the current one, and the signals.
func (x *situation) addSteps(v view, next NextAction, current *plan.Step, unverified []string) {
	p := v.state.Plan
	if p != nil && !v.scoped() {
		x.add("Done, but not verified", "steps that are not verified", unverified...).Long = true
		x.add("In progress", "steps in progress", v.othersSteps(current)...).Long = true
		x.add("Failed or blocked", "failed or blocked steps", stuckSteps(p, current)...).Long = true
	}
	var signals []string
	for _, signal := range openSignals(v.state, next) {
		view := SignalView{ID: signal.ID, TaskID: int(v.state.SignalStep(signal)), Level: signal.Level, Message: signal.Message,
			Output: shownOutput(signal.Output, outputTokens/2)}
		signals = append(signals, strings.TrimPrefix(view.text(), "Signal "))
	}
	x.addOwn("Signals", "signals", signals...).Long = true
	if !v.scoped() {
		heading := "Waiting plan"
		if v.state.IsReturned() {
			heading = "Returned plan"
		}
		x.add(heading, "step of the "+strings.ToLower(heading), draftLines(v.state, v.Caller)...)
	}
	if p == nil {
		return
	}
	done := x.add("Done", "finished steps", outcomes(p, current)...)
	done.Long, done.Newest = true, true
	if v.state.PhaseNow() != plan.PhaseExecuting && !v.scoped() { // else <approved_plan> lists them
		x.add("Then", "later step", followingSteps(p, current)...)
	}
	x.add("Final summary", "the final summary", p.FinalSummary).Long = true
}

// othersSteps lists the steps that other agents work on, except the current one.
func (v view) othersSteps(current *plan.Step) (lines []string) {
	for step := range v.state.Plan.Steps.Running() {
		if step != current && !step.IsUnknown() && v.isOthers(step) {
			lines = append(lines, idAndTitle(step)+", in progress by "+Carrier(step))
		}
	}
	return lines
}

// stuckSteps lists the failed, blocked and interrupted steps except the current one, with their reasons.
func stuckSteps(p *plan.Plan, current *plan.Step) (lines []string) {
	for step := range p.Steps.All() {
		isStuck := step.Status == plan.Failed || step.Status == plan.Blocked || step.IsUnknown()
		if isStuck && step != current {
			lines = append(lines, idAndTitle(step)+", "+statusWord(step)+prefixed(": ", cmp.Or(step.Error, lastOf(step.Notes))))
		}
	}
	return lines
}

// unverifiedSteps lists the finished steps that are not verified, with the reasons: for agents, once the plan is completed.
func (v view) unverifiedSteps(ctx context.Context) (lines []string) {
	if v.state.Plan == nil || v.state.Plan.Status != plan.StatusCompleted && !v.decides() || v.scoped() {
		return nil
	}
	for _, one := range v.Account(ctx, v.state.Plan).Unverified {
		lines = append(lines, one.String())
	}
	return lines
}

// outcomes lists the finished steps with their notes, except those that the current step lists as its dependencies' outcomes.
func outcomes(p *plan.Plan, current *plan.Step) (lines []string) {
	for step := range p.Steps.With(plan.Done) {
		if current == nil || !slices.Contains(current.DependsOn, step.ID) || len(step.Notes) >= 2 {
			lines = append(lines, idAndTitle(step)+prefixed(": ", strings.Join(step.Notes, "\n")))
		}
	}
	return lines
}

// within returns the facts and the task that fit into a room, in tokens. The facts left out are counted, with the call that shows all.
func (x situation) within(room int) (facts []prompts.Fact, task *Task) {
	forTask := 0
	if x.task != nil {
		forTask = min(taskShare, taskFrame+tokens.CountCautiously(x.task.Title+x.task.lines()))
	}
	shown, left := tokens.Fit(x.parts(), room-forTask)
	facts = x.render(shown, left, 0)
	if x.task != nil {
		fitted := *x.task
		fitted.fit(room-tokens.CountCautiously(prompts.Facts(facts)), x.showTask)
		task = &fitted
	}
	return facts, task
}

// page returns a page of all facts, from 1; nil after the last. It does not continue a status, whose room differs from call to call.
func (x situation) page(page int) []prompts.Fact {
	shown, left := tokens.Page(x.parts(), factsRoom, page)
	return x.render(shown, left, page)
}

// factsRoom is the token limit of a page of facts.
const factsRoom = 1_200

func (x situation) parts() (parts []tokens.Part) {
	for _, f := range x.facts {
		parts = append(parts, f.Part)
	}
	return parts
}

// render returns the facts shown on a page, 0 for a status, and a count of those left for later pages.
func (x situation) render(shown, left []tokens.Part, page int) (facts []prompts.Fact) {
	for i, f := range x.facts {
		texts := shown[i].Texts
		if f.isLines {
			texts = nonEmpty(safetext.AfterLabel(strings.Join(texts, "\n")))
		}
		if len(texts) > 0 {
			facts = append(facts, prompts.Fact{Name: f.heading, Texts: texts})
		}
	}
	if missing := tokens.Left(left); missing != "" {
		facts = append(facts, prompts.Fact{Name: "Left out", Texts: []string{missing + ": " + x.more(page+1)}})
	}
	return facts
}

// PageFact is one kind of fact in the head of the review page.
type PageFact struct {
	Label  string   `json:"label"`
	Texts  []string `json:"texts"`
	Urgent bool     `json:"urgent,omitempty"` // something is wrong
	Folded bool     `json:"folded,omitempty"` // background, shown on request
}

// PageFacts returns the facts of the situation for a person who is shown plan p, whole and without marks: the page keeps the texts apart.
// It leaves out those that the page shows as steps, or with buttons of their own.
func (s *Service) PageFacts(ctx context.Context, state plan.State, p *plan.Plan, c Caller) ([]PageFact, error) {
	x, err := s.view(state, c, Rules{}).situation(ctx, NextAction{}, p, nil, state.Revision)
	all := []PageFact{}
	for _, f := range x.render(x.parts(), nil, 0) {
		fact := PageFact{Label: f.Name, Texts: f.Texts}
		switch f.Name {
		case goalHeading, "Restored; earlier decision", "Comments", "Open questions", "Questions of steps", "Signals", "Waiting plan",
			"Returned plan", "Done", "Then":
			continue
		case "Failed or blocked", "Done, but not verified":
			fact.Urgent = true
		case "Planning mode", "Findings", "Discoveries", "Reasoning", "Edits", "In progress":
			fact.Folded = true
		}
		all = append(all, fact)
	}
	safetext.MapTexts(&all, safetext.Unmarked)
	return all, err
}

func suffixed(text, suffix string) string {
	if text == "" {
		return ""
	}
	return text + suffix
}
