package verbs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// resumeRoom is the token limit of a resume by a cautious estimate, so that it stays below 1,500. The current task gets
// the room that the rest leaves, at least leastRoom.
const (
	resumeRoom  = 1_480
	resumeFrame = 120 // our words around the texts
)

// Resume returns what an agent needs to continue after it lost its context: the goal, people's input, the finished
// work, the current task as in a status, and the next action.
func (s *Service) Resume(state plan.State, c Caller) string {
	view := s.view(state, c, s.rules(state, c))
	next := view.nextAction()
	step := view.taskAtHand(next)
	sections := resumeSections(state, step, c)
	parts := make([]tokens.Part, len(sections))
	for i := range sections {
		parts[i] = sections[i].Part
	}
	where := s.workspaceInfo(c)
	shown, left := tokens.Fit(parts, resumeRoom-leastRoom-resumeFrame-tokens.CountCautiously(where.lines()))
	data := prompts.ResumeData{Where: where.sections(), NextAction: next.For(c)}
	for i := range shown {
		data.Sections = append(data.Sections, prompts.ResumeSection{Name: sections[i].heading, Texts: shown[i].Texts})
	}
	if rest := tokens.Left(left); rest != "" {
		rest += ": " + c.word(Call{Kind: CallRead})
		data.Sections = append(data.Sections, prompts.ResumeSection{Name: "Left out", Texts: []string{rest}})
	}
	if step != nil {
		task := c.taskOf(state.Plan, step)
		room := max(leastRoom, resumeRoom-tokens.CountCautiously(prompts.Resume(data)))
		task.fit(room, c.word(Call{Kind: CallShowTask, Step: step.ID}))
		data.Sections = append(data.Sections, prompts.ResumeSection{Name: task.name(), Texts: []string{task.Title + task.lines()}})
	}
	return prompts.Resume(data)
}

// taskAtHand returns the caller's current step, even if something else comes first; nil while planning mode restricts
// changes.
func (v view) taskAtHand(next NextAction) *plan.Step {
	switch {
	case next.step != nil, v.scoped():
		return next.step
	case v.state.PhaseNow().IsRestricted():
		return nil
	}
	return v.afterDecisions().step
}

// resumeSection is a section of a resume, in order of importance.
type resumeSection struct {
	heading string
	tokens.Part
}

func resumeSections(state plan.State, current *plan.Step, c Caller) []resumeSection {
	var all []resumeSection
	add := func(heading, name string, long bool, texts ...string) {
		if heading != "Run" && heading != "Signals" { // marked already
			for i, text := range texts {
				texts[i] = safetext.AfterLabel(text)
			}
		}
		all = append(all, resumeSection{heading, tokens.Part{Name: name, Long: long, Texts: nonEmpty(texts...)}})
	}
	newest := func() { all[len(all)-1].Newest = true }
	p := state.Plan
	if p != nil {
		add("Goal", "the goal", true, p.Objective)
		add("Progress", "progress", false, fmt.Sprintf("%s, the plan %s", cmp.Or(progress(p), "no steps yet"), p.Status.Predicate()))
	}
	if run := runState(state); run.Run != nil || run.Asks != nil {
		run.fit()
		add("Run", "the run", true, strings.TrimPrefix(run.lines(), "\n"))
	}
	if mode := state.ModeNow(); state.PhaseNow() != plan.PhaseInactive {
		add("Planning mode", "planning mode", true, string(state.PhaseNow())+", entered by "+mode.By+prefixed(" for: ", mode.Task)+
			prefixed(" because: ", mode.Reason))
	}
	recently := collectFeedback(state, state.Revision, true)
	if recently.Decision != nil {
		add("Decided", "a decision", true, recently.Decision.text())
	}
	if p != nil {
		add("Constraints", "constraint", false, slices.Clone(p.Metadata.Constraints)...)
	}
	add("Signals", "signals", true, openSignals(state)...)
	add("Draft that waits", "step of the draft", false, draftLines(state, c)...)
	if p != nil {
		add("Then", "later step", false, followingSteps(p, current)...)
	}
	var open, answered, comments []string
	for _, q := range state.CurrentQuestions() {
		open = append(open, q.ID+": "+q.Text)
	}
	for _, a := range recently.Answers {
		answered = append(answered, a.Question+"\n"+a.By+" answered: "+a.Answer)
	}
	for _, c := range recently.Comments {
		comments = append(comments, c.By+c.about()+": "+c.Text)
	}
	add("Open questions", "open questions", true, open...)
	add("Answers", "answers", true, answered...)
	newest()
	add("Comments", "comments", true, comments...)
	newest()
	if p != nil {
		add("Findings", "findings", true, p.ContextNotes)
		add("Done", "finished step", false, doneTitles(p)...)
		newest()
		add("Final summary", "the final summary", true, p.FinalSummary)
	}
	if c.scoped() {
		othersWork := []string{"Run", "Planning mode", "Decided", "Draft that waits", "Then"}
		all = slices.DeleteFunc(all, func(t resumeSection) bool { return slices.Contains(othersWork, t.heading) })
	}
	return all
}

func openSignals(state plan.State) []string {
	var lines []string
	for _, level := range []plan.SignalLevel{plan.Blocker, plan.Warning, plan.Info} {
		for _, signal := range state.OpenSignals(level) {
			view := SignalView{ID: signal.ID, TaskID: int(state.SignalStep(signal)), Level: level, Message: signal.Message,
				Output: shownOutput(signal.Output, outputTokens/2)}
			lines = append(lines, strings.TrimPrefix(view.text(), "Signal "))
		}
	}
	return lines
}

func draftLines(state plan.State, c Caller) []string {
	draft, read := state.Draft, c.word(Call{Kind: CallRead, ID: string(DraftPlan)})
	switch {
	case draft == nil:
		return nil
	case state.HasProposal() && draft.Root() == root(state):
		return []string{"A proposed change of the plan: " + tokens.Block(draft.Changes, proposalTokens) + ": " + read}
	}
	lines := []string{draft.Objective + " (" + steps(draft) + "): " + read}
	for step := range draft.Steps.All() {
		lines = append(lines, idAndTitle(step))
	}
	return lines
}

// idAndTitle returns a step's id and title, for a list.
func idAndTitle(step *plan.Step) string {
	return step.ID.String() + " " + tokens.ShortenCautiously(step.Title, 2*titleTokens, plan.MaxTitle)
}

// nextShown is how many steps after the current one are listed.
const nextShown = 3

func followingSteps(p *plan.Plan, current *plan.Step) []string {
	var next []string
	from := 0
	if current != nil {
		from = p.Steps.Position(current.ID) + 1
	}
	for i := from; i < p.Steps.Len() && len(next) < nextShown; i++ {
		if step := p.Steps.At(i); !step.Status.IsFinished() {
			next = append(next, idAndTitle(step))
		}
	}
	return next
}

// doneShown is how many finished steps are named; earlier ones are counted.
const doneShown = 10

func doneTitles(p *plan.Plan) []string {
	var lines []string
	for i := p.Steps.Len() - 1; i >= 0 && len(lines) < doneShown; i-- {
		if step := p.Steps.At(i); step.Status == plan.Done {
			lines = append(lines, idAndTitle(step))
		}
	}
	slices.Reverse(lines)
	if earlier := p.Steps.Count(plan.Done) - len(lines); earlier > 0 {
		lines = append([]string{fmt.Sprintf("(%d earlier)", earlier)}, lines...)
	}
	return lines
}

// Texts for an agent at the beginning and end of a session or turn, which a host's hooks report.

// Briefing returns the resume if there is work to continue, else "".
func (s *Service) Briefing(state plan.State, c Caller) string {
	switch s.view(state, c, Rules{}).nextAction().Reason {
	case NoPlan, Closed, Ended:
		return ""
	}
	return s.Resume(state, c)
}

// UnfinishedWork returns the caller's unfinished business if it ends its turn now: its step in progress, an open blocker,
// or its own plan without any report. It is "" without any, and while planning mode restricts changes.
func (s *Service) UnfinishedWork(state plan.State, c Caller) string {
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().IsRestricted() {
		return ""
	}
	v := s.view(state, c, Rules{})
	if v.scoped() {
		next := v.nextAction()
		if next.Reason == Ended {
			return ""
		}
		return fmt.Sprintf("Your step %s is not reported. Next action: %s", next.step.ID, next.For(c))
	}
	var left []string
	worked := false
	for step := range p.Steps.Running() {
		if step.ClaimedBy == c.Actor.Name && !step.IsRunning() {
			left, worked = append(left, fmt.Sprintf("%s %s is in progress and not reported.", step.ID, plan.Quote(step.Title))), true
		}
	}
	mine := p.CreatedBy == c.Actor.Name
	if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 && (worked || mine) {
		left = append(left, fmt.Sprintf("The blocker %s is open: %s", plan.Quote(blockers[0].ID), plan.Quote(blockers[0].Message)))
	}
	if mine && p.Steps.Len() > 0 && p.Steps.Count(plan.Pending) == p.Steps.Len() {
		left = append(left, fmt.Sprintf("None of the plan's %d steps was begun or reported.", p.Steps.Len()))
	}
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("The plan %s is not finished. %s Next action: %s", plan.Quote(p.Objective), strings.Join(left, " "),
		v.nextAction().For(c))
}
