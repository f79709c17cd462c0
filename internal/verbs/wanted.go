package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// wanted is an update whose form is right. What its references mean depends on
// the plan.
type wanted struct {
	add     []wantedTask
	update  []wantedUpdate
	summary string
	verdict *plan.Judge
	end     bool
}

type wantedTask struct {
	ref  string
	spec plan.Spec
	deps []TaskRef

	splits plan.StepID
}

type wantedUpdate struct {
	field  string
	id     plan.StepID
	patch  plan.Patch
	deps   *[]TaskRef
	report plan.ReportStep
	mark   *plan.MarkStep
}

// wanted cleans an update.
func (s *Service) wanted(in Update) (wanted, error) {
	var w wanted
	if len(in.AddTasks)+len(in.UpdateTasks) == 0 && in.FinalSummary == nil && in.Verdict == nil && !in.EndMode {
		return w, &plan.ValidationError{Kind: plan.InvalidInput, Problem: "there is nothing to update",
			Fix: "give add_tasks, update_tasks, final_summary, verdict or end_mode"}
	}
	w.end = in.EndMode
	refs := map[string]bool{}
	for i, t := range in.AddTasks {
		task, err := wantedTaskOf(fmt.Sprintf("/add_tasks/%d", i), t, refs)
		if err != nil {
			return w, err
		}
		w.add = append(w.add, task)
	}
	for i, u := range in.UpdateTasks {
		update, err := wantedUpdateOf(fmt.Sprintf("/update_tasks/%d", i), u)
		if err != nil {
			return w, err
		}
		w.update = append(w.update, update)
	}
	if in.FinalSummary != nil {
		summary, err := plan.Text{Field: "/final_summary", Max: plan.MaxLongText, Multiline: true}.Required(*in.FinalSummary)
		if err != nil {
			return w, err
		}
		w.summary = summary
	}
	if v := in.Verdict; v != nil {
		feedback, err := plan.Text{Field: "/verdict/feedback", Max: plan.MaxLongText, Multiline: true}.Clean(v.Feedback)
		if err != nil {
			return w, err
		}
		w.verdict = &plan.Judge{Approved: v.IsApproved, Feedback: feedback, Way: plan.WayAgent}
	}
	return w, nil
}

func wantedTaskOf(field string, t NewTask, refs map[string]bool) (wantedTask, error) {
	patch, err := t.patch(field)
	if err != nil {
		return wantedTask{}, err
	}
	task := wantedTask{spec: patch.On(plan.Spec{})}
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
		return wantedTask{}, err
	}
	problem, fix := "", ""
	if _, err := plan.ParseStepID(task.ref); err == nil {
		problem, fix = "looks like a step id", "give a name, such as schema"
	} else if refs[task.ref] {
		problem, fix = plan.Quote(task.ref)+" is the ref of another task", "give each its own"
	}
	if problem != "" {
		return wantedTask{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: field + "/ref", Problem: problem, Fix: fix}
	}
	refs[task.ref] = true
	return task, nil
}

func wantedUpdateOf(field string, u TaskUpdate) (wantedUpdate, error) {
	w := wantedUpdate{field: field, id: plan.StepID(u.ID), deps: u.Dependencies}
	patch, err := u.patch(field)
	if err != nil {
		return w, err
	}
	w.patch = patch
	if w.report, err = u.report(field); err != nil {
		return w, err
	}
	if w.mark, err = u.mark(field); err != nil {
		return w, err
	}
	r := w.report
	if w.mark == nil && w.patch.IsZero() && w.deps == nil && r.Note == "" && r.Output == "" && len(r.AffectedFiles) == 0 && len(r.Evidence) == 0 {
		return w, &plan.ValidationError{Kind: plan.InvalidInput, Field: field, Problem: "changes nothing", Fix: "give a status, a note, error, skip, output, evidence or a field to edit"}
	}
	if w.mark != nil && w.mark.Note == "" { // one record of the note, with the mark
		w.mark.Note, w.report.Note = w.report.Note, ""
	}
	return w, nil
}

// report returns what is reported beside the status.
func (u TaskUpdate) report(field string) (plan.ReportStep, error) {
	r := plan.ReportStep{Step: plan.StepID(u.ID)}
	var err error
	if u.Note != nil {
		if r.Note, err = (plan.Text{Field: field + "/note", Max: plan.MaxLongText, Multiline: true}).Required(*u.Note); err != nil {
			return r, err
		}
	}
	if u.Output != nil {
		if r.Output, err = (plan.Text{Field: field + "/output", Max: plan.MaxLongText, Multiline: true}).Clean(*u.Output); err != nil {
			return r, err
		}
	}
	if r.AffectedFiles, err = cleanLines(field+"/affected_files", u.AffectedFiles, plan.MaxPath); err != nil {
		return r, err
	}
	if len(u.Evidence) > plan.MaxEvidence {
		return r, &plan.ValidationError{Kind: plan.InvalidInput, Field: field + "/evidence",
			Problem: fmt.Sprintf("has %d entries", len(u.Evidence)), Fix: fmt.Sprintf("give at most %d", plan.MaxEvidence)}
	}
	for i, p := range u.Evidence {
		at := fmt.Sprintf("%s/evidence/%d", field, i)
		e := plan.Evidence{}
		if e.Criterion, err = (plan.Text{Field: at + "/criterion", Max: plan.MaxLongLine}).Clean(p.Criterion); err != nil {
			return r, err
		}
		if e.Note, err = (plan.Text{Field: at + "/note", Max: plan.MaxLongText, Multiline: true}).Required(p.Note); err != nil {
			return r, err
		}
		r.Evidence = append(r.Evidence, e)
	}
	return r, nil
}

// mark returns the change of status that is asked for, nil when none is. An error
// and a skip are changes of status with a reason.
func (u TaskUpdate) mark(field string) (*plan.MarkStep, error) {
	asked := 0
	mark := &plan.MarkStep{Step: plan.StepID(u.ID)}
	if u.Status != nil {
		asked++
		mark.Status = plan.StatusOfTask(string(*u.Status))
	}
	for _, reason := range []struct {
		name   string
		text   *string
		status plan.StepStatus
	}{{"error", u.Error, plan.Failed}, {"skip", u.Skip, plan.Skipped}} {
		if reason.text == nil {
			continue
		}
		asked++
		clean, err := plan.Text{Field: field + "/" + reason.name, Max: plan.MaxLongText, Multiline: true}.Required(*reason.text)
		if err != nil {
			return nil, err
		}
		mark.Status, mark.Note = reason.status, clean
	}
	switch {
	case asked == 0:
		return nil, nil
	case asked > 1:
		return nil, &plan.ValidationError{Kind: plan.InvalidInput, Field: field,
			Problem: "asks for two outcomes", Fix: "give one of status, error and skip"}
	}
	return mark, nil
}

// tasks returns the tasks to add with the ids they will get, as the gates judge them
// and as the plan takes them.
func (w wanted) tasks(state plan.State) (tasks []gates.Task, steps []plan.NewStep) {
	resolve := w.resolver(state)
	for i, t := range w.add {
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
	return tasks, steps
}

// batch returns the actions that bring the update about in a state, and the tasks
// it adds with the ids they will get.
func (w wanted) batch(state plan.State) (plan.Batch, []gates.Task, error) {
	batch := plan.Batch{Word: "update"}
	part := func(field string, a plan.Action) {
		batch.Parts = append(batch.Parts, plan.Part{Field: field, Action: a})
	}
	resolve := w.resolver(state)
	tasks, steps := w.tasks(state)
	if len(steps) > 0 {
		part("/add_tasks", plan.AddSteps{Steps: steps})
	}
	for _, u := range w.inOrder(state) {
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
		if r := u.report; r.Note != "" || r.Output != "" || len(r.AffectedFiles) > 0 || len(r.Evidence) > 0 {
			part(u.field, r)
		}
		if u.mark != nil {
			part(u.field, *u.mark)
		}
	}
	if w.verdict != nil {
		part("/verdict", *w.verdict)
	}
	if w.end {
		part("/end_mode", plan.EndMode{})
	}
	if w.summary != "" {
		part("/final_summary", plan.Close{Summary: w.summary})
	}
	return batch, tasks, nil
}

// resolver returns what a reference means: the ref of an added task, the id of a
// step, or the id an added task will get.
func (w wanted) resolver(state plan.State) func(TaskRef) (plan.StepID, bool) {
	first := highest(state) + 1
	refs := map[string]plan.StepID{}
	for i, t := range w.add {
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
			return id, int(id-first) < len(w.add)
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
			return nil, &plan.ValidationError{Kind: plan.NotFound, Field: fmt.Sprintf("%s/%d", field, i),
				Problem: plan.Quote(string(ref)) + " is no task of the plan", Fix: "name a task by its id, such as 2, or by the ref of one added here"}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// inOrder returns the updates so that a step which is reported done stands before
// those that wait for it: an agent need not know in which order they count.
func (w wanted) inOrder(state plan.State) []wantedUpdate {
	rest := slices.Clone(w.update)
	finishing := func(id plan.StepID) bool {
		return slices.ContainsFunc(rest, func(u wantedUpdate) bool {
			return u.id == id && u.mark != nil && u.mark.Status == plan.Done
		})
	}
	free := func(u wantedUpdate) bool {
		if u.mark == nil || u.mark.Status != plan.Done && u.mark.Status != plan.InProgress || state.Plan == nil {
			return true
		}
		return !slices.ContainsFunc(state.Plan.Steps.WaitingOn(u.id), func(id plan.StepID) bool { return id != u.id && finishing(id) })
	}
	var ordered []wantedUpdate
	for len(rest) > 0 {
		i := max(0, slices.IndexFunc(rest, free))
		ordered = append(ordered, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return ordered
}
