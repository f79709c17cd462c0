package verbs

import (
	"context"
	"slices"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// ImportPlan is SetUp for a plan that comes from a file. The gates look at what is
// left to do; what they find is told, and refuses the plan only where everything is
// judged: the lists of other programs know no hints and paths.
func (s *Service) ImportPlan(ctx context.Context, c Caller, a plan.SetUp) (SetupPlanReply, []string, error) {
	candidate := gates.Candidate{Objective: a.Objective, Replaces: true}
	finished := map[plan.StepID]bool{}
	for i, step := range a.Steps {
		id := plan.StepID(i + 1)
		candidate.New = append(candidate.New, gates.Task{ID: id, Spec: step.Spec})
		finished[id] = step.Status.Finished()
	}
	report, err := s.examine(ctx, candidate, nil)
	if err != nil {
		return SetupPlanReply{}, nil, err
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool { return finished[f.Step] })
	if s.opts.GateAll && !report.OK() {
		return SetupPlanReply{}, nil, &RefusedPlan{Report: report}
	}
	reply, err := s.setUp(ctx, c, a)
	return reply, found(report), err
}

// foundShown bounds what is told of an imported plan.
const foundShown = 5

func found(report gates.Report) []string {
	var told []string
	for _, f := range report.Findings[:min(len(report.Findings), foundShown)] {
		told = append(told, f.Message)
	}
	if more := len(report.Findings) - len(told); more > 0 {
		told = append(told, "The quality gates found "+count(more, "more thing", "more things")+" of this kind.")
	}
	return told
}
