package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// parseRawko reads a plan file of rawko. Every step becomes critical: there a
// failure asks for a new plan.
func parseRawko(text []byte) (*source, error) {
	data, err := jsonOfYAML(text)
	if err != nil {
		return nil, err
	}
	keys := jsonKeys(data)
	if keys == nil {
		return nil, refuse("", "the text holds no plan", "give an object with a task and steps")
	}
	if keys["planId"] && !keys["steps"] {
		return nil, refuse("/planId", "this names a plan and does not hold it", "import the plan's own file below plans/")
	}
	var r rawkoPlan
	if err := json.Unmarshal(data, &r, scalarsAsText()); err != nil {
		return nil, decodeError("", err)
	}
	return r.source()
}

func (r *rawkoPlan) source() (*source, error) {
	if err := plan.OneOf("/status", r.Status); err != nil {
		return nil, err
	}
	s := &source{
		outline: plan.Outline{Objective: r.Task, Metadata: plan.Metadata{
			Complexity: r.Metadata.Complexity, Tags: r.Metadata.Tags, Constraints: r.Metadata.Constraints, InformedBy: r.Metadata.InformedByMemories,
		}},
		draft: r.Status == "draft",
		call:  func(id plan.StepID) string { return fmt.Sprintf("index %d", int(id)-1) },
		shape: shape{foldLines: true, names: rawkoNames()},
	}
	for i := range r.Steps {
		step, err := r.Steps[i].source(fmt.Sprintf("/steps/%d", i))
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, step)
	}
	r.notes(s)
	return s, nil
}

// rawkoNames returns rawko's names of our fields.
func rawkoNames() map[string]string {
	return map[string]string{
		"objective": "task", "informed_by": "informedByMemories", "title": "description", "details": "instructions", "step_id": "index",
		"depends_on": "dependsOn", "acceptance_criteria": "acceptanceCriteria", "suggested_agent": "suggestedAgent", "executed_by": "executedBy",
		"affected_files": "affectedFiles", "started_at": "startedAt", "completed_at": "completedAt",
	}
}

func (r *rawkoStep) source(at string) (sourceStep, error) {
	if err := plan.OneOf(at+"/status", r.Status); err != nil {
		return sourceStep{}, err
	}
	step := sourceStep{NewStep: plan.NewStep{
		Spec: plan.Spec{
			Title: r.Description, Details: r.Instructions, SuggestedAgent: r.SuggestedAgent, AcceptanceCriteria: r.AcceptanceCriteria, Critical: true,
		},
		Progress: plan.Progress{
			Status: ourStatus(r.Status), Output: r.Output, Error: r.Error, AffectedFiles: r.AffectedFiles, ExecutedBy: r.ExecutedBy,
			StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		},
	}}
	own, err := stepOfIndex(at+"/index", r.Index)
	step.own = own
	for k, index := range r.DependsOn {
		var dep plan.StepID
		if err == nil {
			dep, err = stepOfIndex(fmt.Sprintf("%s/dependsOn/%d", at, k), &index)
		}
		step.DependsOn = append(step.DependsOn, dep)
	}
	return step, err
}

// stepOfIndex returns the id that stands for a 0-based index, 0 for none.
func stepOfIndex(field string, index *int) (plan.StepID, error) {
	if index == nil {
		return 0, nil
	}
	if *index < 0 || *index >= int(plan.MaxStepID) {
		return 0, refuse(field, fmt.Sprintf("%d is no index of a step", *index), "count the steps from 0")
	}
	return plan.StepID(*index + 1), nil
}

func ourStatus(status rawkoStepState) plan.StepStatus {
	if status == "complete" {
		return plan.Done
	}
	return plan.StepStatus(status)
}

// notes says what of a plan of rawko's was changed or dropped.
func (r *rawkoPlan) notes(s *source) {
	if r.ID != "" {
		s.note("The plan gets an id and dates of its own; it was %s.", plan.Quote(r.ID))
	}
	if r.Version > 1 || r.PreviousPlanID != "" {
		s.note("It starts as version 1: former versions are left out.")
	}
	if r.Status == "failed" || r.Status == "replanning" {
		s.note("It was %s; here its status follows from its steps.", r.Status)
	}
	if len(r.Steps) > 0 {
		s.note("All steps are critical, as in rawko: when one fails, a new plan is asked for.")
	}
	unknown := map[string]bool{}
	memberNames(unknown, "", r.Rest)
	memberNames(unknown, "metadata.", r.Metadata.Rest)
	for i := range r.Steps {
		memberNames(unknown, "steps[].", r.Steps[i].Rest)
	}
	if len(unknown) > 0 {
		s.note("Fields that are not known were left out: %s.", someOf(unknown))
	}
}

// memberNames adds the names of an object's members to names.
func memberNames(names map[string]bool, prefix string, object jsontext.Value) {
	for name := range jsonKeys(object) {
		names[plan.Shorten(prefix+name, 60)] = true
	}
}

func someOf(names map[string]bool) string {
	const shown = 10
	sorted := slices.Sorted(maps.Keys(names))
	text := strings.Join(sorted[:min(len(sorted), shown)], ", ")
	if n := len(sorted) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
