package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// AddStep is the input of AddStep (WINK: AddStep).
type AddStep struct {
	Steps []AddedStep `json:"steps" jsonschema:"minItems=1"`
	Place             // of the first
}

// AddedStep is a step to add, behind the others unless it has a place.
type AddedStep struct {
	NewStep
	Place
}

// Wraps names the list that a single step may be given for.
func (AddStep) Wraps() []string { return []string{"steps"} }

// AddStepReply reports the added steps.
type AddStepReply struct {
	StepIDs string `json:"step_ids"`
	Heartbeat
}

// AddStep appends steps to the active plan.
func (s *Service) AddStep(ctx context.Context, c Caller, in AddStep) (AddStepReply, error) {
	if len(in.Steps) == 0 {
		return AddStepReply{}, plan.Refuse(plan.InvalidInput, "/steps", "is empty", "give at least one step")
	}
	var faults plan.Faults
	given := make([]NewStep, len(in.Steps))
	for i, step := range in.Steps {
		given[i] = step.NewStep
	}
	if first := &in.Steps[0]; first.Place == (Place{}) {
		first.Place = in.Place
	}
	steps := s.newSteps(c, &faults, "/steps", given)
	return retryIfChanged(func() (AddStepReply, error) { return s.addSteps(ctx, c, steps, in.Steps, faults.Err()) })
}

// AddStepsAfter is AddStep for steps with any field, with a position: after a step, first with 0, last with nil.
func (s *Service) AddStepsAfter(ctx context.Context, c Caller, steps []plan.NewStep, after *plan.StepID) (AddStepReply, error) {
	in := make([]AddedStep, len(steps))
	if after != nil && len(steps) > 0 {
		in[0].After = new(TaskRef(after.Number()))
	}
	return retryIfChanged(func() (AddStepReply, error) {
		return s.addSteps(ctx, c, steps, in, plan.CleanAction(plan.AddSteps{Steps: steps}))
	})
}

// MoveStepReply reports the position of a step.
type MoveStepReply struct {
	StepID  string `json:"step_id"`
	Place   int    `json:"place"` // from 1
	Message string `json:"message"`
	Heartbeat
}

// MoveStep moves a step after another, or to the front.
func (s *Service) MoveStep(ctx context.Context, c Caller, a plan.MoveStep) (MoveStepReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return MoveStepReply{}, err
	}
	p := outcome.After.ForEdits(c.Actor).Plan
	reply := MoveStepReply{StepID: a.Step.String(), Place: p.Steps.Position(a.Step) + 1, Heartbeat: s.heartbeat(outcome.After, c)}
	reply.Message = fmt.Sprintf("%s is at place %d of %d", a.Step, reply.Place, p.Steps.Len())
	if reply.Place == outcome.Before.Plan.Steps.Position(a.Step)+1 {
		reply.Message += ", as before"
	}
	return reply, nil
}

func (r MoveStepReply) Text() string {
	return r.Message + r.ending()
}

// addSteps adds steps, each at its place, behind a placed one before it, or last, unless wrong or a gate refuses them.
func (s *Service) addSteps(ctx context.Context, c Caller, steps []plan.NewStep, in []AddedStep, wrong error) (AddStepReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return AddStepReply{}, err
	}
	added, known := plan.AddSteps{Steps: steps}, 0 // number of steps whose ids must be as known
	refs := referencesIn(state.ForEdits(c.Actor), nil)
	var moved []plan.Part
	var faults plan.Faults
	faults.Add(wrong)
	for i, step := range in {
		id := refs.first + plan.StepID(i)
		after, moves := refs.place(&faults, fmt.Sprintf("/steps/%d", i), step.Place)
		if !moves && known > 0 {
			after = id - 1
		}
		if moves || known > 0 {
			known = len(steps)
			moved = append(moved, plan.Part{Action: plan.MoveStep{Step: id, After: after}})
		}
	}
	if err := s.checkIfStrict(ctx, c, state.ForEdits(c.Actor), steps, "/steps", faults.Err(), ""); err != nil {
		return AddStepReply{}, err
	}
	if moved = append(moved, marks("/steps", refs.first, in)...); len(moved) > 0 {
		known = len(steps)
	}
	outcome, err := s.doIf(ctx, c, withParts(added, moved), func(now plan.State) error { return requireSameIDs(state, now, known) })
	if err != nil {
		return AddStepReply{}, s.suggestReopening(ctx, c, steps, err)
	}
	return AddStepReply{StepIDs: idRange(highest(outcome.Before)+1, highest(outcome.After)), Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// suggestReopening adds to the refusal of steps for a plan that completed by itself the call that adds them and reopens it.
func (s *Service) suggestReopening(ctx context.Context, c Caller, steps []plan.NewStep, err error) error {
	refused, ok := errors.AsType[*plan.ValidationError](err)
	state, unread := s.State(ctx)
	if !ok || refused.Kind != plan.Conflict || unread != nil || state.Plan == nil || !state.Plan.IsCompletedWithoutSummary() {
		return err
	}
	update := tasksOf(steps)
	whole, can := c.Can(Call{Kind: CallUpdate, JSON: string(strict.Completed([]byte(object(update)), &update, nil))})
	if !can {
		return err
	}
	again := *refused
	if again.Fix = c.word(Call{Kind: CallUpdate}) + " adds them and reopens the plan"; !c.brief() {
		again.Fix += ": " + whole
	}
	return &BadCall{ValidationError: &again, Instead: whole}
}

func (r AddStepReply) Text() string {
	return "Added " + r.StepIDs + r.ending()
}

// MarkStatus is a status an agent may give a step (WINK: StepStatus).
type MarkStatus string

func (MarkStatus) Values() []string { return []string{"pending", "in_progress", "blocked", "done"} }

// Read returns our word for a status in any vocabulary and spelling, "" for one that needs a reason.
func (s MarkStatus) Read(word string) string {
	if status := string(plan.ReadStatus(word)); slices.Contains(s.Values(), status) {
		return status
	}
	return ""
}

// MarkStep is the input of MarkStep (WINK: MarkStep).
type MarkStep struct {
	StepID plan.StepID `json:"step_id" jsonschema:"description=such as S001"`
	Status MarkStatus  `json:"status"`
	Note   *string     `json:"note,omitempty" jsonschema:"maxLength=512,description=what you observed" hint:"what you saw" text:"some rest"`
}

// MarkStepReply is the result of a mark.
type MarkStepReply struct {
	StepID string `json:"step_id" jsonschema:"description=such as S001"`
	Status string `json:"status"`
	Plan   string `json:"plan,omitempty"`   // the plan's status, unless it is active
	Edited string `json:"edited,omitempty"` // people's changes of the plan since the caller last saw it
	Task   *Task  `json:"task,omitempty"`   // the step, whole, for the agent that begins it
	ReportCheck
	Heartbeat

	said bool // reported by a started agent: the engine sets the status
}

// MarkStep changes the status of a step and keeps a note. Starting a step claims it.
func (s *Service) MarkStep(ctx context.Context, c Caller, in MarkStep) (MarkStepReply, error) {
	a := plan.MarkStep{Step: in.StepID, Status: plan.StepStatus(in.Status)}
	if in.Note != nil {
		rule := s.six(c, "/note", plan.MaxNote)
		rule.Multiline = true
		var err error
		if a.Note, err = rule.Required(*in.Note); err != nil {
			return MarkStepReply{}, err
		}
	}
	return s.Mark(ctx, c, a)
}

// Mark is MarkStep for an already cleaned action.
func (s *Service) Mark(ctx context.Context, c Caller, a plan.MarkStep) (MarkStepReply, error) {
	outcome, held, err := s.doVerified(ctx, c, a, func(plan.State) error { return nil })
	if err != nil {
		return MarkStepReply{}, err
	}
	p := outcome.After.Plan
	reply := MarkStepReply{StepID: a.Step.String(), Status: string(a.Status),
		ReportCheck: checkReports(outcome.After, c, []plan.StepID{a.Step}), Heartbeat: s.heartbeat(outcome.After, c)}
	if step, ok := p.Steps.Get(a.Step); ok && len(held) > 0 {
		reply.Status, reply.NotShown = string(step.Status), held
	}
	if p.Status != plan.StatusActive {
		reply.Plan = string(p.Status)
	}
	reply.said = c.scoped() && a.Status != plan.InProgress
	reply.Task = s.begunTask(ctx, outcome.After, c, a)
	reply.Edited = s.editsUnder(ctx, c, outcome)
	return reply, nil
}

// begunTask returns the step that a mark begins, else nil. An error must not fail a mark that is recorded; the next
// status shows the step.
func (s *Service) begunTask(ctx context.Context, state plan.State, c Caller, a plan.MarkStep) *Task {
	step, ok := state.Plan.Steps.Get(a.Step)
	if !ok || a.Status != plan.InProgress || c.decides() {
		return nil
	}
	task, err := s.handTask(ctx, state, c, step)
	if err != nil {
		return nil
	}
	return task
}

func (r MarkStepReply) Text() string {
	text := r.before() + r.StepID + " " + plan.StepStatus(r.Status).Predicate()
	if r.said {
		text = r.before() + r.StepID + " is reported as " + r.Status
	}
	if r.Plan != "" {
		text += "; the plan " + plan.PlanStatus(r.Plan).Predicate()
	}
	return text + r.ending(line(r.Edited), r.after(), line(r.Task.text()))
}

// ClaimStep takes over a step in progress, or renews the caller's own claim.
func (s *Service) ClaimStep(ctx context.Context, c Caller, a plan.ClaimStep) (MarkStepReply, error) {
	outcome, err := s.do(ctx, c, a)
	return MarkStepReply{StepID: a.Step.String(), Status: string(plan.InProgress), Heartbeat: s.heartbeat(outcome.After, c)}, err
}

// UpdateStep is the input of UpdateStep (WINK: UpdateStep).
type UpdateStep struct {
	StepID  plan.StepID `json:"step_id" jsonschema:"description=such as S001"`
	Title   *string     `json:"title,omitempty" jsonschema:"maxLength=160" hint:"the new title"`
	Details *string     `json:"details,omitempty" jsonschema:"maxLength=512" hint:"the new details"`
}

// UpdateStepReply is the edited step.
type UpdateStepReply struct {
	StepID  string `json:"step_id" jsonschema:"description=such as S001"`
	Title   string `json:"title"`
	Changed string `json:"changed,omitempty"` // the order or dependencies, as they are now
	Heartbeat
}

// UpdateStep edits title or details of a step. Blank details count as not given, to prevent accidental deletion.
func (s *Service) UpdateStep(ctx context.Context, c Caller, in UpdateStep) (UpdateStepReply, error) {
	var patch plan.Patch
	var faults plan.Faults
	if in.Title != nil {
		patch.Title = new(required(&faults, s.six(c, "/title", plan.MaxTitle), *in.Title))
	}
	if details := s.details(c, &faults, "/details", in.Details); details != "" {
		patch.Details = &details
	}
	if err := faults.Err(); err != nil {
		return UpdateStepReply{}, err
	}
	return s.EditStep(ctx, c, in.StepID, patch)
}

const nothingToUpdate = "nothing to update"

// EditStep is UpdateStep for an already cleaned patch.
func (s *Service) EditStep(ctx context.Context, c Caller, id plan.StepID, patch plan.Patch) (UpdateStepReply, error) {
	if patch.IsZero() {
		return UpdateStepReply{}, plan.Refuse(plan.InvalidInput, "/details", nothingToUpdate, "give a new title or new details")
	}
	state, err := s.State(ctx)
	if err == nil {
		err = s.checkEdit(ctx, c, state.ForEdits(c.Actor), id, patch)
	}
	if err != nil {
		return UpdateStepReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.UpdateStep{Step: id, Patch: patch})
	if err != nil {
		return UpdateStepReply{}, err
	}
	step, _ := outcome.After.Plan.Steps.Get(id)
	return UpdateStepReply{StepID: id.String(), Title: plan.Shorten(step.Title, titleShown),
		Changed: order(outcome, c, id), Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

func (r UpdateStepReply) Text() string {
	return "Updated " + r.StepID + " " + plan.Quote(r.Title) + prefixed(". ", r.Changed) + r.ending()
}

// order says which steps an edited step now waits for and where it is now, if that has changed: "S004 now waits for S002".
func order(outcome session.Outcome, c Caller, id plan.StepID) string {
	before, after := outcome.Before.ForEdits(c.Actor).Plan, outcome.After.ForEdits(c.Actor).Plan
	was, known := before.Steps.Get(id)
	step, ok := after.Steps.Get(id)
	if !known || !ok {
		return ""
	}
	var now []string
	switch {
	case slices.Equal(was.DependsOn, step.DependsOn):
	case len(step.DependsOn) == 0:
		now = append(now, id.String()+" no longer waits for other steps")
	default:
		now = append(now, id.String()+" now waits for "+plan.IDs(step.DependsOn))
	}
	if place := after.Steps.Position(id); place != before.Steps.Position(id) && before.Steps.Len() == after.Steps.Len() {
		now = append(now, fmt.Sprintf("%s is now at place %d of %d", id, place+1, after.Steps.Len()))
	}
	return strings.Join(now, "; ")
}
