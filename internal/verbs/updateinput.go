package verbs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// updateInput is an update whose form is right. What its references mean depends on
// the plan. What Decide checks is left to it.
type updateInput struct {
	add     []taskInput
	update  []taskChange
	summary *string
	verdict *plan.Judge
	end     bool
}

type taskInput struct {
	ref    string
	spec   plan.Spec
	deps   []TaskRef
	splits plan.StepID
}

type taskChange struct {
	field  string
	id     plan.StepID
	patch  plan.Patch
	deps   *[]TaskRef
	report plan.ReportStep
	mark   *plan.MarkStep
}

// read checks the form of an update.
func (in Update) read() (updateInput, error) {
	out := updateInput{summary: in.FinalSummary, end: in.EndMode}
	if len(in.AddTasks)+len(in.UpdateTasks) == 0 && in.FinalSummary == nil && in.Verdict == nil && !in.EndMode {
		return out, plan.Refuse(plan.InvalidInput, "", "there is nothing to update",
			"give add_tasks, update_tasks, final_summary, verdict or end_mode")
	}
	if err := notBlank("/final_summary", in.FinalSummary); err != nil {
		return out, err
	}
	var err error
	if out.add, err = readTasks("/add_tasks", in.AddTasks); err != nil {
		return out, err
	}
	for i, u := range in.UpdateTasks {
		change, err := u.read(fmt.Sprintf("/update_tasks/%d", i))
		if err != nil {
			return out, err
		}
		out.update = append(out.update, change)
	}
	if v := in.Verdict; v != nil {
		out.verdict = &plan.Judge{Approved: v.IsApproved, Feedback: v.Feedback, Way: plan.WayAgent}
	}
	return out, nil
}

// readTasks checks the form of tasks that are to be added.
func readTasks(field string, in []NewTask) ([]taskInput, error) {
	refs := map[string]bool{}
	var tasks []taskInput
	for i, t := range in {
		task, err := t.read(fmt.Sprintf("%s/%d", field, i), refs)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// notBlank refuses a text that is given and says nothing.
func notBlank(field string, text *string) error {
	if text == nil {
		return nil
	}
	_, err := plan.Text{Field: field, Max: plan.MaxLongText, Multiline: true}.Required(*text)
	return err
}

func (t NewTask) read(field string, refs map[string]bool) (taskInput, error) {
	patch, err := t.patch(field)
	if err != nil {
		return taskInput{}, err
	}
	task := taskInput{spec: patch.On(plan.Spec{})}
	if t.Splits != nil {
		task.splits = plan.StepID(*t.Splits)
	}
	if t.Dependencies != nil {
		task.deps = *t.Dependencies
	}
	if t.Ref == nil {
		return task, nil
	}
	if task.ref, err = (plan.Text{Field: field + "/ref", Max: plan.MaxHint}).Required(*t.Ref); err != nil {
		return taskInput{}, err
	}
	if id, err := plan.ParseStepID(task.ref); err == nil && strings.HasSuffix(id.String(), strings.ToUpper(task.ref)) {
		return taskInput{}, plan.Refuse(plan.InvalidInput, field+"/ref", "looks like a step id", "give a name, such as schema")
	}
	if refs[task.ref] {
		return taskInput{}, plan.Refuse(plan.InvalidInput, field+"/ref", plan.Quote(task.ref)+" is the ref of another task",
			"give each its own")
	}
	refs[task.ref] = true
	return task, nil
}

func (u TaskUpdate) read(field string) (taskChange, error) {
	change := taskChange{field: field, id: plan.StepID(u.ID), deps: u.Dependencies}
	var err error
	if change.patch, err = u.patch(field); err != nil {
		return change, err
	}
	if change.report, err = u.report(field); err != nil {
		return change, err
	}
	if change.mark, err = u.mark(field); err != nil {
		return change, err
	}
	if change.mark == nil && change.patch.IsZero() && change.deps == nil && !change.reports() {
		return change, plan.Refuse(plan.InvalidInput, field, "changes nothing",
			"give a status, a note, error, skip, output, evidence or a field to edit")
	}
	if change.mark != nil && change.mark.Note == "" { // one record of the note, with the mark
		change.mark.Note, change.report.Note = change.report.Note, ""
	}
	return change, nil
}

// reports tells whether anything is reported beside the status.
func (c taskChange) reports() bool {
	r := c.report
	return r.Note != "" || r.Output != "" || len(r.AffectedFiles) > 0 || len(r.Evidence) > 0
}

// report returns what is reported beside the status.
func (u TaskUpdate) report(field string) (plan.ReportStep, error) {
	r := plan.ReportStep{Step: plan.StepID(u.ID)}
	err := notBlank(field+"/note", u.Note)
	if u.Note != nil {
		r.Note = *u.Note
	}
	if u.Output != nil {
		r.Output = strings.TrimSpace(*u.Output)
	}
	if err == nil {
		r.AffectedFiles, err = plan.CleanLines(field+"/affected_files", u.AffectedFiles, plan.MaxPath)
	}
	if len(u.Evidence) > plan.MaxEvidence {
		return r, plan.Refuse(plan.InvalidInput, field+"/evidence", fmt.Sprintf("has %d entries", len(u.Evidence)),
			fmt.Sprintf("give at most %d", plan.MaxEvidence))
	}
	for i, p := range u.Evidence {
		if err == nil {
			err = notBlank(fmt.Sprintf("%s/evidence/%d/note", field, i), &p.Note)
		}
		r.Evidence = append(r.Evidence, plan.Evidence{Criterion: p.Criterion, Note: p.Note})
	}
	return r, err
}

// mark returns the change of status that is asked for, nil when none is. An error
// and a skip are changes of status with a reason.
func (u TaskUpdate) mark(field string) (*plan.MarkStep, error) {
	asked := 0
	mark := &plan.MarkStep{Step: plan.StepID(u.ID)}
	if u.Status != nil {
		asked++
		mark.Status = plan.ReadStatus(string(*u.Status))
	}
	if u.Error != nil {
		asked++
		mark.Status, mark.Note = plan.Failed, *u.Error
	}
	if u.Skip != nil {
		asked++
		mark.Status, mark.Note = plan.Skipped, *u.Skip
	}
	switch {
	case asked == 0:
		return nil, nil
	case asked > 1:
		return nil, plan.Refuse(plan.InvalidInput, field, "asks for two outcomes", "give one of status, error and skip")
	}
	return mark, cmp.Or(notBlank(field+"/error", u.Error), notBlank(field+"/skip", u.Skip))
}

// marked lists the tasks whose status is reported.
func (in updateInput) marked() []plan.StepID {
	var ids []plan.StepID
	for _, change := range in.update {
		if change.mark != nil {
			ids = append(ids, change.id)
		}
	}
	return ids
}

// batch returns the actions that bring the update about in a state, and the tasks
// it adds with the ids they will get.
func (in updateInput) batch(state plan.State) (plan.Batch, []gates.Task, error) {
	batch := plan.Batch{Word: "update"}
	part := func(field string, a plan.Action) {
		batch.Parts = append(batch.Parts, plan.Part{Field: field, Action: a})
	}
	resolve := resolver(state, in.add)
	steps, tasks := added(state, in.add)
	if len(steps) > 0 {
		part("/add_tasks", plan.AddSteps{Steps: steps})
	}
	for _, u := range in.inOrder(state) {
		if u.deps != nil {
			deps, err := resolveAll(u.field+"/dependencies", *u.deps, resolve)
			if err != nil {
				return batch, nil, err
			}
			u.patch.DependsOn = &deps
		}
		if !u.patch.IsZero() {
			part(u.field, plan.UpdateStep{Step: u.id, Patch: u.patch})
		}
		if u.reports() {
			part(u.field, u.report)
		}
		if u.mark != nil {
			part(u.field, *u.mark)
		}
	}
	if in.verdict != nil {
		part("/verdict", *in.verdict)
	}
	if in.end {
		part("/end_mode", plan.EndMode{})
	}
	if in.summary != nil {
		part("/final_summary", plan.Close{Summary: *in.summary})
	}
	return batch, tasks, nil
}

// added returns the steps that tasks become in a state, and the tasks as the gates
// see them, with the ids they will get.
func added(state plan.State, in []taskInput) ([]plan.NewStep, []gates.Task) {
	resolve := resolver(state, in)
	var steps []plan.NewStep
	var tasks []gates.Task
	for i, t := range in {
		task := gates.Task{ID: highest(state) + 1 + plan.StepID(i), Spec: t.spec}
		for _, ref := range t.deps {
			if id, ok := resolve(ref); ok {
				task.DependsOn = append(task.DependsOn, id)
			} else {
				task.Unknown = append(task.Unknown, string(ref))
			}
		}
		tasks = append(tasks, task)
		steps = append(steps, plan.NewStep{Spec: task.Spec, Splits: t.splits})
	}
	return steps, tasks
}

// resolver returns what a reference means: the ref of an added task, the id of a
// step, or the id an added task will get.
func resolver(state plan.State, added []taskInput) func(TaskRef) (plan.StepID, bool) {
	first := highest(state) + 1
	refs := map[string]plan.StepID{}
	for i, t := range added {
		if t.ref != "" {
			refs[t.ref] = first + plan.StepID(i)
		}
	}
	return func(ref TaskRef) (plan.StepID, bool) {
		if id, ok := refs[strings.TrimSpace(string(ref))]; ok {
			return id, true
		}
		id, err := plan.ParseStepID(string(ref))
		if err != nil {
			return 0, false
		}
		if id >= first {
			return id, int(id-first) < len(added)
		}
		if state.Plan == nil {
			return 0, false
		}
		_, known := state.Plan.Steps.Get(id)
		return id, known
	}
}

func resolveAll(field string, refs []TaskRef, resolve func(TaskRef) (plan.StepID, bool)) ([]plan.StepID, error) {
	ids := []plan.StepID{}
	for i, ref := range refs {
		id, ok := resolve(ref)
		if !ok {
			return nil, plan.Refuse(plan.NotFound, fmt.Sprintf("%s/%d", field, i), plan.Quote(string(ref))+" is not a task of the plan",
				"name a task by its id, such as 2, or by the ref of one added here")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// inOrder returns the updates so that a step which is reported done stands before
// those that wait for it: an agent need not know in which order they count.
func (in updateInput) inOrder(state plan.State) []taskChange {
	rest := slices.Clone(in.update)
	finishing := func(id plan.StepID) bool {
		return slices.ContainsFunc(rest, func(u taskChange) bool {
			return u.id == id && u.mark != nil && u.mark.Status == plan.Done
		})
	}
	free := func(u taskChange) bool {
		if u.mark == nil || u.mark.Status != plan.Done && u.mark.Status != plan.InProgress || state.Plan == nil {
			return true
		}
		return !slices.ContainsFunc(state.Plan.Steps.WaitingOn(u.id), func(id plan.StepID) bool { return id != u.id && finishing(id) })
	}
	var ordered []taskChange
	for len(rest) > 0 {
		i := max(0, slices.IndexFunc(rest, free))
		ordered = append(ordered, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return ordered
}
