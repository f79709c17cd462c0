package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// RefusedPlan is the error of a plan that the gates refuse (planloop: API Contract, Plan Validation Error
// Response).
type RefusedPlan struct {
	Report  gates.Report
	Form    *plan.ValidationError // errors in the form of the same input; nil if it has none
	Instead string                // a call with placeholders for the missing fields, in the caller's form; or ""
	Drafted string                // message for a plan that the caller did not write; else ""
	Next    string                // the caller's next action
	Mended  string                // the arguments with placeholders for the fields that the gates refuse; ""  if too long
}

// mend sets the corrected arguments, made from the JSON of an input.
func (e *RefusedPlan) mend(arguments []byte, input any) {
	list, texts := "/steps", map[string]string{}
	switch update, _ := input.(*Update); input.(type) {
	case *AddStep, *SetupPlan, *UpdateStep:
		return // they do not take the fields
	case *Update:
		if list = "/add_tasks"; len(update.AddTasks) == 0 {
			list = "/update_tasks"
		}
	}
	for _, f := range e.Report.Findings {
		field := f.Field
		if f.Gate == "vague_outcome" || f.Gate == "verifiable" {
			field = "acceptance_criteria"
		}
		if f.Step != 0 && field != "" && f.Level == gates.Error {
			texts[fmt.Sprintf("%s/%d/%s", list, f.Index, field)] = ""
		}
	}
	if e.Form != nil {
		maps.Copy(texts, suggestions(e.Form.All()))
	}
	if all := strict.Completed(arguments, input, texts); len(all) <= strict.ShownInput {
		e.Mended = strict.Brief(all)
	}
}

// RefusedPlanType is the error's name in the JSON contract.
const RefusedPlanType = "plan_validation_failed"

// Message returns the contract's sentence, or Drafted.
func (e *RefusedPlan) Message() string {
	return cmp.Or(e.Drafted, "The submitted plan is invalid and was rejected. You must fix the plan and resubmit.")
}

// Details lists all problems.
func (e *RefusedPlan) Details() []string {
	if e.Form == nil {
		return e.Report.Details()
	}
	return append(e.Form.Details(), e.Report.Details()...)
}

// Error returns the message and the details, one per line.
func (e *RefusedPlan) Error() string {
	return e.Message() + "\n- " + strings.Join(e.Details(), "\n- ")
}

// check asks the gates about a candidate, and the configured model as a judge, outside any lock. It refuses the
// candidate with a *RefusedPlan, else it adds the judge's verdict to the batch.
//
// wrong holds errors already found in the form of the input, which are reported as well. The tasks are then those
// that could be read, in the order of the input's list.
func (s *Service) check(ctx context.Context, c Caller, candidate gates.Candidate, list string, wrong error,
	batch *plan.Batch) (gates.Report, error) {
	if err := c.beyond(); err != nil {
		return gates.Report{}, err
	}
	form, have := mergeErrors(c.wrong, wrong), candidate.Have
	if candidate.Replaces {
		have = plan.Steps{}
	}
	s.awaitTools(ctx, toolsOf(*batch))
	unrunnable := s.checkRunnable(have, *batch, candidate.New)
	if unrunnable != nil {
		form = mergeErrors(form, unrunnable)
	}
	var judge gates.Judge // stays nil if no model is asked
	asked := &modelJudge{model: s.opts.Model, goal: candidate.Objective}
	if s.opts.Model != nil && form == nil {
		c.yield()
		judge = asked
	}
	report, err := s.examine(ctx, candidate, judge)
	if err != nil {
		return report, err
	}
	if unrunnable != nil { // which already reports wrong dependencies, also through references
		report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool { return f.Field == "dependencies" })
	}
	if form != nil {
		report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool {
			return isCovered(form, fmt.Sprintf("%s/%d/%s", list, f.Index, f.Field), f.Gate == f.Field) // it may follow from the error
		})
	}
	switch {
	case report.JudgeErr != nil && !report.OK():
		return report, judgeFailure(report.JudgeErr, "repeat the call later; if it fails again, tell the user")
	case !report.OK() || unrunnable != nil:
		return report, &RefusedPlan{Report: report, Form: form}
	case form != nil:
		return report, form
	}
	batch.Findings = findingsOf(report)
	asked.join(batch)
	return report, nil
}

// judgeFailure refuses a plan that a judge must approve and could not. The plan itself may be fine.
func judgeFailure(why error, fix string) error {
	reason := "no verdict"
	if !errors.As(why, new(*BadCall)) {
		reason = plan.Shorten(safetext.Line(why.Error()), plan.MaxHint)
	}
	return plan.Refuse(plan.Conflict, "",
		"the judge model did not answer ("+reason+"), so the plan is not approved; the other checks passed", fix)
}

// mergeErrors adds further errors to the errors of an input, without those for a field already reported, and without a problem
// of the whole plan that another reader of the input has reported under its own field names. It returns nil if neither has errors.
func mergeErrors(wrong *plan.ValidationError, more error) *plan.ValidationError {
	refused, ok := errors.AsType[*plan.ValidationError](more)
	if !ok || wrong == refused {
		return wrong
	}
	if wrong == nil {
		return refused
	}
	var all plan.Faults
	all.Add(wrong)
	for _, one := range refused.All() {
		about := one.Field
		if strings.HasPrefix(one.Problem, "is missing") || one.Problem == nothingToUpdate { // the reported error may have caused it
			about = path.Dir(about)
		}
		isSame := func(other *plan.ValidationError) bool { return one.IsProblemFirst && one.Problem == other.Problem }
		if !isCovered(wrong, strings.TrimSuffix(about, "/"), true) && !slices.ContainsFunc(wrong.All(), isSame) {
			all.Add(one)
		}
	}
	errors.As(all.Err(), &wrong)
	return wrong
}

// isCovered reports whether a refusal covers a field of the input: that field, one around it or, with inside, one in
// it.
func isCovered(wrong *plan.ValidationError, field string, inside bool) bool {
	return slices.ContainsFunc(wrong.All(), func(one *plan.ValidationError) bool {
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
	return gates.Check(ctx, candidate, gates.Options{Files: files, Commands: s.opts.Commands, Level: level, Judge: judge})
}

// holdsFiles reports whether the workspace has a file that a task could name: not hidden, and not the rule book,
// which planloop itself asks for.
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

// files returns the workspace's files for the gates; nil if they cannot be seen.
func (s *Service) files() (fs.FS, error) {
	if s.opts.Tree == nil {
		return nil, nil
	}
	return s.opts.Tree.Files()
}

func candidate(state plan.State, tasks []gates.Task) gates.Candidate {
	c := gates.Candidate{New: tasks, Have: currentSteps(state)}
	if state.Plan != nil {
		c.Objective = state.Plan.Objective
	}
	return c
}

// warningsShown limits the warnings in a reply.
const warningsShown = 10

func warnings(report gates.Report) []string {
	var all []string
	for _, f := range report.Warnings() {
		all = append(all, remedied(f.Message, remedy(f)))
	}
	return firstWarnings(all)
}

func warningLines(warnings []string) string { return prefixedAll("\nWarning: ", warnings) }

func firstWarnings(all []string) []string {
	return firstOf(all, warningsShown, "%d more of this kind.")
}

// firstOf returns the first n texts, and how many more there are in the words of the format rest.
func firstOf(all []string, n int, rest string) []string {
	if more := len(all) - n; more > 0 {
		return append(all[:n:n], fmt.Sprintf(rest, more))
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
		return f.Fix + "; until then its type is feature"
	}
	return f.Fix
}

// findingsOf returns the warnings for the plan's approver. Those that do not fit are counted.
func findingsOf(report gates.Report) plan.GateFindings {
	var all []plan.GateWarning
	for _, f := range report.Warnings() {
		all = append(all, plan.GateWarning{Gate: f.Gate, Step: f.Step, Text: cmp.Or(f.Says, f.Message), Fix: remedy(f)})
	}
	if more := len(all) - plan.MaxList; more > 0 {
		all = append(all[:plan.MaxList-1], plan.GateWarning{Text: fmt.Sprintf("There are %d more warnings about steps.", more+1)})
	}
	return plan.GateFindings{Score: report.Score, Warnings: all}
}

// checkIfStrict has the gates judge steps of the planning_* tools as part of a plan, if configured: by default these
// tools check only ids and cycles. list is the JSON pointer of the steps in the input, wrong the errors in its
// form, and first the call to make before the one that RefusedPlan suggests.
func (s *Service) checkIfStrict(ctx context.Context, c Caller, joining plan.State, steps []plan.NewStep, list string, wrong error,
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
	if refused, ok := errors.AsType[*RefusedPlan](err); ok {
		refused.roomier(c, first, tasksOf(steps))
	}
	return err
}

// roomier adds to a refusal of steps with only titles and details an update with fields for the rest, for as many as fit.
func (e *RefusedPlan) roomier(c Caller, first string, update Update) {
	if !c.brief() {
		return // commands have a flag for each field
	}
	steps := len(update.AddTasks)
	for e.mend([]byte(object(update)), &update); e.Mended == "" && len(update.AddTasks) > 1; e.mend([]byte(object(update)), &update) {
		update.AddTasks = update.AddTasks[:len(update.AddTasks)/2]
	}
	whole, can := c.Can(Call{Kind: CallUpdate, JSON: e.Mended})
	told := gates.Finding{Gate: "strict", Level: gates.Error, Message: "This workspace checks every step (gates: strict), and this tool " +
		"does not take hints, paths and criteria: use " + c.word(Call{Kind: CallUpdate}) + "."}
	if !can {
		told.Message = "This workspace checks every step (gates: strict), and no tool offered here takes hints, paths and criteria: " +
			"ask the user to enable the toolset `loop`."
	} else if e.Instead = first + whole; len(update.AddTasks) < steps {
		e.Instead += fmt.Sprintf(", then the other %d in the same form", steps-len(update.AddTasks))
	}
	e.Report.Findings = append(e.Report.Findings, told)
}

// tasksOf returns an update that adds steps with titles and details.
func tasksOf(steps []plan.NewStep) (update Update) {
	for _, step := range steps {
		task := NewTask{TaskFields: TaskFields{Title: &step.Title}}
		if step.Details != "" {
			task.Details = &step.Details
		}
		update.AddTasks = append(update.AddTasks, task)
	}
	return update
}

// checkEdit is checkIfStrict for an edit. It refuses only findings that the edit causes.
func (s *Service) checkEdit(ctx context.Context, c Caller, state plan.State, id plan.StepID, patch plan.Patch) error {
	if !s.opts.GateAll || state.Plan == nil {
		return nil
	}
	step, ok := state.Plan.Steps.Get(id)
	if !ok {
		return nil // reported elsewhere
	}
	judged := plannedCandidate(state.Plan)
	was, err := s.examine(ctx, judged, nil)
	if err != nil {
		return err
	}
	judged.New[state.Plan.Steps.Position(id)].Spec = patch.Apply(step.Spec)
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
	for i := range report.Findings {
		report.Findings[i].Index = 0
	}
	refused := &RefusedPlan{Report: report}
	refused.roomier(c, "", Update{UpdateTasks: []TaskUpdate{update}})
	return refused
}

func plannedCandidate(p *plan.Plan) gates.Candidate {
	c := gates.Candidate{Objective: p.Objective, Replaces: true}
	for step := range p.Steps.All() {
		c.New = append(c.New, gates.Task{ID: step.ID, Spec: step.Spec})
	}
	return c
}
