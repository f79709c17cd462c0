package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// RefusedPlan is what the gates refuse (planloop: API Contract, Plan Validation
// Error Response).
type RefusedPlan struct {
	Report gates.Report
}

// RefusedPlanType is the error's word in the JSON contract.
const RefusedPlanType = "plan_validation_failed"

// Message is the contract's sentence.
func (*RefusedPlan) Message() string {
	return "The submitted plan is invalid and was rejected. You must fix the plan and resubmit."
}

// Details lists everything that is wrong.
func (e *RefusedPlan) Details() []string { return e.Report.Details() }

// Error is the message and the details in lines.
func (e *RefusedPlan) Error() string {
	return e.Message() + "\n- " + strings.Join(e.Details(), "\n- ")
}

// check asks the gates about a candidate, and the configured model as a judge, outside
// any lock; it refuses the candidate with a *RefusedPlan. Without a configured model no
// judge is asked: what a host offers is paid for by its user. The judge's verdict joins the batch.
func (s *Service) check(ctx context.Context, c Caller, candidate gates.Candidate, batch *plan.Batch) (gates.Report, error) {
	var judge gates.Judge // an interface that holds nothing
	asked := &modelJudge{model: s.opts.Model, goal: candidate.Objective}
	if s.opts.Model != nil {
		c.yield()
		judge = asked
	}
	report, err := s.examine(ctx, candidate, judge)
	if err == nil && !report.OK() {
		err = &RefusedPlan{Report: report}
	}
	asked.join(batch)
	return report, err
}

func (s *Service) examine(ctx context.Context, candidate gates.Candidate, judge gates.Judge) (gates.Report, error) {
	files, err := s.files()
	if err != nil {
		return gates.Report{}, err
	}
	return gates.Check(ctx, candidate, gates.Options{Files: files, Level: s.opts.Gates, Judge: judge})
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

func warnings(report gates.Report) []string {
	all := report.Warnings()
	var shown []string
	for _, f := range all[:min(len(all), warningsShown)] {
		text := f.Message
		if f.Fix != "" {
			text += " To fix it, " + f.Fix + "."
		}
		shown = append(shown, text)
	}
	if more := len(all) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more of this kind.", more))
	}
	return shown
}

// checkSix has the gates judge steps of the planning_* tools as they join the plan of
// a state, where that is asked for: they judge ids and cycles only otherwise.
func (s *Service) checkSix(ctx context.Context, c Caller, joining plan.State, steps []plan.NewStep) error {
	if !s.opts.GateAll || len(steps) == 0 {
		return nil
	}
	from := candidate(joining, nil)
	first := from.Have.Highest() + 1
	for i, step := range steps {
		from.New = append(from.New, gates.Task{ID: first + plan.StepID(i), Spec: step.Spec})
	}
	_, err := s.check(ctx, c, from, &plan.Batch{})
	var refused *RefusedPlan
	if errors.As(err, &refused) && c.brief() {
		refused.Report.Findings = append(refused.Report.Findings, gates.Finding{Gate: "strict", Level: gates.Error,
			Message: "All tasks are judged here (gates: strict), and steps given this way have no hints and paths; use " +
				c.word(addTasks("")) + "."})
	}
	return err
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
