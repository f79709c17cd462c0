package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

func (s *Service) planWithToolsPrompt(ctx context.Context, c Caller, args map[string]string) string {
	outline := plan.Outline{Metadata: plan.Metadata{Constraints: linesOf(args["constraints"]), InformedBy: linesOf(args["memories"])}}
	known := s.material(ctx, outline, Start{})
	data := prompts.PlanWithToolsData{Request: args["request"], Tree: known.Tree, Code: s.codeGiven(args["existing_code"]),
		Memories: known.Memories, Constraints: known.Constraints, Submit: c.word(Call{Kind: CallSubmit})}
	if s.opts.Tools != nil {
		for _, tool := range s.opts.Tools() {
			line := tool.Name + ": " + tool.Description + " " + runnable.ArgumentsOf(tool.Schema)
			data.Tools = append(data.Tools, strings.TrimSpace(line))
		}
	}
	return prompts.PlanWithTools(data)
}

func linesOf(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// codeGiven reads the files that lines of text name, and takes all other lines as code.
func (s *Service) codeGiven(text string) []prompts.Document {
	var found []prompts.Document
	var code []string
	for line := range strings.SplitSeq(text, "\n") {
		var named []prompts.Document
		if s.opts.Tree != nil {
			named = s.documents(gates.SplitPaths([]string{strings.TrimSpace(line)}))
		}
		if found = append(found, named...); named == nil {
			code = append(code, line)
		}
	}
	return append(found, prompts.Document{Path: "(given with the request)", Text: strings.Join(code, "\n")})
}

// Limits of a recovery prompt, in tokens.
const (
	failedTitle = 80
	failedError = 300
	failedArgs  = 160
	failedNote  = 60
)

// recoverPrompt asks what to do about a failed step: the named one, or the one that failedStep picks.
func (s *Service) recoverPrompt(state plan.State, c Caller, named string) (string, error) {
	step, err := failedStep(state, named)
	if err != nil {
		return "", err
	}
	p := state.Plan
	data := prompts.RecoverData{
		Step: step.ID.String() + " " + tokens.ShortenCautiously(step.Title, failedTitle, plan.MaxLongLine), Tool: step.Tool,
		Error: tokens.Block(step.Error, failedError), Args: tokens.Block(string(step.Args), failedArgs),
		Output: shownOutput(step.Output, outputTokens/2), Waiting: plan.IDs(firstFew(p.Steps.Dependents(step.ID))),
	}
	for _, note := range step.Notes[max(0, len(step.Notes)-notesShown):] {
		if note != step.Error {
			data.Notes = append(data.Notes, tokens.ShortenCautiously(note, failedNote, plan.MaxNote))
		}
	}
	if step.Attempts > 1 {
		data.Notes = append(data.Notes, fmt.Sprintf("(it was tried %d times)", step.Attempts))
	}
	addRecoveryCalls(state, step, c, &data)
	return prompts.Recover(data), nil
}

func firstFew(ids []plan.StepID) []plan.StepID { return ids[:min(len(ids), 8)] }

// failedStep returns the named step if it failed, else the critical step that failed last, else the step that failed
// last.
func failedStep(state plan.State, named string) (*plan.Step, error) {
	if state.Plan == nil {
		return nil, plan.Refuse(plan.NotFound, "", "no plan exists", "set one up first")
	}
	steps := state.Plan.Steps
	if named != "" {
		id, err := plan.ParseStepID(named)
		if err != nil {
			return nil, err
		}
		step, ok := steps.Get(id)
		switch {
		case !ok:
			return nil, plan.Refuse(plan.NotFound, "", "step "+id.String()+" does not exist", "read the plan for its steps")
		case !needsRecovery(step):
			return nil, plan.Refuse(plan.Conflict, "", id.String()+" "+step.Status.Predicate()+", so it needs no recovery",
				"name a step that failed or is unknown")
		}
		return step, nil
	}
	critical := func(step *plan.Step) bool { return step.Critical }
	if step := cmp.Or(lastFailed(steps, critical), lastFailed(steps, func(*plan.Step) bool { return true })); step != nil {
		return step, nil
	}
	return nil, plan.Refuse(plan.NotFound, "", "no step has failed", "continue with the plan")
}

func needsRecovery(step *plan.Step) bool { return step.Status == plan.Failed || step.IsUnknown() }

// lastFailed returns the failed or unknown step that ended last among those that count, or nil.
func lastFailed(steps plan.Steps, counts func(*plan.Step) bool) *plan.Step {
	var last *plan.Step
	for step := range steps.All() {
		if needsRecovery(step) && counts(step) && (last == nil || step.CompletedAt.After(last.CompletedAt)) {
			last = step
		}
	}
	return last
}

// addRecoveryCalls fills in the calls that retry a step, skip it, insert steps before it or abandon the run.
func addRecoveryCalls(state plan.State, step *plan.Step, c Caller, data *prompts.RecoverData) {
	recover := func(choice plan.Choice, more string) string {
		return c.word(Call{Kind: CallRecover, Step: step.ID, Choice: choice, JSON: more})
	}
	args := ""
	if step.Tool != "" {
		args = `{"<name>":"<another value>"}`
	}
	ref, title, bug := "fix", "<the fix>", plan.Bugfix
	hints, files := []string{"<file to read first>"}, []string{"<file to change>"}
	mends := NewTask{TaskFields: TaskFields{Title: &title, Type: &bug, ContextHints: &hints, RelevantFilePaths: &files}}
	if step.IsUnknown() {
		data.Happened = recover(plan.Happened, "")
	}
	data.Abort = c.word(Call{Kind: CallAbandon})
	if canRecover(c) {
		data.Retry, data.Skip = recover(plan.Retry, args), recover(plan.Skip, "")
		data.Insert = recover(plan.Insert, object([]NewTask{mends}))
		if state.OpenRun() != nil {
			data.Abort = recover(plan.Abort, "")
		}
		return
	}
	update := func(in Update) string { return c.word(in.call()) }
	id, pending, reason := TaskID(step.ID), taskStatus(plan.Pending), "<why>"
	tried := []TaskUpdate{{ID: id, Status: &pending}} // first, since a plan in replanning refuses edits
	if args := json.RawMessage(args); step.Tool != "" {
		tried = append(tried, TaskUpdate{ID: id, TaskFields: TaskFields{Args: &args}})
	}
	data.Retry, data.Skip = update(Update{UpdateTasks: tried}), update(Update{UpdateTasks: []TaskUpdate{{ID: id, Skip: &reason}}})
	needs := []TaskRef{TaskRef(ref)}
	for _, dependency := range step.DependsOn {
		needs = append(needs, TaskRef(dependency.Number()))
	}
	mends.Ref = &ref
	inserted := Update{AddTasks: []NewTask{mends}, UpdateTasks: []TaskUpdate{{ID: id, Dependencies: &needs}}}
	if state.Plan.Status == plan.StatusReplanning { // replanning takes new steps only with the next version
		inserted.Replan = &Replan{Changes: "<the difference>"}
	} else {
		inserted.UpdateTasks = append([]TaskUpdate{{ID: id, Status: &pending}}, inserted.UpdateTasks...)
	}
	data.Insert = update(inserted)
}

func canRecover(c Caller) bool {
	_, can := c.Can(Call{Kind: CallRecover, Choice: plan.Insert})
	return can
}

// Limits of a revision prompt, in tokens: all steps, and one text of a step.
const (
	replanRoom = 5_000
	replanText = 60
)

func (s *Service) replanPrompt(state plan.State, c Caller, args map[string]string) (string, error) {
	p := state.Plan
	if p == nil || p.Steps.Len() == 0 {
		return "", plan.Refuse(plan.NotFound, "", "no plan exists to revise", "set one up first")
	}
	steps := tokens.Part{Name: "step"}
	for step := range p.Steps.All() {
		t := task(p, step)
		text := t.entry()
		for _, result := range []struct{ label, text string }{{"error", t.Error}, {"output", t.Output}, {"note", lastOf(t.Notes)}} {
			if result.text != "" {
				text += "\n   " + result.label + ": " + tokens.ShortenCautiously(oneLine(result.text), replanText, plan.MaxNote)
			}
		}
		steps.Texts = append(steps.Texts, text)
	}
	shown, left := tokens.Fit([]tokens.Part{steps}, replanRoom)
	if rest := tokens.Left(left); rest != "" {
		shown[0].Texts = append(shown[0].Texts, "("+rest+": "+c.word(Call{Kind: CallRead})+")")
	}
	const head = `"changes":"<the changes>","reasoning":"<why that works>","discoveries":["<lesson>"]`
	const edits = `,"update_tasks":[...],"add_tasks":[...]}`
	submit := Call{Kind: CallUpdate, JSON: `{"replan":{` + head + "}" + edits}
	if canRecover(c) {
		submit = Call{Kind: CallReplan, JSON: "{" + head + edits}
	}
	data := prompts.ReplanData{Goal: p.Objective, Steps: strings.Join(shown[0].Texts, "\n"), Version: p.Version + 1,
		Discoveries: linesOf(p.ContextNotes + "\n" + args["discoveries"]),
		Constraints: append(slices.Clip(p.Metadata.Constraints), linesOf(args["constraints"])...),
		Submit:      c.word(submit)}
	if step, err := failedStep(state, ""); err == nil {
		data.Failed = step.ID.String() + " " + step.Title
		data.Error = tokens.Block(step.Error, failedError)
	}
	return prompts.Replan(data), nil
}

func lastOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// Limits of an arbiter prompt: tokens of the remaining steps, and entries of history.
const (
	remainingRoom = 6_000
	historyShown  = 20
)

func (s *Service) selectAgentPrompt(state plan.State, c Caller, task string) (string, error) {
	data, p := prompts.SelectAgentData{ArbiterData: arbiter(state, nil)}, state.Plan
	data.Task = cmp.Or(task, data.Task)
	if data.Task == "" {
		return "", plan.Refuse(plan.NotFound, "", "choosing an agent needs a plan or a task",
			"give a task, or set up a plan")
	}
	if data.Plan == nil {
		return prompts.SelectAgent(data), nil
	}
	data.History, data.LastError = doneBy(p), lastError(p)
	for step := range p.Steps.All() {
		for _, name := range []string{step.SuggestedAgent, step.ExecutedBy} {
			if name != "" && !slices.Contains(data.Agents, name) {
				data.Agents = append(data.Agents, name)
			}
		}
	}
	if at := p.Steps.CurrentIndex(); at < p.Steps.Len() {
		step, name := p.Steps.At(at), "<its name>"
		data.Step = step.ID.String()
		choice := Update{UpdateTasks: []TaskUpdate{{ID: TaskID(step.ID), TaskFields: TaskFields{SuggestedAgent: &name}}}}
		data.Choose, data.Begin = c.word(choice.call()), c.word(mark(step.ID, plan.InProgress))
	}
	return prompts.SelectAgent(data), nil
}

func lastError(p *plan.Plan) string {
	step := lastFailed(p.Steps, func(step *plan.Step) bool { return step.Error != "" })
	if step == nil {
		return ""
	}
	return step.ID.String() + ": " + tokens.ShortenCautiously(step.Error, failedError, plan.MaxNote)
}

// arbiter describes the current plan for an arbiter at a step; nil means the current step. Without a plan it gives the
// task of planning mode.
func arbiter(state plan.State, at *plan.Step) prompts.ArbiterData {
	p := state.Plan
	if p == nil || p.IsCleared() {
		return prompts.ArbiterData{Task: state.ModeNow().Task}
	}
	seen := &prompts.ArbiterPlan{Status: p.Status.Rawko(), Done: p.Steps.Count(plan.Done), Total: p.Steps.Len()}
	place := p.Steps.CurrentIndex()
	if at != nil {
		place = p.Steps.Position(at.ID)
	}
	if place < p.Steps.Len() {
		step := p.Steps.At(place)
		seen.Current = &prompts.ArbiterStep{Number: place + 1, Description: step.Title, SuggestedAgent: step.SuggestedAgent,
			AcceptanceCriteria: step.AcceptanceCriteria}
	}
	number, room := 0, remainingRoom
	for step := range p.Steps.All() {
		number++
		if step.Status.Word(plan.RawkoWords) != plan.Pending.Word(plan.RawkoWords) {
			continue
		}
		if room -= tokens.CountCautiously(step.Title) + lineTokens; room < 0 {
			seen.Left++
			continue
		}
		seen.Remaining = append(seen.Remaining, prompts.ArbiterStep{Number: number, Description: step.Title})
	}
	return prompts.ArbiterData{Task: p.Objective, Plan: seen}
}

// doneBy lists the begun steps with their agent and outcome, the newest last.
func doneBy(p *plan.Plan) []string {
	var begun []*plan.Step
	for step := range p.Steps.All() {
		if !step.StartedAt.IsZero() || !step.CompletedAt.IsZero() {
			begun = append(begun, step)
		}
	}
	lastTouched := func(step *plan.Step) time.Time { return cmp.Or(step.CompletedAt, step.StartedAt) }
	slices.SortStableFunc(begun, func(a, b *plan.Step) int { return lastTouched(a).Compare(lastTouched(b)) })
	var lines []string
	if earlier := len(begun) - historyShown; earlier > 0 {
		lines, begun = append(lines, fmt.Sprintf("(%d earlier)", earlier)), begun[earlier:]
	}
	for _, step := range begun {
		line := step.ID.String() + " " + statusWord(step)
		if who := cmp.Or(step.ClaimedBy, step.ExecutedBy); who != "" {
			line += " by " + plan.Shorten(who, titleShown)
		}
		if outcome := oneLine(cmp.Or(step.Error, ShownOutput(step), lastOf(step.Notes))); outcome != "" {
			line += ": " + tokens.ShortenCautiously(outcome, replanText, plan.MaxNote)
		}
		lines = append(lines, line)
	}
	return lines
}

// agentInstructions returns the short hint for the caller's immediate focus (planloop: Prompt Catalog, I-7), in the
// contract's words if it has any.
func agentInstructions(n NextAction, rules Rules, c Caller) string {
	switch {
	case c.scoped() && n.Reason == Ended:
		return "Planloop started you for one step, and that step has ended. Change nothing more, and end."
	case c.scoped():
		return "Planloop started you for this step alone. Do it, verify it, and report it as done, failed or blocked with the `output` " +
			"that later steps need; then end. Leave the other steps to others."
	case n.rejected:
		return "The user did not approve your plan. Do none of it, and ask what to do instead."
	}
	switch step := n.step; n.Reason {
	case SyncInstructions:
		if rules.Problem != "" {
			return "CRITICAL: Your `" + rules.File + "` is out of sync and cannot be updated: " + rules.Problem
		}
		run := "run"
		if c.brief() {
			run = "call"
		}
		return "CRITICAL: Your `" + rules.File + "` is out of sync. Overwrite it with the content provided in `instructions_content` " +
			"and then " + run + " `" + c.word(Call{Kind: CallAskStatus}) + "` again."
	case WaitingOnSignal:
		return "CRITICAL: A signal is blocking progress. Analyze the signal details, fix the issue, and clear the signal using `" +
			c.word(Call{Kind: CallAlert}) + "`."
	case ReadyForTask:
		switch doing := taskStatus(step.Status) == Doing; {
		case step.Status == plan.Pending && step.Tool != "":
			return "A run of the plan calls this step's tool: ask the user to run `" + c.word(Call{Kind: CallResume}) +
				"`, or do the same by hand, as `tool` and `args` describe it."
		case doing && step.ClaimedBy != "" && step.ClaimedBy != c.Actor.Name:
			return "The agent that started this step is gone. Take it over, check the work so far, finish it, verify it, then report " +
				"it as DONE."
		case doing:
			return "Your step is in progress. Gather context using `context_hints` and `relevant_file_paths`, finish the work, verify " +
				"it, then report it as DONE."
		}
		return "Your next task is ready. Gather context using `context_hints` and `relevant_file_paths`, then perform the work."
	case Deadlocked:
		if step != nil && step.Status == plan.Blocked {
			return step.ID.String() + " is blocked. Once its cause is gone, continue it: " + c.word(n.Calls()[0]) + "."
		}
		return "No step can start. Remove the cause; do not work around the plan."
	case StepFailed:
		return "`error` has the reason. Fix its cause" + map[bool]string{true: " or the arguments"}[step.Tool != ""] +
			" and retry the step, skip it and say why, or replan."
	case Replanning:
		text := "A critical step failed. Leave the others alone: retry it, or agree on another way with the user"
		if call, can := c.Can(Call{Kind: CallReplan}); can {
			text += ", then " + call
		}
		return text + "."
	case StepAsks:
		if c.decides() {
			return "This step asks you. Look at its tool and arguments, then decide."
		}
	case StepUnknown:
		return "An earlier run started " + step.ID.String() + " and did not record its outcome. Look at its effects. If it happened: " +
			c.word(Call{Kind: CallRecover, Step: step.ID, Choice: plan.Happened}) + ". To do it again: " +
			c.word(Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry}) + "."
	case PlanCompleted:
		return "All tasks are complete. Provide a final summary of your work via `" + c.word(Call{Kind: CallSummarise}) + "`."
	}
	return map[Reason]string{
		Closed:           "Give the user the plan's `final_summary`, unless you have; nothing is left to do for this goal.",
		ReadyToRun:       "Planloop carries out the next step itself: run the plan. The run returns the steps that you must do.",
		Running:          "Planloop carries out the next step. Do not do it by hand; wait for it, or ask the user for other work.",
		RunStopped:       "A run ended before its step did. Leave that step alone: the next run settles it and reports its outcome.",
		StepAsks:         "A person must approve this step, or answer it. Wait for that, and start nothing in its place.",
		RunPaused:        "A person has paused the run: do none of its steps by hand. Wait, or ask the user.",
		WaitingOnAgent:   "Another agent works on the next step. Wait for it, or ask the user for other work.",
		Gathering:        "Planning mode is read-only until a person has approved a plan; tools that change something are hidden.",
		AwaitingApproval: "Do not start before the decision, and do not approve the plan yourself. A new submission replaces this one.",
		Failed:           "Tell the user what failed and agree on a new plan.",
		NoPlan:           "There is nothing to do yet. Only work of several steps needs a plan.",
	}[n.Reason]
}
