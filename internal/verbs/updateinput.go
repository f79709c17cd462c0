package verbs

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// updateInput is a well-formed update. Its references are resolved against the plan later, and plan.Decide checks the
// rest.
type updateInput struct {
	add     []taskInput
	update  []taskChange
	facts   []plan.Part // constraints, and findings, which an approved plan takes at once
	summary *string
	verdict *plan.Judge
	end     bool
	drop    bool // the proposal

	replan   *plan.Replan
	replanAt string // its JSON pointer
}

type taskInput struct {
	ref    string
	place  Place
	mark   plan.StepStatus // may be ""
	spec   plan.Spec
	deps   []TaskRef
	splits plan.StepID
}

func (t taskInput) status() plan.StepStatus { return t.mark }

type taskChange struct {
	field  string
	id     plan.StepID
	patch  plan.Patch
	deps   *[]TaskRef
	place  Place
	report plan.ReportStep
	mark   *plan.MarkStep
}

// read checks the form of an update, and returns all errors.
func (in Update) read() (updateInput, error) {
	isEmpty := len(in.AddTasks)+len(in.UpdateTasks)+len(in.Constraints)+len(in.Findings) == 0 && in.Verdict == nil &&
		in.Replan == nil && !in.EndMode && !in.Withdraw
	if !isEmpty && strings.TrimSpace(given(in.FinalSummary)) == "" {
		in.FinalSummary = nil
	}
	out := updateInput{summary: in.FinalSummary, end: in.EndMode, drop: in.Withdraw}
	if isEmpty && in.FinalSummary == nil {
		nothing := &plan.ValidationError{Kind: plan.InvalidInput, Problem: "there is nothing to update",
			Fix: "give add_tasks, update_tasks, constraints, findings, final_summary, verdict, replan, end_mode or withdraw"}
		report := strict.Corrected(&Update{UpdateTasks: []TaskUpdate{{}}},
			map[string]string{"/update_tasks/0/id": "", "/update_tasks/0/status": "", "/update_tasks/0/note": ""})
		return out, &BadCall{ValidationError: nothing, Mended: string(report)}
	}
	var faults plan.Faults
	if in.Replan != nil {
		out.replanAt = "/replan"
		out.replan = in.Replan.action(&faults, out.replanAt)
	}
	if lines := cleanedLines(&faults, "/constraints", in.Constraints, plan.MaxLongLine); len(lines) > 0 {
		out.facts = append(out.facts, plan.Part{Action: plan.AddContext{Constraints: lines}})
	}
	if notes := cleaned(&faults, plan.Text{Field: "/findings", Max: plan.MaxLongText, Multiline: true}, in.notes()); notes != "" {
		out.facts = append(out.facts, plan.Part{Action: plan.AddContext{Findings: notes}})
	}
	faults.Add(notBlank("/final_summary", in.FinalSummary))
	out.read(&faults, in.AddTasks, in.UpdateTasks)
	if v := in.Verdict; v != nil {
		out.verdict = &plan.Judge{Approved: v.Approved, Feedback: v.Feedback, Way: plan.WayAgent}
	}
	return out, faults.Err()
}

// read checks the form of added tasks and of reports.
func (in *updateInput) read(faults *plan.Faults, add []NewTask, update []TaskUpdate) {
	in.add = readTasks(faults, "/add_tasks", add)
	done, last := map[plan.StepID]bool{}, map[plan.StepID]taskChange{}
	for i, u := range update {
		change := u.read(faults, fmt.Sprintf("/update_tasks/%d", i))
		if in.update = append(in.update, change); change.mark == nil {
			continue
		}
		last[change.id], done[change.id] = change, done[change.id] || change.mark.Status == plan.Done
	}
	for id, change := range last {
		if done[id] && change.mark.Status != plan.Done {
			faults.Add(plan.Refuse(plan.Conflict, change.field+"/status", "contradicts the status done above for "+id.String(),
				"give each step one status"))
		}
	}
}

func readTasks(faults *plan.Faults, field string, in []NewTask) []taskInput {
	refs := map[string]bool{}
	var tasks []taskInput
	for i, t := range in {
		if id, is := looksLikeID(given(t.Ref)); is && field == "/steps" && int(id) == i+1 {
			t.Ref = nil // the id that it gets in a new plan
		}
		tasks = append(tasks, t.read(faults, fmt.Sprintf("%s/%d", field, i), refs))
	}
	return tasks
}

// looksLikeID reports whether a ref is a step id or its end, and so no name of its own, as step_1 is.
func looksLikeID(ref string) (plan.StepID, bool) {
	id, err := plan.ParseStepID(ref)
	return id, err == nil && strings.HasSuffix(id.String(), strings.ToUpper(ref))
}

// notBlank refuses a text that is given but blank.
func notBlank(field string, text *string) error {
	if text == nil {
		return nil
	}
	_, err := plan.Text{Field: field, Max: plan.MaxLongText, Multiline: true}.Required(*text)
	return err
}

func (t NewTask) read(faults *plan.Faults, field string, refs map[string]bool) taskInput {
	kind := t.Type
	t.Type = nil // for the gates to judge
	patch, err := t.patch(field)
	faults.Add(err)
	task := taskInput{spec: patch.Apply(plan.Spec{}), place: t.Place, splits: plan.StepID(given(t.Splits)), deps: given(t.Dependencies)}
	task.spec.Type = given(kind)
	task.mark = plan.ReadStatus(string(given(t.Status)))
	if t.Ref == nil {
		return task
	}
	field += "/ref"
	task.ref = required(faults, plan.Text{Field: field, Max: plan.MaxHint}, *t.Ref)
	if _, is := looksLikeID(task.ref); is {
		faults.Add(plan.Refuse(plan.InvalidInput, field, "looks like a step id", "give a name, such as schema"))
	}
	if task.ref != "" && refs[task.ref] {
		faults.Add(plan.Refuse(plan.InvalidInput, field, plan.Quote(task.ref)+" is the ref of another task", "give each its own"))
	}
	refs[task.ref] = true
	return task
}

func (u TaskUpdate) read(faults *plan.Faults, field string) taskChange {
	change := taskChange{field: field, id: plan.StepID(u.ID), deps: u.Dependencies, place: u.Place}
	var err error
	change.patch, err = u.patch(field)
	faults.Add(err)
	change.report = u.report(faults, field)
	change.mark = u.mark(faults, field)
	if err == nil && change.mark == nil && change.patch.IsZero() && change.deps == nil && change.place == (Place{}) && !change.reports() {
		faults.Add(plan.Refuse(plan.InvalidInput, field+"/status", "is missing, and nothing else is reported or edited",
			"give a status, a note, error, skip, output, evidence or a field to edit"))
	}
	if mark := change.mark; mark != nil && mark.Note == "" { // one record of the note, with the mark
		mark.Note, change.report.Note = change.report.Note, ""
		// The contract's CANCELLED needs no reason.
		name := map[plan.StepStatus]string{plan.Failed: "error", plan.Skipped: "skip"}[mark.Status]
		if name != "" && strings.TrimSpace(mark.Note) == "" {
			faults.Add(plan.Refuse(plan.InvalidInput, field+"/"+name, "is missing, and "+plan.Quote(string(mark.Status))+" wants a reason",
				"say why"))
		}
	}
	return change
}

// reports tells whether the update reports anything except the status.
func (c taskChange) reports() bool {
	r := c.report
	return r.Note != "" || r.Output != "" || len(r.AffectedFiles) > 0 || len(r.Evidence) > 0
}

// report returns the report except the status.
func (u TaskUpdate) report(faults *plan.Faults, field string) plan.ReportStep {
	r := plan.ReportStep{Step: plan.StepID(u.ID)}
	faults.Add(notBlank(field+"/note", u.Note))
	r.Note, r.Output = given(u.Note), strings.TrimSpace(given(u.Output))
	r.AffectedFiles = cleanedLines(faults, field+"/affected_files", gates.SplitPaths(u.AffectedFiles), plan.MaxPath)
	if len(u.Evidence) > plan.MaxEvidence {
		faults.Add(plan.Refuse(plan.InvalidInput, field+"/evidence", fmt.Sprintf("has %d entries", len(u.Evidence)),
			fmt.Sprintf("give at most %d", plan.MaxEvidence)))
	}
	for i, p := range u.Evidence {
		faults.Add(notBlank(fmt.Sprintf("%s/evidence/%d/note", field, i), &p.Note))
		r.Evidence = append(r.Evidence, plan.Evidence{Criterion: p.Criterion, Note: p.Note})
	}
	return r
}

// mark returns the requested change of status, or nil. An error and a skip are changes of status with a
// reason; next to a status, a blank one is ignored.
func (u TaskUpdate) mark(faults *plan.Faults, field string) *plan.MarkStep {
	mark := &plan.MarkStep{Step: plan.StepID(u.ID), Status: plan.ReadStatus(string(given(u.Status)))}
	for _, reason := range []struct {
		status plan.StepStatus
		text   *string
		field  string
	}{{plan.Failed, u.Error, "/error"}, {plan.Skipped, u.Skip, "/skip"}} {
		if reason.text == nil || mark.Status != "" && strings.TrimSpace(*reason.text) == "" {
			continue
		}
		faults.Add(notBlank(field+reason.field, reason.text))
		switch {
		case mark.Status == "", mark.Status == reason.status:
			mark.Status = reason.status
		case mark.Status == plan.Cancelled && reason.status == plan.Skipped:
		default:
			faults.Add(plan.Refuse(plan.InvalidInput, field, "asks for two outcomes", "give one of status, error and skip"))
		}
		mark.Note = *reason.text
	}
	if mark.Status == "" {
		return nil
	}
	return mark
}

// batch returns the actions of the update in a state, and the tasks it adds with their future ids.
func (in updateInput) batch(state plan.State, faults *plan.Faults) (plan.Batch, []gates.Task) {
	batch := plan.Batch{Word: "update"}
	part := func(field string, a plan.Action) {
		batch.Parts = append(batch.Parts, plan.Part{Field: field, Action: a})
	}
	known := referencesIn(state, in.add)
	known.refuseFutureIDsOf(faults, "/add_tasks", in.add)
	steps, tasks := newStepsOf(state, in.add)
	if in.drop {
		part("/withdraw", plan.WithdrawProposal{})
	}
	if in.replan != nil {
		part(in.replanAt, *in.replan)
	}
	batch.Parts = append(batch.Parts, in.facts...)
	if len(steps) > 0 {
		part("/add_tasks", plan.AddSteps{Steps: steps, AllowCompleted: true})
	}
	move := func(field string, id plan.StepID, to Place) {
		if after, moves := known.place(faults, field, to); moves {
			part(field, plan.MoveStep{Step: id, After: after})
		}
	}
	for i, t := range in.add {
		move(fmt.Sprintf("/add_tasks/%d", i), tasks[i].ID, t.place)
	}
	batch.Parts = append(batch.Parts, marks("/add_tasks", known.first, in.add)...)
	for _, u := range in.inOrder(state) {
		var deps []TaskRef
		if u.deps != nil {
			deps, u.patch.DependsOn = *u.deps, new(known.resolveAll(faults, u.field+"/dependencies", *u.deps))
		}
		known.refuseFutureIDs(faults, u.field, deps, u.patch.Apply(plan.Spec{}))
		u.patch = plan.NewPatch(u.patch.Apply(plan.Spec{}).LinkReferences(known.find), u.patch.Fields())
		if !u.patch.IsZero() {
			part(u.field, plan.UpdateStep{Step: u.id, Patch: u.patch, AllowCompleted: true})
		}
		move(u.field, u.id, u.place)
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
	return batch, tasks
}

// newStepsOf returns the steps for tasks in a state, and the tasks for the gates, with their future ids.
func newStepsOf(state plan.State, in []taskInput) ([]plan.NewStep, []gates.Task) {
	known := referencesIn(state, in)
	var steps []plan.NewStep
	var tasks []gates.Task
	for i, t := range in {
		task := gates.Task{ID: known.first + plan.StepID(i), Spec: t.spec}
		for _, ref := range known.split(t.deps) {
			ref = TaskRef(strings.TrimPrefix(string(ref), "+")) // {"add":["S001"]}
			if id, ok := known.resolve(ref); ok {
				task.DependsOn = append(task.DependsOn, id)
			} else {
				task.Unknown = append(task.Unknown, string(ref))
			}
		}
		task.Spec = task.LinkReferences(known.find)
		tasks = append(tasks, task)
		step := plan.NewStep{Spec: task.Spec, Splits: t.splits, Name: t.ref}
		if !slices.Contains(step.Type.Values(), string(step.Type)) { // if the gates accepted it
			step.Type = plan.Feature
		}
		steps = append(steps, step)
	}
	return steps, tasks
}

// references resolves references to tasks: refs and future ids of added tasks, ids of steps, and titles.
type references struct {
	state  plan.State
	refs   map[string]plan.StepID
	titles func() map[string][]plan.StepID // by folded title
	first  plan.StepID                     // future id of the first added task
	added  int
}

func referencesIn(state plan.State, added []taskInput) references {
	r := references{state: state, refs: map[string]plan.StepID{}, first: highest(state) + 1, added: len(added)}
	for i, t := range added {
		if t.ref != "" {
			r.refs[t.ref] = r.first + plan.StepID(i)
		}
	}
	r.titles = sync.OnceValue(func() map[string][]plan.StepID {
		titles := map[string][]plan.StepID{}
		for step := range currentSteps(state).All() {
			titles[plan.FoldTitle(step.Title)] = append(titles[plan.FoldTitle(step.Title)], step.ID)
		}
		for i, t := range added {
			key := plan.FoldTitle(t.spec.Title)
			titles[key] = append(titles[key], r.first+plan.StepID(i))
		}
		return titles
	})
	return r
}

// titled returns the only task with that title.
func (r references) titled(title string) (plan.StepID, bool) {
	ids := r.titles()[plan.FoldTitle(title)]
	return append(ids, 0)[0], len(ids) == 1
}

// split replaces each reference that names several tasks, such as "S001, S002", by one for each.
func (r references) split(refs []TaskRef) (all []TaskRef) {
	for _, ref := range refs {
		names := safetext.SplitList(string(ref))
		if _, known := r.resolve(ref); known || len(names) < 2 {
			names = []string{string(ref)}
		}
		for _, name := range names {
			all = append(all, TaskRef(name))
		}
	}
	return all
}

// find returns the future id of the added task with that ref.
func (r references) find(ref string) (plan.StepID, bool) {
	id, ok := r.refs[strings.TrimSpace(ref)]
	return id, ok
}

func (r references) resolve(ref TaskRef) (plan.StepID, bool) {
	if id, ok := r.find(string(ref)); ok {
		return id, true
	}
	id, err := plan.ParseStepID(string(ref))
	switch {
	case err != nil:
		return r.titled(string(ref))
	case id >= r.first:
		return id, int(id-r.first) < r.added
	}
	_, known := currentSteps(r.state).Get(id)
	return id, known
}

// place returns the step that a place follows, 0 for the first place; false if the step stays where it is.
func (r references) place(faults *plan.Faults, field string, to Place) (plan.StepID, bool) {
	steps, at := currentSteps(r.state), given(to.Position)
	switch {
	case to.After != nil:
		id, found := r.resolve(*to.After)
		if !found && !slices.Contains([]TaskRef{"0", "first", "start"}, *to.After) {
			faults.Add(plan.Refuse(plan.NotFound, field+"/after", plan.Quote(string(*to.After))+" is not a task of the plan",
				"name a task by its id, such as 2, by the ref of one added here, or 0 for the first place"))
		}
		return id, true
	case to.Position == nil, at < 0, at > steps.Len():
		return 0, false
	case at <= 1:
		return 0, true
	}
	return steps.At(at - 2).ID, true
}

func (r references) resolveAll(faults *plan.Faults, field string, refs []TaskRef) []plan.StepID {
	ids := []plan.StepID{}
	for i, ref := range r.split(refs) {
		id, ok := r.resolve(ref)
		if !ok {
			faults.Add(plan.Refuse(plan.NotFound, fmt.Sprintf("%s/%d", field, i), plan.Quote(string(ref))+" is not a task of the plan",
				"name a task by its id, such as 2, or by the ref of one added here"))
		}
		ids = append(ids, id)
	}
	return ids
}

// refuseFutureIDs refuses the future ids of added tasks while a run is open, because the run may give those ids to
// instances of a loop first. It checks dependencies, and the references in a specification.
func (r references) refuseFutureIDs(faults *plan.Faults, field string, deps []TaskRef, spec plan.Spec) {
	refuse := func(field string, ref TaskRef) {
		_, isRef := r.find(string(ref))
		if id, err := plan.ParseStepID(string(ref)); err == nil && id >= r.first && int(id-r.first) < r.added && !isRef {
			faults.Add(plan.Refuse(plan.InvalidInput, field, "task "+plan.Quote(string(ref))+
				" does not exist yet, and the open run may give that id to another task", "give the task a ref and name that"))
		}
	}
	if r.state.OpenRun() == nil {
		return
	}
	for i, dep := range r.split(deps) {
		refuse(fmt.Sprintf("%s/dependencies/%d", field, i), dep)
	}
	for _, ref := range spec.References() {
		refuse(field+ref.Pointer, TaskRef(ref.Name()))
	}
}

func (r references) refuseFutureIDsOf(faults *plan.Faults, field string, tasks []taskInput) {
	for i, t := range tasks {
		r.refuseFutureIDs(faults, fmt.Sprintf("%s/%d", field, i), t.deps, t.spec)
	}
}

// inOrder moves an update that reports a step done before the updates of steps that wait for it, so that agents need
// not order them.
func (in updateInput) inOrder(state plan.State) []taskChange {
	upToDone := map[plan.StepID][]int{} // the updates of a step until it is done, the last first
	for i, u := range slices.Backward(in.update) {
		if upToDone[u.id] != nil || u.mark != nil && u.mark.Status == plan.Done {
			upToDone[u.id] = append(upToDone[u.id], i)
		}
	}
	ordered, taken := make([]taskChange, 0, len(in.update)), make([]bool, len(in.update))
	var take func(int)
	take = func(i int) {
		if taken[i] {
			return
		}
		taken[i] = true
		if u := in.update[i]; u.mark != nil && (u.mark.Status == plan.Done || u.mark.Status == plan.InProgress) {
			for _, id := range currentSteps(state).UnmetDependencies(u.id) {
				before := upToDone[id]
				delete(upToDone, id)
				for _, i := range slices.Backward(before) {
					take(i)
				}
			}
		}
		ordered = append(ordered, in.update[i])
	}
	for i := range in.update {
		take(i)
	}
	return ordered
}
