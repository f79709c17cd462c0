package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// RefusedPlan is what the gates refuse (planloop: API Contract, Plan Validation
// Error Response).
type RefusedPlan struct {
	Report  gates.Report
	Form    *plan.ValidationError // what is wrong with the form of the same input; nil for nothing
	Instead string                // a call with room for what is asked, as the caller makes it; "" for none
	Drafted string                // says whose plan it is where it is not the caller's; "" where it is
	Next    string                // what the caller does then
}

// RefusedPlanType is the error's word in the JSON contract.
const RefusedPlanType = "plan_validation_failed"

// Message is the contract's sentence, or another where a model made the plan.
func (e *RefusedPlan) Message() string {
	if e.Drafted != "" {
		return e.Drafted
	}
	return "The submitted plan is invalid and was rejected. You must fix the plan and resubmit."
}

// Details lists everything that is wrong.
func (e *RefusedPlan) Details() []string {
	if e.Form == nil {
		return e.Report.Details()
	}
	return append(e.Form.Details(), e.Report.Details()...)
}

// Error is the message and the details in lines.
func (e *RefusedPlan) Error() string {
	return e.Message() + "\n- " + strings.Join(e.Details(), "\n- ")
}

// check asks the gates about a candidate, and the configured model as a judge, outside
// any lock; it refuses the candidate with a *RefusedPlan. The judge's verdict joins the batch.
//
// What is wrong with the form of the input already is told along with it; the tasks are then
// those that could be read, as the input has them in list.
func (s *Service) check(ctx context.Context, c Caller, candidate gates.Candidate, list string, wrong error,
	batch *plan.Batch) (gates.Report, error) {
	if err := c.beyond(); err != nil {
		return gates.Report{}, err
	}
	form, have := besides(c.wrong, wrong), candidate.Have
	if candidate.Replaces {
		have = plan.Steps{}
	}
	s.awaitTools(ctx, toolsOf(*batch))
	unrunnable := s.unrunnable(have, *batch, candidate.New)
	if unrunnable != nil {
		form = besides(form, unrunnable)
	}
	var judge gates.Judge // an interface that holds nothing
	asked := &modelJudge{model: s.opts.Model, goal: candidate.Objective}
	if s.opts.Model != nil && form == nil {
		c.yield()
		judge = asked
	}
	report, err := s.examine(ctx, candidate, judge)
	if err != nil {
		return report, err
	}
	if unrunnable != nil { // which tells of dependencies already, and of those that are references
		report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool { return f.Field == "dependencies" })
	}
	if form != nil {
		report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool {
			return tells(form, fmt.Sprintf("%s/%d/%s", list, f.Index, f.Field), f.Gate == f.Field) // it may be all there was
		})
	}
	switch {
	case report.JudgeErr != nil && !report.OK():
		return report, unjudged(report.JudgeErr, "send the same call again later; if that does not help, tell the user")
	case !report.OK() || unrunnable != nil:
		return report, &RefusedPlan{Report: report, Form: form}
	case form != nil:
		return report, form
	}
	batch.Found = kept(report)
	asked.join(batch)
	return report, nil
}

// unjudged refuses a plan that a judge has to approve of and could not: nothing is wrong with it.
func unjudged(why error, fix string) error {
	reason := "it gave no verdict"
	if !errors.As(why, new(*BadCall)) {
		reason = plan.Shorten(safetext.Line(why.Error()), plan.MaxHint)
	}
	return plan.Refuse(plan.Conflict, "", "the model that judges plans could not be asked, so the plan is not approved, though "+
		"nothing was found against it: "+reason, fix)
}

// besides adds to what is wrong with an input what else was found, but for places that it
// tells of already. It is nil where nothing is wrong.
func besides(wrong *plan.ValidationError, more error) *plan.ValidationError {
	var refused *plan.ValidationError
	if !errors.As(more, &refused) || wrong == refused {
		return wrong
	}
	if wrong == nil {
		return refused
	}
	var all plan.Faults
	all.Add(wrong)
	for _, one := range append([]*plan.ValidationError{refused}, refused.Others...) {
		single, about := *one, one.Field
		if strings.HasPrefix(one.Problem, "is missing") || one.Problem == nothingToUpdate { // it may be what is wrong
			about = path.Dir(about)
		}
		if !tells(wrong, strings.TrimSuffix(about, "/"), true) {
			single.Others = nil
			all.Add(&single)
		}
	}
	errors.As(all.Err(), &wrong)
	return wrong
}

// tells reports whether a refusal is about a place of the input, or one around it or, where that
// counts, in it.
func tells(wrong *plan.ValidationError, field string, inside bool) bool {
	return slices.ContainsFunc(append([]*plan.ValidationError{wrong}, wrong.Others...), func(one *plan.ValidationError) bool {
		return inside && strings.HasPrefix(one.Field+"/", field+"/") || one.Field != "" && strings.HasPrefix(field+"/", one.Field+"/")
	})
}

func (s *Service) examine(ctx context.Context, candidate gates.Candidate, judge gates.Judge) (gates.Report, error) {
	files, err := s.files()
	if err != nil {
		return gates.Report{}, err
	}
	level := s.opts.Gates
	if s.opts.Unconfigured && !s.holdsFiles(files) {
		level = func(gate string) gates.Level { return gates.ByProfile(gates.Lenient, gate) }
	}
	return gates.Check(ctx, candidate, gates.Options{Files: files, Level: level, Judge: judge})
}

// holdsFiles reports whether there is a file that a task could name: one that is not hidden,
// and not the rule book, which planloop itself asks for.
func (s *Service) holdsFiles(files fs.FS) bool {
	if files == nil {
		return false
	}
	rules, holds := s.RulesOnDisk().File, false
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch hidden := name != "." && strings.HasPrefix(path.Base(name), "."); {
		case hidden && entry.IsDir():
			return fs.SkipDir
		case err == nil && !hidden && !entry.IsDir() && name != rules:
			holds = true
			return fs.SkipAll
		}
		return nil
	})
	return holds || err != nil
}

// files is the workspace as the gates see it, nil when there is none to see.
func (s *Service) files() (fs.FS, error) {
	if s.opts.Tree == nil {
		return nil, nil
	}
	return s.opts.Tree.Files()
}

// candidate is what tasks would make of the current plan.
func candidate(state plan.State, tasks []gates.Task) gates.Candidate {
	c := gates.Candidate{New: tasks}
	if state.Plan != nil {
		c.Objective, c.Have = state.Plan.Objective, state.Plan.Steps
	}
	return c
}

// warningsShown bounds the warnings a reply repeats.
const warningsShown = 10

// warnings is what was found of tasks, for whoever wrote them.
func warnings(report gates.Report) []string {
	var all []string
	for _, f := range report.Warnings() {
		all = append(all, remedied(f.Message, remedy(f)))
	}
	return firstWarnings(all)
}

func firstWarnings(all []string) []string {
	if more := len(all) - warningsShown; more > 0 {
		return append(all[:warningsShown:warningsShown], fmt.Sprintf("%d more of this kind.", more))
	}
	return all
}

func remedied(warning, fix string) string {
	if fix == "" {
		return warning
	}
	return warning + " To fix it, " + fix + "."
}

func remedy(f gates.Finding) string {
	if f.Gate == "type" {
		return f.Fix + "; until then it counts as a feature"
	}
	return f.Fix
}

// kept is what was found of a plan, for whoever decides about it; what does not fit is counted.
func kept(report gates.Report) plan.Found {
	var all []plan.GateWarning
	for _, f := range report.Warnings() {
		all = append(all, plan.GateWarning{Step: f.Step, Text: cmp.Or(f.Says, f.Message), Fix: remedy(f)})
	}
	if more := len(all) - plan.MaxList; more > 0 {
		all = append(all[:plan.MaxList-1], plan.GateWarning{Text: fmt.Sprintf("There are %d more warnings about steps.", more+1)})
	}
	return plan.Found{Score: report.Score, Warnings: all}
}

// checkSix has the gates judge steps of the planning_* tools as they join the plan of
// a state, where that is asked for: they judge ids and cycles only otherwise. list is where the
// input has the steps, and wrong what is wrong with its form; first is the call that comes
// before the one with room for all that the gates ask.
func (s *Service) checkSix(ctx context.Context, c Caller, joining plan.State, steps []plan.NewStep, list string, wrong error,
	first string) error {
	if !s.opts.GateAll || len(steps) == 0 {
		return wrong
	}
	from := candidate(joining, nil)
	id := from.Have.Highest() + 1
	for i, step := range steps {
		from.New = append(from.New, gates.Task{ID: id + plan.StepID(i), Spec: step.Spec})
	}
	_, err := s.check(ctx, c, from, list, wrong, &plan.Batch{})
	var refused *RefusedPlan
	if errors.As(err, &refused) {
		refused.roomier(c, first, func(n int) Update { return roomier(steps[:n], refused.Report) }, len(steps))
	}
	return err
}

// roomier adds to the refusal of steps that an agent gave by their titles and details the call
// that has room for the rest, with as many of them as can be shown.
func (e *RefusedPlan) roomier(c Caller, first string, update func(n int) Update, steps int) {
	if !c.brief() {
		return // a command has a flag for each field
	}
	shown := steps
	for shown > 1 && len(update(shown).call().JSON) > shownArguments {
		shown--
	}
	whole, can := c.Can(update(shown).call())
	told := gates.Finding{Gate: "strict", Level: gates.Error, Message: "Every step is judged here (gates: strict), and this tool " +
		"has no room for hints, paths and criteria: use " + c.word(Call{Act: ActUpdate}) + "."}
	if !can {
		told.Message = "Every step is judged here (gates: strict), and no tool that is offered takes hints, paths and criteria: " +
			"ask the user to offer the toolset `loop`."
	} else if e.Instead = first + whole; shown < steps {
		e.Instead += fmt.Sprintf(", and the other %d in the same form", steps-shown)
	}
	e.Report.Findings = append(e.Report.Findings, told)
}

// roomier is an update that adds steps with room for what the gates miss in them, and a
// placeholder for each thing that the caller alone knows.
func roomier(steps []plan.NewStep, report gates.Report) Update {
	var update Update
	for i, step := range steps {
		lacks := func(names ...string) bool {
			return slices.ContainsFunc(report.Findings, func(f gates.Finding) bool {
				return f.Index == i && f.Step != 0 && slices.Contains(names, f.Gate)
			})
		}
		task := NewTask{TaskFields: TaskFields{Title: &step.Title}}
		if step.Title == "" || lacks(aboutTitles()...) {
			task.Title = new(titleAsked)
		}
		if step.Details != "" {
			task.Details = &step.Details
		}
		update.AddTasks = append(update.AddTasks, task.asked(step.Title == "" || lacks("vague_outcome", "verifiable")))
	}
	return update
}

// titleAsked stands for a title that the gates refuse.
const titleAsked = "<a title as it is asked for>"

// aboutTitles lists the gates that another title satisfies, and nothing else does.
func aboutTitles() []string {
	return []string{"title", "duplicate", "single_responsibility", "oversize"}
}

// asked is a task with a placeholder for each thing that the gates ask for and it does not say.
func (t NewTask) asked(criteria bool) NewTask {
	if t.Type == nil || !slices.Contains(t.Type.Values(), string(*t.Type)) {
		t.Type = new(plan.StepType("<" + strings.Join(plan.StepType("").Values(), "|") + ">"))
	}
	if t.ContextHints == nil {
		t.ContextHints = &[]string{"<where to look first>"}
	}
	if t.RelevantFilePaths == nil {
		t.RelevantFilePaths = &[]string{"<a file it is about>"}
	}
	if criteria && t.AcceptanceCriteria == nil && t.Verify == nil {
		t.AcceptanceCriteria = &[]string{"<what has to be true>"}
	}
	return t
}

// checkEdit is checkSix for an edit, which is refused for what it makes worse.
func (s *Service) checkEdit(ctx context.Context, c Caller, state plan.State, id plan.StepID, patch plan.Patch) error {
	if !s.opts.GateAll || state.Plan == nil {
		return nil
	}
	step, ok := state.Plan.Steps.Get(id)
	if !ok {
		return nil // which is said elsewhere
	}
	judged := plannedCandidate(state.Plan)
	was, err := s.examine(ctx, judged, nil)
	if err != nil {
		return err
	}
	judged.New[state.Plan.Steps.Position(id)].Spec = patch.On(step.Spec)
	report, err := s.examine(ctx, judged, nil)
	if err != nil {
		return err
	}
	update := TaskUpdate{ID: TaskID(id), TaskFields: TaskFields{Title: patch.Title, Details: patch.Details}}
	report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool {
		return f.Step != id || slices.ContainsFunc(was.Findings, func(g gates.Finding) bool { return g.Step == id && g.Gate == f.Gate })
	})
	if report.OK() {
		return nil
	}
	for _, f := range report.Findings {
		if slices.Contains(aboutTitles(), f.Gate) {
			update.Title = new(titleAsked)
		} else {
			update.AcceptanceCriteria = &[]string{"<what has to be true>"}
		}
	}
	refused := &RefusedPlan{Report: report}
	refused.roomier(c, "", func(int) Update { return Update{UpdateTasks: []TaskUpdate{update}} }, 1)
	return refused
}

// plannedCandidate is a whole plan as it stands, to be judged again.
func plannedCandidate(p *plan.Plan) gates.Candidate {
	c := gates.Candidate{Objective: p.Objective, Replaces: true}
	for step := range p.Steps.All() {
		c.New = append(c.New, gates.Task{ID: step.ID, Spec: step.Spec})
	}
	return c
}

// there reports whether a path of the workspace exists.
func (s *Service) there(path string) bool {
	files, err := s.files()
	if err != nil || files == nil {
		return false
	}
	_, err = fs.Stat(files, path)
	return err == nil
}
