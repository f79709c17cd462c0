package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Update is the input of Update (planloop: API Contract, planloop update).
type Update struct {
	AddTasks    []NewTask    `json:"add_tasks,omitempty" jsonschema:"description=gates ask for type\\, hints\\, paths or creates"`
	UpdateTasks []TaskUpdate `json:"update_tasks,omitempty" jsonschema:"description=other fields as in add_tasks"`
	Facts
	FinalSummary *string `json:"final_summary,omitempty" jsonschema:"description=closes the completed plan" hint:"results and checks"`

	Verdict  *gates.Verdict `json:"verdict,omitempty" jsonschema:"-"`  // its judgement of the plan
	EndMode  bool           `json:"end_mode,omitempty" jsonschema:"-"` // the approved work is over
	Withdraw bool           `json:"withdraw,omitempty" jsonschema:"-"` // drops its proposed change
	Replan   *Replan        `json:"replan,omitempty" jsonschema:"-"`   // the next version of the plan
}

// Wraps names the lists that a single entry may be given for.
func (Update) Wraps() []string { return []string{"update_tasks", "add_tasks"} }

// Facts are what holds for the whole plan, alike in every input that takes them.
type Facts struct {
	Constraints []string `json:"constraints,omitempty"`
	Findings    []string `json:"findings,omitempty"`
}

// notes returns the findings as one text.
func (f Facts) notes() string { return strings.Join(f.Findings, "\n") }

// NewTask is a task to add.
type NewTask struct {
	Ref    *string `json:"ref,omitempty" jsonschema:"description=for dependencies"`
	Splits *TaskID `json:"splits,omitempty" jsonschema:"-"` // the approved task that it divides
	Place
	TaskFields
	Dependencies *[]TaskRef  `json:"dependencies,omitempty" jsonschema:"description=task ids or refs"`
	Status       *TaskStatus `json:"status,omitempty" jsonschema:"-" schema:"closed"`
}

// Place is where a step is to be: after another one, or at a position from 1. The zero value leaves it where it is.
type Place struct {
	After    *TaskRef `json:"after,omitempty" jsonschema:"-" schema:"closed"` // the task to follow; 0: first
	Position *int     `json:"position,omitempty" jsonschema:"-" schema:"closed"`
}

func (NewTask) Alone() string { return "title" }

func (NewTask) Needed() []string { return []string{"title"} }

// Asked names the fields that the gates ask for.
func (NewTask) Asked() []string {
	return []string{"title", "type", "context_hints", "relevant_file_paths"}
}

// Unlisted names an accepted field that the tool's schema does not list.
func (NewTask) Unlisted() []string { return []string{"tools"} }

// TaskUpdate is a report on a task, or an edit of it.
type TaskUpdate struct {
	ID            TaskID      `json:"id"`
	Status        *TaskStatus `json:"status,omitempty"`
	Note          *string     `json:"note,omitempty" hint:"what you saw" text:"some rest"`
	Error         *string     `json:"error,omitempty" jsonschema:"description=it failed" hint:"what failed"`
	Skip          *string     `json:"skip,omitempty" jsonschema:"description=why it is not needed"`
	Output        *string     `json:"output,omitempty" text:"any"`
	AffectedFiles []string    `json:"affected_files,omitempty"`
	Evidence      []Proof     `json:"evidence,omitempty" text:"lines"`
	Place
	TaskFields
	Dependencies *[]TaskRef `json:"dependencies,omitempty" jsonschema:"description=task ids or refs"`
}

// Member returns the report that a member of an object gives, such as "S001":"DONE" or "S001":{"note":"slow"}, or nil.
func (TaskUpdate) Member(name string, value []byte) []byte {
	id, err := plan.ParseStepID(name)
	switch {
	case err != nil:
		return nil
	case value[0] == '{' && value[1] != '}':
		return fmt.Appendf(nil, `{"id":%d,%s`, id, value[1:])
	}
	return fmt.Appendf(nil, `{"id":%d,"status":%s}`, id, value)
}

// Listed names the fields that the tool's schema lists: edits are rare, and a schema costs tokens in every conversation.
func (TaskUpdate) Listed() []string {
	return []string{"id", "status", "note", "error", "skip", "output", "affected_files", "evidence"}
}

// Proof is evidence as agents submit it.
type Proof struct {
	Criterion string `json:"criterion,omitempty" hint:"which criterion"`
	Note      string `json:"note" hint:"what you saw" text:"some"`
}

func (Proof) Alone() string { return "note" }

// UpdateReply is the result of an update.
type UpdateReply struct {
	Status   string   `json:"status"` // success
	Message  string   `json:"message"`
	TaskIDs  []int    `json:"task_ids,omitempty"` // of the added tasks, in order
	Score    int      `json:"score,omitempty"`    // of the added tasks, 0 to 100
	Warnings []string `json:"warnings,omitempty"`
	PlanID   string   `json:"plan_id,omitempty"` // of the next version, after a replan
	Version  int      `json:"version,omitempty"`
	Task     *Task    `json:"task,omitempty"` // the step, whole, for the agent that begins it
	ReportCheck
	Heartbeat
}

// Update adds tasks, reports on tasks and closes the plan, all or nothing. Tasks that the quality gates refuse are a
// *gates.RefusedError.
func (s *Service) Update(ctx context.Context, c Caller, in Update) (UpdateReply, error) {
	input, wrong := in.read()
	if errors.As(wrong, new(*BadCall)) {
		return UpdateReply{}, wrong
	}
	return retryIfChanged(func() (UpdateReply, error) { return s.update(ctx, c, input, wrong) })
}

// retryIfChanged calls do, and repeats it while it returns errPlanChanged because the plan it was based on has changed.
func retryIfChanged[T any](do func() (T, error)) (T, error) {
	for attempt := 0; ; attempt++ {
		reply, err := do()
		if !errors.Is(err, errPlanChanged) {
			return reply, err
		}
		if attempt == 3 {
			return reply, plan.Refuse(plan.Conflict, "", "the plan keeps changing", "try again")
		}
	}
}

// errPlanChanged says that the ids for new tasks are taken, or that the draft was replaced.
var errPlanChanged = errors.New("another call changed the plan")

// update makes an update; wrong holds errors found so far.
func (s *Service) update(ctx context.Context, c Caller, in updateInput, wrong error) (UpdateReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return UpdateReply{}, err
	}
	var faults plan.Faults
	faults.Add(wrong)
	if in.replan == nil && !in.drop {
		state = state.ForEdits(c.Actor)
	}
	batch, tasks := in.batch(state, &faults)
	var report gates.Report
	p := state.Plan
	canAdd := p != nil && (p.Status == plan.StatusActive || p.IsCompletedWithoutSummary() ||
		in.replan != nil && p.Status == plan.StatusReplanning)
	if len(tasks) > 0 && canAdd { // else the error below says why not
		report, err = s.check(ctx, c, candidate(state, tasks), "/add_tasks", faults.Err(), &batch)
	} else {
		err = faults.Err()
	}
	if err != nil {
		return UpdateReply{}, err
	}
	outcome, held, err := s.doVerified(ctx, c, batch, func(now plan.State) error { return requireSameIDs(state, now, len(tasks)) })
	if err != nil {
		return UpdateReply{}, err
	}
	var marked []plan.StepID
	for _, change := range in.update {
		if change.mark != nil && !slices.Contains(marked, change.id) {
			marked = append(marked, change.id)
		}
	}
	reply := UpdateReply{Status: "success", Message: "State updated successfully.",
		ReportCheck: checkReports(outcome.After, c, marked), Heartbeat: s.heartbeat(outcome.After, c)}
	if len(held) > 0 {
		reply.Message, reply.NotShown = "State updated, except for steps that are not verified.", append(held, reply.NotShown...)
	}
	if in.summary != nil && outcome.After.Plan.FinalSummary != "" {
		reply.Message += s.closing(ctx, outcome.After)
	}
	if in.drop {
		reply.Message = "The proposed change is withdrawn. The approved plan is unchanged."
	}
	if in.replan != nil {
		p := outcome.After.Plan
		reply.Message, reply.PlanID, reply.Version = fmt.Sprintf("The plan is now version %d, %s.", p.Version, p.ID), p.ID, p.Version
	}
	for _, t := range tasks {
		reply.TaskIDs = append(reply.TaskIDs, int(t.ID))
	}
	if len(tasks) > 0 {
		reply.Score, reply.Warnings = report.Score, warnings(report)
	}
	for i, change := range in.update {
		if i < ordersShown && (change.deps != nil || change.place != (Place{})) {
			reply.Message += prefixed(" ", suffixed(order(outcome, c, change.id), "."))
		}
		if change.mark != nil && reply.Task == nil {
			reply.Task = s.begunTask(ctx, outcome.After, c, *change.mark)
		}
	}
	reply.Message = strings.TrimSuffix(reply.Message+" "+s.editsUnder(ctx, c, outcome), " ")
	return reply, nil
}

// ordersShown is the most steps whose new order or dependencies an answer names.
const ordersShown = 10

// requireSameIDs returns errPlanChanged if added tasks would now get other ids.
func requireSameIDs(looked, now plan.State, tasks int) error {
	if tasks > 0 && (highest(now) != highest(looked) || root(now) != root(looked)) {
		return errPlanChanged
	}
	return nil
}

func currentSteps(state plan.State) plan.Steps {
	if state.Plan == nil {
		return plan.Steps{}
	}
	return state.Plan.Steps
}

func highest(state plan.State) plan.StepID { return currentSteps(state).Highest() }

func root(state plan.State) string {
	if state.Plan == nil {
		return ""
	}
	return state.Plan.Root()
}

func (r UpdateReply) Text() string {
	var b strings.Builder
	b.WriteString(r.before() + strings.TrimSuffix(r.Message, "."))
	if n := len(r.TaskIDs); n > 0 {
		fmt.Fprintf(&b, ": added %s, score %d", idRange(plan.StepID(r.TaskIDs[0]), plan.StepID(r.TaskIDs[n-1])), r.Score)
	}
	return b.String() + r.ending(warningLines(r.Warnings), r.after(), line(r.Task.text()))
}

// Replan describes the next version of the plan (rawko: Replanning).
type Replan struct {
	Changes     string   `json:"changes" hint:"the differences"`
	Reasoning   string   `json:"reasoning,omitempty" hint:"the reasons"`
	Discoveries []string `json:"discoveries,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

func (Replan) Alone() string { return "changes" }

func (r Replan) action(faults *plan.Faults, field string) *plan.Replan {
	long := func(name string) plan.Text {
		return plan.Text{Field: field + name, Max: plan.MaxLongText, Multiline: true}
	}
	return &plan.Replan{Changes: required(faults, long("/changes"), r.Changes), Reasoning: cleaned(faults, long("/reasoning"), r.Reasoning),
		Discoveries: cleanedLines(faults, field+"/discoveries", r.Discoveries, plan.MaxLongLine),
		Constraints: cleanedLines(faults, field+"/constraints", r.Constraints, plan.MaxLongLine)}
}

// NextVersion is the input of Replan: a description of the next version, and the changes for it.
type NextVersion struct {
	Replan
	AddTasks    []NewTask    `json:"add_tasks,omitempty"`
	UpdateTasks []TaskUpdate `json:"update_tasks,omitempty" jsonschema:"description=as planloop_update takes them"`
}

// Replan turns the plan into its next version: done steps are kept, failed ones retried unless they are skipped or
// changed. A person's replan waits for running steps to end.
func (s *Service) Replan(ctx context.Context, c Caller, in NextVersion) (UpdateReply, error) {
	var faults plan.Faults
	input := updateInput{replan: in.action(&faults, "")}
	input.read(&faults, in.AddTasks, in.UpdateTasks)
	drained := ""
	if err := faults.Err(); err == nil && c.wrong == nil && c.decides() {
		if drained, err = s.pauseAndWait(ctx, c); err != nil {
			return UpdateReply{}, err
		}
	}
	reply, err := retryIfChanged(func() (UpdateReply, error) { return s.update(ctx, c, input, faults.Err()) })
	reply.Message += drained
	return reply, err
}

// ReportCheck is the answer to a report of finished work: the missing evidence, and a blocker that comes before all other
// work.
type ReportCheck struct {
	Blocker  *SignalView `json:"blocker,omitempty"`
	NotShown []string    `json:"not_shown,omitempty"`
}

// Token limits in an answer: of all unverified steps, the first of which is always named, and of one step's missing
// evidence.
const (
	notShownTokens = 400
	missingTokens  = 300
)

// checkReports checks the reported steps, or all steps of a closed plan.
func checkReports(state plan.State, c Caller, ids []plan.StepID) ReportCheck {
	var r ReportCheck
	if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 {
		signal := signalView(state, blockers[0], c)
		signal.Output = "" // the status shows it
		r.Blocker = &signal
	}
	closed := state.Plan != nil && state.Plan.FinalSummary != ""
	if closed {
		ids = nil
		for step := range state.Plan.Steps.All() {
			ids = append(ids, step.ID)
		}
	}
	for _, id := range ids {
		if step, ok := state.Plan.Steps.Get(id); ok && step.Status == plan.Done {
			r.NotShown = append(r.NotShown, missingEvidence(step, c, closed)...)
		}
	}
	shown := tokens.First(len(r.NotShown), notShownTokens, func(i int) int { return tokens.CountCautiously(r.NotShown[i]) })
	if more := len(r.NotShown) - shown; more > 0 {
		r.NotShown = append(r.NotShown[:shown], plan.Pluralize(more, "more step"))
	}
	return r
}

// missingEvidence lists a step's missing evidence, if the step says how to verify it, and while the plan is open the calls
// that provide it.
func missingEvidence(step *plan.Step, c Caller, closed bool) []string {
	missing := plan.MissingEvidence(step)
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 || len(missing) == 0 || plan.WaivedBy(step) != "" {
		return nil
	}
	lacks := strings.Join(missing, ", and ")
	how := " is not verified: "
	if step.Verify != "" && plan.IsVerified(step) {
		how = " has " // only criteria without notes
	}
	text := step.ID.String() + how + tokens.ShortenCautiously(lacks, missingTokens, len(lacks))
	if closed {
		return []string{text}
	}
	var calls []string
	if step.Verify != "" && !plan.IsVerified(step) {
		calls = append(calls, "run `"+c.word(Call{Kind: CallCheck, Step: step.ID})+"`")
		missing = missing[1:]
	}
	if len(missing) > 0 {
		calls = append(calls, "report evidence: "+c.word(Call{Kind: CallProve, Step: step.ID}))
	}
	return []string{text + "; " + strings.Join(calls, ", and ")}
}

// before is the text before an answer to a report, after the text that follows it.
func (r ReportCheck) before() string {
	if r.Blocker == nil {
		return ""
	}
	return "A blocker is open and comes first. " + r.Blocker.text() + "\n"
}

func (r ReportCheck) after() string { return prefixedAll("\n", r.NotShown) }
