package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Status is the input of Status (planloop: API Contract, planloop status).
type Status struct {
	Wait int     `json:"wait,omitempty" jsonschema:"description=seconds to wait for a change"`
	Full bool    `json:"full,omitempty" jsonschema:"description=list all tasks"`
	Task *TaskID `json:"task,omitempty" jsonschema:"description=show this one whole"`
	Page int     `json:"page,omitempty"` // of the task, or of the list; 0 is the first

	Waited bool `json:"-"` // a wait for a decision has ended
}

// Token limits of a status: in total, the current task's minimum, a task asked for by id, and a page of a list.
const (
	maxStatus  = 1_500 // by a cautious estimate
	statusRoom = maxStatus - 20
	leastRoom  = 700
	taskRoom   = 3_600
	listRoom   = 3_000
)

// MaxWait bounds how long a status waits for a change.
const MaxWait = 10 * time.Minute

// StatusReply is the state of the plan and the next action: responses A to D of the contract.
type StatusReply struct {
	Now         StatusNow          `json:"now"`
	Signal      *SignalView        `json:"signal,omitempty"`  // the blocking one
	Signals     []SignalView       `json:"signals,omitempty"` // other open ones
	Task        *Task              `json:"task,omitempty"`    // the one asked for
	Plan        *TaskList          `json:"plan,omitempty"`
	Session     *SessionView       `json:"session,omitempty"`
	Phase       plan.Phase         `json:"phase,omitempty"`         // of planning mode, unless it is inactive
	Proposal    string             `json:"proposal,omitempty"`      // the change that waits beside the approved plan
	Summary     string             `json:"final_summary,omitempty"` // of a closed plan
	Enforcement []AgentEnforcement `json:"enforcement,omitempty"`   // while planning mode restricts agents to reading
	Approved    string             `json:"approved_plan,omitempty"` // the current step and the next ones of a plan in execution
	WorkspaceInfo
	RunState
	PlanningContext
	Feedback
	Heartbeat
	asking
}

// StatusNow is the reason for the next action.
type StatusNow struct {
	Reason              Reason `json:"reason"`
	AgentInstructions   string `json:"agent_instructions"`
	Message             string `json:"message,omitempty"`
	Earlier             string `json:"earlier_decision,omitempty"` // about the restored plan
	CurrentTask         *Task  `json:"current_task,omitempty"`
	InstructionsContent string `json:"instructions_content,omitempty"`
}

// SessionView names the session.
type SessionView struct {
	ID     string          `json:"id"`
	Goal   string          `json:"goal"`
	Status plan.PlanStatus `json:"status,omitempty"` // empty if active
}

// TaskList is the whole plan as tasks.
type TaskList struct {
	Tasks []Task `json:"tasks"`
	More  string `json:"more,omitempty"` // how many are left, and the call that lists them
}

// Status returns the state of the plan and the next action. With Wait it answers once something has changed since the
// caller's last status, or the time is up.
func (s *Service) Status(ctx context.Context, c Caller, in Status) (StatusReply, error) {
	wait := time.Duration(in.Wait) * time.Second
	if wait < 0 || wait > MaxWait {
		return StatusReply{}, plan.Refuse(plan.InvalidInput, "/wait", fmt.Sprintf("%d s is out of range", in.Wait),
			fmt.Sprintf("give 0 to %d", int(MaxWait.Seconds())))
	}
	state, err := s.State(ctx)
	if err == nil && wait > 0 {
		begun := time.Now()
		state, err = s.changed(ctx, c, state, wait)
		in.Waited = time.Since(begun) >= wait
		err = cmp.Or(err, ctx.Err()) // the caller has left
	}
	if err != nil {
		return StatusReply{}, err
	}
	s.touch(c)
	s.seen.know(c, state)
	last := s.seen.get(c)
	remarks, err := s.OpenComments(ctx, state)
	if err != nil {
		return StatusReply{}, err
	}
	input := feedback(state, remarks, last.input, !last.hasInput)
	edits, err := s.planEdits(ctx, c, state)
	if err != nil {
		return StatusReply{}, err
	}
	input.Edited = strings.TrimPrefix(line(input.Edited)+line(edits), "\n")
	reply, err := s.status(state, c, in, input, remarks)
	if err != nil {
		return StatusReply{}, err
	}
	if reply.ask = s.askOnceMore(ctx, state, c); reply.ask == nil { // else a different reply may replace this one
		s.seen.set(c, func(last *sighting) { last.input, last.hasInput, last.planEdits = state.Revision, true, state.Revision })
	}
	return reply, nil
}

// StatusIn is Status for a state that was already read, for display to others: it does not count as shown to the
// caller.
func (s *Service) StatusIn(state plan.State, c Caller) StatusReply {
	reply, _ := s.status(state, c, Status{}, Feedback{}, nil) // only a requested task can be missing
	return reply
}

func (s *Service) status(state plan.State, c Caller, in Status, feedback Feedback, remarks []PlacedComment) (StatusReply, error) {
	rules := s.rules(state, c)
	v := s.view(state, c, rules)
	v.waited = in.Waited
	next := v.nextAction()
	reply := StatusReply{
		Now:             StatusNow{Reason: next.Reason, AgentInstructions: agentInstructions(next, rules, c), Message: next.message},
		Signals:         s.otherSignals(state, next, c),
		Session:         sessionView(state, next, c),
		WorkspaceInfo:   s.workspaceInfo(c),
		RunState:        s.runState(state),
		PlanningContext: planningContext(state),
		Feedback:        feedback,
		Enforcement:     s.Enforcement(state),
		Heartbeat:       next.heartbeat(state, c),
	}
	if id := unreplied(state); id != "" && !c.decides() {
		reply.Reply, _ = c.Can(Call{Kind: CallReply, ID: id})
	}
	if c.scoped() { // concerns other callers
		reply.RunState.Asks, reply.Decision = nil, nil
	}
	cut, forQuestions, forInput := false, questionRoom, feedbackRoom
	if next.step == nil && in.Task == nil {
		forQuestions, forInput = questionAlone, feedbackAlone
	}
	if reply.Now.Earlier = EarlierDecision(state, state.Draft); state.Draft == nil && !isOver(state.Plan) {
		reply.Now.Earlier = EarlierDecision(state, state.Plan)
	}
	if c.brief() {
		reply.RunState.fit()
		reply.Enforcement = firstAgents(reply.Enforcement)
		reply.PlanningContext.fit(forQuestions)
		cut = reply.Feedback.fit(forInput)
	}
	if cut || reply.Feedback.More > 0 {
		reply.ReadAll = c.allComments()
	}
	if in.Task != nil {
		return s.statusOfTask(state, remarks, c, in, reply)
	}
	if next.Reason == SyncInstructions {
		reply.Now.InstructionsContent = rules.Content
	}
	if next.Reason == WaitingOnSignal {
		signal := signalView(state, next.signal, c, messageTokens-len(reply.Signals)*signalTokens/2)
		reply.Signal = &signal
	}
	if next.Reason == Closed {
		reply.Summary = state.Plan.FinalSummary
	}
	if state.PhaseNow() != plan.PhaseInactive {
		reply.Phase = state.PhaseNow()
	}
	reply.Proposal = tokens.Block(strings.TrimSpace(proposalText(state)), proposalTokens)
	if reply.Phase == plan.PhaseExecuting && !c.scoped() {
		reply.Approved = ApprovedPlan(state.Plan, stepNow(state.Plan, next.step), nil)
	}
	if next.step != nil {
		task := c.taskOf(state.Plan, next.step)
		task.Comments = stepComments(remarks, next.step.ID, partRoom)
		s.addProgress(c, &task, next.step)
		if c.brief() {
			task = reply.fitted(task, c.word(Call{Kind: CallShowTask, Step: next.step.ID}))
		}
		reply.Now.CurrentTask = &task
	}
	if d := reply.Decision; reply.Phase == plan.PhaseExecuting && d != nil && d.Outcome == plan.Approved && !c.scoped() &&
		(d.Way != plan.WayClient || d.By != c.Actor.Name) { // the client that relayed it got the plan in the reply
		reply.Approved = approvalAnswer(state.Plan, c, remarks)
	}
	if state.Plan != nil && (in.Full || !c.brief() && !c.scoped() && listsPlan(next.Reason)) {
		reply.Plan = listTasks(state.Plan, c, in.Page)
	}
	return reply, nil
}

// proposalTokens is the token limit of a proposal in a status.
const proposalTokens = 60

// fitted returns the current task, shortened to the room left by the rest of a status. The cost of its texts is
// estimated first; the rest is measured, and the room reduced until the reply fits.
func (r StatusReply) fitted(whole Task, next string) Task {
	room := max(leastRoom, statusRoom-r.cost())
	for {
		task := whole
		task.fit(room, next)
		r.Now.CurrentTask = &task
		over := r.cost() - maxStatus
		if over <= 0 || room <= over {
			return task
		}
		room -= over
	}
}

// cost returns the reply's cost in tokens for a model, by a cautious estimate.
func (r StatusReply) cost() int {
	structured, err := json.Marshal(r)
	if err != nil {
		return statusRoom
	}
	return max(tokens.CountCautiously(string(structured)), tokens.CountCautiously(r.Text()))
}

// statusOfTask returns the reply with the task asked for, in any status.
func (s *Service) statusOfTask(state plan.State, remarks []PlacedComment, c Caller, in Status, reply StatusReply) (StatusReply, error) {
	if state.Plan == nil {
		return reply, plan.Refuse(plan.NotFound, "/task", "no plan exists yet",
			"set one up first: "+c.word(Call{Kind: CallSetUp}))
	}
	id := plan.StepID(*in.Task)
	step, ok := state.Plan.Steps.Get(id)
	if !ok {
		return reply, plan.Refuse(plan.NotFound, "/task", "task "+id.Number()+" does not exist",
			"list the tasks: "+c.word(Call{Kind: CallRead}))
	}
	task, page := currentTask(state.Plan, step), max(1, in.Page)
	task.Notes, task.EarlierNotes = step.Notes, 0
	task.Other = append(task.Other, labelled(step, plan.ProgressFields())...)
	task.Comments = stepComments(remarks, id, listedRoom)
	s.addProgress(c, &task, step)
	nth := func(parts []tokens.Part, room int) (shown, left []tokens.Part) {
		return tokens.Page(parts, room, page)
	}
	if c.brief() && !task.page(taskRoom, nth, c.word(Call{Kind: CallShowTask, Step: id, Page: page + 1})) && page > 1 {
		return reply, plan.Refuse(plan.NotFound, "/page", fmt.Sprintf("task %s has no page %d", id.Number(), page), "begin with the first")
	}
	reply.Task, reply.Signals = &task, nil
	reply.Now.AgentInstructions = "This is the task that you asked for; `next_action` says what to do now."
	return reply, nil
}

// listTasks returns the whole plan, or for a model one page of titles.
func listTasks(p *plan.Plan, c Caller, page int) *TaskList {
	if !c.brief() {
		return &TaskList{Tasks: tasks(p)}
	}
	const ids = 6 // of dependencies
	var list []Task
	for step := range p.Steps.All() {
		t := task(p, step)
		list = append(list, Task{ID: t.ID, Type: t.Type, Status: t.Status, State: t.State,
			Title:        tokens.ShortenCautiously(t.Title, 4*titleTokens, plan.MaxTitle),
			Dependencies: t.Dependencies[:min(len(t.Dependencies), ids)], WaitingOn: t.WaitingOn[:min(len(t.WaitingOn), ids)]})
	}
	fit := func() int {
		return tokens.First(len(list), listRoom, func(i int) int { return titledCost + tokens.CountCautiously(list[i].Title) })
	}
	for range min(max(1, page)-1, len(list)) {
		list = list[fit():]
	}
	shown := fit()
	reply := &TaskList{Tasks: append([]Task{}, list[:shown]...)}
	if left := len(list) - shown; left > 0 {
		reply.More = plan.Pluralize(left, "more task") + ": " + c.word(Call{Kind: CallListTasks, Page: max(1, page) + 1})
	}
	return reply
}

// titledCost is the cost of a task in a list without its title, in tokens.
const titledCost = 75

// listsPlan reports whether a status on the command line lists all tasks: if some can be worked on (Response B), not
// while planning mode, a signal or the end of the plan comes first.
func listsPlan(r Reason) bool {
	return slices.Contains([]Reason{ReadyForTask, WaitingOnAgent, Deadlocked, Replanning, StepUnknown, ReadyToRun, Running, RunStopped,
		StepAsks, RunPaused}, r)
}

func tasks(p *plan.Plan) []Task {
	list := make([]Task, 0, p.Steps.Len())
	for step := range p.Steps.All() {
		list = append(list, task(p, step))
	}
	return list
}

func sessionView(state plan.State, next NextAction, c Caller) *SessionView {
	p := next.about(state)
	if p == nil {
		return nil
	}
	view := &SessionView{ID: p.Root(), Goal: p.Objective}
	if c.brief() {
		view.Goal = tokens.Block(p.Objective, goalTokens)
	}
	if p.Status != plan.StatusActive {
		view.Status = p.Status
	}
	return view
}

// goalTokens is the token limit of the goal in a status.
const goalTokens = 180

// rules returns the state of the rule book on disk. Over MCP it counts only if the file exists, because the server's
// instructions say the same; in a workspace without a plan it does not matter yet.
func (s *Service) rules(state plan.State, c Caller) Rules {
	if c.scoped() {
		return Rules{}
	}
	rules := s.RulesOnDisk()
	if !rules.Exists && (c.brief() || state.Plan == nil) || rules.Problem != "" && c.brief() {
		return Rules{}
	}
	return rules
}

// Text returns the reply in a few lines.
func (r StatusReply) Text() string {
	var b strings.Builder
	b.WriteString(string(r.Now.Reason))
	if r.Session != nil {
		b.WriteString(": " + plan.QuoteWhole(r.Session.Goal))
	}
	b.WriteString(r.sofar())
	if r.Session != nil {
		b.WriteString("\nSession: " + r.Session.ID + prefixed(", ", string(r.Session.Status)))
	}
	b.WriteString(r.WorkspaceInfo.lines() + line(r.Now.AgentInstructions))
	for _, t := range []*Task{r.Task, r.Now.CurrentTask} {
		if t != nil {
			b.WriteString("\n" + t.name() + ": " + t.Title + t.lines())
		}
	}
	b.WriteString(line(r.Now.Message) + line(r.Proposal) + prefixed("\nRestored; earlier decision: ", r.Now.Earlier) +
		prefixed("\nFinal summary: ", safetext.AfterLabel(r.Summary)))
	if r.Signal != nil {
		b.WriteString("\n" + r.Signal.text())
	}
	for _, signal := range r.Signals {
		b.WriteString("\n" + signal.text())
	}
	b.WriteString(line(EnforcementLine(r.Enforcement)) + r.RunState.lines() + r.PlanningContext.lines() + r.Feedback.lines() +
		line(r.Approved))
	if r.Now.InstructionsContent != "" {
		b.WriteString("\n--- instructions_content ---\n" + safetext.Marked(strings.TrimSpace(r.Now.InstructionsContent)) + "\n--- end ---")
	}
	if r.Plan != nil && r.Now.CurrentTask == nil || r.Plan != nil && len(r.Plan.Tasks) > 1 {
		for _, t := range r.Plan.Tasks {
			b.WriteString("\n" + t.entry())
		}
		b.WriteString(line(r.Plan.More))
	}
	return b.String() + "\nNext: " + r.NextAction
}

// stepWord returns the status in our word if the contract has none for it.
func stepWord(t Task) string { return cmp.Or(string(t.State), string(t.Status)) }

// changed returns the state once it differs from the caller's last one, the rule book on disk has changed, or the time
// is up.
func (s *Service) changed(ctx context.Context, c Caller, state plan.State, wait time.Duration) (plan.State, error) {
	if last := s.seen.get(c); last.known && last.revision != state.Revision {
		return state, nil // it changed before the wait began
	}
	since, phase := state.Revision, state.PhaseNow()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	changes, err := s.session.Watch(ctx)
	if err != nil {
		return plan.State{}, err
	}
	rules := s.RulesChanged(ctx)
	c.yield()
	over := time.NewTimer(wait) // planning mode may end by its time-out
	defer over.Stop()
	for {
		state, err := s.State(context.WithoutCancel(ctx))
		if err != nil || state.Revision != since || state.PhaseNow() != phase {
			return state, err
		}
		if left, ends := s.ModeEnds(state); ends {
			over.Reset(max(left, 0) + time.Millisecond)
		}
		select {
		case <-over.C:
			continue
		case _, open := <-changes:
			if open {
				continue
			}
		case _, open := <-rules:
			if !open {
				rules = nil
				continue
			}
		case <-ctx.Done():
		}
		return s.State(context.WithoutCancel(ctx))
	}
}

// WorkspaceInfo names the workspace, and the reason to doubt that it is the right one.
type WorkspaceInfo struct {
	Workspace string `json:"workspace,omitempty"`
	Doubt     string `json:"workspace_doubt,omitempty"`
}

// whereTokens is the token limit of the workspace's path for a model.
const whereTokens = 40

func (s *Service) workspaceInfo(c Caller) WorkspaceInfo {
	w := WorkspaceInfo{s.opts.Workspace, s.opts.Doubt}
	if c.brief() {
		w.Workspace = ending(w.Workspace, whereTokens)
	}
	return w
}

// ending returns as much of a path's end as fits, in whole names.
func ending(path string, room int) string {
	const gap = "…"
	shown := path
	for tokens.CountCautiously(shown) > room {
		at := strings.IndexAny(strings.TrimPrefix(shown, gap)[1:], `/\`)
		if at < 0 {
			return tokens.ShortenCautiously(shown, room, len(shown))
		}
		shown = gap + strings.TrimPrefix(shown, gap)[1+at:]
	}
	return shown
}

// doubt returns only the line about a doubtful workspace.
func (w WorkspaceInfo) doubt() string {
	if w.Doubt == "" {
		return ""
	}
	return "\nWorkspace in doubt: " + w.Doubt + "."
}

func (w WorkspaceInfo) lines() string {
	return prefixed("\nWorkspace: ", w.Workspace) + w.doubt()
}

func (w WorkspaceInfo) sections() []prompts.ResumeSection {
	var all []prompts.ResumeSection
	for _, s := range []prompts.ResumeSection{{Name: "Workspace", Texts: []string{w.Workspace}},
		{Name: "Workspace in doubt", Texts: []string{w.Doubt}}} {
		if s.Texts[0] != "" {
			all = append(all, s)
		}
	}
	return all
}
