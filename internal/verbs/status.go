package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Status is the input of Status (planloop: API Contract, planloop status).
type Status struct {
	Wait  int           `json:"wait,omitempty" jsonschema:"description=seconds to wait for a change"`
	Full  bool          `json:"full,omitempty" jsonschema:"description=list all tasks"`
	Task  *TaskID       `json:"task,omitempty" jsonschema:"description=show this one whole"`
	Since plan.Revision `json:"since,omitempty" jsonschema:"description=a revision: only what changed after it"`
	Track string        `json:"track,omitempty"` // to join first
	Page  int           `json:"page,omitempty"`  // of the task, the list or else all facts

	Waited bool `json:"-"` // a wait for a decision has ended
}

// Token limits of a task asked for by id, a page of a list, and the changes since a revision.
const (
	taskRoom    = 3_600
	listRoom    = 3_000
	changesRoom = 600
)

// MaxWait bounds how long a status waits for a change.
const MaxWait = 10 * time.Minute

// StatusReply is the state of the plan and the next action: responses A to D of the contract, and the situation. A model
// gets the facts of the situation once, so the fields from Signals on are for people and programs.
type StatusReply struct {
	Now       StatusNow      `json:"now"`
	Revision  plan.Revision  `json:"revision"`            // of the state
	Situation []prompts.Fact `json:"situation,omitempty"` // in order of importance, without the goal and the current task
	Changes   []string       `json:"changes,omitempty"`   // after the revision asked for
	Signal    *SignalView    `json:"signal,omitempty"`    // the blocking one
	Task      *Task          `json:"task,omitempty"`      // the one asked for
	Plan      *TaskList      `json:"plan,omitempty"`
	Session   *SessionView   `json:"session,omitempty"`
	Phase     plan.Phase     `json:"phase,omitempty"`         // of planning mode, unless it is inactive
	Approved  string         `json:"approved_plan,omitempty"` // the current step and the next ones of a plan in execution
	Reply     string         `json:"reply_with,omitempty"`    // the call that replies to a person's first question
	WorkspaceInfo
	Heartbeat
	asking

	Signals     []SignalView       `json:"signals,omitempty"`       // other open ones
	Proposal    string             `json:"proposal,omitempty"`      // the change that waits beside the approved plan
	Summary     string             `json:"final_summary,omitempty"` // of a closed plan
	Enforcement []AgentEnforcement `json:"enforcement,omitempty"`   // while planning mode restricts agents to reading
	RunState
	PlanningContext
	Feedback

	brief bool
	task  *Task // at hand, as the text shows it
}

// MarshalJSON leaves out the fields that repeat the situation, for a model.
func (r StatusReply) MarshalJSON() ([]byte, error) {
	type whole StatusReply
	reply := whole(r)
	if r.brief {
		reply.Signals, reply.Proposal, reply.Summary, reply.Enforcement = nil, "", "", nil
		reply.RunState, reply.PlanningContext, reply.Feedback = RunState{}, PlanningContext{}, Feedback{}
	}
	return json.Marshal(reply)
}

// StatusNow is the reason for the next action.
type StatusNow struct {
	Reason              Reason `json:"reason"`
	AgentInstructions   string `json:"agent_instructions"`
	Message             string `json:"message,omitempty"`
	Earlier             string `json:"-"` // decision about the restored plan
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
	if in.Track != "" {
		other, _, err := s.joinTrack(ctx, c, in.Track, false)
		if err != nil {
			return StatusReply{}, err
		}
		state, err := other.State(ctx)
		if err != nil {
			return StatusReply{}, err
		}
		c = other.As(c)
		other.bind(c, state, nothing)
		in.Track = ""
		return other.Status(ctx, c, in)
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
	state = s.settleLost(ctx, state)
	s.touch(c)
	s.seen.know(c, state)
	last := s.seen.get(c)
	told := last.input
	if in.pagesFacts() {
		told = last.inputBefore
	}
	reply, err := s.status(ctx, state, c, in, told)
	if err != nil {
		return StatusReply{}, err
	}
	isWhole := in.Task == nil && in.Since == 0 && !in.pagesFacts()
	if reply.ask = s.askOnceMore(ctx, state, c); reply.ask == nil && isWhole { // else a different reply may replace this one
		s.seen.set(c, func(last *sighting) {
			if last.input != state.Revision {
				last.inputBefore = last.input
			}
			last.input, last.planEdits = state.Revision, state.Revision
		})
	}
	return reply, nil
}

// statusWithoutPlan returns a status that hands out no step to a session that is on none of several tracks, or if another session has
// replaced its plan; else one without a reason.
func (s *Service) statusWithoutPlan(ctx context.Context, state plan.State, c Caller) (reply StatusReply, err error) {
	reply = StatusReply{Revision: state.Revision, WorkspaceInfo: s.workspaceInfo(), brief: c.brief()}
	if reply.Tracks, reply.Unreadable, err = s.choices(ctx, c); err != nil {
		return reply, err
	}
	if len(reply.Tracks) > 0 {
		reply.Now, reply.Beside = StatusNow{Reason: ChooseTrack}, "Several plans are open here, and this session works on none of them yet."
		reply.NextAction = chooseTrack().For(c)
		return reply, nil
	}
	if replaced := s.replacedSince(c, state); replaced != "" {
		reply.Now, reply.Beside, reply.NextAction = StatusNow{Reason: PlanReplaced}, replaced, c.word(Call{Kind: CallRead})+"."
		s.bind(c, state, nothing)
	}
	return reply, nil
}

// StatusIn is Status for a state that was already read, for display to others: it does not count as shown to the
// caller.
func (s *Service) StatusIn(ctx context.Context, state plan.State, c Caller) (StatusReply, error) {
	return s.status(ctx, state, c, Status{}, state.Revision)
}

func (s *Service) status(ctx context.Context, state plan.State, c Caller, in Status, told plan.Revision) (StatusReply, error) {
	without, err := s.statusWithoutPlan(ctx, state, c)
	if err != nil || without.Now.Reason != "" {
		return without, err
	}
	rules := s.rules(state, c)
	v := s.view(state, c, rules)
	v.waited = in.Waited
	next := v.nextAction()
	reply := StatusReply{
		Now:           StatusNow{Reason: next.Reason, AgentInstructions: agentInstructions(next, rules, c), Message: next.message},
		Revision:      state.Revision,
		Session:       sessionView(state, next),
		WorkspaceInfo: s.workspaceInfo(),
		Heartbeat:     next.heartbeat(state, c),
		brief:         c.brief(),
	}
	reply.Beside, reply.Shared, reply.Unreadable = s.besideOwner(c, state), s.SharedFiles(ctx, state, c), without.Unreadable
	if c.brief() {
		reply.Workspace = ending(reply.Workspace, whereTokens)
	}
	if id := firstUnreplied(state); id != "" && !c.decides() {
		reply.Reply, _ = c.Can(Call{Kind: CallReply, ID: id})
	}
	if state.PhaseNow() != plan.PhaseInactive {
		reply.Phase = state.PhaseNow()
	}
	switch {
	case in.Task != nil:
		remarks, err := s.OpenComments(ctx, state)
		if err != nil {
			return StatusReply{}, err
		}
		return s.statusOfTask(state, remarks, c, in, reply)
	case in.Since != 0:
		changes, err := s.changesSince(ctx, state, c, in.Since)
		reply.Changes, reply.Session, reply.WorkspaceInfo = changes, nil, WorkspaceInfo{}
		return reply, err
	}
	if next.Reason == SyncInstructions {
		reply.Now.InstructionsContent = rules.Content
	}
	if next.Reason == WaitingOnSignal {
		signal := signalView(state, next.signal, c)
		reply.Signal = &signal
	}
	if reply.Phase == plan.PhaseExecuting && !c.scoped() && !isOver(state.Plan) {
		current := next.step
		if at := state.Plan.Steps.CurrentIndex(); current == nil && at < state.Plan.Steps.Len() {
			current = state.Plan.Steps.At(at)
		}
		reply.Approved = ApprovedLines(state.Plan, current, c)
	}
	x, err := v.situation(ctx, next, next.about(state), v.taskAtHand(next), told)
	if err != nil {
		return StatusReply{}, err
	}
	reply.addDetails(v, next, x)
	if in.pagesFacts() {
		return reply.factsPage(x, in.Page)
	}
	reply.fit(x, next.step != nil)
	// The command line lists all tasks if some can be worked on (Response B).
	canWork := slices.Contains([]Reason{ReadyForTask, WaitingOnAgent, StepFailed, Deadlocked, Replanning, StepUnknown, ReadyToRun, Running,
		RunStopped, StepAsks, RunPaused}, next.Reason)
	if state.Plan != nil && (in.Full || canWork && !c.brief() && !c.scoped()) {
		reply.Plan = listTasks(state.Plan, c, in.Page)
	}
	return reply, nil
}

// pagesFacts reports whether a page of all facts of the situation is asked for.
func (in Status) pagesFacts() bool { return in.Page > 0 && in.Task == nil && in.Since == 0 && !in.Full }

// factsPage makes the reply a page of all facts of the situation.
func (r StatusReply) factsPage(x situation, page int) (StatusReply, error) {
	r.Situation = x.page(page)
	if len(r.Situation) == 0 {
		return r, plan.Refuse(plan.NotFound, "/page", fmt.Sprintf("the situation has no page %d", page), "begin with the first")
	}
	r.Session, r.WorkspaceInfo, r.Approved, r.Signal = nil, WorkspaceInfo{}, "", nil
	r.Now = StatusNow{Reason: r.Now.Reason,
		AgentInstructions: fmt.Sprintf("This is page %d of the situation, not the next action.", page)}
	return r, nil
}

// addDetails adds the fields that repeat parts of the situation.
func (r *StatusReply) addDetails(v view, next NextAction, x situation) {
	for _, signal := range openSignals(v.state, next) {
		r.Signals = append(r.Signals, signalView(v.state, signal, v.Caller))
	}
	r.Enforcement = v.Enforcement(v.state)
	r.PlanningContext, r.Feedback, r.Now.Earlier = planningContext(v.state), x.input, earlierDecision(v.state)
	if !v.scoped() {
		r.RunState = v.runState(v.state, v.Caller)
		r.Proposal = strings.TrimSpace(proposalText(v.state))
	}
	if next.Reason == Closed {
		r.Summary = v.state.Plan.FinalSummary
	}
}

// earlierDecision returns the decision about the draft or the current plan before it was restored.
func earlierDecision(state plan.State) string {
	if state.Draft == nil && !isOver(state.Plan) {
		return EarlierDecision(state, state.Plan)
	}
	return EarlierDecision(state, state.Draft)
}

// fit adds as much of the situation as fits into maxStatus. The costs of texts are estimated first; the reply is then
// measured, and the room reduced until it fits.
func (r *StatusReply) fit(x situation, isCurrent bool) {
	if r.Session != nil {
		r.Session.Goal = "" // a fact of the situation
	}
	room := situationRoom - r.cost()
	for {
		r.Situation, r.task = x.within(room)
		if len(r.Situation) > 0 && r.Situation[0].Name == goalHeading && r.Session != nil {
			r.Session.Goal, r.Situation = r.Situation[0].Texts[0], r.Situation[1:]
		}
		if isCurrent {
			r.Now.CurrentTask = r.task
		} else if r.task != nil {
			r.Situation, r.task = append(r.Situation, r.task.fact()), nil
		}
		over := r.cost() - maxStatus
		if over <= 0 || room <= over {
			break
		}
		room -= over
	}
	if isCurrent && !r.brief {
		r.Now.CurrentTask = x.task
	}
}

// cost returns the reply's cost in tokens for a model, by a cautious estimate, without the rule book: it is added once,
// and must not replace the facts.
func (r StatusReply) cost() int {
	r.Now.InstructionsContent = ""
	text := tokens.CountCautiously(r.Text())
	if structured, err := json.Marshal(r); err == nil && r.brief {
		return max(text, tokens.CountCautiously(string(structured)))
	}
	return text
}

// changesSince describes the records after a revision, the newest if not all of them fit.
func (s *Service) changesSince(ctx context.Context, state plan.State, c Caller, since plan.Revision) ([]string, error) {
	if since < 0 || since > state.Revision {
		return nil, plan.Refuse(plan.InvalidInput, "/since", fmt.Sprintf("revision %d does not exist; the newest is %d", since,
			state.Revision), "leave out since to get the whole situation")
	}
	if c.scoped() {
		return nil, nil
	}
	part := tokens.Part{Name: "change", Newest: true}
	for record, err := range s.session.Records(ctx, max(since, state.Revision-editsSince)) {
		if err != nil {
			return nil, fmt.Errorf("read the changes since revision %d: %w", since, err)
		}
		if record.Seq <= state.Revision {
			part.Texts = append(part.Texts, safetext.AfterLabel(fmt.Sprintf("%d: %s", record.Seq, history.SentenceIn(state, record))))
		}
	}
	shown, left := tokens.Fit([]tokens.Part{part}, changesRoom)
	if earlier := int(state.Revision-since) - len(part.Texts) + len(left[0].Texts); earlier > 0 {
		return append([]string{fmt.Sprintf("(%d earlier; for the whole situation: %s)", earlier, c.word(Call{Kind: CallAskStatus}))},
			shown[0].Texts...), nil
	}
	return shown[0].Texts, nil
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
		return reply, plan.Refuse(plan.NotFound, "/task", "step "+id.String()+" does not exist",
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
		return reply, plan.Refuse(plan.NotFound, "/page", fmt.Sprintf("step %s has no page %d", id, page), "begin with the first")
	}
	reply.Task = &task
	reply.Now.AgentInstructions = "This is the task that you asked for, not the next action."
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
		list = append(list, Task{ID: t.ID, Type: t.Type, Status: t.Status, State: t.State, word: t.word,
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

func tasks(p *plan.Plan) []Task {
	list := make([]Task, 0, p.Steps.Len())
	for step := range p.Steps.All() {
		list = append(list, task(p, step))
	}
	return list
}

// goalTokens is the token limit of the goal beside a task asked for.
const goalTokens = 180

func sessionView(state plan.State, next NextAction) *SessionView {
	p := next.about(state)
	if p == nil {
		return nil
	}
	view := &SessionView{ID: p.Root(), Goal: tokens.Block(p.Objective, goalTokens)}
	if p.Status != plan.StatusActive {
		view.Status = p.Status
	}
	return view
}

// rules returns the state of the rule book on disk. Over MCP it counts only if the file exists, because the server's
// instructions say the same; without work left it does not matter yet.
func (s *Service) rules(state plan.State, c Caller) Rules {
	if c.scoped() || !state.Plan.IsUnfinished() && state.Draft == nil {
		return Rules{}
	}
	rules := s.RulesOnDisk()
	if !rules.Exists && (c.brief() || state.Plan == nil) || rules.Problem != "" && c.brief() {
		return Rules{}
	}
	return rules
}

func (r StatusReply) Text() string {
	var b strings.Builder
	b.WriteString(string(r.Now.Reason))
	if r.Session != nil {
		b.WriteString("\nSession: " + r.Session.ID + prefixed(", ", string(r.Session.Status)))
	}
	b.WriteString(r.WorkspaceInfo.lines() + line(r.Now.AgentInstructions) + line(r.Now.Message) + line(r.situationText()))
	if r.Now.InstructionsContent != "" {
		b.WriteString("\n--- instructions_content ---\n" + safetext.Marked(strings.TrimSpace(r.Now.InstructionsContent)) + "\n--- end ---")
	}
	if r.Plan != nil && r.brief {
		for _, t := range r.Plan.Tasks {
			b.WriteString("\n" + t.entry())
		}
		b.WriteString(line(r.Plan.More))
	}
	return b.String() + prefixed("\nReply: ", r.Reply) + "\nNext: " + r.NextAction
}

// situationText returns the situation as lines.
func (r StatusReply) situationText() string {
	var facts []prompts.Fact
	if r.Session != nil && r.Session.Goal != "" {
		facts = append(facts, prompts.Fact{Name: goalHeading, Texts: []string{r.Session.Goal}})
	}
	if revision := fmt.Sprint(r.Revision); r.Progress != "" {
		facts = append(facts, prompts.Fact{Name: "Progress", Texts: []string{r.Progress + " at revision " + revision}})
	} else if r.Revision > 0 {
		facts = append(facts, prompts.Fact{Name: "Revision", Texts: []string{revision}})
	}
	if r.Signal != nil {
		facts = append(facts, prompts.Fact{Name: "Blocked by", Texts: []string{r.Signal.text()}})
	}
	text := prompts.Facts(append(facts, r.Situation...)) + line(r.task.text()) + line(r.Task.text())
	return strings.TrimPrefix(text+line(prompts.Facts([]prompts.Fact{{Name: "Changes", Texts: r.Changes}}))+line(r.Approved), "\n")
}

// statusWord returns the status of a step in texts: unknown for an interrupted attempt.
func statusWord(step *plan.Step) string {
	if step.IsUnknown() {
		return "unknown"
	}
	return string(step.Status)
}

// changed returns the state once it differs from the caller's last one, the rule book on disk has changed, or the time
// is up.
func (s *Service) changed(ctx context.Context, c Caller, state plan.State, wait time.Duration) (plan.State, error) {
	if last := s.seen.get(c); last.known && (last.revision != state.Revision || !slices.Equal(last.signals, state.WorkspaceSignals())) {
		return state, nil // it changed before the wait began
	}
	since := state
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
		if err != nil || !state.IsSame(since) {
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
	Stale     string `json:"stale,omitempty" jsonschema:"-"` // how old the plan is, if it may be outdated

	Beside string   `json:"beside,omitempty" jsonschema:"-"`      // the owner of the plan, for a session on no track
	Tracks []string `json:"open_tracks,omitempty" jsonschema:"-"` // for a session that must choose one
	Shared []string `json:"shared_files,omitempty" jsonschema:"-"`

	Unreadable []string `json:"unreadable_tracks,omitempty" jsonschema:"-"` // for a session on no track
}

func (s *Service) workspaceInfo() WorkspaceInfo {
	info := WorkspaceInfo{Workspace: s.opts.Workspace, Doubt: s.opts.Doubt}
	if s.opts.Stale != nil {
		info.Stale = s.opts.Stale()
	}
	return info
}

// whereTokens is the token limit of the workspace's path for a model.
const whereTokens = 40

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
	return suffixed(prefixed("\nWorkspace in doubt: ", w.Doubt), ".")
}

func (w WorkspaceInfo) lines() string {
	text := prefixed("\nWorkspace: ", w.Workspace) + w.doubt()
	for _, track := range w.Tracks {
		text += "\nPlan on track " + safetext.EscapeLine(track)
	}
	text += prefixed("\nWarning: ", w.Stale) + prefixed("\n", safetext.EscapeLine(w.Beside))
	for _, warning := range slices.Concat(w.Shared, w.Unreadable) {
		text += "\nWarning: " + safetext.EscapeLine(warning)
	}
	return text
}
