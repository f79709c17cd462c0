package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// suggestionsJSON is a model's answer (planloop: P-3).
type suggestionsJSON struct {
	Suggestions []Suggestion `json:"suggestions"`
}

// refine has a model look at what was found and at the tree. What it answers is
// cleaned like any input; a suggestion that names a file which is not there is
// dropped.
func (s *Service) refine(ctx context.Context, model Model, state plan.State, focus string, found []Suggestion) ([]Suggestion, error) {
	answer, err := model.Ask(ctx, prompts.SuggestTasks(s.suggestData(ctx, state, focus, found)))
	if err != nil {
		return nil, err
	}
	var given suggestionsJSON
	if err := Decode(answer, &given); err != nil {
		return nil, err
	}
	var kept []Suggestion
	for _, suggestion := range given.Suggestions[:min(len(given.Suggestions), maxSuggestions)] {
		if clean, ok := s.cleanSuggestion(suggestion); ok {
			kept = append(kept, clean)
		}
	}
	return kept, nil
}

func (s *Service) cleanSuggestion(in Suggestion) (Suggestion, bool) {
	fields := TaskFields{Title: &in.Title, ContextHints: &in.ContextHints, RelevantFilePaths: &in.RelevantFilePaths}
	if in.Type != "" {
		fields.Type = &in.Type
	}
	patch, err := fields.patch("")
	if err != nil {
		return Suggestion{}, false
	}
	reason, err := plan.Text{Max: plan.MaxLongLine, Multiline: true}.Clean(in.Reason)
	if err != nil {
		return Suggestion{}, false
	}
	spec := patch.On(plan.Spec{})
	if s.opts.Tree != nil {
		for _, path := range spec.RelevantFilePaths {
			if !s.there(path) {
				return Suggestion{}, false
			}
		}
	}
	return Suggestion{Title: spec.Title, Type: spec.Type, ContextHints: spec.ContextHints, RelevantFilePaths: spec.RelevantFilePaths, Reason: oneLine(reason)}, true
}

// suggestData is what the prompt suggest_tasks tells.
func (s *Service) suggestData(ctx context.Context, state plan.State, focus string, found []Suggestion) prompts.SuggestData {
	data := prompts.SuggestData{Focus: focus}
	if p := state.Plan; p != nil {
		data.Goal = p.Objective
		for step := range p.Steps.All() {
			data.Tasks = append(data.Tasks, step.Title)
		}
	}
	for _, f := range found {
		data.Marks = append(data.Marks, f.Title)
	}
	if s.opts.Tree != nil {
		if tree, err := s.opts.Tree.Summary(ctx); err == nil { // what cannot be read is not shown
			data.Tree = tree
		}
	}
	return data
}
