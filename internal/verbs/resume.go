package verbs

import (
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Resume is all that an agent needs to go on after its context was compacted, in
// at most 300 tokens however large the plan is.
func (s *Service) Resume(state plan.State, c Caller) string {
	now := s.view(state, c, Rules{}).now()
	data := prompts.ResumeData{Phase: string(state.PhaseNow()), NextAction: now.action().For(c), Questions: len(state.OpenQuestions())}
	if p := state.Plan; p != nil {
		data.Objective, data.Status = p.Objective, string(p.Status)
		data.Done, data.Total = p.Steps.Count(plan.Done), p.Steps.Len()
		current := now.step
		if current == nil {
			current = p.Steps.Next()
		}
		data.Current = resumed(current)
		if next := p.Steps.NextReady(); next != nil && next != current {
			data.Next = resumed(next)
		}
	}
	for _, signal := range state.OpenSignals(plan.Blocker) {
		data.Blockers = append(data.Blockers, signal.ID+": "+signal.Message)
	}
	return prompts.Resume(data)
}

func resumed(step *plan.Step) *prompts.ResumeStep {
	if step == nil {
		return nil
	}
	return &prompts.ResumeStep{ID: step.ID.String(), Title: step.Title, Hints: step.ContextHints, Paths: step.RelevantFilePaths}
}
