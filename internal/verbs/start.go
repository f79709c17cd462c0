package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Start is the input of Start (planloop: API Contract, planloop start; rawko:
// CreatePlanInput).
type Start struct {
	Goal  string      `json:"goal"`
	Steps []FirstTask `json:"steps,omitempty" jsonschema:"description=as add_tasks"`
	Facts
	Decompose bool     `json:"decompose,omitempty" jsonschema:"description=have a model draft the tasks"`
	Track     string   `json:"track,omitempty" jsonschema:"-"` // to join or begin first
	Code      []string `json:"code,omitempty" jsonschema:"-"`  // files that the model should see
	Memories  []string `json:"memories,omitempty" jsonschema:"-"`
}

// TakesNoMore says how to correct a call with other fields.
func (Start) TakesNoMore() string {
	return `this sets up another plan, and its fields say all about it; to begin a step, update_tasks takes {"id":3,"status":"in_progress"}`
}

// FirstTask is a NewTask with a schema that lists its title alone: planloop_update lists the rest.
type FirstTask struct{ NewTask }

// Listed names the fields that the tool's schema lists.
func (FirstTask) Listed() []string { return []string{"title"} }

// StartReply describes the new session.
type StartReply struct {
	Status      string `json:"status"` // session_created
	SessionID   string `json:"session_id"`
	Message     string `json:"message"`
	NextCommand string `json:"next_command,omitempty"`
	Doubt       string `json:"workspace_doubt,omitempty"`
	Replaced
	StepIDs  string   `json:"step_ids,omitempty"` // of the given tasks
	Score    int      `json:"score,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Drafted  *Drafted `json:"drafted,omitempty"`
	Heartbeat
}

// Start begins a session for a goal: a plan with the given tasks, else with one to break the goal down, or with
// Decompose a draft that a model made. The previous plan is archived. The gates judge given tasks.
func (s *Service) Start(ctx context.Context, c Caller, in Start) (StartReply, error) {
	discard := func() {}
	if in.Track != "" && in.Track != s.Track() {
		var err error
		if s, discard, err = s.joinTrack(ctx, c, in.Track, true); err != nil {
			return StartReply{}, err
		}
		c = s.As(c)
	}
	reply, err := besideOthers(ctx, s, c, aPlan, in.Goal, func(s *Service, c Caller) (StartReply, error) { return s.start(ctx, c, in) })
	if err != nil {
		discard() // the caller stays on its track
	}
	return reply, err
}

func (s *Service) start(ctx context.Context, c Caller, in Start) (StartReply, error) {
	goal, err := plan.Text{Field: "/goal", Max: plan.MaxLongLine}.Required(in.Goal)
	if err != nil {
		return StartReply{}, err
	}
	var faults plan.Faults
	outline := plan.Outline{Objective: goal, ContextNotes: in.notes(), Metadata: plan.Metadata{
		Constraints: cleanedLines(&faults, "/constraints", in.Constraints, plan.MaxLongLine),
		InformedBy:  cleanedLines(&faults, "/memories", in.Memories, plan.MaxLongLine)}}
	if in.Decompose && len(in.Steps) > 0 {
		faults.Add(plan.Refuse(plan.InvalidInput, "/decompose", "drafts the tasks, and steps are given", "leave out one of them"))
	}
	given := make([]NewTask, len(in.Steps))
	for i, step := range in.Steps {
		given[i] = step.NewTask
	}
	read := readTasks(&faults, "/steps", given)
	steps, tasks := newStepsOf(plan.State{}, read)
	if in.Decompose && faults.Err() == nil {
		return s.decompose(ctx, c, outline, in)
	}
	if len(tasks) == 0 {
		steps = []plan.NewStep{{Spec: plan.Spec{Title: plan.MetaTitle(goal), Type: plan.Chore}}}
	}
	parts := append([]plan.Part{{Action: plan.SetUp{Outline: outline, Steps: steps}}},
		marks("/steps", 1, read)...)
	batch, report, err := plan.Batch{Word: plan.ActionWord(parts[0].Action), Parts: parts}, gates.Report{}, faults.Err()
	if len(tasks) > 0 {
		report, err = s.check(ctx, c, gates.Candidate{Objective: goal, New: tasks, Replaces: true}, "/steps", err, &batch)
	}
	if err != nil {
		return StartReply{}, err
	}
	outcome, err := s.do(ctx, c, batch)
	if err != nil {
		return StartReply{}, err
	}
	reply := s.started(c, outcome.After, outcome.After.Plan)
	reply.Replaced = replaced(c, outcome.Before.Plan)
	if len(tasks) > 0 {
		reply.StepIDs, reply.Score, reply.Warnings = idRange(tasks[0].ID, tasks[len(tasks)-1].ID), report.Score, warnings(report)
	}
	return reply, nil
}

func (s *Service) started(c Caller, state plan.State, p *plan.Plan) StartReply {
	reply := StartReply{Status: "session_created", SessionID: p.Root(), Doubt: s.opts.Doubt,
		Message:   "Session created. Agent can now begin work.",
		Heartbeat: s.heartbeat(state, c)}
	if !c.brief() {
		reply.NextCommand = c.word(Call{Kind: CallAskStatus})
	}
	return reply
}

func (r StartReply) Text() string {
	text := "Session " + r.SessionID + " created" + suffixed(prefixed(" with ", r.StepIDs), fmt.Sprintf(", score %d", r.Score))
	drafted, warned := "", r.Warnings
	if d := r.Drafted; d != nil {
		text = strings.TrimSuffix(r.Message, ".") + " (session " + r.SessionID + ")"
		drafted = fmt.Sprintf(": %s drafted by %s in %s, score %d", plan.Pluralize(d.Tasks, "task"), d.Model,
			plan.Pluralize(d.Rounds, "round"), d.Score)
		warned = d.Warnings
	}
	return text + r.sofar() + r.Replaced.text() + drafted + "." + warningLines(warned) +
		WorkspaceInfo{Doubt: r.Doubt}.lines() + "\nNext: " + r.NextAction
}

// maxRounds limits how often a model drafts a plan (planloop: Planning Guide, Draft -> Refine).
const maxRounds = 3

// Drafted describes how a draft was made.
type Drafted struct {
	Tasks    int      `json:"tasks"`
	Rounds   int      `json:"rounds"`
	Score    int      `json:"score"`
	Model    string   `json:"model"`
	Warnings []string `json:"warnings,omitempty"`
}

// decompose asks the configured model for tasks, the gates and the model as judge for criticism, and the model for
// a revision. Tasks that pass become a draft, which waits for a person's decision.
func (s *Service) decompose(ctx context.Context, c Caller, outline plan.Outline, in Start) (StartReply, error) {
	if c.wrong != nil {
		return StartReply{}, c.wrong
	}
	if err := c.beyond(); err != nil {
		return StartReply{}, err
	}
	if s.opts.Model == nil {
		return StartReply{}, plan.Refuse(plan.Conflict, "", "no model is configured to draft the tasks", c.word(Call{Kind: CallDraft}))
	}
	c.yield()
	d := drafting{Service: s, caller: c, outline: outline, material: s.material(ctx, outline, in)}
	steps, err := d.run(ctx)
	if err != nil {
		return StartReply{}, err
	}
	if err := ctx.Err(); err != nil {
		return StartReply{}, err // a cancelled model has not judged the plan
	}
	outline.Reasoning = machineText(d.reasoning)
	batch := plan.Batch{Word: "decompose_goal", Parts: []plan.Part{{Action: plan.SetUp{Outline: outline, Steps: steps, Draft: true}}}}
	d.judge.join(&batch) // with a gate that only warns, the verdict may be a refusal
	outcome, err := s.do(ctx, c, batch)
	if err != nil {
		return StartReply{}, err
	}
	reply := s.started(c, outcome.After, outcome.After.Draft)
	reply.Message = "Session created as a draft. A person must approve it before work begins."
	reply.NextCommand = ""
	reply.NextAction = s.view(outcome.After, c, Rules{}).awaitingApproval().For(c)
	reply.Drafted = &Drafted{Tasks: len(steps), Rounds: d.rounds, Score: d.report.Score, Model: s.opts.Model.Name(),
		Warnings: warnings(d.report)}
	return reply, nil
}

func (s *Service) material(ctx context.Context, outline plan.Outline, in Start) prompts.DecomposeData {
	data := prompts.DecomposeData{Goal: outline.Objective, Memories: outline.Metadata.InformedBy, Constraints: outline.Metadata.Constraints}
	if s.opts.Tree == nil {
		return data
	}
	if tree, err := s.opts.Tree.Summary(ctx); err == nil { // an unreadable tree is left out
		data.Tree = tree
	}
	data.Documents = s.documents(filesNamed(outline.Objective))
	data.Code = s.documents(in.Code)
	return data
}

// documentShown limits the bytes of one file for the model.
const documentShown = 16_000

func (s *Service) documents(paths []string) []prompts.Document {
	var found []prompts.Document
	for _, path := range paths {
		if text, ok := s.opts.Tree.Document(path, documentShown); ok {
			found = append(found, prompts.Document{Path: path, Text: text})
		}
	}
	return found
}

// filesNamed returns the words of a goal that may be files, or else the usual places of a specification.
func filesNamed(goal string) []string {
	var paths []string
	for _, word := range strings.Fields(goal) {
		word = strings.Trim(word, "`'\"(),;:!?")
		if strings.Contains(strings.TrimSuffix(word, "."), ".") {
			paths = append(paths, strings.TrimSuffix(word, "."))
		}
	}
	if len(paths) == 0 {
		paths = []string{"spec.md", "SPEC.md", "docs/spec.md", "README.md"}
	}
	return paths
}

// drafting is the process of breaking down one goal.
type drafting struct {
	*Service
	caller   Caller
	outline  plan.Outline
	material prompts.DecomposeData

	rounds    int
	report    gates.Report
	reasoning string
	judge     *modelJudge // of the latest draft
}

func (d *drafting) run(ctx context.Context) ([]plan.NewStep, error) {
	for d.rounds = 1; ; d.rounds++ {
		d.caller.progress(d.rounds-1, maxRounds, fmt.Sprintf("drafting, round %d", d.rounds))
		answer, err := d.opts.Model.Ask(ctx, prompts.Decompose(d.material))
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err != nil { // not our fault: advise the caller
			return nil, plan.Refuse(plan.Conflict, "", err.Error(), d.retryAdvice())
		}
		steps, problem := d.checkAnswer(ctx, answer)
		if problem == nil {
			d.caller.progress(maxRounds, maxRounds, "the draft passes")
			return steps, nil
		}
		if d.report.JudgeErr != nil && !d.report.OK() {
			return nil, judgeFailure(d.report.JudgeErr, d.retryAdvice())
		}
		if d.rounds == maxRounds || ctx.Err() != nil {
			return nil, d.failed(problem)
		}
		d.material.Former, d.material.Findings = string(answer), []string{problem.Error()}
		if refused, ok := errors.AsType[*RefusedPlan](problem); ok {
			d.material.Findings = append(refused.Details(), warnings(refused.Report)...)
		}
	}
}

func (d *drafting) retryAdvice() string {
	return "try again, or " + d.caller.word(Call{Kind: CallDraft})
}

// failed returns the error for the last draft, as the model's and not the caller's.
func (d *drafting) failed(problem error) error {
	if refused, ok := errors.AsType[*RefusedPlan](problem); ok {
		refused.Next = d.retryAdvice()
		refused.Drafted = "The model's drafts did not pass the quality gates in " +
			plan.Pluralize(d.rounds, "round") + ". Problems in the last draft:"
		return refused
	}
	return plan.Refuse(plan.Conflict, "", "the model's draft cannot be read: "+problem.Error(), d.retryAdvice())
}

// checkAnswer returns the steps of a draft that passes, or the reason for a refusal.
func (d *drafting) checkAnswer(ctx context.Context, answer []byte) ([]plan.NewStep, error) {
	var draft struct { // in the form that the prompt requests (planloop: P-1)
		AddTasks  []NewTask `json:"add_tasks"`
		Reasoning *string   `json:"reasoning,omitempty"`
	}
	if err := Decode(answer, &draft); err != nil {
		return nil, err
	}
	if len(draft.AddTasks) == 0 {
		return nil, plan.Refuse(plan.InvalidInput, "/add_tasks", "is empty", "give at least one task")
	}
	var faults plan.Faults
	read, err := readTasks(&faults, "/add_tasks", draft.AddTasks), faults.Err()
	if err != nil {
		return nil, err
	}
	steps, tasks := newStepsOf(plan.State{}, read)
	d.judge = &modelJudge{model: d.opts.Model, goal: d.outline.Objective}
	d.report, err = d.examine(ctx, gates.Candidate{Objective: d.outline.Objective, New: tasks, Replaces: true}, d.judge)
	if err != nil {
		return nil, err
	}
	if !d.report.OK() {
		return nil, &RefusedPlan{Report: d.report}
	}
	d.reasoning = given(draft.Reasoning)
	return steps, nil
}

// verdictTries limits how often a model is asked for one verdict.
const verdictTries = 2

// modelJudge asks a model for its verdict on a plan (planloop: P-2).
type modelJudge struct {
	model   Model
	goal    string
	verdict *plan.Judge // the latest; nil if none yet or if judging is off
}

func (j *modelJudge) join(batch *plan.Batch) {
	if j.verdict != nil {
		batch.Parts = append(batch.Parts, plan.Part{Action: *j.verdict})
	}
}

// Judge returns the model's verdict. An answer without a valid verdict is an error, never an approval.
func (j *modelJudge) Judge(ctx context.Context, c gates.Candidate, findings []gates.Finding) (gates.Verdict, error) {
	steps := make([]*plan.Step, len(c.New))
	for i, t := range c.New {
		steps[i] = &plan.Step{ID: t.ID, Spec: t.Spec, Progress: plan.Progress{Status: plan.Pending}}
	}
	list, err := json.MarshalIndent(tasks(&plan.Plan{Steps: plan.NewSteps(steps)}), "", " ")
	if err != nil {
		return gates.Verdict{}, err
	}
	data := prompts.JudgeData{Goal: j.goal, Tasks: string(list)}
	for _, f := range findings {
		data.Findings = append(data.Findings, f.Message)
	}
	var verdict gates.Verdict
	for try := 1; ; try++ {
		answer, err := j.model.Ask(ctx, prompts.Judge(data))
		if err == nil {
			if err = Decode(answer, &verdict); err == nil {
				break
			}
		}
		if try == verdictTries || ctx.Err() != nil {
			return gates.Verdict{}, err
		}
	}
	verdict.Feedback = machineText(verdict.Feedback)
	j.verdict = &plan.Judge{Approved: verdict.Approved, Feedback: verdict.Feedback,
		Way: plan.Shorten(safetext.Line(j.model.Name()), plan.MaxHint)}
	return verdict, nil
}
